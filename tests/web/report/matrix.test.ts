import assert from "node:assert/strict";
import { test } from "node:test";
import { readMatrix } from "../../../web/report/matrix.ts";
import { evaluation, matrix, results } from "./sample.ts";

test("a ranking and points that the file brings are taken as they are, and pairs that name no pipeline are left out", () => {
  const file = matrix([evaluation(results(10, 1), "a"), evaluation(results(10, 2), "b")]);
  const read = readMatrix({
    ...file, pairs: [...(file["pairs"] as object[]), { a: 0, b: 7 }, { a: 1, b: 1 }, { a: "0", b: 1 }, { a: -1, b: 0 }],
    ranking: [{ pipeline: 1, rank: 1, wins: 1 }, { pipeline: 9, rank: 2 }], points: [{ pipeline: 0, quality: 0.5, latency_ms: 3, latency_front: true }],
  });
  assert.equal(read.pairs.length, 1);
  assert.deepEqual(read.ranking, [{ pipeline: 1, rank: 1, wins: 1, losses: 0, ties: 0 }]);
  assert.deepEqual(readMatrix({ ...file, ranking: undefined, points: "none" }).ranking, []);
  assert.deepEqual(read.points, [{ pipeline: 0, quality: 0.5, latencyMs: 3, costUsd: null, latencyFront: true, costFront: false }]);
});
