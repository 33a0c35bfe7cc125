// The page's end of the engine worker: calls as promises, events to listeners.

import { EngineError } from "../engine/engine.ts";
import type { Answer, FromWorker, Kind, ReplyOf, Request, RequestOf, WorkerEvent } from "./messages.ts";

type Waiting = { resolve: (value: never) => void; reject: (error: Error) => void };

export class WorkerClient {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;

  constructor(url: string, onEvent: (event: WorkerEvent) => void) {
    this.#worker = new Worker(url, { type: "module" });
    this.#worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      if ("event" in data) onEvent(data);
      else this.#settle(data);
    });
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      const error = new EngineError({
        code: "internal",
        message: `The engine's worker stopped: ${event.message || "it could not be loaded"}.`,
      });
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

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (!waiting) return;
    if ("error" in answer) waiting.reject(new EngineError(answer.error));
    else waiting.resolve(answer.ok as never);
  }
}
