// Two runs side by side: their steps aligned by node, and what differs between them.

import type { Step, Trace } from "../engine/trace.ts";

export type Pair = readonly [a: Step | null, b: Step | null];

/** Aligns the steps by node (longest common subsequence), so that a rewrite that only one run made stands alone. */
export function alignSteps(a: readonly Step[], b: readonly Step[]): Pair[] {
  const longest = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j) {
      longest[i]![j] = a[i]!.node === b[j]!.node ? longest[i + 1]![j + 1]! + 1 : Math.max(longest[i + 1]![j]!, longest[i]![j + 1]!);
    }
  }
  const pairs: Pair[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i]!.node === b[j]!.node) pairs.push([a[i++]!, b[j++]!]);
    else if (i < a.length && (j === b.length || longest[i + 1]![j]! >= longest[i]![j + 1]!)) pairs.push([a[i++]!, null]);
    else pairs.push([null, b[j++]!]);
  }
  return pairs;
}

export type Value = string | string[];

export interface Line {
  name: string;
  /** Null: this run has no such field. */
  a: Value | null;
  b: Value | null;
  differs: boolean;
  /** How values are best compared: word by word, item by item, or as they are. */
  as: "words" | "items" | "value";
}

type Field = readonly [name: string, value: Value, as: Line["as"]];

const figure = (value: number): string => String(Math.round(value * 1e4) / 1e4);
const yesNo = (value: boolean): string => (value ? "yes" : "no");

function fieldsOf(step: Step): Field[] {
  switch (step.node) {
    case "retrieve": {
      const { query, candidates, retrieved_ids } = step.data;
      return [["Query", query, "words"], ["Candidates", candidates.map((candidate) => candidate.id), "items"], ["Handed on", retrieved_ids, "items"]];
    }
    case "grade_context": {
      const { relevant, probability, unsure, reason, relevant_chunk_ids, dropped_ids, features } = step.data;
      return [
        ["Relevant", yesNo(relevant), "value"],
        ["Probability", probability == null ? "" : figure(probability), "value"],
        ["Unsure", yesNo(unsure ?? false), "value"],
        ["Reason", reason, "words"],
        ["Kept", relevant_chunk_ids, "items"],
        ["Dropped", dropped_ids, "items"],
        ...Object.entries(features ?? {}).map(([name, value]): Field => [`Feature ${name}`, figure(value), "value"]),
      ];
    }
    case "rewrite_query":
      return [["From", step.data.from, "words"], ["To", step.data.to, "words"], ["Attempt", String(step.data.attempt), "value"]];
    case "generate":
      return [["Context", step.data.context_ids, "items"], ["Cited", step.data.cited_ids, "items"], ["Declined", yesNo(step.data.declined), "value"]];
    case "refuse":
      return [["Reason", step.data.reason, "words"], ["Grader’s reason", step.data.last_grader_reason ?? "", "words"], ["Closest pages", step.data.closest.map(({ title }) => title), "items"]];
  }
}

const calls = (step: Step): string[] => step.effects.filter((effect) => effect.kind !== "time").map((effect) => `${effect.kind} ${effect.digest}`);

const empty = (value: Value | null): boolean => value === null || value.length === 0;
export const same = (a: Value | null, b: Value | null): boolean => JSON.stringify(a ?? []) === JSON.stringify(b ?? []) || (empty(a) && empty(b));

function lines(a: readonly Field[], b: readonly Field[]): Line[] {
  const names = [...new Set([...a, ...b].map(([name]) => name))];
  return names.flatMap((name) => {
    const ofA = a.find((field) => field[0] === name);
    const ofB = b.find((field) => field[0] === name);
    const [valueA, valueB] = [ofA?.[1] ?? null, ofB?.[1] ?? null];
    if (empty(valueA) && empty(valueB)) return [];
    return [{ name, a: valueA, b: valueB, differs: !same(valueA, valueB), as: (ofA ?? ofB)![2] }];
  });
}

/** A step against its counterpart; times are left out, since no two runs take the same. */
export function compareSteps([a, b]: Pair): Line[] {
  const fields = (step: Step | null): Field[] => (step ? [...fieldsOf(step), ["Requests", calls(step), "items"]] : []);
  return lines(fields(a), fields(b));
}

/** What holds for the whole runs: settings, index, models, outcome, answer. */
export function compareRuns(a: Trace, b: Trace): Line[] {
  const settings = (trace: Trace): Field[] => Object.entries(trace.config).map(([name, value]): Field => [name.toUpperCase(), String(value), "value"]);
  const config = lines(settings(a), settings(b)).filter(({ differs }) => differs);
  const outcome = (trace: Trace): Field[] => [
    ["Status", trace.status, "value"],
    ["Question", trace.question, "words"],
    ["Index", `${trace.index_digest} · ${trace.corpus_revision}`, "value"],
    ["Models", Object.entries(trace.models).filter(([, model]) => model).map(([role, model]) => `${role} ${model}`), "items"],
    ["Stages", Object.entries(trace.stages).map(([stage, entry]) => `${stage}: ${entry}`), "items"],
    ["Error", trace.error ? `${trace.error.code}: ${trace.error.message}` : "", "value"],
    ["Answer", trace.answer, "words"],
    ["Citations", trace.citations.map((citation) => citation.chunk_id), "items"],
  ];
  return [...config, ...lines(outcome(a), outcome(b))];
}
