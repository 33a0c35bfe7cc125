// The inspector's end of its workers.

import { EngineError } from "../engine/engine.ts";
import type { ErrorBody } from "../engine/boundary.ts";
import { WorkerCalls } from "../worker/calls.ts";
import type { Calls, WorkerEvent } from "./messages.ts";

export class InspectorWorker extends WorkerCalls<Calls> {
  constructor(start: () => Worker, onEvent: (event: WorkerEvent) => void) {
    super({
      start,
      onEvent,
      refused: (error: ErrorBody) => new EngineError(error),
      stopped: (why) => new EngineError({ code: "internal", message: `A worker of this page stopped: ${why || "it could not be loaded"}. Load the page again.` }),
    });
  }
}
