// One step: what the run knew when it began, what it decided, and each effect with its request and its raw result.

import { candidateTable } from "../ask/candidates.ts";
import { chunkNumber, h, heading, type Child } from "../ask/dom.ts";
import type { Popover } from "../ask/popover.ts";
import { wordDiff } from "../ask/word-diff.ts";
import { count, dollars, duration, featureNames, nameAndPlace, percent, plural, score } from "../ask/words.ts";
import type { Chunk } from "../engine/boundary.ts";
import type { RecordedEffect, Step, Trace } from "../engine/trace.ts";
import { queryAt, requestOf, resultOf, scoredPairs, taskOf } from "./effects.ts";

export interface StepContext {
  trace: Trace;
  /** Position of the step. */
  index: number;
  /** Passages by chunk id: from the index, or from the trace where it was written with text. */
  chunks: ReadonlyMap<string, Chunk | null>;
  popover: Popover;
  allCandidates: boolean;
  showAllCandidates(): void;
  /** The effect that a replay found to differ; 0: none. */
  differing: number;
}

export function stepView(context: StepContext): Child[] {
  const step = context.trace.steps[context.index];
  if (!step) return [h("p", { class: "quiet" }, "This run has no steps.")];
  return [
    h("section", { class: "part", "aria-label": "State" }, h("h3", null, "State"), stateList(context)),
    h("section", { class: "part", "aria-label": "Decision" }, h("h3", null, "Decision"), h("div", { class: "step-body" }, decision(step, context))),
    h("section", { class: "part", "aria-label": "Effects" },
      h("h3", null, "Effects ", h("span", { class: "quiet numbers" }, String(step.effects.length))),
      step.effects.length === 0 && h("p", { class: "quiet" }, "This step asked for nothing."),
      h("ol", { class: "effect-list" }, step.effects.map((effect) => effectView(effect, step, context)))),
  ];
}

// ---------------------------------------------------------------- state

/** What the engine held when the step began: everything that its decision could rest on. */
function stateList({ trace, index, chunks }: StepContext): HTMLElement {
  const before = trace.steps.slice(0, index);
  const step = trace.steps[index]!;
  const rewrites = before.filter((each) => each.node === "rewrite_query").length;
  const queries = before.flatMap((each) => (each.node === "retrieve" ? [each.data.query] : []));
  const retrieved = before.findLast((each) => each.node === "retrieve");
  const graded = before.findLast((each) => each.node === "grade_context");
  const entry = (name: string, ...value: Child[]): Child => [h("dt", null, name), h("dd", null, ...value)];
  return h("dl", { class: "facts" },
    entry("Question", trace.question),
    entry("Query", queryAt(trace, index)),
    queries.length > 1 && entry("Searched before", queries.slice(0, -1).join(" · ")),
    entry("Rewrites", h("span", { class: "numbers" }, `${count(rewrites)} of ${count(trace.config.max_rewrites)}`)),
    retrieved?.node === "retrieve" && entry("Passages", idList(retrieved.data.retrieved_ids, chunks)),
    graded?.node === "grade_context" && entry("Last verdict", graded.data.relevant ? "relevant" : "not relevant", graded.data.reason && `: ${graded.data.reason}`),
    entry("Began", h("span", { class: "numbers" }, `${duration(step.started_ms)} after the start`)));
}

function idList(ids: readonly string[], chunks: ReadonlyMap<string, Chunk | null>): HTMLElement {
  return h("ul", { class: "ids" }, ids.map((id) => h("li", null, named(id, chunks))));
}

function named(id: string, chunks: ReadonlyMap<string, Chunk | null>): Child {
  const chunk = chunks.get(id);
  if (!chunk) return h("code", null, id);
  const { name, place } = nameAndPlace(chunk.title, chunk.heading_path);
  return [heading(name), " ", h("span", { class: "where" }, place && [heading(place), " · "], chunkNumber(id))];
}

// ---------------------------------------------------------------- decision

function decision(step: Step, { trace, chunks, popover, allCandidates, showAllCandidates }: StepContext): Child {
  switch (step.node) {
    case "retrieve": {
      const grade = trace.steps.find((each) => each.n > step.n && each.node === "grade_context");
      const kept = new Set(grade?.node === "grade_context" ? grade.data.relevant_chunk_ids : []);
      return [
        h("p", null, `${plural(step.data.candidates.length, "candidate")}, ${plural(step.data.retrieved_ids.length, "passage")} handed on.`),
        candidateTable({ data: step.data, kept, chunks, popover, all: allCandidates, showAll: showAllCandidates }),
      ];
    }
    case "grade_context": {
      const { relevant, unsure, probability, reason, relevant_chunk_ids, dropped_ids, features } = step.data;
      return [
        h("p", null,
          h("strong", null, relevant ? (unsure ? "Perhaps relevant" : "Relevant") : "Not relevant"),
          probability != null && h("span", { class: "numbers quiet" }, ` p = ${percent(probability)}`)),
        reason && h("p", null, reason),
        relevant_chunk_ids.length > 0 && [h("p", { class: "label" }, "Kept"), idList(relevant_chunk_ids, chunks)],
        dropped_ids.length > 0 && [h("p", { class: "label" }, "Named by the grader but not among the passages, dropped"), idList(dropped_ids, chunks)],
        features && Object.keys(features).length > 0 && h("table", { class: "features" },
          h("caption", { class: "label" }, "What the verdict rests on"),
          h("tbody", null, Object.entries(features).map(([key, value]) => h("tr", null,
            h("th", { scope: "row" }, featureNames[key] ?? key, featureNames[key] && h("code", null, key)),
            h("td", { class: "number" }, score(value)))))),
      ];
    }
    case "rewrite_query":
      return [
        step.data.repeated && h("p", null, "No new query was found: the loop ends early."),
        h("p", { class: "diff" }, wordDiff(step.data.from, step.data.to).map(({ kind, text }) => [kind === "same" ? text : h(kind === "added" ? "ins" : "del", null, text), " "])),
      ];
    case "generate": {
      const { context_ids, cited_ids, dropped_ids, declined, draft } = step.data;
      return [
        h("p", null, `From ${plural(context_ids.length, "passage")}; ${declined ? "declined to answer" : `cited ${plural(cited_ids.length, "passage")}`}.`),
        cited_ids.length > 0 && [h("p", { class: "label" }, "Cited"), idList(cited_ids, chunks)],
        dropped_ids && dropped_ids.length > 0 && [h("p", { class: "label" }, "Cited by the draft but not in its context, taken out"), idList(dropped_ids, chunks)],
        draft && [h("p", { class: "label" }, "Draft"), h("blockquote", { class: "draft-text", dir: "auto" }, draft)],
      ];
    }
    case "refuse":
      return [
        h("p", null, step.data.reason),
        step.data.last_grader_reason && step.data.last_grader_reason !== step.data.reason && h("p", { class: "quiet" }, step.data.last_grader_reason),
        step.data.closest.length > 0 && [h("p", { class: "label" }, "Closest pages"), h("ul", { class: "ids" }, step.data.closest.map(({ title }) => h("li", null, title)))],
      ];
  }
}

// ---------------------------------------------------------------- effects

/** What is shown of a raw result at once; the file holds the rest. */
const rawShown = 40_000;

function effectView(effect: RecordedEffect, step: Step, { trace, index, chunks, differing }: StepContext): HTMLElement {
  const request = requestOf(trace, index, effect);
  const raw = JSON.stringify(effect.result, null, 2) ?? "";
  const tokens = effect.tokens.in + effect.tokens.out;
  return h("li", { class: effect.id === differing ? "effect differs" : "effect", "data-effect": effect.id },
    h("p", { class: "effect-head" },
      h("span", { class: "effect-kind" }, effect.kind === "complete" ? `complete · ${taskOf(effect, step)}` : effect.kind),
      h("span", { class: "quiet numbers" },
        `effect ${effect.id} · ${duration(effect.ms)}`,
        tokens > 0 && ` · ${count(effect.tokens.in)} tokens in, ${count(effect.tokens.out)} out`,
        effect.cost_usd !== null && effect.cost_usd > 0 && ` · ${dollars(effect.cost_usd)}`,
        effect.model && ` · ${effect.model}`,
        effect.finish !== "stop" && ` · ${effect.finish === "length" ? "cut at its token limit" : effect.finish}`),
      effect.cached && h("span", { class: "tag" }, "cached"),
      effect.id === differing && h("span", { class: "tag" }, "differs in the replay")),
    h("dl", { class: "facts" },
      request.map(({ name, value }) => [h("dt", null, name), h("dd", null, typeof value === "string" ? value : idList(value, chunks))]),
      h("dt", null, "Request digest"), h("dd", null, h("code", null, effect.digest)),
      h("dt", null, "Result"), h("dd", null, resultView(effect, step, trace, chunks))),
    h("details", { class: "raw", "data-fold": `raw-${effect.id}` },
      h("summary", null, "Raw result"),
      h("pre", { tabindex: 0 }, raw.length > rawShown ? `${raw.slice(0, rawShown)}\n… ${count(raw.length - rawShown)} more characters; they are in the file` : raw)));
}

const firstValues = 6;

function resultView(effect: RecordedEffect, step: Step, trace: Trace, chunks: ReadonlyMap<string, Chunk | null>): Child {
  const result = resultOf(effect);
  switch (result.kind) {
    case "vector":
      return h("span", { class: "numbers" }, `${plural(result.values.length, "number")}, length ${score(result.norm)}: ${[...result.values.slice(0, firstValues)].map(score).join("  ")}${result.values.length > firstValues ? " …" : ""}`);
    case "logits": {
      const pairs = scoredPairs(trace, step);
      const rows = Math.max(pairs.length, result.values.length);
      return h("table", { class: "logits" },
        h("caption", { class: "sr-only" }, step.node === "retrieve" ? "Logit of each pair of query and passage" : "Logit of each pair of question and sentence"),
        h("tbody", null, Array.from({ length: rows }, (_, i) => {
          const id = pairs[i];
          const logit = result.values[i];
          return h("tr", null,
            h("th", { scope: "row" }, id === undefined ? step.node === "retrieve" ? `pair ${i + 1}` : `sentence ${i + 1}` : named(id, chunks)),
            logit === undefined ? h("td", { class: "quiet" }, "not scored in time") : h("td", { class: "number" }, score(logit)));
        })));
    }
    case "text":
      return result.text === "" ? h("span", { class: "quiet" }, "an empty reply") : h("pre", { tabindex: 0, dir: "auto" }, pretty(result.text));
    case "time":
      return h("span", { class: "numbers" }, `${result.utc} · ${score(result.ms)} ms of a monotonic clock`);
    case "error":
      return h("span", null, h("strong", null, result.code), result.message && `: ${result.message}`);
    case "unknown":
      return h("span", { class: "quiet" }, "of a form that this page does not know; its raw value stands below");
  }
}

/** A JSON reply is easier to read with its lines broken. */
function pretty(text: string): string {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}
