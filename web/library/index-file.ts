// An open index, and what can be asked of it: passages, an agent's answer, a replay.

import type { Chunk, Hit, IndexInfo, Replay } from "../engine/boundary.ts";
import type { Engine } from "../engine/engine.ts";
import { drive } from "../engine/run.ts";
import type { Candidate, Trace } from "../engine/trace.ts";
import { PolygraphError } from "./error.ts";
import { hostOf, runOptions, type Models } from "./models.ts";
import { newEngine, type Bytes } from "./wasm.ts";

export type Preset = "baseline" | "hybrid" | "hybrid_rerank" | "full" | "tuned";
/** Settings by the names of the command line: `{ TOP_K: 6, RETRIEVAL_MODE: "bm25" }`. */
export type Settings = Readonly<Record<string, string | number | boolean>>;

export interface SearchOptions {
  /** `tuned` without another. */
  preset?: Preset;
  set?: Settings;
  mode?: "dense" | "bm25" | "hybrid";
  rerank?: boolean;
  /** 1 to 20, 10 without another. */
  top?: number;
  models?: Models;
  signal?: AbortSignal;
}

export interface SearchResult {
  query: string;
  results: { id: string; score: number; rank: number; title: string; url: string; text: string }[];
  /** What each stage did: `used`, or the reason why not. */
  stages: Trace["stages"];
  ms: number;
}

export interface AskOptions {
  preset?: Preset;
  set?: Settings;
  models?: Models;
  /** The trace so far, after each step. */
  onProgress?(trace: Trace): void;
  signal?: AbortSignal;
  /** Puts the passages' texts into the trace. */
  withText?: boolean;
}

/** Lists of a run are this long. */
const longest = 20;

export class Index {
  readonly info: IndexInfo;
  readonly #engine: Engine;
  #open = true;

  /** @internal use openIndex() */
  constructor(engine: Engine, info: IndexInfo) {
    this.#engine = engine;
    this.info = info;
  }

  /** A passage by its id (`path/of/page#007`). */
  chunk(id: string): Chunk {
    return this.engine().chunk(id);
  }

  /** Passages whose words begin as the last one of `query` does, while somebody types. */
  typeahead(query: string, limit = 10): Hit[] {
    return this.engine().typeahead(query, limit);
  }

  /** Frees its memory. Nothing can be asked of it afterwards. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#engine.delete();
  }

  /** @internal */
  engine(): Engine {
    if (!this.#open) throw new PolygraphError({ code: "invalid_argument", message: "the index is closed", field: "index" });
    return this.#engine;
  }
}

/** Opens an index file that `polygraph index` built. Every offset and checksum in it is verified. */
export async function openIndex(file: Bytes): Promise<Index> {
  const engine = await newEngine();
  try {
    return new Index(engine, engine.open(file instanceof Uint8Array ? file : new Uint8Array(file)));
  } catch (error) {
    engine.delete();
    throw error;
  }
}

/** The record of a run that is let go of afterwards. `until` ends it early: its steps so far are what was wanted. */
async function run(index: Index, question: string, options: AskOptions, until: (trace: Trace) => boolean): Promise<Trace> {
  const engine = index.engine();
  const { signal, models = {} } = options;
  signal?.throwIfAborted();
  const started = engine.start(question, runOptions(options.preset ?? "tuned", options.set ?? {}, models));
  const stop = new AbortController();
  const host = hostOf(engine, index.info.metadata, models, stop.signal);
  const cancel = (): void => stop.abort(signal!.reason);
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    let stopped: Trace | undefined;
    const look = (): void => {
      const trace = engine.trace(started.run, options.withText);
      options.onProgress?.(trace);
      if (until(trace)) {
        stopped = trace;
        stop.abort();
      }
    };
    const watched = { perform: (effect: Parameters<typeof host.perform>[0]) => (stop.signal.aborted ? new Promise<never>(() => undefined) : host.perform(effect)) };
    await drive(engine, started.run, started, watched, look, stop.signal);
    signal?.throwIfAborted();
    return stopped ?? engine.trace(started.run, options.withText);
  } finally {
    signal?.removeEventListener("abort", cancel);
    stop.abort();
    engine.release(started.run);
  }
}

/** Ranks passages for a query: BM25F, the embedder's vectors and the reranker as far as `models` has them. */
export async function search(index: Index, query: string, options: SearchOptions = {}): Promise<SearchResult> {
  const { top = 10, mode, rerank, ...rest } = options;
  if (!Number.isInteger(top) || top < 1 || top > longest) {
    throw new PolygraphError({ code: "invalid_argument", message: `should be a whole number from 1 to ${longest}, not ${top}`, field: "top" });
  }
  const set = { ...rest.set, ...(mode ? { RETRIEVAL_MODE: mode } : {}), ...(rerank === undefined ? {} : { USE_RERANKER: rerank }), PROVIDER: "extractive" };
  const retrieved = (trace: Trace) => trace.steps.find((step) => step.node === "retrieve");
  const begun = performance.now();
  const trace = await run(index, query, { ...rest, set }, (each) => (retrieved(each)?.data.candidates.length ?? 0) > 0);
  const ms = performance.now() - begun;
  const score = scoreOf(trace);
  const results = (retrieved(trace)?.data.candidates ?? []).slice(0, top).map((candidate) => {
    const { title, url, text } = index.chunk(candidate.id);
    return { id: candidate.id, score: score(candidate), rank: candidate.rank, title, url, text };
  });
  return { query, results, stages: trace.stages, ms };
}

/** The figure that the list was ordered by (Retrieval::order_score). */
function scoreOf({ config, stages }: Trace): (candidate: Candidate) => number {
  const mix = Number(config["rerank_mix"] ?? 0);
  return ({ scores }) => {
    if (scores.rerank !== null) return scores.rerank + mix * (scores.fused ?? 0);
    if (stages.lexical !== "used") return scores.dense ?? 0;
    return (stages.dense === "used" ? scores.fused : scores.bm25) ?? 0;
  };
}

/**
 * One run of the agent: it retrieves, grades, rewrites a query that failed, and answers with citations or refuses. Without models it works
 * on words alone. The trace holds everything that was asked for and answered, so that it replays without models. A run that failed is a
 * trace, too (`status` "failed"). Rejects with the signal's reason when it fires.
 */
export function ask(index: Index, question: string, options: AskOptions = {}): Promise<Trace> {
  return run(index, question, options, () => false);
}

/** Runs a trace again over what it recorded, without models: `identical`, or the first thing that differs. */
export async function replay(index: Index, trace: Trace | string): Promise<Replay> {
  return index.engine().replay(typeof trace === "string" ? trace : JSON.stringify(trace));
}
