// The site's evaluation: made here by the program over a few golden items, shipped with a site of its own, opened down to an
// item's trace, and run again in the browser. The browser's run must be the native one.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "@playwright/test";
import { findings, inspect } from "./accessibility.ts";
import { temporary } from "./pages.ts";
import { engineFolder, expect, program, root, StaticServer, test } from "./site.ts";

/** Of items that are far from every threshold and every other rank: int8 models may round otherwise on another runtime. */
const ids = ["dd-a033", "dd-u013", "dd-u026"];
const configs = ["baseline", "tuned"];
const index = process.env["POLYGRAPH_TEST_INDEX"] ?? "";
const models = process.env["POLYGRAPH_TEST_MODELS"] ?? "";
const runMs = 300_000;

interface Line {
  item: string;
  result: { generated_answer: string; latency: Record<string, number>; trace: Trace; [field: string]: unknown };
}
interface Trace {
  engine: { target?: string };
  status: string;
  answer: string;
  steps: { node: string; data: Record<string, unknown> }[];
}

const folder = temporary();
const nativeRun = (config: string): string => path.join(folder, `${config}.jsonl`);
const document_ = path.join(folder, "evaluation.json");
let server: StaticServer;
let site = "";

const run = (...argv: string[]): string => execFileSync(program, argv, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], cwd: folder });
const linesOf = (text: string): Line[] => text.trimEnd().split("\n").slice(1).map((line) => JSON.parse(line) as Line);

test.beforeAll(async () => {
  test.setTimeout(runMs);
  writeFileSync(path.join(folder, "ids.txt"), ids.join("\n"));
  for (const config of configs) run("run", "--config", config, "--index", index, "--ids", "ids.txt", "--out", nativeRun(config));
  run("report", ...configs.map(nativeRun), "--site", document_);
  execFileSync(process.execPath, [path.join(root, "web/build.mjs"), "site", "--engine", engineFolder, "--index", index, "--models", models, "--evaluation", document_, "--out", path.join(folder, "site")], { stdio: "pipe" });
  server = new StaticServer(path.join(folder, "site"));
  site = await server.start();
});
test.afterAll(() => server.stop());

const evaluation = async (page: Page, hash = ""): Promise<void> => {
  await page.goto(`${site}report.html${hash}`);
  await expect(page.locator("#report h1")).toBeVisible();
};
const item = (page: Page) => page.locator("dialog#item");

test("the document holds every figure and no text of the corpus", () => {
  const text = readFileSync(document_, "utf8");
  const answers = configs.flatMap((config) => linesOf(readFileSync(nativeRun(config), "utf8"))).map(({ result }) => result);
  for (const { generated_answer: answer, trace } of answers) {
    // Whole sentences of the answer, which quotes the corpus; a refusal quotes nothing.
    if (trace.status !== "answered") continue;
    for (const sentence of answer.split(/(?<=[.:])\s|\[[^\]]*\]|\n/).filter((each) => each.length > 30)) expect(text).not.toContain(JSON.stringify(sentence).slice(1, -1));
  }
  const { made, golden } = JSON.parse(text) as { made: Record<string, unknown>; golden: { id: string }[] };
  expect(golden.map(({ id }) => id)).toEqual(ids);
  expect(made).toMatchObject({ program: "0.1.0", index_digest: expect.stringMatching(/^xxh128:/) as unknown, k: 5 });
});

test("the report page opens with the site's evaluation and says how it was made; each metric leads to its items", async ({ page }) => {
  await evaluation(page);
  await expect(page.locator("#report h1")).toHaveText("2 pipelines");
  await expect(page.locator(".made")).toContainText("this site's own");
  const metric = page.getByRole("row", { name: /^correct_refusal_rate/ }).getByRole("link").nth(1);
  await metric.click();
  await expect(page.locator("#report h1")).toHaveText("tuned");
  await expect(page.locator(".list-count")).toHaveText("2 of 3 items");
  await expect(page.locator(".grid-row")).toHaveText([/^dd-u013/, /^dd-u026/]);
  await page.goBack();
  await page.getByLabel("Retrieval metrics at rank").selectOption("10");
  await expect(page.getByRole("row", { name: /^recall@10/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /^recall@4/ })).toHaveCount(0);
  expect(await findings(page)).toEqual([]);
});

test("an item's run is made again from what the models answered: the native trace, bit for bit, with its passages, and the inspector opens it", async ({ page }) => {
  for (const [at, config] of configs.entries()) {
    for (const { item: id, result } of linesOf(readFileSync(nativeRun(config), "utf8"))) {
      await evaluation(page, `#report=${at}&item=${id}`);
      await expect(item(page).locator(".trace .step")).toHaveCount(result.trace.steps.length);
      await expect(item(page).locator(".notice")).toHaveCount(0);
      const [download] = await Promise.all([page.waitForEvent("download"), item(page).getByRole("button", { name: "Download" }).click()]);
      const made = JSON.parse(readFileSync(await download.path(), "utf8")) as Trace;
      delete made.engine.target;
      delete result.trace.engine.target;
      expect(made).toEqual(result.trace);
    }
  }
  await item(page).locator(".retrieved summary").first().click();
  await expect(item(page).locator(".retrieved .passage-text").first()).not.toContainText("does not hold its text");
  const [inspector] = await Promise.all([page.context().waitForEvent("page"), item(page).getByRole("button", { name: "Open in the inspector" }).click()]);
  await inspector.locator('[data-key="replay"]').click();
  await expect(inspector.locator(".replay.identical")).toBeVisible();
  await inspector.close();
});

test("a run in the browser, paused and resumed after a reload, is the native run: decisions and metrics", async ({ page }) => {
  test.setTimeout(runMs);
  await evaluation(page);
  const here = page.locator("#run-here");
  await here.getByRole("button", { name: "Run", exact: true }).click();
  await expect(here).toContainText(/[2-4] of 6 answered/, { timeout: runMs });
  await here.getByRole("button", { name: "Pause" }).click();
  await expect(here).toHaveAttribute("data-state", "paused");
  const before = Number(/(\d) of 6/.exec((await here.locator(".run-status").textContent()) ?? "")?.[1]);
  expect(before).toBeLessThan(6);
  await page.reload();
  await expect(here).toContainText(`${before} of 6 answered · paused`);
  await here.getByRole("button", { name: "Resume" }).click();
  await expect(here).toHaveAttribute("data-state", "finished", { timeout: runMs });
  await expect(here.locator(".run-verdict")).toHaveText("Every decision and every metric is the shipped one; only times differ.");

  const downloads: Promise<string>[] = [];
  page.on("download", (download) => downloads.push(download.saveAs(path.join(folder, `browser-${download.suggestedFilename()}`)).then(() => download.suggestedFilename())));
  await here.getByRole("button", { name: "Download the runs" }).click();
  await expect.poll(() => downloads.length).toBe(configs.length);
  await Promise.all(downloads);
  for (const config of configs) {
    const [theirs, ours] = [path.join(folder, `browser-${config}.jsonl`), nativeRun(config)];
    const decisions = (file: string): unknown => linesOf(readFileSync(file, "utf8")).map(({ item: id, result: { trace, latency: _, ...result } }) => ({
      id, status: trace.status, answer: trace.answer, steps: trace.steps.map(({ node, data }) => [node, data["retrieved_ids"], data["relevant"], data["relevant_chunk_ids"], data["to"], data["cited_ids"]]),
      metrics: result["metrics"], category: (result["diagnosis"] as { category: string }).category, outcome: result["refusal_outcome"],
    }));
    expect(decisions(theirs), config).toEqual(decisions(ours));
    const metrics = (file: string): Record<string, unknown> => {
      const { metrics: all } = JSON.parse(run("report", file, "--json")) as { metrics: Record<string, unknown> };
      return Object.fromEntries(Object.entries(all).filter(([name]) => !name.endsWith("_ms")));
    };
    expect(metrics(theirs), config).toEqual(metrics(ours));
  }

  await here.getByRole("button", { name: "Open as a report" }).click();
  await expect(page.locator("#file")).toHaveText("Run in this browser");
  await page.getByRole("button", { name: "The site's evaluation" }).click();
  await expect(here).toHaveAttribute("data-state", "finished");
  await here.getByRole("button", { name: "Run another" }).click();
  await expect(here.getByRole("button", { name: "Run", exact: true })).toBeVisible();
});

test("an evaluation over another index says so, and shows neither passages nor a run", async ({ page }) => {
  const other = JSON.parse(readFileSync(document_, "utf8")) as { made: { index_digest: string } };
  other.made.index_digest = "xxh128:00000000000000000000000000000000";
  server.route = (request, response) => {
    if (!/\/assets\/evaluation-[0-9a-f]+\.json$/.test(request.url ?? "")) return false;
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(other));
    return true;
  };
  await evaluation(page);
  await expect(page.locator("#report > .notice.warn")).toContainText("another index");
  await expect(page.locator("#run-here")).toHaveCount(0);
  await page.goto(`${site}report.html#report=0&item=dd-a033`);
  await expect(item(page).locator(".notice")).toContainText("another index");
  await expect(item(page).locator(".retrieved li")).toHaveCount(10);
  server.route = () => false;
});

test("hostile text in every field of the evaluation does nothing but show", async ({ page }) => {
  const attack = `</script><script>globalThis.attacked=true</script><img src=x onerror="globalThis.attacked=true">\u202Egnp.exe\u0007\u0000\u2028 "onmouseover="globalThis.attacked=true`;
  /** Without these the document is another kind of thing, or its runs are not made again. */
  const keep = /^(kind|schema|id|ids|status|outcome|query_id|severity|category|digest|index_digest|embedding|logits|begun_at|last_item_at)$/;
  const poison = (value: unknown, key = ""): unknown => {
    if (key === "config") return { ...(value as object), [attack]: attack };
    if (typeof value === "string") return keep.test(key) ? value : `${value} ${attack}`;
    if (Array.isArray(value)) return value.map((entry) => poison(entry, key));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, poison(entry, name)]));
    return value;
  };
  const onlyText = async (): Promise<void> => {
    expect(await page.evaluate(() => "attacked" in globalThis)).toBe(false);
    expect(await page.locator("body img, main script, dialog script, [onerror], [onmouseover]").count()).toBe(0);
    expect(await page.locator('a[href^="javascript:" i]').count()).toBe(0);
  };
  const bad = poison(JSON.parse(readFileSync(document_, "utf8"))) as { made: { index_digest: string } };
  server.route = (request, response) => {
    if (!/\/assets\/evaluation-[0-9a-f]+\.json$/.test(request.url ?? "")) return false;
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(bad));
    return true;
  };
  await evaluation(page);
  await expect(page.locator(".made")).toContainText("<img src=x");
  await page.locator("summary", { hasText: "Configurations" }).click();
  await expect(page.locator("#run-here")).toContainText("<img src=x");
  await onlyText();
  for (const id of ids) {
    await page.goto(`${site}report.html#report=1&item=${id}`);
    await expect(item(page)).toContainText("<img src=x");
    await expect(item(page).locator(".trace .step, .notice").first()).toBeVisible();
    await onlyText();
  }
  bad.made.index_digest = attack;
  await page.goto("about:blank");
  await evaluation(page);
  await expect(page.locator("#report > .notice.warn")).toContainText("<img src=x");
  await onlyText();
  server.route = () => false;
});

test("without storage a run stands in memory and says so; cancelling it leaves nothing", async ({ page }) => {
  await page.addInitScript(() => Object.defineProperty(window, "indexedDB", { get() { throw new DOMException("denied", "SecurityError"); } }));
  await evaluation(page);
  const here = page.locator("#run-here");
  await here.getByLabel("tuned").uncheck();
  await here.getByRole("button", { name: "Run", exact: true }).click();
  await expect(here).toContainText("after a reload the run begins anew", { timeout: runMs });
  await expect(here).toContainText(/[1-3] of 3 answered/, { timeout: runMs });
  await here.getByRole("button", { name: /Cancel|Run another/ }).click();
  await expect(here.getByRole("button", { name: "Run", exact: true })).toBeVisible();
});

test("no axe finding and nothing wider than 360 pixels in the evaluation and an item, in both themes", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await evaluation(page);
  await expect(page.locator("#run-here")).toBeVisible();
  await inspect(page, "site-evaluation", { widths: [360] });
  await page.goto(`${site}report.html#report=1&item=dd-a033`);
  await expect(item(page).locator(".trace .step").first()).toBeVisible();
  await inspect(page, "site-evaluation-item", { widths: [360] });
});
