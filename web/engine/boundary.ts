// The engine's WebAssembly boundary, as types: what each method of the Embind class takes and what its JSON says.
// Mirrors wasm/bindings; every method answers one JSON string, `{"ok": …}` or `{"error": …}`, and never throws.
// Text offsets are Unicode code points (codepoints.ts turns them into UTF-16 positions).

import type { Trace } from "./trace.ts";

export interface ErrorBody {
  code: string;
  message: string;
  field?: string;
  line?: number;
}

export type Reply<T> = { ok: T } | { error: ErrorBody };

/** A code point range [begin, end). */
export type Range = readonly [begin: number, end: number];

export interface ModelIdentity {
  name: string;
  sha256: string;
  dimensions?: number;
  query_prefix?: string;
  max_tokens?: number;
}

export interface IndexMetadata {
  corpus: string;
  revision: string;
  title: string;
  licence: string;
  source_url: string;
  language: string;
  embedder: ModelIdentity;
  reranker: ModelIdentity;
}

export interface IndexInfo {
  digest: string;
  documents: number;
  chunks: number;
  /** `lexical` while only the first sections are open, `all` afterwards. */
  part: string;
  metadata: IndexMetadata;
}

/** How many bytes of the file each part needs. */
export interface Extent {
  lexical: number;
  all: number;
}

export interface Hit {
  id: string;
  title: string;
  heading_path: string;
  url: string;
  text: string;
  score: number;
  marks: Range[];
}

export interface Chunk {
  id: string;
  document_id: string;
  title: string;
  heading_path: string;
  url: string;
  text: string;
  licence: string;
  links: { begin: number; end: number; target: string }[];
}

/** Settings of a run: a preset and what differs from it, by the names of the command line (`TOP_K`, …). */
export interface RunConfig {
  preset: string;
  set: Record<string, string>;
}

export interface RunOptions {
  config: RunConfig;
  /** Why no embedding (no score) can be had; empty: it can. */
  embedder_missing: string;
  reranker_missing: string;
}

export interface TokenPair {
  ids: number[];
  /** Tokens from here on have type 1. */
  split: number;
}

export type Effect = { id: number; digest?: string } & (
  | { kind: "embed"; token_ids: number[] }
  | { kind: "score"; pairs: TokenPair[]; budget_ms: number }
  | {
      kind: "complete";
      task: "grade" | "rewrite" | "generate";
      question: string;
      /** Of grade and generate. */
      chunk_ids: string[];
      /** Of rewrite, with the grader's reason. */
      failed_query: string;
      reason: string;
      /** JSON Schema of the reply; null: free text. */
      schema: unknown;
      /** What was wrong with the reply before this one. */
      repair: string | null;
    }
  | { kind: "time" }
);

/** What a host answers to an effect. Vectors and logits are base64 of little-endian float32. */
export type EffectResult = {
  ms?: number;
  model?: string;
  tokens?: { in: number; out: number };
  cost_usd?: number | null;
  cached?: boolean;
  finish?: string;
} & (
  | { embedding: string }
  | { logits: string }
  | { text: string }
  | { time: { utc: string; ms: number } }
  | { error: { code: string; message: string } }
);

export interface Progress {
  effects: Effect[];
  finished: boolean;
  /** For a fork: effects answered from its trace so far. */
  served?: number;
}

export interface Started extends Progress {
  run: number;
}

export interface Replay {
  identical: boolean;
  /** Which field differs first, with both values; empty when identical. */
  difference: string;
  step: number;
  effect: number;
  trace: Trace;
}

export interface Presets {
  presets: string[];
  /** Each option's value under each preset: values.tuned.TOP_K. */
  values: Record<string, Record<string, string>>;
}

/** The Embind class. */
export interface NativeEngine {
  reserve(bytes: number): string;
  extent(received: number): string;
  openLexical(received: number): string;
  openAll(received: number): string;
  typeahead(query: string, limit: number): string;
  chunk(id: string): string;
  start(question: string, options: string): string;
  resume(run: number, effect: number, result: string): string;
  abort(run: number, code: string, message: string): string;
  trace(run: number, withText: boolean): string;
  release(run: number): void;
  replay(trace: string): string;
  fork(trace: string, step: number, options: string): string;
  presets(): string;
  delete(): void;
}

export interface EngineModule {
  /** A new view after every growth of the memory: never kept across a call. */
  readonly HEAPU8: Uint8Array;
  Engine: new () => NativeEngine;
}

export type EngineFactory = (options?: {
  wasmBinary?: Uint8Array | ArrayBuffer;
  locateFile?: (name: string) => string;
}) => Promise<EngineModule>;
