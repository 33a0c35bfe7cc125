// The messages between the inspector and its workers: one reads files of many traces, the other runs the engine. Both run the
// same script, so that a page in one file carries it once. Each call ties its request to its reply; events come unasked.

import type { Chunk, Effect, EffectResult, IndexInfo, Presets, RunConfig } from "../engine/boundary.ts";
import type { Trace } from "../engine/trace.ts";
import type { Capabilities } from "../worker/capabilities.ts";
import type { ModelProgress } from "../worker/messages.ts";
import type { Site } from "../worker/site.ts";
import type { Filter, Row } from "./lines.ts";

export interface Calls {
  /** Reads a file, of many traces or (`whole`) of one: `rows` events come meanwhile. Replies with how many there are. */
  scan: { request: { blob: Blob; file: number; whole: boolean }; reply: number };
  filter: { request: Filter; reply: Uint32Array };
  /** Forgets all files. */
  forget: { request: null; reply: null };

  /** Loads the engine: from the site, or from the bytes that a page in one file carries. */
  engine: { request: { site: Site; capabilities: Capabilities } | { wasm: ArrayBuffer }; reply: Presets };
  /** Opens an index: a file, or the site's own. Another one that was open is closed. */
  index: { request: { blob: Blob } | null; reply: IndexInfo };
  chunks: { request: { ids: string[] }; reply: (Chunk | null)[] };
  replay: { request: { trace: string }; reply: Replayed };
  /** `live`: what a language model has to complete is asked of the page, by `complete` events. */
  fork: { request: { trace: string; step: number; config: RunConfig; live: boolean }; reply: Forked };
  /** What came of a `complete` event. */
  completed: { request: { ticket: number; result: EffectResult }; reply: null };
  models: { request: { storage: boolean }; reply: null };
}

export interface Replayed {
  identical: boolean;
  difference: string;
  step: number;
  effect: number;
  /** Of the engine alone. */
  ms: number;
}

export interface Forked {
  trace: Trace;
  json: string;
  /** Effects answered from the trace. */
  served: number;
  /** What the trace did not hold and nobody here could answer, in words. */
  missing: string[];
}

export type WorkerEvent =
  | { event: "rows"; rows: Row[]; read: number; size: number }
  | { event: "models"; models: ModelProgress[] }
  | { event: "complete"; ticket: number; task: Extract<Effect, { kind: "complete" }> };
