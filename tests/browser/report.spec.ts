// The report page with real reports in a real browser: what it shows, what its numbers lead to, hostile files, size.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { stat } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { comparison, evaluation, matrix, results } from "../web/report/sample.ts";
import { inspect } from "./accessibility.ts";
import { pagesSite, reportFile, temporary } from "./pages.ts";
import { expect, StaticServer, test } from "./site.ts";

const folder = temporary();
const left = evaluation(results(120, 1, { quality: 0.7 }), "dense");
const right = evaluation(results(120, 2, { quality: 0.85, speed: 2 }), "hybrid + rerank", { cost: 0.0021 });
const third = evaluation(results(120, 3, { quality: 0.6 }), "BM25", { cost: null });
const samples = { evaluation: left, comparison: comparison(left, right), matrix: matrix([left, right, third]) } as const;
type Sample = keyof typeof samples;
const files = {} as Record<Sample, string>;

let site = "";
let server: StaticServer;

test.beforeAll(async () => {
  const root = await pagesSite();
  for (const [name, report] of Object.entries(samples)) {
    files[name as Sample] = path.join(folder, `${name}.json`);
    writeFileSync(files[name as Sample], JSON.stringify(report, null, 2));
    writeFileSync(path.join(root, `${name}.json`), JSON.stringify(report));
  }
  server = new StaticServer(root);
  site = await server.start();
});
test.afterAll(() => server.stop());

async function openSample(page: Page, name: Sample): Promise<void> {
  await page.goto(`${site}report.html?src=${name}.json`);
  await expect(page.locator("#report h1")).toBeVisible();
}

const counted = (category: string): number => left.results!.filter((each) => each.diagnosis.category === category).length;
const listCount = (page: Page) => page.locator(".list-count");
const width = (page: Page): Promise<number[]> => page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);

test("an evaluation shows its totals, metrics with intervals and counts, categories, types, latency and failures", async ({ page }) => {
  await openSample(page, "evaluation");
  await expect(page.locator("#report h1")).toHaveText("dense");
  const failed = left.results!.filter((each) => each.status !== "completed").length;
  await expect(page.locator(".totals")).toContainText(`Failed${failed}`);
  const metrics = left["metrics"] as Record<string, { value: number; low: number; high: number; n: number }>;
  const recall = metrics["recall@5"]!;
  const row = page.getByRole("row", { name: /^recall@5/ });
  await expect(row).toContainText(`${recall.value.toFixed(3)}${recall.low.toFixed(3)} – ${recall.high.toFixed(3)}${recall.n}`);
  await expect(page.getByRole("row", { name: /^faithfulness/ })).toContainText("——0120");
  for (const plot of ["Metrics from 0 to 1", "Items by category", "Share of each type", "Retrieval time"]) {
    await expect(page.locator("figure", { hasText: plot }).locator("svg.plot")).toBeVisible();
  }
  await expect(page.locator("figure [role=img]").first()).toHaveAttribute("aria-label", /recall@5 0\.\d{3}/);
  await expect(page.locator(".failures > li")).toHaveCount(5);
  await expect(page.locator(".notice")).toContainText("Uncalibrated judge");
  expect(await page.locator("style").count(), "no inline style sheets").toBe(0);
});

test("each number leads to the items behind it, and back leads back", async ({ page }) => {
  await openSample(page, "evaluation");
  await page.getByRole("link", { name: /^WRONG_CHUNK_RANK:/ }).click();
  await expect(listCount(page)).toHaveText(`${counted("WRONG_CHUNK_RANK")} of 120 items`);
  await expect(page.locator("#list-title")).toBeFocused();
  await page.goBack();
  await expect(listCount(page)).toHaveText("120 items");
  await page.getByRole("row", { name: /^recall@5/ }).getByRole("link").first().click();
  const scored = left.results!.filter((each) => "recall_at_5" in each.metrics).length;
  await expect(listCount(page)).toHaveText(`${scored} of 120 items`);
  await expect(page.locator(".chips")).toContainText("has recall_at_5");
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(listCount(page)).toHaveText("120 items");
});

test("items are filtered by text and choice, and sorted by a column either way", async ({ page }) => {
  await openSample(page, "evaluation");
  await page.getByLabel("Type", { exact: true }).selectOption("multi-hop");
  await page.getByRole("searchbox").fill("SECRETS");
  const fitting = left.results!.filter((each) => each.query_type === "multi-hop" && each.query.includes("secrets"));
  await expect(listCount(page)).toHaveText(`${fitting.length} of 120 items`);
  await page.getByRole("searchbox").fill("");
  await page.getByLabel("Type", { exact: true }).selectOption("");
  await page.getByRole("button", { name: "Retrieval" }).click();
  await page.getByRole("button", { name: "Retrieval" }).click();
  const slowest = [...left.results!].sort((a, b) => (b.latency["retrieval_ms"] ?? -1) - (a.latency["retrieval_ms"] ?? -1))[0]!;
  await expect(page.locator(".grid-row").first()).toContainText(slowest.query_id);
  await expect(page.locator('[aria-sort="descending"]')).toContainText("Retrieval");
});

test("an item opens by keyboard with its passages, answer, verdicts and trace, and the next one with an arrow key", async ({ page }) => {
  await openSample(page, "evaluation");
  await page.locator(".grid").focus();
  for (let i = 0; i < 3; ++i) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog#item");
  await expect(dialog.locator("#item-title")).toHaveText("item-00004");
  const item = left.results![3]!;
  await expect(dialog).toContainText(item.query);
  await expect(dialog).toContainText(item.expected_answer);
  await expect(dialog).toContainText(item.diagnosis.reason);
  await expect(dialog.locator(".retrieved > li")).toHaveCount(5);
  await expect(dialog.locator(".trace .step")).toHaveCount(3);
  await expect(dialog.locator(".trace")).toContainText("candidates");
  await page.keyboard.press("ArrowRight");
  await expect(dialog.locator("#item-title")).toHaveText("item-00005");
  await page.keyboard.press("Escape");
  await expect(dialog).not.toBeVisible();
  await expect(page.locator(".grid")).toBeFocused();
});

test("a comparison shows deltas with intervals and p-values, what moved, and each item's outcome", async ({ page }) => {
  await openSample(page, "comparison");
  const report = samples.comparison as { metric_deltas: { recall_at_k: number }; tests: Record<string, { p: number }>; query_outcomes: { outcome: string; diagnosis_a: string; diagnosis_b: string; query_id: string }[] };
  const row = page.getByRole("row", { name: /^recall@5/ });
  await expect(row).toContainText(`+${report.metric_deltas.recall_at_k.toFixed(3)}`);
  await expect(row).toContainText(report.tests["recall@5"]!.p.toFixed(3));
  await expect(page.locator("figure svg.plot")).toBeVisible();
  const moved = report.query_outcomes.filter((each) => each.diagnosis_a === "WRONG_CHUNK_RANK" && each.diagnosis_b === "PASS");
  await page.getByRole("link", { name: `${moved.length} items from WRONG_CHUNK_RANK to PASS` }).click();
  await expect(listCount(page)).toHaveText(`${moved.length} of 120 items`);
  await page.locator(".grid-row").first().click();
  await expect(page.locator("dialog#item .side-title")).toHaveText(["dense", "hybrid + rerank"]);
  await expect(page.locator("dialog#item .trace")).toHaveCount(2);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: /^Regressed:/ }).click();
  await expect(listCount(page)).toHaveText(`${report.query_outcomes.filter((each) => each.outcome === "regressed").length} of 120 items`);
  await page.getByRole("link", { name: "B", exact: true }).click();
  await expect(page.locator("#report h1")).toHaveText("hybrid + rerank");
});

test("a matrix ranks pipelines, draws both fronts, and opens each pair and each evaluation", async ({ page }) => {
  await openSample(page, "matrix");
  await expect(page.locator("section", { hasText: "Ranking" }).first().locator("tbody tr").first()).toContainText("hybrid + rerank");
  const latency = page.locator("figure", { hasText: "Quality and mean retrieval time" });
  await expect(latency.locator("svg.plot circle")).toHaveCount(3);
  // BM25 has no cost: it is not drawn at 0.
  await expect(page.locator("figure", { hasText: "Quality and cost" }).locator("svg.plot circle")).toHaveCount(2);
  await page.getByRole("link", { name: "BM25 against hybrid + rerank" }).click();
  await expect(page.locator("#report h1")).toHaveText("BM25 against hybrid + rerank");
  await expect(listCount(page)).toHaveText("120 items");
  await page.getByRole("link", { name: "All pipelines" }).click();
  await page.locator("section", { hasText: "Ranking" }).first().getByRole("link", { name: "dense", exact: true }).click();
  await expect(page.locator("#report h1")).toHaveText("dense");
  await expect(listCount(page)).toHaveText("120 items");
});

test("the one-file report opens from disk with the network off and carries its report", async ({ page }) => {
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.context().setOffline(true);
  const url = await reportFile(path.join(folder, "one.html"), [JSON.stringify(left)]);
  await page.goto(url);
  await expect(page.locator("#report h1")).toHaveText("dense");
  await expect(page.locator("#file")).toHaveText("sample.json");
  await page.getByRole("link", { name: /^PASS:/ }).click();
  await expect(listCount(page)).toHaveText(`${counted("PASS")} of 120 items`);
  await page.locator(".grid-row").first().click();
  await expect(page.locator("dialog#item .trace .step")).toHaveCount(3);
  expect(requests.filter((address) => !address.startsWith("data:") && !address.startsWith("blob:"))).toEqual([url]);
  expect((await stat(path.join(folder, "one.html"))).size).toBeLessThan(JSON.stringify(left).length + 600_000);
});

test("a report that is split over several elements is read as one", async ({ page }) => {
  const whole = JSON.stringify(left);
  const at = [0, 1000, 54_321, whole.length];
  await page.goto(await reportFile(path.join(folder, "parts.html"), [0, 1, 2].map((i) => whole.slice(at[i], at[i + 1]))));
  await expect(listCount(page)).toHaveText("120 items");
});

test("results as JSON Lines are shown as they are, without made-up means", async ({ page }) => {
  const file = path.join(folder, "results.jsonl");
  writeFileSync(file, `${left.results!.map((each) => JSON.stringify(each)).join("\r\n")}\r\n`);
  await page.goto(`${site}report.html`);
  await page.setInputFiles("#picker", file);
  await expect(listCount(page)).toHaveText("120 items");
  await expect(page.locator(".notice")).toContainText("without a report");
  await page.locator(".grid-row").nth(1).click();
  await expect(page.locator("dialog#item .trace .step")).toHaveCount(3);
});

test("a file that is dropped opens; one that is no report says what is wrong and leaves the page as it is", async ({ page }) => {
  await page.goto(`${site}report.html`);
  const drop = async (name: string, content: string): Promise<void> => {
    const transfer = await page.evaluateHandle(([fileName, text]) => {
      const made = new DataTransfer();
      made.items.add(new File([text!], fileName!));
      return made;
    }, [name, content]);
    await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
  };
  await drop("e.json", JSON.stringify(left));
  await expect(page.locator("#report h1")).toHaveText("dense");
  for (const [content, message] of [
    ['{"total_queries": 3, "results": [{"query_id": "a"}, {"query": "no id"}]}', "result 2 has no query_id"],
    ["<html></html>", "Line 1 is not JSON"],
    [JSON.stringify(left).slice(0, 5000), "cut short"],
    ['{"hello": 1}', "neither an evaluation"],
    ["", "neither an evaluation"],
  ] as const) {
    await drop("bad.json", content);
    await expect(page.locator("#problem")).toContainText(message);
    await expect(page.locator("#report h1")).toHaveText("dense");
  }
});

test("a report of another site is not fetched", async ({ page }) => {
  await page.goto(`${site}report.html?src=https://attacker.example/report.json`);
  await expect(page.locator("#problem")).toContainText("Only reports of this site");
});

test("a value that is undefined is —, and a report without its newer fields opens", async ({ page }) => {
  const { metrics: _m, results: _r, confidence: _c, ...old } = left;
  const file = path.join(folder, "old.json");
  writeFileSync(file, JSON.stringify({ ...old, judged_queries: 0, semantic: { answer_correctness_rate: null, groundedness_rate: null, mean_judge_confidence: null } }));
  await page.goto(`${site}report.html`);
  await page.setInputFiles("#picker", file);
  await expect(page.getByRole("row", { name: /^correctness/ })).toContainText("——0");
  await expect(page.locator("#report")).toContainText("written without its results");
  await expect(page.locator(".totals a")).toHaveCount(0);
  expect(await page.locator("#report").innerText()).not.toMatch(/NaN|undefined|null|Infinity/);
});

test("hostile text in every field of a report does nothing but show", async ({ page }) => {
  const attack = `</script><script>globalThis.attacked=true</script><img src=x onerror="globalThis.attacked=true">\u202Egnp.exe\u0007\u0000\u2028 "onmouseover="globalThis.attacked=true`;
  const keep = /^(kind|status|outcome|overall|quality|latency|query_id|node|severity|category|id)$/;
  const poison = (value: unknown, key = ""): unknown => {
    if (typeof value === "string") return key === "url" ? "javascript:globalThis.attacked=true" : keep.test(key) ? value : `${value} ${attack}`;
    if (Array.isArray(value)) return value.map((entry) => poison(entry, key));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, poison(entry, name)]));
    return value;
  };
  const [a, b] = [evaluation(results(20, 1), "a"), evaluation(results(20, 2), "b")];
  for (const [name, report] of [["evaluation", a], ["comparison", comparison(a, b)], ["matrix", matrix([a, b])]] as const) {
    const bad = poison(report) as Record<string, unknown>;
    bad["metrics_by_query_type"] &&= { [attack]: Object.values(bad["metrics_by_query_type"] as object)[0] as unknown };
    for (const result of (bad["results"] as Record<string, unknown>[] | undefined) ?? []) result["query_id"] = `${String(result["query_id"])}${attack}`;
    await page.goto(await reportFile(path.join(folder, `hostile-${name}.html`), [JSON.stringify(bad)], attack));
    await expect(page.locator("#report h1")).toBeVisible();
    await expect(page.locator("#report")).toContainText(name === "matrix" ? "2 pipelines" : "<img src=x");
    await expect(page.locator("#file")).toContainText("<img src=x");
    if (name !== "matrix") {
      await page.locator(".grid-row").first().click();
      await expect(page.locator("dialog#item")).toContainText("<img src=x");
      await page.locator("dialog#item details").evaluateAll((all) => all.forEach((details) => ((details as HTMLDetailsElement).open = true)));
    }
    expect(await page.evaluate(() => "attacked" in globalThis)).toBe(false);
    expect(await page.locator("body img, main script, [onerror], [onmouseover]").count()).toBe(0);
    expect(await page.locator('a[href^="javascript:" i]').count()).toBe(0);
    // A writing direction that a text turns round ends with it.
    expect(await page.evaluate(() => [...document.querySelectorAll("main *, header *, dialog *")].filter((e) => e.tagName !== "BDI" && !e.closest("bdi, [dir=auto], .trace, svg, title, option, #file, .category") && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent?.includes("\u202E"))).map((e) => e.outerHTML.slice(0, 200)))).toEqual([]);
    expect(await page.locator("#report").evaluate((e) => /[\u0000\u0007]/.test(e.textContent ?? ""))).toBe(false);
  }
});

test("no axe finding before a file is open, in evaluation, item, comparison and matrix, in both themes", async ({ page }) => {
  await page.goto(`${site}report.html`);
  await expect(page.locator("#start")).toBeVisible();
  await inspect(page, "report-start");
  for (const name of ["evaluation", "comparison", "matrix"] as const) {
    await openSample(page, name);
    await inspect(page, `report-${name}`, { widths: [1280], height: 900 });
    if (name === "matrix") continue;
    await page.locator(".grid-row").first().click();
    await expect(page.locator("dialog#item .trace").first()).toBeVisible();
    await inspect(page, `report-${name}-item`, { widths: [1280], height: 900 });
  }
});

test("nothing overflows at 360 pixels", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  for (const name of ["evaluation", "comparison", "matrix"] as const) {
    await openSample(page, name);
    await expect(page.locator("svg.plot").first()).toBeVisible();
    expect(await width(page), name).toEqual([360, 360]);
    if (name === "matrix") continue;
    expect(await page.locator(".grid").evaluate((grid) => grid.scrollWidth <= grid.clientWidth), `${name}, list`).toBe(true);
    await page.locator(".grid-row").first().click();
    expect(await page.locator(".item-body").evaluate((body) => body.scrollWidth <= body.clientWidth), `${name}, item`).toBe(true);
  }
});

test("20,000 items are in the list, few in the page, and the last is reached by key and by scrolling", async ({ page }) => {
  const many = results(20_000, 5, { trace: false });
  const file = path.join(folder, "many.json");
  writeFileSync(file, JSON.stringify(evaluation(many, "many")));
  await page.goto(`${site}report.html`);
  await page.setInputFiles("#picker", file);
  await expect(listCount(page)).toHaveText("20,000 items");
  const grid = page.locator(".grid");
  await expect(grid).toHaveAttribute("aria-rowcount", "20001");
  for (const share of [0.25, 0.5, 0.99, 0.1]) {
    await grid.evaluate((e, to) => { e.scrollTop = (e.scrollHeight - e.clientHeight) * to; }, share);
    await expect(page.locator(".grid-row").first()).toBeAttached();
    expect(await page.locator(".grid-row").count()).toBeLessThan(80);
  }
  await grid.focus();
  await page.keyboard.press("End");
  await expect(page.locator(".grid-row.active")).toContainText("item-20000");
  await expect(page.locator(".grid-row.active")).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.locator("#item-title")).toHaveText("item-20000");
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox").fill("item-12345");
  await expect(listCount(page)).toHaveText("1 of 20,000 items");
});

test("on paper every section stands, the rows in the list too, and no control does", async ({ page }) => {
  await openSample(page, "evaluation");
  await expect(page.locator("svg.plot").first()).toBeVisible();
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await expect(page.locator(".grid-row")).toHaveCount(120);
  await expect(page.locator(".filters")).toBeHidden();
  expect((await page.pdf({ format: "A4" })).byteLength).toBeGreaterThan(10_000);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  await page.emulateMedia({ media: "screen" });
  await expect.poll(() => page.locator(".grid-row").count()).toBeLessThan(80);
});
