// Who answers: live through the site's server, a recorded run, the engine in this browser, an endpoint of the visitor's or
// the browser's own model, and what the page does when one of them fails. Every failure ends, and says what it was.

import type { ServerResponse } from "node:http";
import type { Page } from "@playwright/test";
import { inspect } from "./accessibility.ts";
import { answerOf, answering, busy, openStream, record, ScriptedEndpoint, ScriptedService, send, sentences, valueOf, type Completion } from "./scripted_service.ts";
import { answerable, ask, expect, lexicalReady, test, withoutModels } from "./site.ts";

const notAnExample = "What does the --memory-swap option do?";

let service: ScriptedService;
let site: string;

test.beforeEach(async ({ page }) => {
  service = new ScriptedService();
  site = await service.start();
  await withoutModels(page);
});
test.afterEach(async () => {
  await service.stop();
});

/** The browser itself reports answers and connections that fail. */
function expectNetworkFaults(faults: string[]): void {
  faults.splice(0, faults.length, ...faults.filter((fault) => !/Failed to load resource/.test(fault)));
}

const who = (page: Page) => page.locator('[data-item="who"]');
const answer = (page: Page) => page.locator("#answer");
const notice = (page: Page) => page.locator(".notice");
const draft = (page: Page) => page.locator(".draft");

async function open(page: Page, query = ""): Promise<void> {
  await page.goto(`${site}${query}`);
  await lexicalReady(page);
}

/** Types a question and presses Enter, without waiting for its end. */
async function begin(page: Page, question: string): Promise<void> {
  await page.getByRole("textbox", { name: "Question" }).fill(question);
  await page.keyboard.press("Enter");
}

/** Answers grades at once and hands out what a generation is answered with. */
function holdGeneration(): Promise<{ body: Completion; response: ServerResponse }> {
  return new Promise((resolve) => {
    service.script = (body, response) => {
      if (body.task === "generate") resolve({ body, response });
      else void answering(body, response);
    };
  });
}

test("a live answer comes from the server, which is sent the question and passage ids alone; the trace shows what it took", async ({ page }) => {
  await open(page);
  await expect(who(page)).toContainText(/^Live – your question is sent to 127\.0\.0\.1:\d+, and from there/);
  await ask(page, answerable);
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  await expect(answer(page)).toContainText("Sentence 2 of the live answer.");
  await expect(answer(page).locator(".cite")).toHaveCount(2);
  await expect(notice(page)).toHaveCount(0);
  await expect(draft(page)).toHaveCount(0);
  await expect(who(page)).toContainText(/^Live – your next question is sent to 127/);

  const digest = service.asked[0]?.index_digest;
  expect(digest).toMatch(/^[a-z0-9]+:?[0-9a-f]{16,}$/);
  expect(service.asked).toEqual([
    { task: "grade", question: answerable, chunk_ids: expect.any(Array), index_digest: digest },
    { task: "generate", question: answerable, chunk_ids: expect.any(Array), stream: true, index_digest: digest },
  ]);
  expect(service.asked[1]?.chunk_ids).toEqual(service.asked[0]?.chunk_ids?.slice(0, 2));

  const generate = page.locator(".step.generate .effects");
  await expect(generate).toContainText("345 ms · 1,200 tokens in, 80 out · 0.000228 USD · openai/gpt-oss-120b · live");
  await expect(page.locator(".trace-head")).toContainText("2,400 tokens in, 160 out");
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(page.locator(".replay")).toHaveClass(/identical/);
});

test("a completion that the server had kept is marked as cached", async ({ page }) => {
  service.script = (body, response) => (body.task === "grade" ? send(response, 200, answerOf(body, valueOf(body), { cached: true })) : answering(body, response));
  await open(page);
  await ask(page, answerable);
  await expect(page.locator(".step.grade_context .effects")).toContainText("cached");
  await expect(page.locator(".step.generate .effects")).toContainText("live");
});

test("a question that is not relevant is rewritten live, and refused where nothing is found", async ({ page }) => {
  service.script = (body, response) =>
    body.task === "grade" ? send(response, 200, answerOf(body, { relevant: false, reason: "None of them says it.", relevant_chunk_ids: [] })) : answering(body, response);
  await open(page);
  await ask(page, answerable);
  await expect(answer(page)).toHaveAttribute("data-status", "refused");
  expect(service.asked.find(({ task }) => task === "rewrite")).toEqual({
    task: "rewrite", question: answerable, failed_query: answerable, reason: "None of them says it.", index_digest: service.asked[0]?.index_digest,
  });
});

test("text that streams in is a draft, which the checked answer replaces", async ({ page }) => {
  const held = holdGeneration();
  await open(page);
  await begin(page, answerable);
  const { body, response } = await held;
  const event = openStream(response);
  const [first = "", second = ""] = sentences(body.chunk_ids ?? []);
  event("delta", { text: first.slice(0, 12) });
  await expect(draft(page)).toContainText(first.slice(0, 12));
  await expect(draft(page)).toContainText("Draft: its citations are checked");
  await expect(answer(page)).toHaveAttribute("data-status", "running");
  event("delta", { text: first.slice(12) + second.slice(0, second.indexOf("[") + 3) });
  await expect(draft(page)).toContainText("Sentence 2 of the live answer.");
  await expect(draft(page)).not.toContainText("["); // a citation that is still being written
  event("done", answerOf(body));
  response.end();
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  await expect(draft(page)).toHaveCount(0);
});

test("a draft whose citations do not hold is withdrawn for a refusal", async ({ page }) => {
  const held = holdGeneration();
  await open(page);
  await begin(page, answerable);
  const { body, response } = await held;
  const event = openStream(response);
  const text = "Everything is possible. [made/up/page#000]";
  event("delta", { text });
  await expect(draft(page)).toContainText("Everything is possible.");
  event("done", answerOf(body, { text }));
  response.end();
  await expect(answer(page)).toHaveAttribute("data-status", "refused");
  await expect(answer(page)).not.toContainText("Everything is possible.");
});

for (const [what, end] of [
  ["the connection breaks", (response: ServerResponse) => void response.socket?.destroy()],
  ["the stream ends without its end", (response: ServerResponse) => void response.end()],
] as const) {
  test(`a stream that is cut because ${what} is never shown as an answer`, async ({ page, faults }) => {
    const held = holdGeneration();
    await open(page);
    await begin(page, notAnExample);
    const { body, response } = await held;
    openStream(response)("delta", { text: sentences(body.chunk_ids ?? [])[0] ?? "" });
    await expect(draft(page)).toContainText("Sentence 1");
    end(response);
    await expect(answer(page)).toHaveAttribute("data-status", /answered|refused/);
    await expect(answer(page)).not.toContainText("of the live answer");
    await expect(notice(page)).toContainText("The live answer broke off. This was answered in your browser instead");
    expectNetworkFaults(faults);
  });
}

test("a stream that ends with an error event goes on in the browser", async ({ page }) => {
  const until = new Date(Date.now() + 3 * 60_000).toISOString();
  const held = holdGeneration();
  await open(page);
  await begin(page, notAnExample);
  const { response } = await held;
  const event = openStream(response);
  event("delta", { text: "Half an" });
  event("error", busy(until));
  response.end();
  await expect(notice(page)).toContainText("There are no live answers for the moment: the quota is spent.");
  await expect(notice(page).locator("time")).toHaveAttribute("datetime", until);
  await expect(answer(page)).toHaveAttribute("data-by", "browser");
});

test("when the quota runs out in the middle of an example, its recorded run plays, plainly labelled", async ({ page, faults }) => {
  service.recordings = [await record(answerable)];
  service.script = (_body, response) => send(response, 503, busy(null, { recording: "recorded-example" }), { "Retry-After": "60" });
  await open(page);
  await ask(page, `  ${answerable.toUpperCase().replace(" ", "   ").replace("?", " !")}`);
  await expect(answer(page)).toHaveAttribute("data-by", "recorded");
  await expect(notice(page)).toContainText("Recorded on 2026-11-30 by a test's scripted model (generator openai/gpt-oss-120b, grader openai/gpt-oss-20b, rewriter openai/gpt-oss-20b), not live.");
  await expect(notice(page)).toContainText("There are no live answers for the moment: the quota is spent.");
  await expect(answer(page)).toContainText("Sentence 1 of the recorded answer.");
  await expect(answer(page).locator("a.cite").first()).toHaveAttribute("href", /^https:\/\/docs\.docker\.com\//);
  await expect(who(page)).toContainText("Recorded on 2026-11-30");
  await expect(page.locator(".trace-head")).toContainText("recorded on 2026-11-30");
  await expect(page.locator(".step")).toHaveCount(3);
  await expect(page.locator(".step.generate .effects")).toContainText("recorded");
  await expect(page.locator("#live")).toContainText("Recorded on 2026-11-30");
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(page.locator(".replay")).toHaveClass(/identical/);
  // The visitor may have it worked out here all the same.
  await page.getByRole("button", { name: "Answer in this browser" }).click();
  await expect(answer(page)).toHaveAttribute("data-by", "browser");
  await expect(answer(page)).not.toContainText("of the recorded answer");
  expectNetworkFaults(faults);
});

test("with the quota spent an example plays its recording without being sent anywhere, and any other question is answered here with the time to come back", async ({ page }) => {
  const until = new Date(Date.now() + 2 * 3_600_000).toISOString();
  service.recordings = [await record(answerable)];
  service.spent(until);
  await open(page);
  await expect(who(page)).toContainText(/^In this browser – your question is not sent anywhere\. There are no live answers for the moment\. Expected again (at|on) /);
  await ask(page, answerable);
  await expect(answer(page)).toHaveAttribute("data-by", "recorded");
  await expect(answer(page)).toContainText("of the recorded answer");
  await ask(page, notAnExample);
  await expect(answer(page)).toHaveAttribute("data-by", "browser");
  await expect(notice(page)).toContainText("There are no live answers for the moment. This was answered in your browser instead");
  await expect(notice(page).locator("time")).toHaveAttribute("datetime", until);
  expect(service.asked).toEqual([]);
});

test("live answers are taken up again when their time has come", async ({ page }) => {
  await page.clock.install();
  service.spent(new Date(Date.now() + 60_000).toISOString());
  await open(page);
  await expect(who(page)).toContainText("There are no live answers for the moment.");
  service.live();
  await page.clock.fastForward(62_000);
  await expect(who(page)).toContainText(/^Live – /);
});

test("an alias that the server lists plays its recording without being sent anywhere", async ({ page }) => {
  service.recordings = [await record(answerable, { aliases: ["limit memory of a container"] })];
  service.spent();
  await open(page);
  await ask(page, "Limit memory of a container");
  await expect(answer(page)).toHaveAttribute("data-by", "recorded");
  expect(service.asked).toEqual([]);
});

test("a recording that only the server knows to fit, by an alias, plays when the server names it", async ({ page, faults }) => {
  service.listsAliases = false;
  service.recordings = [await record(answerable, { aliases: ["limit memory of a container"] })];
  service.script = (_body, response) => send(response, 503, busy(null, { recording: "recorded-example" }));
  await open(page);
  await ask(page, "Limit memory of a container");
  await expect(answer(page)).toHaveAttribute("data-by", "recorded");
  expectNetworkFaults(faults);
});

test("no recording answers another question, even if the server names it", async ({ page, faults }) => {
  service.recordings = [await record(answerable)];
  service.script = (_body, response) => send(response, 503, busy(null, { recording: "recorded-example" }));
  await open(page);
  await ask(page, notAnExample);
  await expect(answer(page)).toHaveAttribute("data-by", "browser");
  expectNetworkFaults(faults);
});

test("a recorded run that is broken gives way to the answer from this browser", async ({ page }) => {
  const recording = await record(answerable);
  service.recordings = [{ ...recording, json: recording.json.slice(0, -200) }];
  service.spent();
  await open(page);
  await ask(page, answerable);
  await expect(notice(page)).toContainText("The recorded run could not be loaded.");
  await expect(answer(page)).toHaveAttribute("data-by", "browser");
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
});

test("a recording over another edition says so, and only citations of the same text open", async ({ page }) => {
  const recording = await record(answerable, { index_digest: "xxh128:00000000000000000000000000000000" });
  const [, second] = (JSON.parse(recording.json) as { trace: { citations: { chunk_id: string }[] } }).trace.citations;
  // The second passage reads otherwise in that edition.
  const file = JSON.parse(recording.json) as { trace: { steps: { data: { passages?: { id: string; text: string }[] } }[] } };
  for (const step of file.trace.steps) for (const passage of step.data.passages ?? []) if (passage.id === second?.chunk_id) passage.text += " (changed)";
  service.recordings = [{ ...recording, json: JSON.stringify(file) }];
  service.spent();
  await open(page);
  await ask(page, answerable);
  await expect(notice(page)).toContainText("recorded over another edition of these documents");
  await expect(answer(page).locator(".cite")).toHaveCount(2);
  await expect(answer(page).locator("a.cite")).toHaveCount(1);
  await expect(answer(page).locator("a.cite")).toHaveText("1");
  await expect(page.locator('[data-key^="fork-"]')).toHaveCount(0);
});

test("text of a hostile model or recording stays text in draft, answer, labels and trace", async ({ page }) => {
  const attack = `<img src=x onerror="globalThis.attacked=true">[x](javascript:globalThis.attacked=true)`;
  const held = holdGeneration();
  service.script = ((answer) => (body: Completion, response: ServerResponse) =>
    body.task === "grade" ? send(response, 200, answerOf(body, { relevant: true, reason: attack, relevant_chunk_ids: body.chunk_ids }, { model: attack })) : answer(body, response))(service.script);
  await open(page);
  await begin(page, notAnExample);
  const { body, response } = await held;
  const event = openStream(response);
  const text = `${attack} is said. [${body.chunk_ids?.[0]}]`;
  event("delta", { text });
  await expect(draft(page)).toContainText("<img src=x");
  event("done", answerOf(body, { text }, { model: attack }));
  response.end();
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  await expect(page.locator(".step.generate .effects")).toContainText("<img src=x");

  const recording = await record(answerable);
  service.recordings = [{ ...recording, json: JSON.stringify({ ...(JSON.parse(recording.json) as object), made_by: attack, models: { generator: attack } }) }];
  service.spent();
  await page.reload();
  await ask(page, answerable);
  await expect(notice(page)).toContainText("<img src=x");
  expect(await page.evaluate(() => "attacked" in globalThis)).toBe(false);
  expect(await page.locator("main img, [onerror]").count()).toBe(0);
  expect(await page.locator('a[href^="javascript:" i]').count()).toBe(0);
});

test("a server that cannot be reached in the middle of a question leaves it to the browser", async ({ page, faults }) => {
  service.script = (_body, response) => void response.socket?.destroy();
  await open(page);
  await ask(page, notAnExample);
  await expect(notice(page)).toContainText("The server that answers live cannot be reached. This was answered in your browser instead");
  await expect(answer(page)).toHaveAttribute("data-status", /answered|refused/);
  expectNetworkFaults(faults);
});

test("a server with another edition of the documents is said, and the page goes on by itself", async ({ page, faults }) => {
  service.script = (_body, response) => send(response, 409, { error: { code: "index_mismatch", message: "The index is another." } });
  await open(page);
  await ask(page, notAnExample);
  await expect(notice(page)).toContainText("holds another edition of these documents. This was answered in your browser instead");
  expectNetworkFaults(faults);
});

for (const [task, value, said] of [
  ["grade", { relevant: "yes" }, "The live answer failed"],
  ["generate", { text: 7 }, "sent an answer without a value for the task “generate”"],
] as const) {
  test(`a reply to ${task} that is none ends as a reason, not as an answer`, async ({ page }) => {
    service.script = (body, response) => (body.task === task ? send(response, 200, answerOf(body, value)) : answering(body, response));
    await open(page);
    await ask(page, notAnExample);
    await expect(notice(page)).toContainText(said);
    await expect(answer(page)).toHaveAttribute("data-by", "browser");
  });
}

test("a server that never answers is given up, before a word and in the middle of a stream", async ({ page, faults }) => {
  await page.clock.install();
  let asked: () => void = () => undefined;
  const first = new Promise<void>((resolve) => (asked = resolve));
  service.script = () => asked();
  await open(page);
  await begin(page, notAnExample);
  await first;
  await page.clock.fastForward(46_000);
  await expect(notice(page)).toContainText("did not answer in time. This was answered in your browser instead");
  expect(service.left).toBe(1);

  const held = holdGeneration();
  await page.clock.fastForward(20_000);
  await begin(page, answerable);
  const { response } = await held;
  openStream(response)("delta", { text: "And then" });
  await expect(draft(page)).toContainText("And then");
  await page.clock.fastForward(26_000);
  await expect(notice(page)).toContainText("did not answer in time");
  await expect(answer(page)).not.toContainText("And then");
  expectNetworkFaults(faults);
});

test("a status that never comes holds up a question for seconds only", async ({ page }) => {
  await page.clock.install();
  service.status = () => undefined;
  await open(page);
  await expect(who(page)).toContainText("Finding out who answers");
  await begin(page, notAnExample);
  await page.clock.fastForward(5_000);
  await expect(answer(page)).toHaveAttribute("data-status", /answered|refused/);
  await expect(notice(page)).toContainText("The server that answers live cannot be reached.");
});

test("cancelling leaves the server at once, and so does a new question", async ({ page }) => {
  let held = holdGeneration();
  await open(page);
  await begin(page, answerable);
  let { response } = await held;
  openStream(response)("delta", { text: "Half an answer" });
  await expect(draft(page)).toContainText("Half an answer");
  await page.getByRole("button", { name: "Cancel" }).focus();
  await page.keyboard.press("Enter");
  await expect(answer(page)).toContainText("Cancelled.");
  await expect.poll(() => service.left).toBe(1);

  held = holdGeneration();
  await begin(page, answerable);
  ({ response } = await held);
  openStream(response)("delta", { text: "Half an answer" });
  await expect(draft(page)).toContainText("Half an answer");
  service.script = answering;
  await ask(page, notAnExample);
  await expect(answer(page)).toContainText("of the live answer");
  await expect.poll(() => service.left).toBe(2);
});

test("whoever waits for a live answer may have it from this browser instead", async ({ page }) => {
  const held = holdGeneration();
  await open(page);
  await begin(page, answerable);
  await held;
  await page.getByRole("button", { name: "Answer in this browser" }).click();
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  await expect(answer(page)).toHaveAttribute("data-by", "browser");
  await expect.poll(() => service.left).toBe(1);
});

test("asking again from a step of a live run takes its results from the trace", async ({ page }) => {
  await open(page);
  await ask(page, answerable);
  const before = service.asked.length;
  await page.locator('[data-key="fork-3"]').click();
  await page.getByRole("dialog").getByRole("button", { name: "Ask again" }).click();
  await expect(page.locator("#trace")).toContainText("taken from the earlier trace");
  await expect(answer(page)).toContainText("of the live answer");
  expect(service.asked.slice(before).filter(({ task }) => task === "grade")).toEqual([]);
});

test("on plain static hosting nothing is said of live answers", async ({ page }) => {
  service.files.route = () => false;
  await open(page);
  await expect(who(page)).toHaveText("In this browser – your question is not sent anywhere");
  await ask(page, answerable);
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  await expect(notice(page)).toHaveCount(0);
});

test("a host that gives its own page for every address is one without live answers", async ({ page }) => {
  service.status = (response: ServerResponse) => void response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>Home</title>");
  await open(page);
  await expect(who(page)).toHaveText("In this browser – your question is not sent anywhere");
});

test("without a network a second visit answers here, and says that the server cannot be reached", async ({ page, context, faults }) => {
  await open(page);
  await expect(page.locator('[data-item="offline"]')).toContainText("Ready for offline", { timeout: 60_000 });
  await context.setOffline(true);
  await open(page);
  await ask(page, answerable);
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  await expect(answer(page)).toHaveAttribute("data-by", "browser");
  await expect(notice(page)).toContainText("The server that answers live cannot be reached.");
  await context.setOffline(false);
  await expect(who(page)).not.toContainText("cannot be reached");
  expectNetworkFaults(faults);
});

test("the visitor may keep every question in this browser", async ({ page }) => {
  await open(page);
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("dialog").getByLabel("Who answers").selectOption("browser");
  await page.getByRole("button", { name: "Done" }).click();
  await expect(who(page)).toHaveText("In this browser – your question is not sent anywhere");
  await ask(page, answerable);
  expect(service.asked).toEqual([]);
});

test.describe("an endpoint of the visitor's own", () => {
  const key = "sk-canary-0123456789";
  let endpoint: ScriptedEndpoint;
  let address: string;

  test.beforeEach(async () => {
    endpoint = new ScriptedEndpoint();
    address = await endpoint.start();
    await service.stop();
    service = new ScriptedService({ endpoints: [address] });
    site = await service.start();
  });
  test.afterEach(async () => {
    await endpoint.stop();
  });

  const stored = (page: Page): Promise<string> => page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));

  /** By keyboard alone. */
  async function choose(page: Page, keep: boolean): Promise<void> {
    await page.getByRole("button", { name: "Settings" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Who answers").focus();
    await page.keyboard.type("Your own");
    await expect(dialog.getByLabel("Who answers")).toHaveValue("own");
    await page.keyboard.press("Tab");
    await page.keyboard.type(`${address}/v1`);
    await page.keyboard.press("Tab");
    await page.keyboard.type("tiny");
    await page.keyboard.press("Tab");
    await page.keyboard.type(key);
    await page.keyboard.press("Tab");
    if (keep) await page.keyboard.press("Space");
    await dialog.getByRole("button", { name: "Done" }).press("Enter");
    await expect(dialog).toBeHidden();
  }

  test("answers with the prompts of this site, the key going there and nowhere else", async ({ page }) => {
    await open(page);
    await choose(page, false);
    await expect(who(page)).toContainText(`Your endpoint, tiny – your question and the passages found are sent to ${new URL(address).host}`);
    await ask(page, answerable);
    await expect(answer(page)).toHaveAttribute("data-status", "answered");
    await expect(answer(page)).toContainText("of the own answer");
    expect(endpoint.asked).toHaveLength(2);
    for (const { authorization, body } of endpoint.asked) {
      expect(authorization).toBe(`Bearer ${key}`);
      expect(body.model).toBe("tiny");
      expect(body.messages.map(({ role }) => role)).toEqual(["system", "user"]);
      expect(body.messages[1]?.content).toContain(`<question>\n${answerable}\n</question>`);
    }
    expect(service.asked).toEqual([]);
    await expect(page.locator(".step.generate .effects")).toContainText("800 tokens in, 40 out · tiny");
    expect(await stored(page)).not.toContain(key);
    expect(await page.content()).not.toContain(key);
    await page.reload();
    await lexicalReady(page);
    await page.getByRole("button", { name: "Settings" }).click();
    await expect(page.getByLabel("Address")).toHaveValue(`${address}/v1`);
    await expect(page.getByLabel("Key", { exact: true })).toHaveValue("");
  });

  test("is remembered with its key only where the visitor ticks it, and forgotten when that is taken back", async ({ page }) => {
    await open(page);
    await choose(page, true);
    expect(await stored(page)).toContain(key);
    await page.reload();
    await lexicalReady(page);
    await page.getByRole("button", { name: "Settings" }).click();
    await expect(page.getByLabel("Key", { exact: true })).toHaveValue(key);
    await page.getByLabel("Keep the key in this browser").uncheck();
    expect(await stored(page)).not.toContain(key);
  });

  test("has settings that are right for assistive technology and narrow screens, in both themes", async ({ page }) => {
    await page.addInitScript(() => localStorage.setItem("polygraph.settings", '{"answers":"own","models":"off"}'));
    await open(page);
    await page.getByRole("button", { name: "Settings" }).click();
    await expect(page.getByRole("dialog")).toContainText("Your endpoint has no address yet.");
    await inspect(page, "live-endpoint");
  });

  test("that turns the key down is said, without the key, and the question may be answered here", async ({ page, faults }) => {
    endpoint.status = 401;
    await open(page);
    await choose(page, false);
    await ask(page, answerable);
    await expect(answer(page)).toHaveAttribute("data-status", "failed");
    await expect(answer(page)).toContainText("does not accept the key (401)");
    expect(await page.content()).not.toContain(key);
    await page.getByRole("button", { name: "Answer in this browser" }).click();
    await expect(answer(page)).toHaveAttribute("data-status", "answered");
    expectNetworkFaults(faults);
  });

  test("that the site's policy does not list cannot be asked, with the list", async ({ page }) => {
    await open(page);
    await choose(page, false);
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Address").fill("https://elsewhere.example/v1");
    await expect(page.getByRole("dialog")).toContainText(`This site lets its page connect to these endpoints: ${address}. Yours is not among them.`);
  });
});

test("where the policy lists no endpoint, one's own cannot be chosen, and the settings say why; a model that the browser does not have is not offered", async ({ page }) => {
  await page.addInitScript(() => Reflect.deleteProperty(globalThis, "LanguageModel"));
  await open(page);
  await page.getByRole("button", { name: "Settings" }).click();
  await expect(page.locator('[data-note="endpoint"]')).toContainText("This site lets its page connect to its own server alone.");
  await expect(page.locator('option[value="own"]')).toBeDisabled();
  await expect(page.locator('option[value="built-in"]')).toHaveCount(0);
});

test("the browser's own model is downloaded on request, with its progress, and answers with nothing sent", async ({ page }) => {
  // No browser of the tests has such a model: its interface is played, as Chrome documents it.
  await page.addInitScript(() => {
    let state = "downloadable";
    const scope = globalThis as unknown as { LanguageModel: object; finishDownload: () => void };
    scope.LanguageModel = {
      availability: async () => state,
      async create({ monitor }: { monitor?: (target: EventTarget) => void }) {
        if (state === "downloadable") {
          const target = new EventTarget();
          monitor?.(target);
          target.dispatchEvent(Object.assign(new Event("downloadprogress"), { loaded: 0.4 }));
          await new Promise<void>((resolve) => (scope.finishDownload = resolve));
          state = "available";
        }
        const ids = (text: string): string[] => [...text.matchAll(/<passage id="([^"]+)"/g)].map((match) => match[1]!);
        return {
          prompt: async (text: string) => JSON.stringify({ relevant: true, reason: "It says so.", relevant_chunk_ids: ids(text).slice(0, 1) }),
          promptStreaming: (text: string) => new ReadableStream({
            start(controller) {
              controller.enqueue("From the browser’s ");
              controller.enqueue(`own model. [${ids(text)[0]}]`);
              controller.close();
            },
          }),
          destroy: () => undefined,
        };
      },
    };
  });
  await open(page);
  await page.getByRole("button", { name: "Settings" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Who answers").selectOption("built-in");
  await dialog.getByRole("button", { name: "Download" }).click();
  await expect(dialog).toContainText("Downloading, 40 %");
  await page.evaluate(() => (globalThis as unknown as { finishDownload: () => void }).finishDownload());
  await expect(dialog).toContainText("It is here and ready.");
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(who(page)).toContainText("Your browser’s built-in model – your question is not sent anywhere");
  await ask(page, answerable);
  await expect(answer(page)).toContainText("From the browser’s own model.");
  expect(service.asked).toEqual([]);
});

test("live, draft, recorded, busy and settings are right for assistive technology and narrow screens, in both themes", async ({ page, faults }) => {
  service.recordings = [await record(answerable)];
  const held = holdGeneration();
  await open(page);
  await inspect(page, "live-start");
  await begin(page, answerable);
  const { body, response } = await held;
  const event = openStream(response);
  event("delta", { text: sentences(body.chunk_ids ?? []).join("") });
  await expect(draft(page)).toContainText("Sentence 2");
  await inspect(page, "live-draft");
  event("done", answerOf(body));
  response.end();
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  await inspect(page, "live-live");
  const until = new Date(Date.now() + 3_600_000).toISOString();
  service.script = (_body, response) => send(response, 503, busy(until));
  await ask(page, notAnExample);
  await expect(notice(page)).toBeVisible();
  await inspect(page, "live-busy");
  service.spent(until);
  await ask(page, answerable);
  await expect(notice(page)).toContainText("Recorded on");
  await inspect(page, "live-recorded");
  await page.getByRole("button", { name: "Settings" }).click();
  await inspect(page, "live-settings");
  expectNetworkFaults(faults);
});
