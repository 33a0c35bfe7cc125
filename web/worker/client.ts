// The page's end of the engine worker.

import { EngineError } from "../engine/engine.ts";
import type { ErrorBody } from "../engine/boundary.ts";
import { WorkerCalls } from "./calls.ts";
import type { Calls, WorkerEvent } from "./messages.ts";

export class WorkerClient extends WorkerCalls<Calls> {
  constructor(url: string, onEvent: (event: WorkerEvent) => void) {
    super({
      start: () => new Worker(url, { type: "module" }),
      onEvent,
      refused: (error: ErrorBody) => new EngineError(error),
      stopped: (why) => new EngineError({ code: "internal", message: `The engine's worker stopped: ${why || "it could not be loaded"}.` }),
    });
  }
}
