// The page and the program together: what live.spec.ts proves of the page before a server played by a script holds with
// the real server, its real index, ledger, cache and recordings, and an endpoint over real sockets.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "@playwright/test";
import { ProgramService, ScriptedUpstream, shippedRecordings, type ProgramOptions } from "./program_service.ts";
import { answerable, ask, expect, lexicalReady, test, withoutModels } from "./site.ts";

const notAnExample = "What does the --memory-swap option do?";
const upstream = new ScriptedUpstream();
let service: ProgramService;

test.beforeEach(async ({ page }) => {
  await upstream.start();
  service = new ProgramService();
  await withoutModels(page);
});
test.afterEach(async () => {
  await service.stop();
  await upstream.stop();
});

const who = (page: Page) => page.locator('[data-item="who"]');
const answer = (page: Page) => page.locator("#answer");
const notice = (page: Page) => page.locator(".notice");
const draft = (page: Page) => page.locator(".draft");

async function open(page: Page, options: Omit<ProgramOptions, "upstream"> = {}): Promise<void> {
  await page.goto(await service.start({ ...options, upstream }));
  await lexicalReady(page);
  await expect(who(page)).toContainText(/^Live – /);
}

/** Types a question and presses Enter, without waiting for its end. */
async function begin(page: Page, question: string): Promise<void> {
  await page.getByRole("textbox", { name: "Question" }).fill(question);
  await page.keyboard.press("Enter");
}

async function home(page: Page): Promise<void> {
  await page.locator("#home").click();
  await expect(page.locator("#start")).toBeVisible();
}

/** The browser itself reports answers and connections that fail. */
function expectNetworkFaults(faults: string[]): void {
  faults.splice(0, faults.length, ...faults.filter((fault) => !/Failed to load resource/.test(fault)));
}

/** The question has its answer from this browser, and nothing of what the endpoint wrote stands in it. */
async function answeredHere(page: Page): Promise<void> {
  await expect(answer(page)).toHaveAttribute("data-by", "browser");
  await expect(answer(page)).toHaveAttribute("data-status", /^(answered|refused)$/);
  await expect(draft(page)).toHaveCount(0);
  await expect(answer(page)).not.toContainText("scripted");
}

test("a question is graded and answered live, word by word; asked again it comes from the cache, and the trace says which", async ({ page }) => {
  await open(page);
  await upstream.next("answer", "slow_stream:250");
  await begin(page, answerable);
  await expect(draft(page)).toContainText("This is");
  await expect(answer(page)).toHaveAttribute("data-status", "running");
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  await expect(answer(page)).toHaveAttribute("data-by", "live");
  await expect(answer(page)).toContainText("This is the scripted answer");
  await expect(answer(page).locator("a.cite")).toHaveAttribute("href", /^https:\/\/docs\.docker\.com\//);
  await expect(draft(page)).toHaveCount(0);
  await expect(notice(page)).toHaveCount(0);
  await expect(page.locator(".step.grade_context .effects")).toContainText(/[\d,]+ tokens in, \d+ out · [\d.]+ USD · openai\/gpt-oss-20b · live/);
  await expect(page.locator(".step.generate .effects")).toContainText(/[\d,]+ tokens in, \d+ out · [\d.]+ USD · openai\/gpt-oss-120b · live/);
  await expect(page.locator(".trace-head")).toContainText(/[\d,]+ tokens in, \d+ out/);
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(page.locator(".replay")).toHaveClass(/identical/);
  expect((await upstream.counts()).calls).toBe(2);

  await home(page);
  await ask(page, answerable);
  await expect(answer(page)).toContainText("This is the scripted answer");
  await expect(page.locator(".step.grade_context .effects")).toContainText("cached");
  await expect(page.locator(".step.generate .effects")).toContainText("cached");
  expect((await upstream.counts()).calls).toBe(2);
});

test("with the quota spent an example plays its recorded run, labelled, and another question is answered here with the time to come back", async ({ page, faults }) => {
  await open(page, { set: ["REQUESTS_PER_MINUTE=1"] });
  await ask(page, notAnExample);
  await expect(answer(page)).toHaveAttribute("data-by", "live");

  await ask(page, answerable);
  await expect(answer(page)).toHaveAttribute("data-by", "recorded");
  await expect(notice(page)).toContainText(/Recorded on 20\d\d-\d\d-\d\d by polygraph record .*provider extractive.*not live\./);
  await expect(notice(page)).toContainText(/There are no live answers for the moment: the requests of this minute for \S+ are spent\./);
  await expect(answer(page).locator("a.cite").first()).toHaveAttribute("href", /^https:\/\/docs\.docker\.com\//);
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(page.locator(".replay")).toHaveClass(/identical/);

  await ask(page, "How do I see the logs of a container?");
  await answeredHere(page);
  await expect(notice(page)).toContainText("There are no live answers for the moment. This was answered in your browser instead");
  const until = Date.parse((await notice(page).locator("time").getAttribute("datetime")) ?? "");
  expect(until).toBeGreaterThan(Date.now());
  expect(until).toBeLessThan(Date.now() + 61_000);
  expect((await upstream.counts()).calls).toBe(2);

  // Whoever comes now is told before they ask. (A reload would ask the address's question again.)
  await page.goto(new URL("/", page.url()).href);
  await expect(who(page)).toContainText(/^In this browser – your question is not sent anywhere\. There are no live answers for the moment\. Expected again (at|on) /);
  expectNetworkFaults(faults);
});

test("a server without a key plays recorded runs, also for their aliases, and sends no question anywhere", async ({ page }) => {
  const folder = mkdtempSync(path.join(tmpdir(), "polygraph-recordings-"));
  const id = "how-do-i-limit-a-containers-memory";
  const recording = readFileSync(path.join(shippedRecordings, `${id}.json`), "utf8");
  writeFileSync(path.join(folder, `${id}.json`), recording.replace('"aliases":[]', '"aliases":["limit memory"]'));
  const posted: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") posted.push(request.url());
  });
  await page.goto(await service.start({ recordings: folder }));
  await lexicalReady(page);
  await expect(who(page)).toContainText("This site gives no live answers now.");
  await ask(page, "Limit memory!");
  await expect(answer(page)).toHaveAttribute("data-by", "recorded");
  await ask(page, notAnExample);
  await answeredHere(page);
  expect(posted).toEqual([]);
  rmSync(folder, { recursive: true });
});

for (const [how, behaviours] of [
  ["never answers the grade", ["stall"]],
  ["never begins its answer", ["answer", "stall"]],
  ["falls silent in the middle of its answer", ["answer", "stall_body"]],
] as const) {
  test(`a model that ${how} is given up by the server, and the question is answered here`, async ({ page, faults }) => {
    await open(page, { set: ["UPSTREAM_DEADLINE_MS=1500"] });
    await upstream.next(...behaviours);
    await ask(page, notAnExample);
    await answeredHere(page);
    // The server's words: the page's own patience is longer.
    await expect(notice(page)).toContainText("the model did not answer in time. This was answered in your browser instead");
    await expect.poll(async () => (await upstream.counts()).left).toBe(1);
    expectNetworkFaults(faults);
  });
}

test("a stream that the model's host cuts is withdrawn, and never shown as an answer", async ({ page, faults }) => {
  await open(page);
  await upstream.next("answer", "cut_body");
  await ask(page, notAnExample);
  await answeredHere(page);
  await expect(notice(page)).toContainText("This was answered in your browser instead");
  // Nor does it come back from the cache.
  await home(page);
  await ask(page, notAnExample);
  await expect(answer(page)).toHaveAttribute("data-by", "live");
  await expect(page.locator(".step.grade_context .effects")).toContainText("cached");
  await expect(page.locator(".step.generate .effects")).toContainText("live");
  expectNetworkFaults(faults);
});

test("a server killed in the middle of its answer leaves the question to this browser, and the next one too", async ({ page, faults }) => {
  await open(page);
  await upstream.next("answer", "stall_body");
  await begin(page, notAnExample);
  await expect(draft(page)).toContainText("This is");
  await service.kill();
  await expect(notice(page)).toContainText("The live answer broke off. This was answered in your browser instead");
  await answeredHere(page);
  await home(page);
  await ask(page, answerable);
  await answeredHere(page);
  await expect(notice(page)).toContainText("The server that answers live cannot be reached.");
  expectNetworkFaults(faults);
});

test("whoever cancels ends the call to the model's host", async ({ page }) => {
  await open(page);
  await upstream.next("answer", "stall_body");
  await begin(page, notAnExample);
  await expect(draft(page)).toContainText("This is");
  await page.getByRole("button", { name: "Cancel" }).focus();
  await page.keyboard.press("Enter");
  await expect(answer(page)).toContainText("Cancelled.");
  await expect.poll(async () => (await upstream.counts()).left).toBe(1);
});
