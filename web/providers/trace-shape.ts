// Whether a trace that came from elsewhere has the fields that the page shows. The schema (assets/schemas) says more, and
// the engine checks everything when it replays; this keeps a broken file from breaking the page.

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === "string";
const number: Check = (value) => typeof value === "number" && Number.isFinite(value);
const flag: Check = (value) => typeof value === "boolean";
const orNull = (check: Check): Check => (value) => value === null || check(value);
const optional = (check: Check): Check => (value) => value === undefined || value === null || check(value);
const list = (check: Check): Check => (value) => Array.isArray(value) && value.every(check);
const record = (fields: Record<string, Check>): Check => (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) &&
  Object.entries(fields).every(([name, check]) => check((value as Record<string, unknown>)[name]));
const values = (check: Check): Check => (value) => record({})(value) && Object.values(value as object).every(check);

const tokens = record({ in: number, out: number });
const stages = record({ bm25: orNull(number), dense: orNull(number), fused: orNull(number), rerank: orNull(number) });

const data: Record<string, Check> = {
  retrieve: record({
    query: text,
    candidates: list(record({ id: text, rank: number, ranks: stages, scores: stages })),
    retrieved_ids: list(text),
    passages: optional(list(record({ id: text, text }))),
  }),
  grade_context: record({
    relevant: flag, reason: text, relevant_chunk_ids: list(text), graded_ids: list(text), dropped_ids: list(text),
    probability: optional(number), features: optional(values(number)),
  }),
  rewrite_query: record({ from: text, to: text, attempt: number }),
  generate: record({ context_ids: list(text), cited_ids: list(text), declined: flag, draft: optional(text) }),
  refuse: record({ reason: text, last_grader_reason: optional(text), closest: list(record({ title: text, url: text })) }),
};

const effect = record({ kind: text, ms: number, model: orNull(text), tokens, cost_usd: orNull(number), cached: flag, finish: text });
const common = record({ n: number, started_ms: number, ms: number, effects: list(effect) });

const step: Check = (value) => {
  const { node, data: held } = (value ?? {}) as { node?: unknown; data?: unknown };
  return common(value) && typeof node === "string" && Object.hasOwn(data, node) && data[node]!(held);
};

const trace = record({
  kind: (kind) => kind === "trace",
  id: text, question: text, status: text, answer: text,
  config: record({ retrieval_mode: text, use_reranker: flag }),
  engine: record({ version: text, target: text }),
  index_digest: text, corpus_revision: text, models: values(orNull(text)), started_at: text,
  steps: list(step),
  citations: list(record({ chunk_id: text, title: text, url: text, start: number, end: number })),
  totals: record({ ms: number, steps: number, rewrites: number, tokens, cost_usd: orNull(number) }),
  stages: record({ lexical: text, dense: text, rerank: text }),
});

export const showsAsTrace: Check = trace;
