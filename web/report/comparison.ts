// Two pipelines over the same items: what changed, whether the tests say that it did, and which items it changed for.

import { h, type Child } from "../ask/dom.ts";
import { plural } from "../ask/words.ts";
import { cutOffs } from "./cutoffs.ts";
import { ranges } from "./figures.ts";
import type { Column } from "./grid.ts";
import { ListSection, type Filter } from "./list-section.ts";
import type { Behind, Params } from "./route.ts";
import { categories, countOf, entries, flag, number, object, objects, readTests, retrievalK, text, texts, type Json } from "./shapes.ts";
import { category, data, decimal, interval, isShare, metricValue, ms, none, pValue, signed, signedMs, visible, whole, yesNo } from "./words.ts";

export interface Outcome {
  id: string;
  query: string;
  outcome: string;
  from: string;
  to: string;
  recallA: number | null;
  recallB: number | null;
  groundedA: boolean | null;
  groundedB: boolean | null;
  correctA: boolean | null;
  correctB: boolean | null;
}

export function readOutcomes(comparison: Json, queries: ReadonlyMap<string, string>): Outcome[] {
  return objects(comparison["query_outcomes"]).map((each) => ({
    id: text(each["query_id"]), query: queries.get(text(each["query_id"])) ?? "", outcome: text(each["outcome"]),
    from: text(each["diagnosis_a"]), to: text(each["diagnosis_b"]), recallA: number(each["recall_a"]), recallB: number(each["recall_b"]),
    groundedA: flag(each["grounded_a"]), groundedB: flag(each["grounded_b"]), correctA: flag(each["answer_correct_a"]), correctB: flag(each["answer_correct_b"]),
  }));
}

const warnings: Record<string, string> = {
  items_differ: "The two sides have different items: everything here, both reports included, is over the items that both have.",
  no_query_results: "A side has no results of its own, so there are no outcomes of single items.",
  completion_differs: "The two sides completed different shares of their items.",
  datasets_differ: "The two sides name different golden sets.",
  latency_unmeasured: "A side has no measured latency.",
};

export function comparisonView(comparison: Json, outcomes: readonly Outcome[], link: Behind, evaluations: Child, params: Params): Child[] {
  const [a, b] = [text(comparison["pipeline_a_name"]) || "Pipeline A", text(comparison["pipeline_b_name"]) || "Pipeline B"];
  return [
    h("h1", null, data(b), h("span", { class: "quiet" }, " against "), data(a)),
    h("p", { class: "about-report quiet" }, "Comparison over ", data(text(comparison["dataset_name"]) || "a set without a name"), text(comparison["dataset_version"]) && [" ", data(text(comparison["dataset_version"]))], ". A is ", data(a), ", B is ", data(b), "; differences are B − A.", evaluations),
    texts(comparison["warnings"]).map((code) => h("p", { class: "notice warn" }, warnings[code] ?? data(code))),
    verdict(comparison, a, b, link),
    deltas(comparison, params),
    outcomes.length > 0 && transitions(outcomes, link),
    h("div", { class: "pair" }, categoryDeltas(comparison, link, outcomes.length > 0), typeDeltas(comparison)),
    regression(comparison, outcomes, link),
    onlyIn(comparison, a, b),
  ];
}

function winner(comparison: Json, what: "quality" | "latency" | "overall", a: string, b: string): Child {
  const side = text(object(comparison["winner_side"])[what]);
  const name = text(comparison[`${what}_winner`]);
  if (side === "TIE" || (!side && name === "TIE")) return "tie";
  return data(side === "A" ? a : side === "B" ? b : name);
}

function verdict(comparison: Json, a: string, b: string, link: Behind): HTMLElement {
  const regressed = flag(object(comparison["regression_analysis"])["overall_regression"]);
  const row = (name: string, value: Child): Child => h("div", null, h("dt", null, name), h("dd", { class: "numbers" }, value));
  const outcome = (name: string, key: string): Child => row(name, link({ outcome: name.toLowerCase() }, whole(number(comparison[key])), `${name}: ${whole(number(comparison[key]))} items`));
  return h("section", { "aria-label": "Verdict" },
    text(comparison["summary"]) && h("p", { class: "lead" }, data(text(comparison["summary"]))),
    h("dl", { class: "totals" },
      row("Better overall", winner(comparison, "overall", a, b)), row("Quality", winner(comparison, "quality", a, b)), row("Latency", winner(comparison, "latency", a, b)),
      row("Regression", regressed === null ? none : regressed ? h("strong", { class: "bad" }, "yes") : "no"),
      outcome("Improved", "queries_improved"), outcome("Regressed", "queries_regressed"), outcome("Unchanged", "queries_unchanged")));
}

interface DeltaRow {
  name: string;
  a: number | null;
  b: number | null;
  delta: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  pHolm: number | null;
  n: number | null;
}

/** The deltas of the report first, each with its test where there is one; then what else was tested. */
function deltaRows(comparison: Json): { own: DeltaRow[]; further: DeltaRow[] } {
  const reports = [object(comparison["pipeline_a_report"]), object(comparison["pipeline_b_report"])] as const;
  const k = retrievalK(reports[0]);
  const tests = new Map(readTests(comparison).map((test) => [test.name, test]));
  const values = (part: string, key: string): [number | null, number | null] => [number(object(reports[0][part])[key]), number(object(reports[1][part])[key])];
  const held = object(comparison["metric_deltas"]);
  const own: [name: string, tested: string[], key: string, values: [number | null, number | null]][] = [
    [`recall@${k}`, [`recall@${k}`, "recall_at_k"], "recall_at_k", values("retrieval", "mean_recall_at_k")],
    [`precision@${k}`, [`precision@${k}`, "precision_at_k"], "precision_at_k", values("retrieval", "mean_precision_at_k")],
    ["mrr", ["mrr"], "mrr", values("retrieval", "mrr")],
    ["correctness", ["correctness", "answer_correctness"], "answer_correctness", values("semantic", "answer_correctness_rate")],
    ["groundedness", ["groundedness"], "groundedness", values("semantic", "groundedness_rate")],
    ["mean_retrieval_ms", ["mean_retrieval_ms"], "mean_retrieval_ms", values("latency", "mean_ms")],
    ["p95_retrieval_ms", ["p95_retrieval_ms"], "p95_retrieval_ms", values("latency", "p95_ms")],
  ];
  const rows = own.map(([name, tested, key, [a, b]]): DeltaRow => {
    const test = tested.map((each) => tests.get(each)).find(Boolean);
    tested.forEach((each) => tests.delete(each));
    return { name, a, b, delta: number(held[key]), low: test?.low ?? null, high: test?.high ?? null, p: test?.p ?? null, pHolm: test?.pHolm ?? null, n: test?.n ?? null };
  });
  const metric = (report: Json, name: string): number | null => number(object(object(report["metrics"])[name])["value"]);
  return { own: rows, further: [...tests.values()].map((test): DeltaRow => ({ ...test, a: metric(reports[0], test.name), b: metric(reports[1], test.name) })) };
}

const headNumber = (name: string, title?: string): Child => h("th", { scope: "col", class: "number", title }, name);
const cell = (value: Child, kind?: string | null): HTMLElement => h("td", { class: kind ? `number ${kind}` : "number" }, value);

function deltas(comparison: Json, params: Params): HTMLElement {
  const { own, further } = deltaRows(comparison);
  const ranks = cutOffs(further.map((row) => row.name), [object(comparison["pipeline_a_report"]), object(comparison["pipeline_b_report"])], params);
  const rows = [...own, ...further.filter((row) => ranks.shows(row.name))];
  const change = (name: string, value: number | null): string => (name.endsWith("_ms") ? signedMs(value) : signed(value, isShare(name) ? 3 : 2));
  const drawn = rows.flatMap((row) => (isShare(row.name) && row.delta !== null ? [{ name: row.name, value: row.delta, low: row.low, high: row.high }] : []));
  return h("section", { "aria-labelledby": "deltas-title" },
    h("div", { class: "section-head" }, h("h2", { id: "deltas-title" }, "Differences"), ranks.choice),
    h("div", { class: "pair table-first" },
      h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Differences, table" }, h("table", { class: "figures-table" },
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Metric"), headNumber("A"), headNumber("B"), headNumber("B − A"), headNumber("95 % interval"), headNumber("p"), headNumber("p (Holm)", "corrected over all metrics"), headNumber("n"))),
        h("tbody", null, rows.map((row) => h("tr", null,
          h("th", { scope: "row" }, data(row.name)), cell(metricValue(row.name, row.a)), cell(metricValue(row.name, row.b)), cell(change(row.name, row.delta), row.pHolm !== null && row.pHolm < 0.05 ? "sure" : null),
          cell(interval(row.low, row.high, isShare(row.name) ? 3 : 1)), cell(pValue(row.p)), cell(pValue(row.pHolm)), cell(whole(row.n))))),
        h("caption", { class: "note" }, h("span", null, "Bold where the corrected paired test finds a difference (p < 0.05).")))),
      drawn.length > 0 && ranges("Differences with their 95 % intervals", `Dots round a zero line: ${drawn.map((row) => `${visible(row.name)} ${signed(row.value)}`).join(", ")}. The table beside has all figures.`, drawn, true)));
}

function transitions(outcomes: readonly Outcome[], link: Behind): HTMLElement {
  const counts = new Map<string, number>();
  for (const { from, to } of outcomes) counts.set(`${from}\n${to}`, (counts.get(`${from}\n${to}`) ?? 0) + 1);
  const present = (side: "from" | "to"): string[] => {
    const found = new Set(outcomes.map((outcome) => outcome[side]));
    return [...categories.filter((name) => found.delete(name)), ...[...found].sort()];
  };
  const [from, to] = [present("from"), present("to")];
  const most = Math.max(1, ...[...counts].filter(([key]) => key.split("\n")[0] !== key.split("\n")[1]).map(([, n]) => n));
  const level = (n: number): number => (n === 0 ? 0 : Math.max(1, Math.ceil((4 * n) / most)));
  return h("section", { "aria-labelledby": "transitions-title" },
    h("h2", { id: "transitions-title" }, "What moved"),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "What moved from which category to which" }, h("table", { class: "transitions" },
      h("caption", { class: "note" }, h("span", null, "Items by category: rows as A has them, columns as B has them.")),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "A \\ B"), to.map((name) => h("th", { scope: "col" }, category(name))))),
      h("tbody", null, from.map((row) => h("tr", null,
        h("th", { scope: "row" }, category(row)),
        to.map((column) => {
          const n = counts.get(`${row}\n${column}`) ?? 0;
          const same = row === column;
          return h("td", { class: `number ${same ? "same" : `level-${level(n)}`}` }, n > 0 ? link({ from: row, to: column }, whole(n), `${whole(n)} items from ${visible(row)} to ${visible(column)}`) : h("span", { class: "quiet" }, "·"));
        })))))));
}

function categoryDeltas(comparison: Json, link: Behind, linked: boolean): HTMLElement {
  const [a, b] = [object(comparison["pipeline_a_report"])["diagnosis_counts"], object(comparison["pipeline_b_report"])["diagnosis_counts"]];
  const count = (value: number, filters: Record<string, string>): Child => (linked && value > 0 ? link(filters, whole(value)) : whole(value));
  return h("section", { "aria-labelledby": "category-deltas-title" },
    h("h2", { id: "category-deltas-title" }, "Categories"),
    h("table", { class: "figures-table" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Category"), headNumber("A"), headNumber("B"), headNumber("B − A"))),
      h("tbody", null, categories.map((name) => {
        const [inA, inB] = [countOf(a, name), countOf(b, name)];
        return h("tr", { class: inA + inB === 0 ? "zero" : null },
          h("th", { scope: "row" }, category(name)), cell(count(inA, { from: name })), cell(count(inB, { to: name })), cell(signed(number(object(comparison["diagnosis_deltas"])[name]) ?? inB - inA, 0)));
      }))));
}

function typeDeltas(comparison: Json): Child {
  const rows = entries(comparison["query_type_deltas"]);
  if (rows.length === 0) return null;
  return h("section", { "aria-labelledby": "type-deltas-title" },
    h("h2", { id: "type-deltas-title" }, "Query types"),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Differences by query type" }, h("table", { class: "figures-table" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Type"), headNumber("Recall"), headNumber("MRR"), headNumber("Correct"), headNumber("Grounded"), headNumber("Failures"))),
      h("tbody", null, rows.map(([type, value]) => {
        const of = object(value);
        return h("tr", null, h("th", { scope: "row" }, data(type)), ["recall_at_k", "mrr", "answer_correctness", "groundedness"].map((key) => cell(signed(number(of[key])))), cell(signed(number(of["total_failure_delta"]), 0)));
      })))));
}

function regression(comparison: Json, outcomes: readonly Outcome[], link: Behind): Child {
  const analysis = object(comparison["regression_analysis"]);
  if (Object.keys(analysis).length === 0) return null;
  const metrics = objects(analysis["metric_regressions"]);
  const moved = objects(analysis["diagnosis_regressions"]);
  const queries = objects(analysis["regressed_queries"]);
  const known = new Set(outcomes.map((outcome) => outcome.id));
  const shown = 20;
  const metric = (value: unknown, unit: string): string => (unit === "ms" ? ms(number(value)) : decimal(number(value)));
  return h("section", { "aria-labelledby": "regression-title" },
    h("h2", { id: "regression-title" }, "Regression"),
    text(analysis["summary"]) && h("p", null, data(text(analysis["summary"]))),
    h("div", { class: "pair" },
      metrics.length > 0 && h("div", null, h("h3", null, "Metrics that fell"),
        h("table", { class: "figures-table" },
          h("thead", null, h("tr", null, h("th", { scope: "col" }, "Metric"), headNumber("A"), headNumber("B"), headNumber("B − A"), headNumber("Tolerance"))),
          h("tbody", null, metrics.map((each) => {
            const unit = text(each["unit"]);
            return h("tr", null, h("th", { scope: "row" }, data(text(each["metric_name"]))), cell(metric(each["baseline_value"], unit)), cell(metric(each["current_value"], unit)),
              cell(unit === "ms" ? signedMs(number(each["delta"])) : signed(number(each["delta"]))), cell(metric(each["threshold"], unit)));
          })))),
      moved.length > 0 && h("div", null, h("h3", null, "Categories that got worse"),
        h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Categories that got worse" }, h("table", { class: "figures-table" },
          h("thead", null, h("tr", null, h("th", { scope: "col" }, "From"), h("th", { scope: "col" }, "To"), headNumber("Items"))),
          h("tbody", null, moved.map((each) => h("tr", null, h("td", null, category(text(each["from_category"]))), h("td", null, category(text(each["to_category"]))),
            cell(outcomes.length > 0 ? link({ from: text(each["from_category"]), to: text(each["to_category"]) }, whole(number(each["count"]))) : whole(number(each["count"])))))))))),
    queries.length > 0 && [h("h3", null, `Items that got meaningfully worse: ${whole(number(analysis["regressed_query_count"]) ?? queries.length)}`),
      h("ul", { class: "regressed" }, queries.slice(0, shown).map((each) => {
        const id = text(each["query_id"]);
        return h("li", null, known.has(id) ? link({ item: id, list: "" }, data(id)) : data(id), " ", category(text(each["baseline_diagnosis"])), h("span", { class: "quiet" }, " → "), category(text(each["current_diagnosis"])), text(each["reason"]) && h("span", { class: "quiet" }, " · ", data(text(each["reason"]))));
      })),
      queries.length > shown && h("p", null, link({ outcome: "regressed" }, `All of the ${plural(queries.length, "item")} stand in the list below`))]);
}

function onlyIn(comparison: Json, a: string, b: string): Child {
  const side = (name: string, ids: string[]): Child => ids.length > 0 && h("details", null, h("summary", null, `${plural(ids.length, "item")} only in `, data(name)), h("p", { class: "ids" }, ids.slice(0, 2000).map((id, i) => [i > 0 && ", ", data(id)]), ids.length > 2000 && ` and ${whole(ids.length - 2000)} more`));
  const [inA, inB] = [texts(comparison["only_in_a"]), texts(comparison["only_in_b"])];
  return inA.length + inB.length > 0 && h("section", null, h("h2", null, "Left out"), side(a, inA), side(b, inB));
}

const both = (a: boolean | null, b: boolean | null): Child => (a === b ? yesNo(a) : h("span", { class: "changed" }, `${yesNo(a)} → ${yesNo(b)}`));

export function outcomesSection(outcomes: readonly Outcome[], open: (outcome: Outcome) => void): ListSection<Outcome> {
  const order: Record<string, number> = { regressed: 0, improved: 1, unchanged: 2 };
  const mark: Record<string, string> = { improved: "↑ improved", regressed: "↓ regressed", unchanged: "unchanged" };
  const columns: Column<Outcome>[] = [
    { key: "id", name: "Id", width: "minmax(4.5rem, 1fr)", cell: (row) => data(row.id), value: (row) => row.id },
    { key: "query", name: "Question", width: "minmax(8rem, 2fr)", from: 900, cell: (row) => data(row.query), value: (row) => row.query.toLowerCase(), absent: outcomes.every((row) => !row.query) },
    { key: "outcome", name: "Outcome", width: "6rem", cell: (row) => h("span", { class: `outcome ${row.outcome in order ? row.outcome : ""}` }, mark[row.outcome] ?? data(row.outcome)), value: (row) => order[row.outcome] ?? 3 },
    { key: "from", name: "A", width: "minmax(8rem, 1.9fr)", from: 700, cell: (row) => category(row.from), value: (row) => row.from },
    { key: "to", name: "B", width: "minmax(6.5rem, 1.9fr)", cell: (row) => category(row.to), value: (row) => row.to },
    { key: "recall", name: "Δ Recall", width: "5rem", numeric: true, from: 480, cell: (row) => signed(delta(row)), value: delta },
    { key: "grounded", name: "Grounded", width: "6rem", from: 800, cell: (row) => both(row.groundedA, row.groundedB), absent: outcomes.every((row) => row.groundedA === null && row.groundedB === null) },
    { key: "correct", name: "Correct", width: "6rem", from: 800, cell: (row) => both(row.correctA, row.correctB), absent: outcomes.every((row) => row.correctA === null && row.correctB === null) },
  ];
  const filters: Filter<Outcome>[] = [
    { key: "outcome", name: "Outcome", value: (row) => row.outcome },
    { key: "from", name: "In A", value: (row) => row.from },
    { key: "to", name: "In B", value: (row) => row.to },
  ];
  return new ListSection<Outcome>({ title: "Items", unit: ["item", "items"], rows: outcomes, columns, filters, text: (row) => `${row.id}\n${row.query}`, open });
}

const delta = (row: Outcome): number | null => (row.recallA === null || row.recallB === null ? null : Math.round((row.recallB - row.recallA) * 1e9) / 1e9);
