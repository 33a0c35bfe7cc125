// What the page takes from reports (evaluation, comparison, matrix) and from results. A report may come from anywhere and
// from another version: each value is checked before it is used, and what is missing or of another type is null, shown as —.

export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
export const object = (value: unknown): Json => (isObject(value) ? value : {});
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const objects = (value: unknown): Json[] => list(value).filter(isObject);
export const text = (value: unknown): string => (typeof value === "string" ? value : "");
export const texts = (value: unknown): string[] => list(value).filter((entry) => typeof entry === "string");
export const number = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);
export const flag = (value: unknown): boolean | null => (typeof value === "boolean" ? value : null);
export const entries = (value: unknown): [string, unknown][] => Object.entries(object(value));

/** The eight categories in the order in which they are decided. */
export const categories = [
  "UNKNOWN", "WRONG_CHUNK_RETRIEVED", "INSUFFICIENT_CONTEXT", "WRONG_CHUNK_RANK", "RETRIEVED_BUT_NOT_GROUNDED", "ANSWER_INCORRECT",
  "LATENCY_OUTLIER", "PASS",
] as const;

export type Severity = "major" | "warning" | "info";

export function severityOf(category: string): Severity {
  if (category === "PASS" || category === "") return "info";
  return category === "INSUFFICIENT_CONTEXT" || category === "WRONG_CHUNK_RANK" || category === "LATENCY_OUTLIER" ? "warning" : "major";
}

/** One result as the lists need it; its passages, answer and trace stay in the file, at `start` to `end`. */
export interface Item {
  /** Its place among the results. */
  n: number;
  id: string;
  query: string;
  type: string;
  status: string;
  category: string;
  severity: string;
  correct: boolean | null;
  grounded: boolean | null;
  judgeError: boolean;
  refused: boolean | null;
  refusalOutcome: string;
  agentDiagnosis: string;
  retrievalMs: number | null;
  /** The numbers among its metrics, by their names in the file. */
  metrics: Record<string, number>;
  /** Why the item has no value under a metric of its report: `metric` to `unscorable`, `judge_error` or `failed`. */
  states: Record<string, string>;
  /** [true positive, false positive, false negative, true negative] of the grader's verdicts, and rewrites made. */
  decisions: Record<string, readonly number[]>;
  start: number;
  end: number;
}

/** Strings that many items share are kept once. */
const shared = new Map<string, string>();
function share(value: string): string {
  const known = shared.get(value);
  if (known !== undefined) return known;
  if (shared.size < 10_000) shared.set(value, value);
  return value;
}

export function readItem(value: unknown, n: number, start: number, end: number): Item | null {
  if (!isObject(value)) return null;
  const id = text(value["query_id"]) || text(value["id"]);
  if (!id) return null;
  const metrics: Record<string, number> = Object.create(null);
  for (const [name, entry] of entries(value["metrics"])) if (number(entry) !== null) metrics[share(name)] = entry as number;
  const verdicts = object(value["metrics"]);
  const diagnosis = object(value["diagnosis"]);
  const status = share(text(value["status"]) || "completed");
  const judgeError = text(value["judge_error"]) !== "";
  return {
    n, id, start, end, status, metrics, judgeError, states: Object.create(null) as Record<string, string>, decisions: Object.create(null) as Record<string, readonly number[]>,
    query: text(value["query"]) || text(value["question"]),
    type: share(text(value["query_type"])),
    category: share(text(diagnosis["category"])),
    severity: share(text(diagnosis["severity"])),
    correct: judgeError || status !== "completed" ? null : flag(verdicts["answer_correct"]),
    grounded: judgeError || status !== "completed" ? null : flag(verdicts["grounded"]),
    refused: flag(value["refused"]),
    refusalOutcome: share(text(value["refusal_outcome"])),
    agentDiagnosis: share(text(value["agent_diagnosis"])),
    retrievalMs: number(object(value["latency"])["retrieval_ms"]),
  };
}

/** Gives each item what its report says of it under each metric: `item_values` and `item_decisions`, columns in the items' order. */
export function takeValues(items: readonly Item[], report: Json): void {
  for (const [name, column] of entries(report["item_values"])) {
    list(column).forEach((value, i) => {
      const item = items[i];
      if (item && number(value) !== null) item.metrics[name] = value as number;
      else if (item && typeof value === "string") item.states[name] = value;
    });
  }
  for (const [name, column] of entries(report["item_decisions"])) {
    list(column).forEach((value, i) => {
      const item = items[i];
      if (item) item.decisions[name] = list(Array.isArray(value) ? value : [value]).map((each) => number(each) ?? 0);
    });
  }
}

export const recallOf = (item: Item, k: number): number | null => item.metrics[`recall_at_${k}`] ?? item.metrics["recall_at_k"] ?? item.metrics["recall_at_K"] ?? null;
export const precisionOf = (item: Item, k: number): number | null => item.metrics[`precision_at_${k}`] ?? item.metrics["precision_at_k"] ?? item.metrics["precision_at_K"] ?? null;
export const rankOf = (item: Item): number | null => item.metrics["reciprocal_rank"] ?? null;

/** A metric with its interval and the states of its items (`metrics` of an evaluation). */
export interface Metric {
  name: string;
  value: number | null;
  n: number | null;
  low: number | null;
  high: number | null;
  unscorable: number | null;
  judgeError: number | null;
  failed: number | null;
}

export function readMetrics(report: Json): Metric[] {
  return entries(report["metrics"]).map(([name, value]) => {
    const each = object(value);
    return {
      name, value: number(each["value"]), n: number(each["n"]) ?? number(each["scored"]), low: number(each["low"]), high: number(each["high"]),
      unscorable: number(each["unscorable"]), judgeError: number(each["judge_error"]), failed: number(each["failed"]),
    };
  });
}

/** A paired test of one metric (`tests` of a comparison). */
export interface PairedTest {
  name: string;
  delta: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  pHolm: number | null;
  n: number | null;
}

export function readTests(comparison: Json): PairedTest[] {
  return entries(comparison["tests"]).map(([name, value]) => {
    const each = object(value);
    return { name, delta: number(each["delta"]), low: number(each["low"]), high: number(each["high"]), p: number(each["p"]), pHolm: number(each["p_holm"]), n: number(each["n"]) };
  });
}

export const retrievalK = (report: Json): number => number(object(report["retrieval"])["k"]) ?? 5;
export const pipelineName = (report: Json): string => text(report["pipeline_name"]) || "Pipeline without a name";

/** How the eight categories are counted in a report; a category that it leaves out is 0. */
export const countOf = (counts: unknown, category: string): number => number(object(counts)[category]) ?? 0;

export function queryTypes(report: Json): string[] {
  const known = ["factual", "reasoning", "multi-hop"];
  const place = (type: string): number => (known.includes(type) ? known.indexOf(type) : known.length);
  return Object.keys(object(report["metrics_by_query_type"])).sort((a, b) => place(a) - place(b) || (a < b ? -1 : a > b ? 1 : 0));
}
