// The page's end of the evaluation worker.

import { EngineError } from "../../engine/engine.ts";
import type { ErrorBody } from "../../engine/boundary.ts";
import { WorkerCalls } from "../../worker/calls.ts";
import type { Calls } from "./messages.ts";

export class Evaluator extends WorkerCalls<Calls> {
  static async load(worker: string, module: string, wasm: string): Promise<Evaluator> {
    const made = new Evaluator({
      start: () => new Worker(worker, { type: "module" }),
      refused: (error: ErrorBody) => new EngineError(error),
      stopped: (why) => new EngineError({ code: "internal", message: `The evaluation's worker stopped: ${why || "it could not be loaded"}.` }),
    });
    await made.call("load", { module, wasm });
    return made;
  }
}
