// The messages between the report page and the worker that holds the evaluation module.

import type { EvaluationReport } from "../../engine/documents.ts";
import type { RunIdentity } from "../../engine/evaluation.ts";

export interface Calls {
  /** Loads the module. */
  load: { request: { module: string; wasm: string }; reply: null };
  /** The line of one item of a run (Evaluation.runLineOfTrace). */
  line: { request: { golden: string; trace: string; texts: Record<string, string>; k: number; finishedAt: string }; reply: string };
  /** A run of these lines as `polygraph run` writes it. */
  run: { request: { identity: RunIdentity; items: number; createdAt: string; lines: string[] }; reply: string };
  report: { request: { run: string }; reply: EvaluationReport };
  /** The report page's document of several runs; of one, its evaluation. */
  document: { request: { runs: string[] }; reply: string };
}
