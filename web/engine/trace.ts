// The trace of a run as the engine writes it (assets/schemas/trace.schema.json). Readers take it as data from anywhere:
// a field that an older or newer engine leaves out is optional here.

export type Status = "running" | "answered" | "refused" | "failed";

export interface StageValues<T> {
  bm25: T | null;
  dense: T | null;
  fused: T | null;
  rerank: T | null;
}

export interface Candidate {
  id: string;
  rank: number;
  ranks: StageValues<number>;
  scores: StageValues<number>;
}

export interface RetrieveData {
  query: string;
  candidates: Candidate[];
  retrieved_ids: string[];
  /** Only where the trace was written with text. */
  passages?: { id: string; title: string; heading_path: string; url: string; text: string }[];
}

export interface GradeData {
  relevant: boolean;
  reason: string;
  relevant_chunk_ids: string[];
  graded_ids: string[];
  dropped_ids: string[];
  probability?: number | null;
  unsure?: boolean;
  /** What an extractive verdict rests on, in the engine's order. */
  features?: Record<string, number>;
}

export interface RewriteData {
  from: string;
  to: string;
  attempt: number;
  repeated?: boolean;
}

export interface GenerateData {
  context_ids: string[];
  cited_ids: string[];
  /** Cited by the draft but not in its context: taken out. */
  dropped_ids?: string[];
  declined: boolean;
  draft?: string;
}

export interface RefuseData {
  reason: string;
  last_grader_reason: string | null;
  closest: { title: string; url: string }[];
}

export interface RecordedEffect {
  id: number;
  kind: "embed" | "score" | "complete" | "time";
  digest: string;
  result: unknown;
  ms: number;
  model: string | null;
  tokens: { in: number; out: number };
  cost_usd: number | null;
  cached: boolean;
  finish: string;
}

interface StepBase {
  n: number;
  started_ms: number;
  ms: number;
  effects: RecordedEffect[];
}

export type Step = StepBase &
  (
    | { node: "retrieve"; data: RetrieveData }
    | { node: "grade_context"; data: GradeData }
    | { node: "rewrite_query"; data: RewriteData }
    | { node: "generate"; data: GenerateData }
    | { node: "refuse"; data: RefuseData }
  );

export type Node = Step["node"];

export interface Citation {
  chunk_id: string;
  title: string;
  url: string;
  start: number;
  end: number;
}

export interface TraceConfig {
  retrieval_mode: string;
  use_reranker: boolean;
  use_reflection: boolean;
  max_rewrites: number;
  top_k: number;
  provider: string;
  [name: string]: unknown;
}

export interface Trace {
  kind: string;
  schema: number;
  id: string;
  question: string;
  status: Status;
  answer: string;
  config: TraceConfig;
  engine: { version: string; target: string };
  index_digest: string;
  corpus_revision: string;
  models: Record<string, string | null>;
  started_at: string;
  steps: Step[];
  citations: Citation[];
  totals: {
    ms: number;
    steps: number;
    rewrites: number;
    tokens: { in: number; out: number };
    cost_usd: number | null;
  };
  /** Why the host had no embedder or reranker; null: it had. */
  missing?: { embedder: string | null; reranker: string | null };
  stages: { lexical: string; dense: string; rerank: string };
  error: { code: string; message: string } | null;
}

/** The last step of one kind, typed. */
export function lastStep<N extends Node>(trace: Trace, node: N): Extract<Step, { node: N }> | undefined {
  for (let i = trace.steps.length - 1; i >= 0; --i) {
    const step = trace.steps[i];
    if (step?.node === node) return step as Extract<Step, { node: N }>;
  }
  return undefined;
}
