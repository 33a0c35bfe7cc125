// The page's end of a worker: calls as promises, events to a listener.

import { EngineError } from "../engine/engine.ts";
import type { FromWorker, Kind, ReplyOf, Request, RequestOf, WorkerEvent } from "./messages.ts";

type Waiting = { resolve: (value: never) => void; reject: (error: Error) => void };

export class InspectorWorker {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;

  constructor(worker: Worker, onEvent: (event: WorkerEvent) => void) {
    this.#worker = worker;
    worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      if ("event" in data) {
        onEvent(data);
        return;
      }
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ("error" in data) waiting?.reject(new EngineError(data.error));
      else waiting?.resolve(data.ok as never);
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      const error = new EngineError({ code: "internal", message: `A worker of this page stopped: ${event.message || "it could not be loaded"}. Load the page again.` });
      for (const waiting of this.#waiting.values()) waiting.reject(error);
      this.#waiting.clear();
    });
  }

  call<K extends Kind>(kind: K, body: RequestOf<K>): Promise<ReplyOf<K>> {
    const id = this.#next++;
    return new Promise<ReplyOf<K>>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, kind, body } as Request);
    });
  }
}
