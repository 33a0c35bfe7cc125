// What of a trace this page needs, and where a document that came from anywhere fails to have it. The schema
// (assets/schemas/trace.schema.json) says more, and the engine checks everything once more when it replays.

/** The first thing that is wrong: the path to a field, and a sentence about it. */
export interface Fault {
  field: string;
  message: string;
}

type Check = (value: unknown, at: string) => Fault | null;

const shownLength = 60;

function met(value: unknown): string {
  if (value === undefined) return "is missing";
  if (value === null) return "is null";
  if (Array.isArray(value)) return "is a list";
  if (typeof value === "object") return "is an object";
  const text = JSON.stringify(value);
  return `is ${text.length > shownLength ? `${text.slice(0, shownLength)}…` : text}`;
}

const wrong = (value: unknown, at: string, expected: string): Fault => ({
  field: at,
  message: `${at || "The document"} ${met(value)}; ${expected} was expected`,
});

const when = (holds: (value: unknown) => boolean, expected: string): Check => (value, at) => (holds(value) ? null : wrong(value, at, expected));

const text = when((value) => typeof value === "string", "a string");
const number = when((value) => typeof value === "number" && Number.isFinite(value), "a number");
const flag = when((value) => typeof value === "boolean", "true or false");
const anything: Check = (value, at) => (value === undefined ? wrong(value, at, "a value") : null);
const oneOf = (...names: string[]): Check => when((value) => names.some((name) => name === value), `one of ${names.join(", ")}`);
const exactly = (wanted: string | number): Check => when((value) => value === wanted, JSON.stringify(wanted));
const orNull = (check: Check): Check => (value, at) => (value === null ? null : check(value, at));
const optional = (check: Check): Check => (value, at) => (value === undefined || value === null ? null : check(value, at));
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const list = (check: Check): Check => (value, at) => {
  if (!Array.isArray(value)) return wrong(value, at, "a list");
  for (let i = 0; i < value.length; ++i) {
    const fault = check(value[i], `${at}[${i}]`);
    if (fault) return fault;
  }
  return null;
};

const record = (fields: Record<string, Check>): Check => (value, at) => {
  if (!isObject(value)) return wrong(value, at, "an object");
  for (const [name, check] of Object.entries(fields)) {
    const fault = check(Object.hasOwn(value, name) ? value[name] : undefined, at ? `${at}.${name}` : name);
    if (fault) return fault;
  }
  return null;
};

const values = (check: Check): Check => (value, at) => {
  if (!isObject(value)) return wrong(value, at, "an object");
  for (const [name, each] of Object.entries(value)) {
    const fault = check(each, `${at}.${name}`);
    if (fault) return fault;
  }
  return null;
};

const tokens = record({ in: number, out: number });
const stages = record({ bm25: orNull(number), dense: orNull(number), fused: orNull(number), rerank: orNull(number) });

const data: Record<string, Check> = {
  retrieve: record({
    query: text,
    candidates: list(record({ id: text, rank: number, ranks: stages, scores: stages })),
    retrieved_ids: list(text),
    passages: optional(list(record({ id: text, text, title: optional(text), heading_path: optional(text), url: optional(text) }))),
  }),
  grade_context: record({
    relevant: flag, reason: text, relevant_chunk_ids: list(text), graded_ids: list(text), dropped_ids: list(text),
    probability: optional(number), unsure: optional(flag), features: optional(values(number)),
  }),
  rewrite_query: record({ from: text, to: text, attempt: number, repeated: optional(flag) }),
  generate: record({ context_ids: list(text), cited_ids: list(text), dropped_ids: optional(list(text)), declined: flag, draft: optional(text) }),
  refuse: record({ reason: text, last_grader_reason: optional(text), closest: list(record({ title: text, url: text })) }),
};

const effect = record({
  id: number, kind: oneOf("embed", "score", "complete", "time"), digest: text, result: anything,
  ms: number, model: orNull(text), tokens, cost_usd: orNull(number), cached: flag, finish: text,
});
const node = oneOf(...Object.keys(data));
const common = record({ n: number, node, started_ms: number, ms: number, effects: list(effect) });

const step: Check = (value, at) => {
  const fault = common(value, at);
  if (fault) return fault;
  const { node: name, data: held } = value as { node: string; data: unknown };
  return data[name]!(held, `${at}.data`);
};

export const schemaVersion = 1;

const trace = record({
  kind: exactly("trace"),
  schema: exactly(schemaVersion),
  id: text,
  question: text,
  status: oneOf("answered", "refused", "failed", "running"),
  answer: text,
  config: record({ retrieval_mode: text, use_reranker: flag, use_reflection: flag, max_rewrites: number, top_k: number, provider: text }),
  engine: record({ version: text, target: text }),
  index_digest: text,
  corpus_revision: text,
  models: values(orNull(text)),
  started_at: text,
  steps: list(step),
  citations: list(record({ chunk_id: text, title: text, url: text, start: number, end: number })),
  totals: record({ ms: number, steps: number, rewrites: number, tokens, cost_usd: orNull(number) }),
  stages: record({ lexical: text, dense: text, rerank: text }),
  error: orNull(record({ code: text, message: text })),
});

/** Null: the value can be shown as a trace. */
export const faultOfTrace = (value: unknown): Fault | null => trace(value, "");
