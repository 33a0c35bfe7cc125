// What an effect asked and what came back. A trace keeps a request as its digest alone; its content follows from the steps
// before it, as the engine made it.

import { decodeFloats } from "../engine/base64.ts";
import type { RecordedEffect, Step, Trace } from "../engine/trace.ts";

/** Entries of a request: what the engine handed to its host. */
export type Request = { name: string; value: string | string[] }[];

/** The query that the run looked for when the step began. */
export function queryAt(trace: Trace, index: number): string {
  for (let i = Math.min(index, trace.steps.length - 1); i >= 0; --i) {
    const step = trace.steps[i];
    if (step?.node === "retrieve") return step.data.query;
    if (step?.node === "rewrite_query" && i < index) return step.data.to;
  }
  return trace.question;
}

/** The task of a `complete` effect; older traces leave it to the node. */
export function taskOf(effect: RecordedEffect, step: Step): string {
  const named = (effect as { task?: unknown }).task;
  if (typeof named === "string") return named;
  return step.node === "grade_context" ? "grade" : step.node === "rewrite_query" ? "rewrite" : "generate";
}

export function requestOf(trace: Trace, index: number, effect: RecordedEffect): Request {
  const step = trace.steps[index];
  if (!step) return [];
  switch (effect.kind) {
    case "time":
      return [];
    case "embed":
      return [{ name: "Text to embed", value: queryAt(trace, index) }];
    case "score": {
      if (step.node === "generate") return [{ name: "Query", value: queryAt(trace, index) }, { name: "Sentences of", value: step.data.context_ids }];
      const pairs = scoredPairs(trace, step);
      return [{ name: "Query", value: queryAt(trace, index) }, { name: "Passages", value: `${pairs.length}, best fused first; each stands beside its score` }];
    }
    case "complete":
      return [{ name: "Task", value: taskOf(effect, step) }, { name: "Question", value: trace.question }, ...taskRequest(trace, step, index)];
  }
}

function taskRequest(trace: Trace, step: Step, index: number): Request {
  switch (step.node) {
    case "grade_context":
      return [{ name: "Passages", value: step.data.graded_ids }];
    case "rewrite_query": {
      const grade = trace.steps.slice(0, index).reverse().find((each) => each.node === "grade_context");
      return [{ name: "Failed query", value: step.data.from }, { name: "Grader’s reason", value: grade?.node === "grade_context" ? grade.data.reason : "" }];
    }
    case "generate":
      return [{ name: "Passages", value: step.data.context_ids }];
    default:
      return [];
  }
}

/** Ids of the passages that went to the cross-encoder, in the order of its logits. */
export function scoredPairs(trace: Trace, step: Step): string[] {
  if (step.node !== "retrieve") return [];
  const most = Number(trace.config["rerank_candidates"] ?? 0) || step.data.candidates.length;
  return step.data.candidates
    .filter((candidate) => candidate.ranks.fused !== null)
    .sort((a, b) => a.ranks.fused! - b.ranks.fused!)
    .slice(0, most)
    .map((candidate) => candidate.id);
}

export type Result =
  | { kind: "vector"; values: Float32Array; norm: number }
  | { kind: "logits"; values: Float32Array }
  | { kind: "text"; text: string }
  | { kind: "time"; utc: string; ms: number }
  | { kind: "error"; code: string; message: string }
  /** Another engine's, or damaged: the raw value is all there is. */
  | { kind: "unknown" };

const member = (value: unknown, name: string): unknown => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined);

export function resultOf(effect: RecordedEffect): Result {
  const { result } = effect;
  const embedding = floats(member(result, "embedding"));
  if (embedding) return { kind: "vector", values: embedding, norm: Math.sqrt(embedding.reduce((sum, value) => sum + value * value, 0)) };
  const logits = floats(member(result, "logits"));
  if (logits) return { kind: "logits", values: logits };
  const text = member(result, "text");
  if (typeof text === "string") return { kind: "text", text };
  const time = member(result, "time");
  if (typeof member(time, "utc") === "string") return { kind: "time", utc: String(member(time, "utc")), ms: Number(member(time, "ms")) };
  const error = member(result, "error");
  if (error) return { kind: "error", code: String(member(error, "code") ?? ""), message: String(member(error, "message") ?? "") };
  return { kind: "unknown" };
}

function floats(value: unknown): Float32Array | null {
  if (typeof value !== "string") return null;
  try {
    return decodeFloats(value);
  } catch {
    return null;
  }
}
