import assert from "node:assert/strict";
import { test } from "node:test";
import type { Step, Trace } from "../../../web/engine/trace.ts";
import { alignSteps, compareRuns, compareSteps } from "../../../web/trace/compare.ts";
import { queryAt, requestOf, resultOf, scoredPairs } from "../../../web/trace/effects.ts";
import { visible, visibleValue } from "../../../web/trace/visible.ts";
import { transitions, wayOf } from "../../../web/trace/way.ts";
import { answered, refused } from "./recorded.ts";

test("the way of a run goes over the machine's own transitions, each with the steps that took it", () => {
  const way = wayOf(refused());
  assert.deepEqual(way.states, ["question", "retrieve", "grade_context", "rewrite_query", "retrieve", "grade_context", "rewrite_query", "retrieve", "grade_context", "refuse", "refused"]);
  assert.deepEqual(way.taken.get("grade_context>rewrite_query"), [3, 6]);
  assert.deepEqual(way.taken.get("refuse>refused"), [0]);
  assert.deepEqual(way.visits.get("retrieve"), [1, 4, 7]);
  for (const edge of way.taken.keys()) assert.ok(transitions.includes(edge), edge);
});

test("a run that was not finished has no end", () => {
  assert.equal(wayOf({ ...answered(), status: "running" }).states.at(-1), "generate");
});

test("the query that a step works with is the question, or the last rewrite", () => {
  const trace = refused();
  const rewrites = trace.steps.flatMap((step) => (step.node === "rewrite_query" ? [step.data.to] : []));
  assert.equal(queryAt(trace, 0), trace.question);
  assert.equal(queryAt(trace, 2), trace.question);
  assert.equal(queryAt(trace, 3), rewrites[0]);
  assert.equal(queryAt(trace, 8), rewrites[1]);
});

test("the passages beside the logits are those that the cross-encoder scored, in its order", () => {
  const trace = answered();
  const step = trace.steps[0]!;
  assert.ok(step.node === "retrieve");
  const score = step.effects.find((effect) => effect.kind === "score")!;
  const result = resultOf(score);
  assert.ok(result.kind === "logits");
  const pairs = scoredPairs(trace, step);
  assert.equal(pairs.length, result.values.length);
  pairs.forEach((id, i) => assert.equal(step.data.candidates.find((each) => each.id === id)?.scores.rerank, result.values[i]));
});

test("a vector is read back with its length, which is one", () => {
  const embed = answered().steps[0]!.effects.find((effect) => effect.kind === "embed")!;
  const result = resultOf(embed);
  assert.ok(result.kind === "vector");
  assert.equal(result.values.length, 384);
  assert.ok(Math.abs(result.norm - 1) < 1e-5);
});

test("a damaged result is left raw, and an error is told", () => {
  const effect = answered().steps[0]!.effects[1]!;
  assert.equal(resultOf({ ...effect, result: { embedding: "%%%" } }).kind, "unknown");
  assert.equal(resultOf({ ...effect, result: 7 }).kind, "unknown");
  assert.deepEqual(resultOf({ ...effect, result: { error: { code: "quota_spent", message: "later" } } }), { kind: "error", code: "quota_spent", message: "later" });
});

test("a task's request names what it was made from", () => {
  const trace = refused();
  const effect = { ...trace.steps[2]!.effects[0]!, kind: "complete" as const, task: "rewrite" };
  const request = requestOf(trace, 2, effect);
  assert.deepEqual(request.map(({ name }) => name), ["Task", "Question", "Failed query", "Grader’s reason"]);
  assert.equal(request[2]?.value, trace.question);
  assert.match(String(request[3]?.value), /network create/);
});

test("steps of two runs are aligned by node: a loop that one run made stands alone", () => {
  const nodes = alignSteps(answered().steps, refused().steps).map(([a, b]) => [a?.node ?? "–", b?.node ?? "–"].join(" | "));
  assert.equal(nodes[0], "retrieve | retrieve");
  assert.ok(nodes.includes("generate | –"));
  assert.equal(nodes.filter((each) => each === "– | rewrite_query").length, 2);
  assert.equal(nodes.filter((each) => each.startsWith("grade_context | grade_context")).length, 1);
});

test("a run beside itself differs nowhere, though it took another time", () => {
  const other = answered();
  other.steps.forEach((step) => (step.ms += 5));
  other.totals.ms += 15;
  assert.ok(compareRuns(answered(), other).every((line) => !line.differs));
  for (const pair of alignSteps(answered().steps, other.steps)) assert.ok(compareSteps(pair).every((line) => !line.differs));
});

test("what differs is named: a setting, the verdict, a passage that only one run kept", () => {
  const other = answered();
  other.config.top_k = 6;
  const grade = other.steps[1] as Extract<Step, { node: "grade_context" }>;
  grade.data.relevant = false;
  grade.data.relevant_chunk_ids.push("extra#001");
  const differing = (lines: { name: string; differs: boolean }[]): string[] => lines.filter((line) => line.differs).map(({ name }) => name);
  assert.deepEqual(differing(compareRuns(answered(), other)), ["TOP_K"]);
  assert.deepEqual(differing(compareSteps([answered().steps[1]!, grade])), ["Relevant", "Kept"]);
  assert.ok(compareSteps([null, grade]).every((line) => line.a === null && line.differs));
});

test("control characters and marks of direction are shown, line breaks and other scripts stay", () => {
  assert.equal(visible("a\u0000b\u001b[2J\u007f"), "a\u2400b\u241b[2J\u2421");
  assert.equal(visible("safe\u202Eexe.txt\u2066\u200F"), "safe⟨U+202E⟩exe.txt⟨U+2066⟩⟨U+200F⟩");
  assert.equal(visible("line\n\ttab שלום مرحبا 日本 \u{1f40b}"), "line\n\ttab שלום مرحبا 日本 \u{1f40b}");
});

test("a value without hidden characters stays the same value, and in another only its strings change", () => {
  const trace: Trace = answered();
  assert.equal(visibleValue(trace), trace);
  const made = visibleValue({ a: ["x", "\u202E"], "\u0001": 1, n: null });
  assert.deepEqual(made, { a: ["x", "⟨U+202E⟩"], "\u2401": 1, n: null });
});
