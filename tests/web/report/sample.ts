// Reports made up by the definitions of the formats, seeded: results of a pipeline, the evaluation over them, a comparison of
// two, a matrix of several. Means, counts and percentiles are worked out from the results; the intervals are normal
// approximations, near enough to draw.

export type Category =
  | "UNKNOWN" | "WRONG_CHUNK_RETRIEVED" | "INSUFFICIENT_CONTEXT" | "WRONG_CHUNK_RANK" | "RETRIEVED_BUT_NOT_GROUNDED" | "ANSWER_INCORRECT" | "LATENCY_OUTLIER" | "PASS";

export const allCategories: Category[] = ["UNKNOWN", "WRONG_CHUNK_RETRIEVED", "INSUFFICIENT_CONTEXT", "WRONG_CHUNK_RANK", "RETRIEVED_BUT_NOT_GROUNDED", "ANSWER_INCORRECT", "LATENCY_OUTLIER", "PASS"];

const severity: Record<Category, "info" | "warning" | "major"> = {
  UNKNOWN: "major", WRONG_CHUNK_RETRIEVED: "major", INSUFFICIENT_CONTEXT: "warning", WRONG_CHUNK_RANK: "warning",
  RETRIEVED_BUT_NOT_GROUNDED: "major", ANSWER_INCORRECT: "major", LATENCY_OUTLIER: "warning", PASS: "info",
};
const action: Record<Category, string> = {
  UNKNOWN: "Look at the error and run the item again.",
  WRONG_CHUNK_RETRIEVED: "Look at the question's words against the expected passage's: other chunking, another embedder or hybrid retrieval may find it.",
  INSUFFICIENT_CONTEXT: "Raise K or retrieve again for the missing part.",
  WRONG_CHUNK_RANK: "Add a reranker, or look at what ranks above.",
  RETRIEVED_BUT_NOT_GROUNDED: "Tell the generator to keep to its passages.",
  ANSWER_INCORRECT: "Compare the answer with the reference and the passages.",
  LATENCY_OUTLIER: "Look at what was slow.",
  PASS: "Nothing to do.",
};
const order: Category[] = ["PASS", "WRONG_CHUNK_RETRIEVED", "WRONG_CHUNK_RANK", "INSUFFICIENT_CONTEXT", "RETRIEVED_BUT_NOT_GROUNDED", "ANSWER_INCORRECT", "LATENCY_OUTLIER", "UNKNOWN"];

/** mulberry32 */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const topics = ["container memory limits", "named volumes", "the build cache", "bridge networks", "health checks", "secrets", "the logging driver", "multi-stage builds", "user namespaces", "registry mirrors"];
const verbs = ["How do I set", "What happens to", "Why does the daemon ignore", "Where is the default of", "Can I combine two settings for"];

export interface Result {
  query_id: string;
  query: string;
  query_type: string;
  status: string;
  expected_answer: string;
  generated_answer: string | null;
  error: string | null;
  judge_error: string | null;
  expected_chunk_ids: string[];
  retrieved_chunks: { id: string; text: string; score: number | null; metadata: Record<string, unknown> | null }[];
  latency: Record<string, number>;
  metrics: Record<string, number | boolean | string | null>;
  diagnosis: { category: Category; severity: string; confidence: number; reason: string; action: string; evidence: string[]; secondary: string[]; judge: string };
  refused: boolean;
  refusal_outcome: string | null;
  agent_diagnosis: string | null;
  trace?: unknown;
}

/** @param quality share of items that find their passage at once */
export function results(n: number, seed: number, { quality = 0.8, speed = 1, trace = true } = {}): Result[] {
  const next = random(seed);
  const questions = random(7);
  return Array.from({ length: n }, (_, i): Result => {
    const topic = topics[Math.floor(questions() * topics.length)]!;
    const type = ["factual", "reasoning", "multi-hop"][Math.floor(questions() * 3)]!;
    const query = `${verbs[Math.floor(questions() * verbs.length)]} ${topic}?`;
    const gold = type === "multi-hop" ? [`page-${i % 40}#001`, `page-${i % 40}#004`] : [`page-${i % 40}#001`];
    const failed = next() < 0.02;
    const luck = next();
    const place = luck < quality ? Math.floor(next() * 3) : luck < quality + (1 - quality) / 2 ? 3 + Math.floor(next() * 2) : -1;
    const second = type === "multi-hop" && next() < 0.75;
    const retrieved = Array.from({ length: 5 }, (__, rank) => {
      const id = rank === place ? gold[0]! : second && rank === 4 && place !== 4 ? gold[1]! : `page-${(i * 7 + rank * 3) % 40}#00${rank + 2}`;
      return { id, text: `## ${topic}\n\nThe setting of ${topic} is read when the daemon starts. \`--option-${rank}\` overrides it.`, score: Math.round((0.95 - rank * 0.11) * 1e4) / 1e4, metadata: { title: `Page ${id.slice(5, id.indexOf("#"))}`, url: `https://docs.example/page/${i % 40}` } };
    });
    const found = gold.filter((id) => retrieved.some((chunk) => chunk.id === id)).length;
    const first = retrieved.findIndex((chunk) => gold.includes(chunk.id));
    const ms = Math.round((20 + 60 * next() + (next() < 0.04 ? 900 + 400 * next() : 0)) * speed * 1000) / 1000;
    const judgeError = !failed && next() < 0.015 ? "the reply was cut at its token limit" : null;
    const correct = found > 0 && next() < 0.9;
    const grounded = correct || next() < 0.5;
    const category: Category = failed ? "UNKNOWN" : found === 0 ? "WRONG_CHUNK_RETRIEVED" : found < gold.length ? "INSUFFICIENT_CONTEXT" : first > 2 ? "WRONG_CHUNK_RANK"
      : !judgeError && !grounded ? "RETRIEVED_BUT_NOT_GROUNDED" : !judgeError && !correct ? "ANSWER_INCORRECT" : ms > 1000 ? "LATENCY_OUTLIER" : "PASS";
    const id = `item-${String(i + 1).padStart(5, "0")}`;
    return {
      query_id: id, query, query_type: type, status: failed ? "failed" : "completed",
      expected_answer: `The daemon reads ${topic} from its configuration file.`,
      generated_answer: failed ? null : `The daemon reads it at start [${retrieved[Math.max(0, first)]!.id}].\n\n- \`--option-0\` overrides it\n- the file is \`daemon.json\``,
      error: failed ? "timeout: no reply within 60 s" : null, judge_error: judgeError,
      expected_chunk_ids: gold, retrieved_chunks: failed ? [] : retrieved,
      latency: failed ? {} : { retrieval_ms: ms, generation_ms: Math.round(400 + 800 * next()), judge_ms: 310 },
      metrics: failed ? {} : {
        recall_at_5: found / gold.length, precision_at_5: found / 5, reciprocal_rank: first < 0 ? 0 : 1 / (first + 1),
        ...(judgeError ? {} : { answer_correct: correct, grounded, judge_confidence: 0.9, judge_reason: correct ? "Says what the reference says." : "Names another file than the reference." }),
      },
      diagnosis: {
        category, severity: severity[category], confidence: 1, reason: reason(category), action: action[category],
        evidence: failed ? ["timeout: no reply within 60 s"] : [`expected ${gold.join(", ")}`, `retrieved ${retrieved.map((chunk) => chunk.id).join(", ")}`], secondary: [], judge: judgeError ? "failed" : "judged",
      },
      refused: false, refusal_outcome: null, agent_diagnosis: category === "WRONG_CHUNK_RETRIEVED" ? "retrieval_miss" : null,
      ...(trace && !failed ? { trace: traceOf(id, query, retrieved, ms) } : {}),
    };
  });
}

const reason = (category: Category): string => ({
  UNKNOWN: "The query did not complete.", WRONG_CHUNK_RETRIEVED: "No expected passage is among the first 5.", INSUFFICIENT_CONTEXT: "1 of 2 expected passages are among the first 5.",
  WRONG_CHUNK_RANK: "The first expected passage stands after rank 3.", RETRIEVED_BUT_NOT_GROUNDED: "The judge found claims that the passages do not support.",
  ANSWER_INCORRECT: "The judge found the answer incorrect.", LATENCY_OUTLIER: "Retrieval took over 1000 ms.", PASS: "Everything held; a judge looked.",
})[category];

function traceOf(id: string, question: string, retrieved: Result["retrieved_chunks"], ms: number): unknown {
  const step = (n: number, node: string, started_ms: number, took: number, data: unknown, effects: unknown[] = []): unknown => ({ n, node, started_ms, ms: took, data, effects });
  const complete = { id: 1, kind: "complete", digest: "d1", result: {}, ms: 640, model: "judge-70b", tokens: { in: 812, out: 64 }, cost_usd: 0.00043, cached: false, finish: "stop" };
  return {
    kind: "trace", schema: 1, id: `trace-${id}`, question, status: "answered", answer: "", started_at: "2026-11-30T09:00:00Z", index_digest: "0011223344556677", corpus_revision: "27.5",
    config: { retrieval_mode: "hybrid", use_reranker: true, use_reflection: true, max_rewrites: 1, top_k: 5, provider: "groq" }, engine: { version: "0.1.0", target: "native" },
    models: { embedder: "bge-small-en-v1.5", reranker: null, grader: "judge-70b", rewriter: null, generator: "judge-70b" }, citations: [], stages: { lexical: "used", dense: "used", rerank: "not loaded" }, error: null,
    totals: { ms: ms + 1300, steps: 3, rewrites: 0, tokens: { in: 1624, out: 128 }, cost_usd: 0.00086 },
    steps: [
      step(1, "retrieve", 0, ms, {
        query: question, retrieved_ids: retrieved.map((chunk) => chunk.id), passages: retrieved.map(({ id: chunk, text }) => ({ id: chunk, title: "Page", heading_path: "Settings", url: "https://docs.example/", text })),
        candidates: retrieved.map((chunk, i) => ({ id: chunk.id, rank: i + 1, ranks: { bm25: i + 1, dense: null, fused: i + 1, rerank: null }, scores: { bm25: 12 - i, dense: null, fused: 0.03 - i / 1000, rerank: null } })),
      }),
      step(2, "grade_context", ms, 650, { relevant: true, reason: "The first passage says it.", relevant_chunk_ids: [retrieved[0]!.id], graded_ids: retrieved.map((chunk) => chunk.id), dropped_ids: [] }, [complete]),
      step(3, "generate", ms + 650, 650, { context_ids: retrieved.map((chunk) => chunk.id), cited_ids: [retrieved[0]!.id], declined: false }, [complete]),
    ],
  };
}

const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length);
const round = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits;
const numbers = (all: readonly Result[], name: string): number[] => all.flatMap((each) => (typeof each.metrics[name] === "number" ? [each.metrics[name] as number] : []));
const flags = (all: readonly Result[], name: string): number[] => all.flatMap((each) => (typeof each.metrics[name] === "boolean" ? [each.metrics[name] ? 1 : 0] : []));
const counts = (all: readonly Result[]): Record<Category, number> => Object.fromEntries(allCategories.map((name) => [name, all.filter((each) => each.diagnosis.category === name).length])) as Record<Category, number>;

/** Linear between ranks, at (n − 1)·p. */
function percentile(sorted: readonly number[], p: number): number {
  if (sorted.length === 0) return 0;
  const at = (sorted.length - 1) * p;
  const low = Math.floor(at);
  return sorted[low]! + (sorted[Math.min(low + 1, sorted.length - 1)]! - sorted[low]!) * (at - low);
}

function latency(values: number[]): Record<string, number> {
  const sorted = [...values].sort((a, b) => a - b);
  return { count: sorted.length, mean_ms: mean(sorted), p50_ms: percentile(sorted, 0.5), p95_ms: percentile(sorted, 0.95), p99_ms: percentile(sorted, 0.99), min_ms: sorted[0] ?? 0, max_ms: sorted.at(-1) ?? 0 };
}

function metric(values: readonly number[], all: readonly Result[]): Record<string, number | null> {
  const value = mean(values);
  const half = 1.96 * Math.sqrt((value * (1 - value)) / Math.max(1, values.length));
  return {
    value: values.length > 0 ? value : null, n: values.length, low: values.length > 0 ? Math.max(0, value - half) : null, high: values.length > 0 ? Math.min(1, value + half) : null,
    scored: values.length, unscorable: 0, judge_error: all.filter((each) => each.judge_error).length, failed: all.filter((each) => each.status !== "completed").length,
  };
}

export type Report = Record<string, unknown> & { results?: Result[] };

export function evaluation(all: readonly Result[], name: string, { cost = 0.0009 }: { cost?: number | null } = {}): Report {
  const completed = all.filter((each) => each.status === "completed");
  const judged = completed.filter((each) => !each.judge_error);
  const retrieval = { mean_precision_at_k: mean(numbers(all, "precision_at_5")), mean_recall_at_k: mean(numbers(all, "recall_at_5")), mrr: mean(numbers(all, "reciprocal_rank")), k: 5, scored_queries: numbers(all, "recall_at_5").length };
  const times = latency(completed.map((each) => each.latency["retrieval_ms"]!));
  const types = [...new Set(all.map((each) => each.query_type))];
  const byType = (type: string): Result[] => all.filter((each) => each.query_type === type);
  const found = counts(all);
  const modes = allCategories.filter((each) => each !== "PASS" && found[each] > 0);
  const score = round(100 * (0.25 * retrieval.mean_recall_at_k + 0.1 * retrieval.mean_precision_at_k + 0.15 * retrieval.mrr + 0.25 * mean(flags(all, "answer_correct")) + 0.15 * mean(flags(all, "grounded")) + 0.1), 1);
  return {
    kind: "evaluation", schema: 1, dataset_name: "docker-docs", dataset_version: "2.1", pipeline_name: name,
    total_queries: all.length, completed_queries: completed.length, failed_queries: all.length - completed.length, judged_queries: judged.length, judge_failures: completed.length - judged.length,
    retrieval, semantic: { answer_correctness_rate: mean(flags(all, "answer_correct")), groundedness_rate: mean(flags(all, "grounded")), mean_judge_confidence: 0.9, correctness_judged: judged.length, groundedness_judged: judged.length },
    latency: times, generation_latency: latency(completed.map((each) => each.latency["generation_ms"]!)),
    diagnosis_counts: found, diagnosis_by_query_type: Object.fromEntries(types.map((type) => [type, counts(byType(type))])),
    metrics_by_query_type: Object.fromEntries(types.map((type) => {
      const of = byType(type);
      const done = of.filter((each) => each.status === "completed").length;
      return [type, { query_type: type, total_queries: of.length, completed_queries: done, failed_queries: of.length - done, mean_precision_at_k: mean(numbers(of, "precision_at_5")), mean_recall_at_k: mean(numbers(of, "recall_at_5")), mrr: mean(numbers(of, "reciprocal_rank")),
        answer_correctness_rate: mean(flags(of, "answer_correct")), groundedness_rate: mean(flags(of, "grounded")), diagnosis_counts: counts(of), scored_queries: numbers(of, "recall_at_5").length }];
    })),
    top_failures: [...all].filter((each) => each.diagnosis.category !== "PASS").sort((a, b) =>
      Number(b.diagnosis.severity === "major") - Number(a.diagnosis.severity === "major") || order.indexOf(a.diagnosis.category) - order.indexOf(b.diagnosis.category) || (a.query_id < b.query_id ? -1 : 1)).slice(0, 5)
      .map((each) => ({ query_id: each.query_id, query: each.query, category: each.diagnosis.category, severity: each.diagnosis.severity, confidence: 1, reason: each.diagnosis.reason, action: each.diagnosis.action, evidence: each.diagnosis.evidence })),
    overall_insights: [`Most failures are ${modes[1] ?? modes[0] ?? "none"}.`, "Multi-hop questions find 0.21 less of their passages than factual ones."], insight_codes: ["dominant_failure:WRONG_CHUNK_RETRIEVED", "weakest_type:multi-hop"],
    health_profile: { score, grade: score >= 75 ? "Good" : "Fair", status: score >= 75 ? "Healthy" : "Degraded", strengths: ["Mean retrieval within 100 ms"], weaknesses: modes.map((each) => `${found[each]} queries are ${each}`), recommendations: modes.map((each) => action[each]),
      strength_codes: ["latency"], weakness_codes: modes, recommendation_codes: modes, defined: true, missing: [] },
    confidence: { score: 91.4, level: "High", reasons: ["Nearly every query completed", `${all.length} queries are a strong sample`, "The judge failed on a few"], reason_codes: ["some_failed", "size_strong", "judge_failures"] },
    metrics: {
      "recall@5": metric(numbers(all, "recall_at_5"), all), "precision@5": metric(numbers(all, "precision_at_5"), all), mrr: metric(numbers(all, "reciprocal_rank"), all),
      correctness: metric(flags(all, "answer_correct"), all), groundedness: metric(flags(all, "grounded"), all), faithfulness: { value: null, n: 0, low: null, high: null, scored: 0, unscorable: all.length, judge_error: 0, failed: 0 },
      latency_p95_ms: { value: times["p95_ms"]!, n: completed.length, low: null, high: null, scored: completed.length, unscorable: 0, judge_error: 0, failed: all.length - completed.length },
      cost_mean_usd: { value: cost, n: cost === null ? 0 : completed.length, low: null, high: null, scored: cost === null ? 0 : completed.length, unscorable: 0, judge_error: 0, failed: 0 },
    },
    config: {}, index_digest: "0011223344556677", golden: { digest: "aa", source: "verified", subset: null }, judge: { provider: "groq", model: "judge-70b", calibrated: false }, complete: true,
    results: [...all],
  };
}

const rank: Category[] = ["PASS", "LATENCY_OUTLIER", "WRONG_CHUNK_RANK", "INSUFFICIENT_CONTEXT", "ANSWER_INCORRECT", "RETRIEVED_BUT_NOT_GROUNDED", "WRONG_CHUNK_RETRIEVED", "UNKNOWN"];
const severityRank = { info: 0, warning: 1, major: 2 };

export function comparison(a: Report, b: Report): Record<string, unknown> {
  const [left, right] = [a.results!, b.results!];
  const byId = new Map(right.map((each) => [each.query_id, each]));
  const value = (each: Result, name: string): number => (typeof each.metrics[name] === "number" ? (each.metrics[name] as number) : 0);
  const flag = (each: Result, name: string): boolean | null => (typeof each.metrics[name] === "boolean" ? (each.metrics[name] as boolean) : null);
  const outcomes = left.flatMap((one) => {
    const other = byId.get(one.query_id);
    if (!other) return [];
    const [from, to] = [one.diagnosis.category, other.diagnosis.category];
    const change = severityRank[severity[from]] - severityRank[severity[to]] || value(other, "recall_at_5") - value(one, "recall_at_5") || rank.indexOf(from) - rank.indexOf(to);
    return [{ query_id: one.query_id, diagnosis_a: from, diagnosis_b: to, recall_a: value(one, "recall_at_5"), recall_b: value(other, "recall_at_5"), grounded_a: flag(one, "grounded"), grounded_b: flag(other, "grounded"),
      answer_correct_a: flag(one, "answer_correct"), answer_correct_b: flag(other, "answer_correct"), outcome: change > 0 ? "improved" : change < 0 ? "regressed" : "unchanged" }];
  });
  const delta = (part: string, name: string, digits = 4): number => round((b[part] as Record<string, number>)[name]! - (a[part] as Record<string, number>)[name]!, digits);
  const deltas = { precision_at_k: delta("retrieval", "mean_precision_at_k"), recall_at_k: delta("retrieval", "mean_recall_at_k"), mrr: delta("retrieval", "mrr"), answer_correctness: delta("semantic", "answer_correctness_rate"), groundedness: delta("semantic", "groundedness_rate"),
    mean_retrieval_ms: delta("latency", "mean_ms", 2), p95_retrieval_ms: delta("latency", "p95_ms", 2) };
  const n = outcomes.length;
  const test = (name: string, d: number): [string, unknown] => {
    const half = 1.5 / Math.sqrt(n);
    const p = Math.min(1, Math.exp(-Math.abs(d / half) * 3));
    return [name, { delta: d, low: d - half, high: d + half, p, p_holm: Math.min(1, p * 5), n }];
  };
  const side = deltas.recall_at_k > 0.02 ? "B" : deltas.recall_at_k < -0.02 ? "A" : "TIE";
  const faster = deltas.mean_retrieval_ms < -10 ? "B" : deltas.mean_retrieval_ms > 10 ? "A" : "TIE";
  const names = { A: a["pipeline_name"], B: b["pipeline_name"], TIE: "TIE" };
  const overall = side !== "TIE" ? side : faster;
  const moved = new Map<string, string[]>();
  const worse = outcomes.filter((each) => each.outcome === "regressed");
  for (const each of worse) if (each.diagnosis_a !== each.diagnosis_b) moved.set(`${each.diagnosis_a} -> ${each.diagnosis_b}`, [...(moved.get(`${each.diagnosis_a} -> ${each.diagnosis_b}`) ?? []), each.query_id]);
  const [foundA, foundB] = [a["diagnosis_counts"], b["diagnosis_counts"]] as Record<Category, number>[];
  const types = (report: Report): Record<string, Record<string, number>> => report["metrics_by_query_type"] as Record<string, Record<string, number>>;
  return {
    kind: "comparison", schema: 1, dataset_name: "docker-docs", dataset_version: "2.1", pipeline_a_name: names.A, pipeline_b_name: names.B, pipeline_a_report: a, pipeline_b_report: b,
    metric_deltas: deltas, diagnosis_deltas: Object.fromEntries(allCategories.map((name) => [name, foundB![name] - foundA![name]])),
    query_type_deltas: Object.fromEntries(Object.entries(types(a)).map(([type, of]) => [type, { query_type: type, recall_at_k: round(types(b)[type]!["mean_recall_at_k"]! - of["mean_recall_at_k"]!, 4), mrr: round(types(b)[type]!["mrr"]! - of["mrr"]!, 4), answer_correctness: null, groundedness: null, total_failure_delta: 0, failure_deltas: {} }])),
    query_outcomes: outcomes, queries_improved: outcomes.filter((each) => each.outcome === "improved").length, queries_regressed: worse.length, queries_unchanged: outcomes.filter((each) => each.outcome === "unchanged").length,
    quality_winner: names[side], latency_winner: names[faster], overall_winner: names[overall], winner: names[overall], winner_side: { quality: side, latency: faster, overall }, trade_off: "none",
    summary: `${String(names[overall])} wins: recall ${deltas.recall_at_k >= 0 ? "+" : ""}${deltas.recall_at_k}; the paired test gives p = 0.004.`,
    regression_analysis: {
      overall_regression: side === "A", summary: side === "A" ? "Quality fell." : "No regression overall.", verdict: side === "A" ? "quality" : "improved",
      metric_regressions: deltas.recall_at_k < -0.02 ? [{ metric_name: "Recall@K", baseline_value: (a["retrieval"] as Record<string, number>)["mean_recall_at_k"], current_value: (b["retrieval"] as Record<string, number>)["mean_recall_at_k"], delta: deltas.recall_at_k, threshold: 0.02, unit: "" }] : [],
      regressed_queries: worse.map((each) => ({ query_id: each.query_id, baseline_diagnosis: each.diagnosis_a, current_diagnosis: each.diagnosis_b, transition: `${each.diagnosis_a} -> ${each.diagnosis_b}`, recall_a: each.recall_a, recall_b: each.recall_b, reason: "a severer category", reason_code: "severity" })), regressed_query_count: worse.length,
      diagnosis_regressions: [...moved].map(([transition, ids]) => ({ from_category: transition.split(" -> ")[0], to_category: transition.split(" -> ")[1], transition, count: ids.length, query_ids: ids })).sort((x, y) => Number(y.from_category === "PASS") - Number(x.from_category === "PASS") || y.count - x.count),
      increased_failures: {}, important_regressions: [],
    },
    only_in_a: [], only_in_b: [], warnings: [],
    tests: Object.fromEntries([test("recall@5", deltas.recall_at_k), test("precision@5", deltas.precision_at_k), test("mrr", deltas.mrr), test("correctness", deltas.answer_correctness), test("groundedness", deltas.groundedness)]),
  };
}

export function matrix(reports: Report[]): Record<string, unknown> {
  const pairs = reports.flatMap((a, i) => reports.slice(i + 1).map((b, j) => {
    const { pipeline_a_report: _a, pipeline_b_report: _b, ...rest } = comparison(a, b);
    return { a: i, b: i + 1 + j, ...rest };
  }));
  return { kind: "matrix", schema: 1, dataset_name: "docker-docs", dataset_version: "2.1", names: reports.map((report) => report["pipeline_name"]), reports, pairs, ranking: ranking(reports.length, pairs), points: points(reports), quality_metric: "recall@5" };
}

/** Wins less losses of the pairs; equal ones share a rank. */
function ranking(pipelines: number, pairs: readonly Record<string, unknown>[]): object[] {
  const all = Array.from({ length: pipelines }, (_, pipeline) => ({ pipeline, rank: 0, wins: 0, losses: 0, ties: 0 }));
  for (const pair of pairs) {
    const [first, second] = [all[pair["a"] as number]!, all[pair["b"] as number]!];
    const side = (pair["winner_side"] as { overall: string }).overall;
    if (side === "A") { ++first.wins; ++second.losses; }
    else if (side === "B") { ++second.wins; ++first.losses; }
    else { ++first.ties; ++second.ties; }
  }
  const points = (each: (typeof all)[number]): number => each.wins - each.losses;
  all.sort((x, y) => points(y) - points(x) || x.pipeline - y.pipeline);
  all.forEach((each, i) => { each.rank = i > 0 && points(all[i - 1]!) === points(each) ? all[i - 1]!.rank : i + 1; });
  return all;
}

/** Recall against time and money. */
function points(reports: readonly Report[]): object[] {
  const at = reports.map((report, pipeline) => ({
    pipeline, quality: (report["retrieval"] as { mean_recall_at_k: number }).mean_recall_at_k, latency_ms: (report["latency"] as { mean_ms: number }).mean_ms,
    cost_usd: (report["metrics"] as Record<string, { value: number | null }>)["cost_mean_usd"]!.value,
  }));
  const front = (price: "latency_ms" | "cost_usd") => {
    const known = at.filter((each) => each[price] !== null);
    return (one: (typeof at)[number]): boolean => known.includes(one) && !known.some((other) => other.quality >= one.quality && other[price]! <= one[price]! && (other.quality > one.quality || other[price]! < one[price]!));
  };
  const [fast, cheap] = [front("latency_ms"), front("cost_usd")];
  return at.map((one) => ({ ...one, latency_front: fast(one), cost_front: cheap(one) }));
}
