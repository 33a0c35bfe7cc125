// The trace inspector as an engineer meets it: as one file from disk with the network cut, and as a page of the site.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "@playwright/test";
import { inspect } from "./accessibility.ts";
import { ProgramService, ScriptedUpstream } from "./program_service.ts";
import { answerable, ask, engineFolder, expect, lexicalReady, program, root, siteFolder, StaticServer, test as base, unanswerable, withoutModels } from "./site.ts";

const { writeManyTraces } = (await import(pathToFileURL(path.join(root, "tests/bench/many_traces.mjs")).href)) as { writeManyTraces(root: string, file: string, count: number): void };

interface Trace {
  id: string;
  question: string;
  answer: string;
  index_digest: string;
  started_at: string;
  config: { provider: string; top_k: number };
  steps: { n: number; node: string; data: Record<string, unknown>; effects: { id: number; kind: string; ms: number; digest: string; result: unknown }[] }[];
  totals: { ms: number };
}

const recording = (id: string): string => path.join(root, "assets/recordings", `${id}.json`);
const answeredFile = recording("how-do-i-limit-a-containers-memory");
const refusedFile = recording("how-do-i-set-up-an-ingress-controller-on-gke");
const traceOf = (file: string): Trace => (JSON.parse(readFileSync(file, "utf8")) as { trace: Trace }).trace;
const siteRecord = JSON.parse(readFileSync(path.join(siteFolder, "site.json"), "utf8")) as { index: { url: string } };
const indexFile = path.join(siteFolder, siteRecord.index.url);

/** `inspector`: address of the page in one file, on disk; the page's network is cut, and any attempt to use it fails the test. */
const test = base.extend<{ inspector: string; folder: string }, { built: string }>({
  built: [
    async ({}, use) => {
      const file = path.join(mkdtempSync(path.join(tmpdir(), "polygraph-inspector-")), "trace.html");
      execFileSync(process.execPath, [path.join(root, "web/build.mjs"), "trace", "--engine", engineFolder, "--out", file], { stdio: "pipe" });
      await use(file);
    },
    { scope: "worker" },
  ],
  folder: async ({}, use) => use(mkdtempSync(path.join(tmpdir(), "polygraph-traces-"))),
  inspector: async ({ context, built }, use) => {
    const asked: string[] = [];
    context.on("request", (request) => {
      if (!/^(file|blob|data):/.test(request.url())) asked.push(request.url());
    });
    await context.setOffline(true);
    await use(pathToFileURL(built).href);
    expect(asked).toEqual([]);
  },
});

const open = (page: Page, ...files: string[]): Promise<void> => page.locator("#files").setInputFiles(files);
const title = (page: Page) => page.locator("#run-title");
const verdict = (page: Page) => page.locator("p.replay");
const step = (page: Page) => page.locator(".step-head h2");
const timeline = (page: Page) => page.locator(".timeline-step");

/** Writes documents as a file of the test's folder. */
function written(folder: string, name: string, ...documents: unknown[]): string {
  const file = path.join(folder, name);
  writeFileSync(file, documents.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join("\n"));
  return file;
}

test("the inspector in one file holds the engine and is at most 1.5 MB", async ({ built }) => {
  expect(readFileSync(built).byteLength).toBeLessThan(1_500_000);
});

test("from disk with the network cut, a recorded run opens, is stepped through by arrow keys, and replays identically", async ({ page, inspector }) => {
  await page.goto(inspector);
  await open(page, refusedFile);
  await expect(title(page)).toHaveText("How do I set up an ingress controller on GKE?");
  await expect(page.locator(".run-facts")).toContainText("refused");
  await expect(page.locator(".run-facts")).toContainText("recorded on 2026-12-01");
  await expect(timeline(page)).toHaveCount(9);
  await expect(step(page)).toHaveText("Step 1: Retrieve");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(step(page)).toHaveText("Step 3: Rewrite");
  await expect(page.locator("#live")).toHaveText("Step 3 of 9, Rewrite: attempt 1.");
  await expect(page.locator(".machine [aria-current]")).toHaveAttribute("data-state", "rewrite_query");
  await page.keyboard.press("End");
  await expect(step(page)).toHaveText("Step 9: Refuse");
  await page.keyboard.press("ArrowLeft");
  await expect(step(page)).toHaveText("Step 8: Grade");

  await page.getByRole("button", { name: "Replay" }).click();
  await expect(verdict(page)).toContainText(`needs the index that the trace was made over: ${traceOf(refusedFile).index_digest}`);
  await open(page, indexFile);
  await expect(page.locator("#foot")).toContainText(traceOf(refusedFile).index_digest);
  await expect(title(page)).toBeVisible();
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(verdict(page)).toContainText("Identical");
  await expect(page.locator("#live")).toContainText("Identical");
  await page.keyboard.press("Home");
  await expect(page.locator(".candidates")).toContainText("Network internal mode");
});

test("state, request and raw result of each effect stand beside the step", async ({ page, inspector }) => {
  await page.goto(inspector);
  await open(page, answeredFile);
  const effects = page.locator(".effect");
  await expect(effects).toHaveCount(3);
  const recorded = traceOf(answeredFile).steps[0]!.effects;
  for (const [i, effect] of recorded.entries()) await expect(effects.nth(i)).toContainText(effect.digest);
  await expect(effects.nth(1)).toContainText("384 numbers, length 1.000");
  await expect(effects.nth(1)).toContainText("How do I limit a container's memory?");
  await effects.nth(2).getByText("Raw result").click();
  await expect(effects.nth(2).locator("pre")).toContainText((recorded[2]!.result as { logits: string }).logits);
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("region", { name: "State" })).toContainText("reference/commandline/run#050");
});

test("drawing the run anew takes nothing away: neither a click half made, nor the focus, nor what was opened", async ({ page, inspector }) => {
  await page.setViewportSize({ width: 760, height: 800 });
  await page.goto(inspector);
  await open(page, answeredFile, indexFile);
  await expect(page.locator(".candidates")).toContainText("›");
  await page.locator(".raw summary").first().click();
  const upright = (): Promise<boolean> => page.locator(".machine").evaluate((svg) => (svg as SVGSVGElement).viewBox.baseVal.height > (svg as SVGSVGElement).viewBox.baseVal.width);
  expect(await upright()).toBe(false);
  const replay = page.getByRole("button", { name: "Replay" });
  await replay.hover();
  await page.mouse.down();
  await page.setViewportSize({ width: 690, height: 800 }); // where the diagram is drawn upright
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await replay.hover(); // its line may have moved
  await page.mouse.up();
  await expect(verdict(page)).toContainText("Identical");
  expect(await upright()).toBe(true);
  await expect(replay).toBeFocused();
  await expect(page.locator(".raw pre").first()).toBeVisible();
});

test("a replay names the first effect that was changed, with both values, and leads to it", async ({ page, inspector, folder }) => {
  const trace = traceOf(refusedFile);
  trace.steps[3]!.effects[0]!.ms = 77.5;
  await page.goto(inspector);
  await open(page, written(folder, "changed.json", trace), indexFile);
  await expect(page.locator("#foot")).toContainText(trace.index_digest);
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(verdict(page)).toContainText(/Differs. First difference: step 4 \(retrieve\), effect 6 \(time\), result_digest: the trace has "xxh128:[0-9a-f]{32}", the replay has "xxh128:[0-9a-f]{32}"/);
  await page.getByRole("button", { name: "Show step 4" }).click();
  await expect(step(page)).toHaveText("Step 4: Retrieve");
  await expect(page.locator(".effect.differs")).toHaveAttribute("data-effect", "6");
});

test("a fork takes what the trace holds, shows both runs, and says what nobody here could answer", async ({ page, inspector }) => {
  await page.goto(inspector);
  await open(page, refusedFile, indexFile);
  await expect(page.locator("#foot")).toContainText("Index for replay");
  await page.getByRole("button", { name: "Fork from step 1" }).click();
  await expect(page.locator("#settings")).toContainText("This page carries no models");
  await page.getByLabel("Passages (top k)").fill("6");
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await expect(page.locator("#compare-title")).toBeVisible();
  await expect(page.locator(".compare").first()).toContainText("6 results taken from the trace.");
  await expect(page.locator("tr.differs", { hasText: "TOP_K" })).toContainText(/4\s*6/);
  await expect(page.locator(".compare.differs", { hasText: "Step 1: Retrieve" }).locator("ins")).toHaveCount(2);
  await expect(page.locator("#live")).toContainText("both ended refused");

  // Another retrieval scores other passages: their logits are in no trace.
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Fork from step 1" }).click();
  await page.getByLabel("Retrieval").selectOption("bm25");
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await expect(page.locator(".compare").first()).toContainText(/Missing: the cross-encoder’s scores of \d+ passages: this page carries no models/);
  await page.getByRole("button", { name: "Fork from step 1" }).click();
  await expect(page.locator(".run-facts")).toContainText("fork from step 1 of run-");
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(verdict(page)).toContainText("Identical");
});

test("two traces opened together stand side by side, aligned by node", async ({ page, inspector, folder }) => {
  const other = traceOf(refusedFile);
  other.config.top_k = 3;
  other.steps.splice(2, 3);
  await page.goto(inspector);
  await open(page, refusedFile, written(folder, "other.json", other));
  await expect(page.locator("#compare-title")).toBeVisible();
  await expect(page.locator(".compare caption", { hasText: "in one run only" })).toHaveCount(3);
  await expect(page.locator(".compare caption", { hasText: "Steps 6 and –: Rewrite" })).toBeVisible();
  await page.getByLabel("Only differences").uncheck();
  await expect(page.locator("th", { hasText: "Query" }).first()).toBeVisible();
});

test("a second trace is chosen for the one on the page, and Esc leaves the choice", async ({ page, inspector }) => {
  await page.goto(inspector);
  await open(page, refusedFile);
  await page.getByRole("button", { name: "Compare" }).click();
  await expect(page.locator("#pick-banner")).toContainText("Choose the trace to set beside “How do I set up an ingress controller on GKE?”");
  await page.keyboard.press("Escape");
  await expect(title(page)).toBeVisible();
  await page.getByRole("button", { name: "Compare" }).click();
  await open(page, answeredFile);
  await expect(page.locator("#compare")).toContainText("These runs answer different questions.");
});

test("a link carries the whole trace, and a damaged one says so", async ({ page, inspector }) => {
  await page.goto(inspector);
  await open(page, answeredFile);
  await page.getByRole("button", { name: "Copy link" }).click();
  await expect(page).toHaveURL(/#trace=[\w-]{1000,}$/);
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await expect(title(page)).toHaveText("How do I limit a container's memory?");
  await page.goto("about:blank");
  await page.goto(link.slice(0, -400));
  await expect(page.locator("#problem")).toContainText("breaks off or was changed on the way");
});

test("a trace too long for a link is sent to a file instead", async ({ page, inspector, folder }) => {
  const trace = traceOf(answeredFile);
  let noise = "";
  for (let i = 0; noise.length < 120_000; ++i) noise += Math.sin(i).toString(36);
  trace.answer = noise;
  await page.goto(inspector);
  await open(page, written(folder, "long.json", trace));
  await page.getByRole("button", { name: "Copy link" }).click();
  await expect(page.locator("#toast")).toContainText("more than 30 KB");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  expect(JSON.parse(readFileSync((await (await download).path())!, "utf8"))).toEqual(trace);
});

test("a trace opens by paste and by drop", async ({ page, inspector }) => {
  await page.goto(inspector);
  await page.getByLabel("or paste the text of a trace").fill(JSON.stringify(traceOf(answeredFile)));
  await page.getByRole("button", { name: "Open the text" }).click();
  await expect(title(page)).toHaveText("How do I limit a container's memory?");
  const dropped = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], "dropped.json"));
    return transfer;
  }, readFileSync(refusedFile, "utf8"));
  await page.dispatchEvent("body", "drop", { dataTransfer: dropped });
  await expect(title(page)).toHaveText("How do I set up an ingress controller on GKE?");
  await expect(page.locator(".run-facts")).toContainText("dropped.json");
});

test("broken, truncated and foreign files say what is wrong and where", async ({ page, inspector, folder }) => {
  await page.goto(inspector);
  const text = JSON.stringify(traceOf(answeredFile));
  const lacking = traceOf(answeredFile) as Partial<Trace>;
  delete lacking.totals;
  const cases: [file: string, words: RegExp][] = [
    [written(folder, "cut.json", text.slice(0, text.length / 2)), /cut\.json: This JSON breaks off after [\d,]+ characters: the file is truncated/],
    [written(folder, "page.html", "<!doctype html><p>no</p>"), /page\.html: This is no JSON/],
    [written(folder, "report.json", { kind: "evaluation", schema: 1 }), /kind is "evaluation"; “trace” or “recording” was expected/],
    [written(folder, "lacking.json", lacking), /totals is missing; an object was expected/],
    [written(folder, "empty.json", ""), /nothing in it/],
  ];
  for (const [file, words] of cases) {
    await open(page, file);
    await expect(page.locator("#problem")).toHaveText(words);
  }
  const damaged = path.join(folder, "damaged.polygraph");
  const bytes = readFileSync(indexFile);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(damaged, bytes);
  await open(page, damaged);
  await expect(page.locator("#problem")).toContainText("damaged.polygraph");
  // A good one after them clears the message.
  await open(page, answeredFile);
  await expect(title(page)).toBeVisible();
  await expect(page.locator("#problem")).toBeHidden();
});

test("what “ask --json” prints opens: a line for each question, and passages where it was asked with their text", async ({ page, inspector, folder }) => {
  const print = (...options: string[]): string =>
    execFileSync(program, ["ask", "--index", indexFile, "--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false", "--json", ...options], {
      input: `${answerable}\n${unanswerable}\n${answerable}\n`, encoding: "utf8", stdio: ["pipe", "pipe", "ignore"],
    });
  await page.goto(inspector);
  await open(page, written(folder, "plain.jsonl", print()));
  await expect(page.locator(".list-head")).toHaveText("3 traces");
  await page.locator(".row").first().click();
  await expect(page.locator(".candidate").first()).toHaveText(/#\d{3}$/);
  // Compared from a list, traces of the same question are offered first.
  await page.getByRole("button", { name: "Compare" }).click();
  await expect(page.locator(".list-head")).toHaveText("2 of 3 traces");
  await page.locator(".row").nth(1).click();
  await expect(page.locator(".compare-said")).toHaveText("Both runs decided the same at every step.");

  await open(page, written(folder, "text.jsonl", print("--with-text").split("\n")[0]!));
  await expect(title(page)).toHaveText(answerable);
  await expect(page.locator(".candidates .where").first()).toContainText("›");
  await page.locator(".candidate").first().hover();
  await expect(page.locator(".popover .passage-text")).toContainText("memory");
  await open(page, indexFile);
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(verdict(page)).toContainText("Identical");
});

const attack = `<img src=x onerror="globalThis.attacked=true"></script><script>globalThis.attacked=true</script>`;
const marks = "\u202Eevil\u2066\u0000\u001b[31m\u200F";

test("a hostile trace only shows as text, its hidden characters made visible", async ({ page, inspector, folder }) => {
  const trace = traceOf(answeredFile);
  const hostile = (value: unknown, key: string): unknown => {
    if (typeof value === "string") return /^(kind|node|status|digest|result_digest|started_at|utc|embedding|logits|index_digest)$/.test(key) ? value : `${attack}${marks}${value}`;
    if (Array.isArray(value)) return value.map((each) => hostile(each, key));
    if (typeof value === "object" && value !== null) return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hostile(each, name)]));
    return value;
  };
  const made = hostile(trace, "") as Trace;
  Object.assign(made.steps[0]!.data, { passages: [{ id: `${attack}#000`, title: attack, heading_path: attack, url: "javascript:globalThis.attacked=true", text: attack }] });
  (made as unknown as { citations: { url: string }[] }).citations[0]!.url = "javascript:globalThis.attacked=true";
  (made as unknown as { config: Record<string, unknown> }).config[attack] = attack;
  await page.goto(inspector);
  await open(page, written(folder, "hostile.json", made), written(folder, "hostile2.json", { ...made, id: attack }));
  await expect(page.locator("#compare")).toBeVisible();
  await page.getByLabel("Only differences").uncheck();
  await page.keyboard.press("Escape");
  await expect(title(page)).toContainText("<img src=x");
  await expect(title(page)).toContainText("⟨U+202E⟩evil⟨U+2066⟩␀␛[31m⟨U+200F⟩");
  await page.getByText("Run, settings and index").click();
  for (let i = 0; i < made.steps.length; ++i) {
    for (const raw of await page.getByText("Raw result").all()) await raw.click();
    for (const candidate of await page.locator(".candidate").all()) await candidate.hover();
    await page.keyboard.press("ArrowRight");
  }
  await open(page, written(folder, "many.jsonl", made, made, `{"kind":"${attack.replaceAll('"', '\\"')}"}`));
  await expect(page.locator(".row")).toHaveCount(3);
  await expect(page.locator(".row").first()).toContainText("⟨U+202E⟩");
  await page.goto(`${inspector}#trace=${attack}`);
  await expect(page.locator("#problem")).toContainText("holds no trace");
  expect(await page.evaluate(() => "attacked" in globalThis)).toBe(false);
  expect(await page.locator("main img, main script, [onerror], [href^='javascript']").count()).toBe(0);
  expect(await page.evaluate(() => document.body.innerText)).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/);
});

test("10,000 traces are listed while they are read, scrolled with few rows made, filtered, and opened one at a time", async ({ page, inspector, folder }, info) => {
  const file = path.join(folder, "traces.jsonl");
  writeManyTraces(root, file, 10_000);
  await page.goto(inspector);
  const begun = Date.now();
  await open(page, file);
  await expect(page.locator(".row").first()).toBeVisible();
  const first = Date.now() - begun;
  await expect(page.locator(".list-head")).toHaveText("10,001 traces · 1 broken", { timeout: 60_000 });
  const whole = Date.now() - begun;

  // Scrolled by 30,000 px, frame by frame: how long frames take, and how many rows there are at most.
  const scrolled = await page.evaluate(async () => {
    const list = document.querySelector(".rows")!;
    const frames: number[] = [];
    let most = 0;
    let last = performance.now();
    for (let i = 0; i < 120; ++i) {
      list.scrollTop += 250;
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      frames.push(now - last);
      last = now;
      most = Math.max(most, document.querySelectorAll(".row").length);
    }
    frames.sort((a, b) => a - b);
    return { most, median: frames[60]!, p95: frames[113]! };
  });
  const heap = await page.evaluate(() => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize);
  info.annotations.push({ type: "numbers", description: `first list ${first} ms, whole list ${whole} ms, frame median ${scrolled.median.toFixed(1)} ms, p95 ${scrolled.p95.toFixed(1)} ms, heap ${(heap / 1e6).toFixed(0)} MB` });
  console.log(info.annotations.at(-1)?.description);
  expect(scrolled.most).toBeLessThan(80);
  expect(heap).toBeLessThan(100e6); // the file holds twice that
  await expect(page.locator(".row").first()).toContainText(/Question 6\d\d /);

  await page.getByLabel("Status").selectOption("refused");
  await expect(page.locator(".list-head")).toContainText("1,000 of 10,001 traces");
  await page.getByLabel("Words in question or answer").fill("topic 12");
  await expect(page.locator(".list-head")).not.toContainText("1,000 of");
  await page.getByLabel("Words in question or answer").fill("question 7459");
  await expect(page.locator(".list-head")).toContainText("1 of 10,001 traces");
  await page.locator(".rows").focus();
  await page.keyboard.press("Enter");
  await expect(title(page)).toHaveText("Question 7459 about topic 22");
  await expect(page.locator(".run-facts")).toContainText("traces.jsonl, line 7460");
  await page.keyboard.press("Escape");
  await expect(page.locator(".list-head")).toContainText("1 of 10,001 traces");
  await page.getByLabel("Words in question or answer").fill("");
  await page.getByLabel("Status").selectOption("broken");
  await expect(page.locator(".row")).toHaveCount(1);
  await expect(page.locator(".row")).toContainText("Line 10,001");
  await page.locator(".row").click();
  await expect(page.locator("#problem")).toContainText("traces.jsonl, line 10001: This JSON breaks off");
});

test("the keyboard alone opens, chooses, steps, forks, compares and goes back", async ({ page, inspector, folder }) => {
  await page.goto(inspector);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the trace" })).toBeFocused();
  await open(page, written(folder, "three.jsonl", traceOf(answeredFile), traceOf(refusedFile), traceOf(answeredFile)));
  await expect(page.getByRole("listbox", { name: "Traces" })).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator(".row[aria-selected='true']")).toContainText("GKE");
  await page.keyboard.press("Enter");
  await expect(title(page)).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await expect(step(page)).toHaveText("Step 2: Grade");
  await page.locator(".machine [data-state='rewrite_query']").focus();
  await page.keyboard.press("Enter");
  await expect(step(page)).toHaveText("Step 3: Rewrite");
  await expect(page.locator(".machine [data-state='rewrite_query']")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(step(page)).toHaveText("Step 6: Rewrite");
  await page.getByRole("button", { name: "Compare" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.locator("#list .banner")).toContainText("Choose the trace to set beside");
  await expect(page.getByLabel("Words in question or answer")).toBeFocused();
  await page.getByRole("listbox", { name: "Traces" }).focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await expect(page.locator("#compare-title")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(title(page)).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("listbox", { name: "Traces" })).toBeFocused();
  await page.keyboard.press("/");
  await expect(page.getByLabel("Words in question or answer")).toBeFocused();
});

test("every view is free of axe findings and fits, in both themes, wide and narrow", async ({ page, inspector, folder }) => {
  test.setTimeout(300_000);
  await page.goto(inspector);
  const check = (view: string): Promise<void> => inspect(page, `inspector-${view}`, { height: 800 });
  await check("open");
  await open(page, written(folder, "many.jsonl", traceOf(answeredFile), traceOf(refusedFile), "broken {", traceOf(answeredFile)));
  await expect(page.locator(".row")).toHaveCount(4);
  await check("list");
  await page.locator(".row").nth(1).click();
  for (let i = 0; i < 9; ++i) {
    await expect(step(page)).toContainText(`Step ${i + 1}`);
    if (i < 3 || i > 7) await check(`step ${i + 1}`);
    await page.keyboard.press("ArrowRight");
  }
  await open(page, indexFile);
  await expect(page.locator("#foot")).toContainText("Index for replay");
  await page.getByRole("button", { name: "Fork from" }).click();
  await check("fork");
  await page.keyboard.press("Escape");
  const failed = { ...traceOf(answeredFile), status: "failed", answer: "", citations: [], error: { code: "quota_spent", message: "The quota of today is spent." } };
  await open(page, written(folder, "failed.json", failed));
  await expect(page.locator(".machine [data-state='failed']")).toBeVisible();
  await check("failed");
  await open(page, answeredFile, refusedFile);
  await expect(page.locator("#compare-title")).toBeVisible();
  await check("compare");
  await page.getByLabel("Only differences").uncheck();
  await check("compare, everything");
});

test("an answer on the Ask page opens in the inspector, where the site's own index replays it", async ({ page, site }) => {
  await withoutModels(page);
  await page.goto(site);
  await ask(page, answerable);
  const opened = page.waitForEvent("popup");
  await page.getByRole("button", { name: "Open in the inspector" }).click();
  const inspector = await opened;
  await expect(title(inspector)).toHaveText(answerable);
  await inspector.getByRole("button", { name: "Replay" }).click();
  await expect(verdict(inspector)).toContainText("Identical");
  await expect(inspector.locator(".candidates")).toContainText("›");
});

test("without models a fork on the site says what it lacks, and with them it is worked out", async ({ page, site }) => {
  await page.goto(`${site}trace.html`);
  await open(page, refusedFile);
  const fork = async (): Promise<void> => {
    await page.getByRole("button", { name: "Fork from step 1" }).click();
    await page.getByLabel("Retrieval").selectOption("bm25");
  };
  await fork();
  await expect(page.locator("#settings")).toContainText("The models are not loaded");
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await expect(page.locator(".compare").first()).toContainText("the reranker has not been loaded yet");
  await page.keyboard.press("Escape");
  await fork();
  await page.getByRole("button", { name: /^Load them/ }).click();
  await expect(page.locator("#settings")).toContainText("The models are loaded", { timeout: 120_000 });
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await expect(page.locator("#compare")).toBeVisible({ timeout: 150_000 }); // three times ten pairs, on a busy machine
  await expect(page.locator(".compare").first()).toContainText("taken from the trace.");
  await expect(page.locator(".compare").first()).not.toContainText("Missing");
});

base("a fork through a live server takes the trace's replies, and asks the server for those that it lacks", async ({ page }) => {
  const upstream = new ScriptedUpstream();
  await upstream.start();
  const service = new ProgramService();
  try {
    await withoutModels(page);
    await page.goto(await service.start({ upstream }));
    await ask(page, answerable);
    await expect(page.locator("#answer")).toHaveAttribute("data-by", "live");
    const before = (await upstream.counts()).calls;
    const opened = page.waitForEvent("popup");
    await page.getByRole("button", { name: "Open in the inspector" }).click();
    const inspector = await opened;
    const fork = async (from: number, change: () => Promise<unknown>): Promise<void> => {
      await inspector.locator(".timeline-step").nth(from - 1).click();
      await inspector.getByRole("button", { name: `Fork from step ${from}` }).click();
      await change();
      await inspector.getByRole("button", { name: "Fork", exact: true }).click();
      await expect(inspector.locator("#compare-title")).toBeVisible();
    };
    await fork(2, async () => expect(inspector.getByLabel("Who answers")).toHaveValue("proxy"));
    await expect(inspector.locator(".compare-said")).toHaveText("Both runs decided the same at every step.");
    expect((await upstream.counts()).calls).toBe(before);
    await inspector.keyboard.press("Escape");
    await fork(1, () => inspector.getByLabel("Passages (top k)").fill("2"));
    await expect(inspector.locator(".compare").first()).not.toContainText("language model");
    expect((await upstream.counts()).calls).toBeGreaterThan(before);
    await inspector.keyboard.press("Escape");
    await fork(2, async () => {
      await inspector.getByLabel("Who answers").selectOption("extractive");
    });
    await expect(inspector.locator("tr.differs", { hasText: "PROVIDER" })).toContainText(/proxy\s*extractive/);
  } finally {
    await service.stop();
    await upstream.stop();
  }
});

base("the site's inspector opens and replays after its server has gone", async ({ page }) => {
  const server = new StaticServer(siteFolder);
  const site = await server.start();
  await withoutModels(page);
  await page.goto(site);
  await lexicalReady(page);
  await expect(page.locator('[data-item="offline"]')).toContainText(/[Oo]ffline/);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.reload();
  await lexicalReady(page);
  await server.stop();
  await page.goto(`${site}trace.html`);
  await open(page, refusedFile);
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(verdict(page)).toContainText("Identical");
});
