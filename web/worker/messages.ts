// The messages between the page and its engine worker. Each call ties its request to its reply; events come unasked.

import type { Chunk, Effect, EffectResult, ErrorBody, Hit, IndexInfo, Presets, RunConfig } from "../engine/boundary.ts";
import type { Trace } from "../engine/trace.ts";
import type { Capabilities } from "./capabilities.ts";
import type { WorkerFiles } from "./site.ts";

export interface Calls {
  /** Loads engine and index; resolves as soon as the lexical part answers. */
  open: { request: { site: WorkerFiles; capabilities: Capabilities }; reply: { info: IndexInfo; presets: Presets } };
  typeahead: { request: { query: string; limit: number }; reply: Hit[] };
  chunks: { request: { ids: string[] }; reply: (Chunk | null)[] };
  /**
   * Runs the agent; `run` events carry the record as it grows. A later ask cancels an earlier one. `turn` comes back with
   * the run's events: those of a cancelled run may still be on their way when the next has begun.
   */
  ask: { request: { question: string; config: RunConfig; turn: number }; reply: Finished };
  /** The question of a finished trace, another way from one step on. */
  fork: { request: { trace: string; step: number; config: RunConfig; turn: number }; reply: Finished };
  /** The same run again from what models and clock answered then; each effect's result stands beside its request's digest. */
  again: { request: { question: string; config: RunConfig; results: readonly RecordedResult[] }; reply: Finished };
  replay: { request: { trace: string }; reply: { identical: boolean; difference: string; step: number; ms: number } };
  cancel: { request: null; reply: null };
  /** What came of a `complete` event. One that nobody waits for any more is dropped. */
  completed: { request: { ticket: number; result: EffectResult }; reply: null };
  /** `storage`: the models can be kept in this browser. */
  models: { request: { action: "load"; storage: boolean } | { action: "cancel" }; reply: null };
}

/** `digest` empty: the time, which is served in order. */
export interface RecordedResult {
  digest: string;
  result: EffectResult;
}

export interface Finished {
  trace: Trace;
  /** The document's own bytes, for download and replay. */
  json: string;
  /** Effects answered from an earlier trace. */
  served: number;
}

export type Kind = keyof Calls;
export type RequestOf<K extends Kind> = Calls[K]["request"];
export type ReplyOf<K extends Kind> = Calls[K]["reply"];

export type Request = { [K in Kind]: { id: number; kind: K; body: RequestOf<K> } }[Kind];
export type Answer =
  | { id: number; ok: ReplyOf<Kind> }
  | { id: number; error: ErrorBody };

export interface IndexProgress {
  received: number;
  total: number;
  part: "none" | "lexical" | "all";
  info: IndexInfo | null;
  error: ErrorBody | null;
}

export type ModelState = "waiting" | "loading" | "starting" | "ready" | "cancelled" | "failed" | "unsupported";

export interface ModelProgress {
  role: "embedder" | "reranker";
  state: ModelState;
  received: number;
  total: number;
  /** Why it failed or cannot run. */
  message: string;
}

export type WorkerEvent =
  | { event: "index"; progress: IndexProgress }
  | { event: "models"; models: ModelProgress[]; threads: number }
  | { event: "run"; turn: number; trace: Trace }
  /** An LLM task of the run. The page performs it: it knows who answers, and shows the draft. */
  | { event: "complete"; turn: number; ticket: number; task: Extract<Effect, { kind: "complete" }> };

export type FromWorker = Answer | WorkerEvent;
