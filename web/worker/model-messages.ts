// The messages between the engine worker and the model worker. Models run in a worker of their own, since scoring blocks
// its thread for a second or more and passages must keep appearing while somebody types.

import type { TokenPair } from "../engine/boundary.ts";
import type { ModelProgress } from "./messages.ts";
import type { WorkerFiles } from "./site.ts";

export interface ModelCalls {
  /** Downloads (or takes from the browser's store) and starts each model in turn. Progress comes as events. */
  load: { request: { models: WorkerFiles["models"]; ort: WorkerFiles["ort"]; threads: number; storage: boolean }; reply: null };
  /** Ends what is being downloaded. Parts that arrived are kept and the next load goes on from there. */
  cancel: { request: null; reply: null };
  embed: { request: { ids: number[] }; reply: { vector: Float32Array; ms: number } };
  /** With a budget, stops after so many milliseconds: logits of the first pairs. */
  score: { request: { pairs: TokenPair[]; budget_ms: number }; reply: { logits: Float32Array; ms: number } };
}

export type ModelEvent = { event: "progress"; progress: ModelProgress } | { event: "threads"; threads: number };
