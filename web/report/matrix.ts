// Any number of pipelines over the same items: who ranks where, every pair, and what quality costs in time and money.
//
// The file, a JSON object:
//
//   kind "matrix", schema 1, dataset_name str, dataset_version str,
//   names [str]           the pipelines, in the order of `reports`
//   reports [EvaluationReport]   with `results` or without
//   pairs [ {a int, b int, and the fields of a ComparisonReport without the two reports} ]
//                         a and b are places in `names`; a pair stands once, with a < b, its differences being b − a
//   ranking [ {pipeline int, rank int, wins int, losses int, ties int} ]   best first; equal rank: tied
//   points [ {pipeline int, quality num?, latency_ms num?, cost_usd num?, latency_front bool, cost_front bool} ]
//   quality_metric str    what `quality` is, e.g. "recall@5"
//
// The engine works all of it out (wasm/report, write_matrix): pipelines rank by the overall winners of their pairs; on a front is what no
// other equals or beats on both measures while being better on one.

import { h, type Child } from "../ask/dom.ts";
import { cutOffs } from "./cutoffs.ts";
import { pareto } from "./figures.ts";
import { itemsOfMetric } from "./items.ts";
import { address, behind, type Behind, type Params } from "./route.ts";
import { countOf, number, object, objects, pipelineName, readTests, retrievalK, text, type Item, type Json } from "./shapes.ts";
import { breakable, data, decimal, metricValue, ms, msUpTo, none, pValue, share, signed, visible, whole } from "./words.ts";

export interface Pair {
  a: number;
  b: number;
  /** The pair as a ComparisonReport, both reports filled in. */
  comparison: Json;
}

export interface Standing {
  pipeline: number;
  rank: number;
  wins: number;
  losses: number;
  ties: number;
}

export interface Place {
  pipeline: number;
  quality: number | null;
  latencyMs: number | null;
  costUsd: number | null;
  latencyFront: boolean;
  costFront: boolean;
}

export interface Matrix {
  names: string[];
  reports: Json[];
  pairs: Pair[];
  ranking: Standing[];
  points: Place[];
  qualityMetric: string;
}

export function readMatrix(head: Json): Matrix {
  const reports = objects(head["reports"]);
  const given = Array.isArray(head["names"]) ? head["names"] : [];
  const names = reports.map((report, i) => text(given[i]) || pipelineName(report));
  const index = (value: unknown): number => (Number.isInteger(value) && (value as number) >= 0 && (value as number) < reports.length ? (value as number) : -1);
  const pairs = objects(head["pairs"]).flatMap((pair) => {
    const [a, b] = [index(pair["a"]), index(pair["b"])];
    if (a < 0 || b < 0 || a === b) return [];
    return [{ a, b, comparison: {
      dataset_name: head["dataset_name"], dataset_version: head["dataset_version"], pipeline_a_name: names[a], pipeline_b_name: names[b], ...pair,
      pipeline_a_report: reports[a], pipeline_b_report: reports[b],
    } }];
  });
  const ranking = objects(head["ranking"]).flatMap((each) => {
    const pipeline = index(each["pipeline"]);
    const count = (key: string): number => number(each[key]) ?? 0;
    return pipeline < 0 ? [] : [{ pipeline, rank: count("rank"), wins: count("wins"), losses: count("losses"), ties: count("ties") }];
  });
  const points = objects(head["points"]).flatMap((each) => {
    const pipeline = index(each["pipeline"]);
    return pipeline < 0 ? [] : [{
      pipeline, quality: number(each["quality"]), latencyMs: number(each["latency_ms"]), costUsd: number(each["cost_usd"]),
      latencyFront: each["latency_front"] === true, costFront: each["cost_front"] === true,
    }];
  });
  return {
    names, reports, pairs,
    ranking,
    points,
    qualityMetric: text(head["quality_metric"]) || `recall@${retrievalK(reports[0] ?? {})}`,
  };
}

/** @param itemsOf the items of a report, by its place */
export function matrixView(head: Json, matrix: Matrix, itemsOf: (report: number) => readonly Item[], params: Params): Child[] {
  const behindOf = (report: number): Behind => behind({ report: String(report), k: params["k"] ?? "" }, itemsOf(report).length > 0);
  return [
    h("h1", null, `${matrix.names.length} pipelines`),
    h("p", { class: "about-report quiet" }, "Matrix over ", data(text(head["dataset_name"]) || "a set without a name"), text(head["dataset_version"]) && [" ", data(text(head["dataset_version"]))]),
    ranking(matrix, behindOf),
    fronts(matrix),
    metrics(matrix, itemsOf, behindOf, params),
    allPairs(matrix),
  ];
}

const headNumber = (name: Child): Child => h("th", { scope: "col", class: "number" }, name);
const cell = (value: Child, kind = ""): HTMLElement => h("td", { class: `number ${kind}` }, value);
const link = (matrix: Matrix, pipeline: number): Child => h("a", { href: address({ report: String(pipeline) }) }, data(matrix.names[pipeline] ?? ""));

function ranking(matrix: Matrix, behindOf: (report: number) => Behind): HTMLElement {
  return h("section", { "aria-labelledby": "ranking-title" },
    h("h2", { id: "ranking-title" }, "Ranking"),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Ranking, table" }, h("table", { class: "figures-table" },
      h("thead", null, h("tr", null, headNumber("Rank"), h("th", { scope: "col" }, "Pipeline"), headNumber("Wins"), headNumber("Ties"), headNumber("Losses"), headNumber(data(matrix.qualityMetric)), headNumber("Mean retrieval"), headNumber("Cost per item"), headNumber("Health"), headNumber("Pass"))),
      h("tbody", null, matrix.ranking.map((each) => {
        const at = matrix.points.find((point) => point.pipeline === each.pipeline);
        const report = matrix.reports[each.pipeline] ?? {};
        const behind = behindOf(each.pipeline);
        const name = visible(matrix.names[each.pipeline] ?? "");
        const passed = share(countOf(report["diagnosis_counts"], "PASS"), number(report["total_queries"]) ?? 0);
        return h("tr", null,
          cell(String(each.rank)), h("th", { scope: "row" }, link(matrix, each.pipeline)), cell(String(each.wins)), cell(String(each.ties)), cell(String(each.losses)),
          cell(decimal(at?.quality ?? null)), cell(at?.latencyMs == null ? none : behind({ timed: "1" }, ms(at.latencyMs), `Mean retrieval of ${name}: ${ms(at.latencyMs)}, the items behind it`)), cell(at?.costUsd == null ? none : metricValue("cost_mean_usd", at.costUsd)),
          cell(decimal(number(object(report["health_profile"])["score"]), 1)), cell(behind({ category: "PASS" }, passed, `Pass of ${name}: ${passed}, the items behind it`)));
      })),
      h("caption", { class: "note" }, h("span", null, "Each pipeline against every other: the overall winner of each pair counts.")))));
}

function fronts(matrix: Matrix): HTMLElement {
  const of = (cost: "latencyMs" | "costUsd", front: "latencyFront" | "costFront") => matrix.points.flatMap((point) => {
    const [x, y] = [point[cost], point.quality];
    return x === null || y === null ? [] : [{ name: matrix.names[point.pipeline] ?? "", x, y, front: point[front] }];
  });
  const plot = (caption: string, points: ReturnType<typeof of>, name: string, format: (value: number) => string, onAxis: (most: number) => (value: number) => string = () => format): Child => {
    if (points.length === 0) return h("p", { class: "quiet" }, `${caption}: not measured.`);
    if (points.every((point) => point.x === 0)) return h("p", { class: "quiet" }, `${caption}: none of them cost anything.`);
    const best = points.filter((point) => point.front);
    return pareto(caption, `A plot of ${points.map((point) => `${visible(point.name)}: ${decimal(point.y)} at ${format(point.x)}`).join("; ")}. On the front: ${best.map((point) => visible(point.name)).join(", ")}.`, points, name, onAxis(Math.max(...points.map((point) => point.x))), visible(matrix.qualityMetric));
  };
  const onFront = (front: "latencyFront" | "costFront"): Child => matrix.points.filter((point) => point[front]).map((point, i) => [i > 0 && ", ", link(matrix, point.pipeline)]);
  const costs = of("costUsd", "costFront");
  return h("section", { "aria-labelledby": "pareto-title" },
    h("h2", { id: "pareto-title" }, "What quality costs"),
    h("div", { class: "pair" },
      h("div", null, plot("Quality and mean retrieval time", of("latencyMs", "latencyFront"), "mean retrieval", (value) => ms(value), msUpTo), h("p", { class: "note" }, "No other is both better and faster than: ", onFront("latencyFront"), ".")),
      h("div", null, plot("Quality and cost per item", costs, "USD per item", (value) => decimal(value, 4)), costs.some((point) => point.x !== 0) && h("p", { class: "note" }, "No other is both better and cheaper than: ", onFront("costFront"), "."))));
}

function metrics(matrix: Matrix, itemsOf: (report: number) => readonly Item[], behindOf: (report: number) => Behind, params: Params): HTMLElement {
  const known = [...new Set(matrix.reports.flatMap((report) => Object.keys(object(report["metrics"]))))];
  const ranks = cutOffs(known, matrix.reports, params);
  const measured = (name: string): boolean => matrix.reports.some((report) => number(object(object(report["metrics"])[name])["value"]) !== null);
  const names = known.filter((name) => ranks.shows(name) && measured(name));
  const unmeasured = known.filter((name) => ranks.shows(name) && !measured(name));
  if (names.length === 0) return h("div", { hidden: true });
  const lowerIsBetter = (name: string): boolean => /_ms$|cost|tokens|false_refusal|loop|^steps|^rewrites$/.test(name);
  return h("section", { "aria-labelledby": "matrix-metrics-title" },
    h("div", { class: "section-head" }, h("h2", { id: "matrix-metrics-title" }, "Metrics"), ranks.choice),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Metrics of all pipelines" }, h("table", { class: "figures-table side-by-side" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Metric"), matrix.names.map((_, i) => h("th", { scope: "col", class: "number" }, link(matrix, i))))),
      h("tbody", null, names.map((name) => {
        const values = matrix.reports.map((report) => object(object(report["metrics"])[name]));
        const found = values.flatMap((each) => number(each["value"]) ?? []);
        const best = lowerIsBetter(name) ? Math.min(...found) : Math.max(...found);
        return h("tr", null, h("th", { scope: "row" }, h("bdi", null, breakable(name))), values.map((each, i) => {
          const value = number(each["value"]);
          const filters = value === null ? null : itemsOfMetric(name, itemsOf(i));
          const shown = metricValue(name, value);
          return cell([filters ? behindOf(i)(filters, shown, `${visible(name)} of ${visible(matrix.names[i] ?? "")}: ${shown}, the items behind it`) : shown, value !== null && h("span", { class: "quiet of" }, ` of ${whole(number(each["n"]))}`)], value !== null && value === best && new Set(found).size > 1 ? "sure" : "");
        }));
      })),
      h("caption", { class: "note" }, h("span", null, "The best of each row is bold; small figures say over how many items.", unmeasured.length > 0 && [" Not measured: ", data(unmeasured.join(", ")), "."])))));
}

function allPairs(matrix: Matrix): HTMLElement {
  const metric = matrix.qualityMetric;
  return h("section", { "aria-labelledby": "pairs-title" },
    h("h2", { id: "pairs-title" }, "All pairs"),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "All pairs" }, h("table", { class: "figures-table" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Pair"), h("th", { scope: "col" }, "Better overall"), headNumber("Δ recall"), headNumber(`p (Holm)`), headNumber("Δ retrieval"), headNumber("Improved"), headNumber("Regressed"))),
      h("tbody", null, matrix.pairs.map(({ a, b, comparison }) => {
        const deltas = object(comparison["metric_deltas"]);
        const test = readTests(comparison).find((each) => each.name === metric);
        const side = text(object(comparison["winner_side"])["overall"]);
        const at = { pair: `${a}-${b}` };
        const latency = number(deltas["mean_retrieval_ms"]);
        return h("tr", null,
          h("th", { scope: "row" }, h("a", { href: address(at) }, data(matrix.names[b]!), " against ", data(matrix.names[a]!))),
          h("td", null, side === "A" ? data(matrix.names[a]!) : side === "B" ? data(matrix.names[b]!) : "tie"),
          cell(signed(number(deltas["recall_at_k"])), test?.pHolm != null && test.pHolm < 0.05 ? "sure" : ""), cell(pValue(test?.pHolm ?? null)),
          cell(latency === null ? none : `${signed(latency, 0)} ms`),
          cell(h("a", { class: "behind", href: address({ ...at, outcome: "improved", list: "1" }) }, whole(number(comparison["queries_improved"])))),
          cell(h("a", { class: "behind", href: address({ ...at, outcome: "regressed", list: "1" }) }, whole(number(comparison["queries_regressed"])))));
      })))));
}
