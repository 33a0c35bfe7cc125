// The items of an evaluation as a list, and which of its numbers lead to which of them.

import type { Column } from "./grid.ts";
import { ListSection, type Filter } from "./list-section.ts";
import type { Params } from "./route.ts";
import { precisionOf, rankOf, recallOf, type Item } from "./shapes.ts";
import { category, data, decimal, ms, yesNo } from "./words.ts";

const answered = (value: boolean | null): string => (value === null ? "none" : value ? "yes" : "no");
const judged = (item: Item): string => (item.judgeError ? "error" : item.correct !== null || item.grounded !== null ? "yes" : "no");

function columns(k: number, items: readonly Item[]): Column<Item>[] {
  return [
    { key: "id", name: "Id", width: "minmax(6rem, 1fr)", cell: (item) => data(item.id), value: (item) => item.id },
    { key: "query", name: "Question", width: "minmax(10rem, 3fr)", from: 640, cell: (item) => data(item.query), value: (item) => item.query.toLowerCase() },
    { key: "type", name: "Type", width: "6.5rem", from: 900, cell: (item) => data(item.type), value: (item) => item.type || null, absent: items.every((item) => !item.type) },
    { key: "category", name: "Category", width: "minmax(9rem, 2.2fr)", cell: (item) => category(item.category, item.severity || undefined), value: (item) => item.category || null },
    { key: "recall", name: `Recall@${k}`, width: "5.5rem", numeric: true, from: 480, cell: (item) => decimal(recallOf(item, k)), value: (item) => recallOf(item, k) },
    { key: "precision", name: `Prec.@${k}`, width: "5.5rem", numeric: true, from: 1000, cell: (item) => decimal(precisionOf(item, k)), value: (item) => precisionOf(item, k) },
    { key: "rr", name: "RR", width: "4rem", numeric: true, from: 1000, cell: (item) => decimal(rankOf(item)), value: rankOf },
    { key: "correct", name: "Correct", width: "4.5rem", from: 760, cell: (item) => yesNo(item.correct), value: (item) => item.correct, absent: items.every((item) => item.correct === null) },
    { key: "grounded", name: "Grounded", width: "5.2rem", from: 760, cell: (item) => yesNo(item.grounded), value: (item) => item.grounded, absent: items.every((item) => item.grounded === null) },
    { key: "ms", name: "Retrieval", width: "5rem", numeric: true, from: 560, cell: (item) => ms(item.retrievalMs), value: (item) => item.retrievalMs },
  ];
}

const filters: Filter<Item>[] = [
  { key: "category", name: "Category", value: (item) => item.category },
  { key: "type", name: "Type", value: (item) => item.type },
  { key: "status", name: "Status", value: (item) => item.status },
  { key: "correct", name: "Correct", value: (item) => answered(item.correct) },
  { key: "grounded", name: "Grounded", value: (item) => answered(item.grounded) },
  { key: "refused", name: "Refusal", value: (item) => item.refusalOutcome || (item.refused === null ? null : item.refused ? "refused" : "not refused") },
  { key: "agent", name: "Agent diagnosis", value: (item) => item.agentDiagnosis },
  { key: "judged", name: "Judged", test: (item, value) => item.status === "completed" && judged(item) === value, said: (value) => (value === "error" ? "judge error" : value === "yes" ? "judged" : "not judged") },
  { key: "declined", name: "Refused", test: (item) => item.refused === true, said: () => "refused" },
  { key: "has", name: "Has a value", test: (item, value) => value in item.metrics, said: (value) => `has ${value}` },
  { key: "state", name: "State", test: (item, value) => { const [metric, state] = value.split("|"); return item.states[metric ?? ""] === state; }, said: (value) => { const [metric, state] = value.split("|"); return `${(state ?? "").replace("_", " ")} under ${metric ?? ""}`; } },
  { key: "decided", name: "Decisions", test: (item, value) => behindDecision(item, value), said: (value) => `behind ${value}` },
  { key: "timed", name: "Latency", test: (item) => item.status === "completed" && item.retrievalMs !== null, said: () => "with a measured retrieval" },
  { key: "slower", name: "Slower", test: (item, value) => (item.retrievalMs ?? -1) >= Number(value), said: (value) => `retrieval of ${value} ms or more` },
  { key: "outcomes", name: "Refusal", test: (item, value) => value.split("|").includes(item.refusalOutcome), said: (value) => `refusal ${value.split("|").join(" or ")}` },
];

export function itemsSection(items: readonly Item[], k: number, open: (item: Item) => void): ListSection<Item> {
  return new ListSection<Item>({ title: "Items", unit: ["item", "items"], rows: items, columns: columns(k, items), filters, text: (item) => `${item.id}\n${item.query}`, open });
}

/** Whether one of an item's decisions counts in a figure: for precision a positive verdict, for recall a positive truth. */
function behindDecision(item: Item, metric: string): boolean {
  const [, name, figure] = /^(grader_set|grader_chunk)_(\w+)$/.exec(metric) ?? [];
  if (!name) return (item.decisions["rewrites"]?.[0] ?? 0) > 0;
  const [truePositive = 0, falsePositive = 0, falseNegative = 0] = item.decisions[name] ?? [];
  return truePositive + (figure === "recall" ? 0 : falsePositive) + (figure === "precision" ? 0 : falseNegative) > 0;
}

/** The items that a metric of the evaluation was worked out from; null where the results do not tell. */
export function itemsOfMetric(name: string, items: readonly Item[]): Params | null {
  if (items.some((item) => name in item.metrics)) return { has: name };
  const own = name.replace("@", "_at_");
  const known: Record<string, Params> = {
    correctness: { correct: "!none" }, groundedness: { grounded: "!none" }, correct_refusal_rate: { outcomes: "correct|missed" },
    latency_p50_ms: { timed: "1" }, latency_p95_ms: { timed: "1" }, mrr: { has: "reciprocal_rank" },
  };
  if (known[name]) return known[name];
  if (/^grader_(set|chunk)_|^rewrite/.test(name) && items.some((item) => Object.keys(item.decisions).length > 0)) return { decided: name };
  for (const candidate of [own, name.replace(/_(p95|mean)\b/, "_mean"), name.replace(/_p\d+_ms$/, "_mean_ms")]) if (items.some((item) => candidate in item.metrics)) return { has: candidate };
  return null;
}
