import assert from "node:assert/strict";
import { test } from "node:test";
import { open, readWhole, type Opened } from "../../../web/report/open.ts";
import { readItem } from "../../../web/report/shapes.ts";
import { decimal, metricValue, signed, visible } from "../../../web/report/words.ts";
import { comparison, evaluation, matrix, results } from "./sample.ts";

const read = (value: unknown): Promise<Opened> => open(new Blob([typeof value === "string" ? value : JSON.stringify(value, null, 2)]), "f", () => {});
const [a, b] = [evaluation(results(12, 1), "a"), evaluation(results(12, 2), "b")];

test("each kind of file is told by its content, and its results stand where they belong", async () => {
  const kinds: [unknown, string, Record<string, number>][] = [
    [a, "evaluation", { "": 12 }],
    [{ total_queries: 12, passed_queries: 1, report: a }, "evaluation", { "": 12 }],
    [comparison(a, b), "comparison", { pipeline_a_report: 12, pipeline_b_report: 12 }],
    [matrix([a, b]), "matrix", { "reports.0": 12, "reports.1": 12 }],
    [a.results, "results", { "": 12 }],
    [{ dataset_name: "d", dataset_version: "1", pipeline_name: "p", k: 3, results: a.results }, "results", { "": 12 }],
    [[{ ...a, results: [] }, ...a.results!].map((line) => JSON.stringify(line)).join("\n"), "evaluation", { "": 12 }],
  ];
  for (const [file, kind, counts] of kinds) {
    const opened = await read(file);
    assert.equal(opened.kind, kind);
    assert.deepEqual(Object.fromEntries([...opened.items].map(([key, items]) => [key, items.length])), counts, kind);
    if (kind === "evaluation") assert.equal(opened.head["pipeline_name"], "a");
  }
});

test("an item's whole record is read again from its place in the file", async () => {
  const opened = await read(a);
  for (const item of opened.items.get("")!) assert.deepEqual(await readWhole(opened.file, item), JSON.parse(JSON.stringify(a.results![item.n])));
});

test("values of a wrong type are taken as missing, and a judge's verdict counts only without a judge error", () => {
  const item = readItem({ query_id: "q", query: 3, status: null, metrics: { recall_at_5: "1", reciprocal_rank: 0.5, answer_correct: "yes", grounded: true, __proto__: { x: 1 } }, latency: [], diagnosis: "PASS" }, 0, 0, 0)!;
  assert.deepEqual([item.query, item.status, item.correct, item.grounded, item.category, item.retrievalMs, { ...item.metrics }], ["", "completed", null, true, "", null, { reciprocal_rank: 0.5 }]);
  assert.equal(readItem({ query_id: "q", judge_error: "cut", metrics: { grounded: true } }, 0, 0, 0)!.grounded, null);
  assert.equal(readItem({ query_id: "q", status: "failed", metrics: { grounded: true } }, 0, 0, 0)!.grounded, null);
});

test("what is undefined reads —, and nothing that rounds to zero has a sign", () => {
  assert.deepEqual([decimal(null), decimal(-0.0001), signed(0.00004), signed(-0.02), signed(0.02), metricValue("latency_p95_ms", null), metricValue("cost_mean_usd", 0.00012)], ["—", "0.000", "0.000", "\u22120.020", "+0.020", "—", "0.0001 USD"]);
});

test("control characters show as pictures, line breaks and tabs stay", () => {
  assert.equal(visible("a\u0000b\u0007c\u007fd\n\te"), "a\u2400b\u2407c\u2421d\n\te");
});
