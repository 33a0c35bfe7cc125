import assert from "node:assert/strict";
import { test } from "node:test";
import { place, rank, readMatrix } from "../../../web/report/matrix.ts";
import { evaluation, matrix, results } from "./sample.ts";

const report = (recall: number | null, ms: number | null, cost: number | null): Record<string, unknown> => ({
  retrieval: { mean_recall_at_k: recall ?? 0, scored_queries: recall === null ? 0 : 10 }, latency: { count: ms === null ? 0 : 10, mean_ms: ms ?? 0 }, metrics: { cost_mean_usd: { value: cost } },
});
const pair = (a: number, b: number, overall: string): { a: number; b: number; comparison: Record<string, unknown> } => ({ a, b, comparison: { winner_side: { overall } } });

test("on the front is what nothing else equals or beats on both measures while being better on one", () => {
  // By hand: 1 is beaten by 0 (better and faster); 2 is slower and better than 0; 3 equals 0 on both, so neither beats the other.
  const places = place([report(0.8, 100, 0.001), report(0.7, 120, 0.0005), report(0.9, 300, 0.002), report(0.8, 100, 0.001)]);
  assert.deepEqual(places.map((each) => each.latencyFront), [true, false, true, true]);
  assert.deepEqual(places.map((each) => each.costFront), [true, true, true, true]);
});

test("what was not measured is null, never 0, and stands on no front", () => {
  const places = place([report(null, 50, 0), report(0.5, null, null), report(0.5, 10, 0.1)]);
  assert.deepEqual(places.map((each) => [each.quality, each.latencyMs, each.costUsd, each.latencyFront, each.costFront]), [
    [null, 50, 0, false, false], [0.5, null, null, false, false], [0.5, 10, 0.1, true, true],
  ]);
});

test("pipelines rank by wins less losses, and equal ones share a rank", () => {
  assert.deepEqual(rank(3, [pair(0, 1, "B"), pair(0, 2, "TIE"), pair(1, 2, "A")]).map((each) => [each.pipeline, each.rank, each.wins, each.ties, each.losses]), [[1, 1, 2, 0, 0], [0, 2, 0, 1, 1], [2, 2, 0, 1, 1]]);
});

test("a ranking and points that the file brings are taken as they are, and pairs that name no pipeline are left out", () => {
  const file = matrix([evaluation(results(10, 1), "a"), evaluation(results(10, 2), "b")]);
  const read = readMatrix({
    ...file, pairs: [...(file["pairs"] as object[]), { a: 0, b: 7 }, { a: 1, b: 1 }, { a: "0", b: 1 }, { a: -1, b: 0 }],
    ranking: [{ pipeline: 1, rank: 1, wins: 1 }, { pipeline: 9, rank: 2 }], points: [{ pipeline: 0, quality: 0.5, latency_ms: 3, latency_front: true }],
  });
  assert.equal(read.pairs.length, 1);
  assert.deepEqual(read.ranking, [{ pipeline: 1, rank: 1, wins: 1, losses: 0, ties: 0 }]);
  assert.deepEqual(read.points, [{ pipeline: 0, quality: 0.5, latencyMs: 3, costUsd: null, latencyFront: true, costFront: false }]);
});
