// Random evaluations, as untidy as those of real pipelines: every status, judge, missing field and old name that readers accept, with
// duplicates, ties and ids that need escaping. The same seed gives the same documents.

export type Random = () => number;

const types = ["factual", "reasoning", "multi-hop", "how-to", "", null];
const categories = ["PASS", "WRONG_CHUNK_RETRIEVED", "WRONG_CHUNK_RANK", "INSUFFICIENT_CONTEXT", "RETRIEVED_BUT_NOT_GROUNDED", "ANSWER_INCORRECT", "LATENCY_OUTLIER", "UNKNOWN", "SOMETHING_ELSE"];
const words = ["memory", "naïve café", "コンテナ", "a|b", "<b>", "\"quoted\"", "tab\there", "line\nbreak", "🐳 whale", "x".repeat(60)];

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
const chance = (random: Random, share: number): boolean => random() < share;
const below = (random: Random, limit: number): number => Math.floor(random() * limit);

function result(random: Random, id: string, judged: boolean): Record<string, unknown> {
  const expected = Array.from({ length: below(random, 4) }, () => `page-${below(random, 6)}#00${below(random, 4)}`);
  const retrieved = Array.from({ length: below(random, 9) }, () => ({
    id: chance(random, 0.4) && expected.length > 0 ? pick(random, expected) : `page-${below(random, 9)}#00${below(random, 9)}`,
    text: pick(random, words),
    ...(chance(random, 0.7) ? { score: random() * 10 - 3 } : chance(random, 0.5) ? { score: null } : {}),
    ...(chance(random, 0.2) ? { metadata: { source: pick(random, words) } } : {}),
  }));
  const out: Record<string, unknown> = { query_id: id, query: pick(random, words), query_type: pick(random, types) };
  if (chance(random, 0.9)) out["expected_chunk_ids"] = expected;
  if (chance(random, 0.95)) out["retrieved_chunks"] = retrieved;
  if (chance(random, 0.1)) {
    out["status"] = pick(random, ["failed", "timeout"]);
    out["error"] = pick(random, words);
  } else if (chance(random, 0.8)) {
    out["status"] = "completed";
  }
  if (chance(random, 0.9)) {
    // Quarters: ties between sides and exact halves at rounding.
    out["latency"] = { retrieval_ms: below(random, 6000) / 4, ...(chance(random, 0.5) ? { generation_ms: random() * 900 } : {}) };
  }
  const metrics: Record<string, unknown> = {};
  if (chance(random, 0.2)) metrics["recall_at_5"] = pick(random, [0, 0.25, 1 / 3, 0.5, 2 / 3, 1, null]);
  if (chance(random, 0.1)) metrics["reciprocal_rank"] = pick(random, [0, 0.2, 0.5, 1, "high"]);
  if (judged && chance(random, 0.9)) {
    metrics["answer_correct"] = chance(random, 0.7);
    metrics["grounded"] = pick(random, [true, true, false, null]);
    metrics["judge_confidence"] = pick(random, [0.5, 0.9, 1, 1.5]);
    metrics["judge_reason"] = pick(random, words);
    if (chance(random, 0.1)) out["judge_error"] = "no verdict";
  }
  if (chance(random, 0.3)) metrics["tokens"] = below(random, 500);
  out["metrics"] = metrics;
  if (chance(random, 0.2)) {
    out["diagnosis"] = { category: pick(random, categories), confidence: pick(random, [0.5, 1, 2]), reason: pick(random, words), ...(chance(random, 0.5) ? { severity: pick(random, ["major", "warning", "grave"]) } : {}) };
  }
  if (chance(random, 0.15)) out["refused"] = chance(random, 0.5);
  if (chance(random, 0.2)) out["kept_field"] = { nested: [1, 2.5e-7, null] };
  return out;
}

/** Results of `queries` queries, some of them others than the set's. */
export function randomResults(random: Random, queries: number): Record<string, unknown>[] {
  const judged = chance(random, 0.6);
  const ids = Array.from({ length: queries + 3 }, (_, i) => `q${i}`).filter(() => chance(random, 0.97));
  return ids.map((id) => result(random, id, judged));
}

/** In one of the forms that a file of results has. */
export function asFile(random: Random, results: readonly unknown[], name: string): string {
  switch (below(random, 3)) {
    case 0: return JSON.stringify(results);
    case 1: return results.map((each) => `${JSON.stringify(each)}\n`).join("") + (chance(random, 0.5) ? "\n" : "");
    default: return `\uFEFF${JSON.stringify({ dataset_name: "random", dataset_version: "1", pipeline_name: name, k: pick(random, [1, 3, 5]), results }, null, 2)}\r\n`;
  }
}

/** TREC judgements and a run, with graded, negative and missing judgements, tied scores and CRLF. */
export function randomTrec(random: Random): { qrels: string; run: string } {
  const end = chance(random, 0.5) ? "\r\n" : "\n";
  const qrels: string[] = [], run: string[] = [];
  const queries = 1 + below(random, 30);
  for (let q = 0; q < queries; ++q) {
    const documents = Array.from({ length: 40 }, (_, d) => `d${d}`).filter(() => chance(random, 0.3));
    for (const d of documents) qrels.push(`q${q} 0 ${d} ${pick(random, [-1, 0, 0, 1, 1, 2, 3])}`);
    if (chance(random, 0.1)) continue;
    const ranked = Array.from({ length: 40 }, (_, d) => `d${d}`).filter(() => chance(random, 0.4));
    ranked.forEach((d, rank) => run.push(`q${q}\tQ0\t${d}\t${rank + 1}\t${pick(random, [1, 1.5, random(), random() * 1e9, -3])}\ttag`));
  }
  if (qrels.length === 0) qrels.push("q0 0 d0 1");
  run.push("other Q0 d1 1 1 tag");
  return { qrels: qrels.join(end) + end, run: run.join(end) + end };
}
