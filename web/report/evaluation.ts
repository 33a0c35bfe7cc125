// An evaluation: what was measured, over how many items, and which items stand behind each number.

import { h, type Child } from "../ask/dom.ts";
import { plural } from "../ask/words.ts";
import { bars, histogram, ranges, shares } from "./figures.ts";
import { cutOffs } from "./cutoffs.ts";
import { itemsOfMetric } from "./items.ts";
import type { Behind, Params } from "./route.ts";
import { categories, countOf, flag, number, object, objects, pipelineName, queryTypes, readMetrics, retrievalK, severityOf, text, texts, type Item, type Json, type Metric } from "./shapes.ts";
import { breakable, category, data, decimal, isShare, metricInterval, metricValue, ms, none, share, visible, whole } from "./words.ts";

export function evaluationView(report: Json, items: readonly Item[], link: Behind, params: Params): Child[] {
  return [
    title(report),
    totals(report, link),
    h("div", { class: "pair" }, health(report), confidence(report)),
    insights(report),
    metricsSection(report, items, link, params),
    h("div", { class: "pair" }, categoriesSection(report, link), typesSection(report, link)),
    latencySection(report, items, link),
    failures(report, items, link),
  ];
}

/** The head for a file of results alone. */
export function resultsView(head: Json, items: readonly Item[], link: Behind): Child[] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item.category, (counts.get(item.category) ?? 0) + 1);
  return [
    h("h1", null, data(text(head["pipeline_name"]) || "Results"), head["dataset_name"] ? h("span", { class: "quiet" }, " over ", data(text(head["dataset_name"]))) : null),
    h("p", { class: "notice" }, "This file holds results without a report. ", h("code", null, "polygraph diagnose FILE --json"), " makes the report of them: means, health and confidence."),
    h("dl", { class: "totals" },
      total("Results", String(items.length)),
      [...counts].sort((a, b) => b[1] - a[1]).map(([name, n]) => total(name || "no diagnosis", link({ category: name }, whole(n))))),
  ];
}

function title(report: Json): Child[] {
  const golden = object(report["golden"]);
  const judge = object(report["judge"]);
  const version = text(report["dataset_version"]);
  const parts: Child[] = [
    text(golden["source"]) && [" · golden items ", data(text(golden["source"]))],
    text(golden["subset"]) && [" · subset ", data(text(golden["subset"]))],
    text(judge["provider"]) && [" · judge ", data([text(judge["provider"]), text(judge["model"])].filter(Boolean).join(" "))],
    text(report["index_digest"]) && [" · index ", h("code", null, visible(text(report["index_digest"]).slice(0, 16)))],
  ];
  return [
    h("h1", null, data(pipelineName(report))),
    h("p", { class: "about-report quiet" }, "Evaluation over ", data(text(report["dataset_name"]) || "a set without a name"), version && [" ", data(version)], parts),
    flag(report["complete"]) === false && h("p", { class: "notice warn" }, "This run is not complete: not every item of its set has a result."),
    text(judge["provider"]) && flag(judge["calibrated"]) !== true && h("p", { class: "notice" }, "Uncalibrated judge: nobody has yet compared its verdicts with a person's."),
    golden["source"] === "ai_reviewed" && h("p", { class: "notice" }, "The golden items were reviewed by a model, not yet by a person."),
  ];
}

const total = (name: string, value: Child): Child => h("div", null, h("dt", null, breakable(name)), h("dd", { class: "numbers" }, value));

function totals(report: Json, link: Behind): HTMLElement {
  const all = number(report["total_queries"]);
  const passed = countOf(report["diagnosis_counts"], "PASS");
  const row = (name: string, value: number | null, filters: Record<string, string>): Child =>
    total(name, value === null ? none : link(filters, whole(value), `${name}: ${whole(value)} items`));
  return h("dl", { class: "totals" },
    row("Items", all, {}),
    row("Completed", number(report["completed_queries"]), { status: "completed" }),
    row("Failed", number(report["failed_queries"]), { status: "!completed" }),
    row("Judged", number(report["judged_queries"]), { judged: "yes" }),
    row("Judge failures", number(report["judge_failures"]), { judged: "error" }),
    total("Pass", [link({ category: "PASS" }, whole(passed), `Pass: ${whole(passed)} items`), all ? h("span", { class: "quiet" }, ` ${share(passed, all)}`) : null]));
}

const lines = (name: string, all: readonly string[]): Child => all.length > 0 && [h("dt", null, name), h("dd", null, h("ul", null, all.map((line) => h("li", null, data(line)))))];

function health(report: Json): Child {
  const profile = object(report["health_profile"]);
  if (number(profile["score"]) === null) return null;
  const defined = flag(profile["defined"]) !== false;
  const missing = texts(profile["missing"]);
  return h("section", { "aria-label": "Health" },
    h("h2", null, "Health"),
    h("p", { class: "out-of" }, h("strong", { class: "numbers" }, defined ? decimal(number(profile["score"]), 1) : none), h("span", { class: "quiet" }, " of 100 · "), data(text(profile["grade"])), " · ", data(text(profile["status"]))),
    !defined && h("p", { class: "quiet" }, "Neither retrieval nor answers were measured, so there is no score."),
    defined && missing.length > 0 && h("p", { class: "quiet" }, `Without ${missing.map(visible).join(" and ")}, which ${missing.length > 1 ? "were" : "was"} not measured.`),
    h("dl", { class: "reasons" }, lines("Strengths", texts(profile["strengths"])), lines("Weaknesses", texts(profile["weaknesses"])), lines("What to do", texts(profile["recommendations"]))));
}

function confidence(report: Json): Child {
  const profile = object(report["confidence"]);
  if (number(profile["score"]) === null) return null;
  return h("section", { "aria-label": "Confidence" },
    h("h2", null, "Confidence"),
    h("p", { class: "out-of" }, h("strong", { class: "numbers" }, decimal(number(profile["score"]), 1)), h("span", { class: "quiet" }, " of 100 · "), data(text(profile["level"]))),
    h("dl", { class: "reasons" }, lines("Reasons", texts(profile["reasons"]))));
}

function insights(report: Json): Child {
  const all = texts(report["overall_insights"]);
  return all.length > 0 && h("section", null, h("h2", null, "Insights"), h("ul", { class: "insights" }, all.map((line) => h("li", null, data(line)))));
}

/** The metrics of the report; of one that has none beside RAGDiag's fields, those. */
function metricsOf(report: Json): Metric[] {
  const own = readMetrics(report);
  if (own.length > 0) return own;
  const retrieval = object(report["retrieval"]);
  const semantic = object(report["semantic"]);
  const k = retrievalK(report);
  const scored = number(retrieval["scored_queries"]) ?? number(report["completed_queries"]);
  const judged = number(report["judged_queries"]);
  const metric = (name: string, value: unknown, n: number | null): Metric => ({ name, value: n === 0 ? null : number(value), n, low: null, high: null, unscorable: null, judgeError: null, failed: null });
  return [
    metric(`recall@${k}`, retrieval["mean_recall_at_k"], scored), metric(`precision@${k}`, retrieval["mean_precision_at_k"], scored), metric("mrr", retrieval["mrr"], scored),
    metric("correctness", semantic["answer_correctness_rate"], number(semantic["correctness_judged"]) ?? judged),
    metric("groundedness", semantic["groundedness_rate"], number(semantic["groundedness_judged"]) ?? judged),
  ];
}

function metricsSection(report: Json, items: readonly Item[], link: Behind, params: Params): HTMLElement {
  const known = metricsOf(report);
  const ranks = cutOffs(known.map((metric) => metric.name), [report], params);
  const metrics = known.filter((metric) => ranks.shows(metric.name));
  const states = metrics.some((metric) => metric.unscorable !== null || metric.judgeError !== null || metric.failed !== null);
  const drawn = metrics.flatMap((metric) => (isShare(metric.name) && metric.value !== null && metric.value <= 1 ? [{ ...metric, value: metric.value }] : []));
  const counted = (value: number | null, filters: Params | null, what: string): Child => (value === null ? none : filters && value > 0 ? link(filters, whole(value), `${visible(what)}: ${whole(value)} items`) : whole(value));
  const linked = (name: string, label: string, what: string): Child => {
    const filters = itemsOfMetric(name, items);
    return filters ? link(filters, label, what) : label;
  };
  const stateOf = (name: string, state: string, otherwise: Params | null): Params | null => (items.some((item) => name in item.states) ? { state: `${name}|${state}` } : otherwise);
  return h("section", { "aria-labelledby": "metrics-title" },
    h("div", { class: "section-head" }, h("h2", { id: "metrics-title" }, "Metrics"), ranks.choice),
    h("div", { class: "pair table-first" },
      h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Metrics, table" }, h("table", { class: "figures-table" },
        h("thead", null, h("tr", null,
          h("th", { scope: "col" }, "Metric"), number_("Value"), number_("95 % interval"), number_("n"),
          states && [number_("Unscorable"), number_("Judge error"), number_("Failed")])),
        h("tbody", null, metrics.map((metric) => h("tr", null,
          h("th", { scope: "row" }, data(metric.name)),
          cell(metric.value === null ? none : linked(metric.name, metricValue(metric.name, metric.value), `${visible(metric.name)}: ${metricValue(metric.name, metric.value)}, the items behind it`)),
          cell(metricInterval(metric.name, metric.low, metric.high)),
          cell(counted(metric.n, itemsOfMetric(metric.name, items), metric.name)),
          states && [cell(counted(metric.unscorable, stateOf(metric.name, "unscorable", unscorable(metric.name)), `${metric.name}, unscorable`)), cell(counted(metric.judgeError, stateOf(metric.name, "judge_error", { judged: "error" }), `${metric.name}, judge error`)), cell(counted(metric.failed, stateOf(metric.name, "failed", { status: "!completed" }), `${metric.name}, failed`))]))))),
      drawn.length > 0 && ranges("Metrics from 0 to 1 with their 95 % intervals",
        `Dots with intervals: ${drawn.map((metric) => `${visible(metric.name)} ${decimal(metric.value)}`).join(", ")}. The table beside has all figures.`, drawn)));
}

/** A refused run has nothing to score for these. */
const unscorable = (name: string): Record<string, string> | null => (/^(faithfulness|answer_relevancy|correctness|citation)/.test(name) ? { declined: "1" } : null);

const number_ = (name: string): Child => h("th", { scope: "col", class: "number" }, name);
const cell = (value: Child): HTMLElement => h("td", { class: "number" }, value);

function categoriesSection(report: Json, link: Behind): HTMLElement {
  const all = number(report["total_queries"]) ?? 0;
  const counts = report["diagnosis_counts"];
  const rows = categories.map((name) => ({ name, severity: severityOf(name), value: countOf(counts, name) }));
  const found = rows.filter((row) => row.value > 0);
  return h("section", { "aria-labelledby": "categories-title" },
    h("h2", { id: "categories-title" }, "Categories"),
    found.length > 0 && bars("Items by category", `Bars: ${found.map((row) => `${row.name} ${row.value}`).join(", ")}.`, found),
    h("table", { class: "figures-table" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Category"), number_("Items"), number_("Share"))),
      h("tbody", null, rows.map((row) => h("tr", { class: row.value === 0 ? "zero" : null },
        h("th", { scope: "row" }, category(row.name)), cell(row.value > 0 ? link({ category: row.name }, whole(row.value), `${row.name}: ${row.value} items`) : "0"), cell(share(row.value, all)))))));
}

function typesSection(report: Json, link: Behind): Child {
  const types = queryTypes(report);
  if (types.length === 0) return null;
  const rows = types.map((type) => ({ type, of: object(object(report["metrics_by_query_type"])[type]) }));
  const failing = (of: Json, severity: string): number => categories.filter((name) => name !== "PASS" && severityOf(name) === severity).reduce((sum, name) => sum + countOf(of["diagnosis_counts"], name), 0);
  const parts = rows.flatMap(({ type, of }) => (["major", "warning", "info"] as const).map((severity) => ({
    row: type, severity, value: severity === "info" ? countOf(of["diagnosis_counts"], "PASS") : failing(of, severity),
  })));
  const scored = (of: Json, value: unknown): string => (number(of["scored_queries"]) === 0 ? none : decimal(number(value)));
  return h("section", { "aria-labelledby": "types-title" },
    h("h2", { id: "types-title" }, "Query types"),
    shares("Share of each type by severity",
      `Stacked bars: ${rows.map(({ type, of }) => `${visible(type)}: ${failing(of, "major")} major, ${failing(of, "warning")} warnings, ${countOf(of["diagnosis_counts"], "PASS")} passed`).join("; ")}.`, parts),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Query types, table" }, h("table", { class: "figures-table" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Type"), number_("Items"), number_("Recall"), number_("Precision"), number_("MRR"), number_("Correct"), number_("Grounded"), number_("Pass"))),
      h("tbody", null, rows.map(({ type, of }) => h("tr", null,
        h("th", { scope: "row" }, data(type)),
        cell(link({ type }, whole(number(of["total_queries"])), `${visible(type)}: ${whole(number(of["total_queries"]))} items`)),
        cell(scored(of, of["mean_recall_at_k"])), cell(scored(of, of["mean_precision_at_k"])), cell(scored(of, of["mrr"])),
        cell(decimal(number(of["answer_correctness_rate"]))), cell(decimal(number(of["groundedness_rate"]))),
        cell(link({ type, category: "PASS" }, whole(countOf(of["diagnosis_counts"], "PASS"))))))))));
}

function latencySection(report: Json, items: readonly Item[], link: Behind): Child {
  const retrieval = object(report["latency"]);
  const generation = object(report["generation_latency"]);
  const measured = number(retrieval["count"]) ?? 0;
  if (measured === 0) return h("section", null, h("h2", null, "Latency"), h("p", { class: "quiet" }, "The retrieval's time was not measured."));
  const values = items.flatMap((item) => (item.status === "completed" && item.retrievalMs !== null && item.retrievalMs >= 0 ? [item.retrievalMs] : []));
  const percentiles = (["p50", "p95", "p99"] as const).flatMap((name) => {
    const value = number(retrieval[`${name}_ms`]);
    return value === null ? [] : [{ name, value }];
  });
  const slower = (value: number | null): Child => (value === null ? none : link({ slower: String(value) }, ms(value), `${ms(value)}: the items that took this or longer`));
  const row = (name: string, of: Json, linked: boolean): Child => h("tr", null,
    h("th", { scope: "row" }, name), cell(linked ? link({ timed: "1" }, whole(number(of["count"]))) : whole(number(of["count"]))), cell(ms(number(of["mean_ms"]))),
    ["p50_ms", "p95_ms", "p99_ms"].map((key) => cell(linked ? slower(number(of[key])) : ms(number(of[key])))), cell(ms(number(of["min_ms"]))), cell(ms(number(of["max_ms"]))));
  return h("section", { "aria-labelledby": "latency-title" },
    h("h2", { id: "latency-title" }, "Latency"),
    values.length > 1 && histogram("Retrieval time of the completed items",
      `A histogram of ${plural(values.length, "item")}: ${percentiles.map(({ name, value }) => `${name} ${ms(value)}`).join(", ")}, slowest ${ms(number(retrieval["max_ms"]))}.`, values, percentiles),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Latency, table" }, h("table", { class: "figures-table" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Step"), number_("n"), number_("Mean"), number_("p50"), number_("p95"), number_("p99"), number_("Least"), number_("Most"))),
      h("tbody", null, row("Retrieval", retrieval, true), number(generation["count"]) ? row("Generation", generation, false) : null))));
}

function failures(report: Json, items: readonly Item[], link: Behind): Child {
  const all = objects(report["top_failures"]);
  if (all.length === 0) return null;
  const known = new Set(items.map((item) => item.id));
  return h("section", { "aria-labelledby": "failures-title" },
    h("h2", { id: "failures-title" }, "Top failures"),
    h("ol", { class: "failures" }, all.map((failure) => {
      const id = text(failure["query_id"]);
      return h("li", null,
        h("p", { class: "failure-head" }, category(text(failure["category"]), text(failure["severity"]) || undefined), " ", known.has(id) ? link({ item: id, list: "" }, data(id)) : data(id), h("span", { class: "failure-query" }, data(text(failure["query"])))),
        h("p", null, data(text(failure["reason"]))),
        texts(failure["evidence"]).length > 0 && h("p", { class: "quiet" }, texts(failure["evidence"]).map((line, i) => [i > 0 && " · ", data(line)])),
        text(failure["action"]) && h("p", null, data(text(failure["action"]))));
    })));
}

