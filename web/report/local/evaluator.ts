// The page's end of the evaluation worker.

import { EngineError } from "../../engine/engine.ts";
import type { Answer, Calls, Kind, Request } from "./messages.ts";

type Waiting = { resolve: (value: never) => void; reject: (error: Error) => void };

export class Evaluator {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;

  private constructor(url: string) {
    this.#worker = new Worker(url, { type: "module" });
    this.#worker.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ("error" in data) waiting?.reject(new EngineError(data.error));
      else waiting?.resolve(data.ok as never);
    });
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      for (const { reject } of this.#waiting.values()) reject(new EngineError({ code: "internal", message: `The evaluation's worker stopped: ${event.message || "it could not be loaded"}.` }));
      this.#waiting.clear();
    });
  }

  static async load(worker: string, module: string, wasm: string): Promise<Evaluator> {
    const made = new Evaluator(worker);
    await made.call("load", { module, wasm });
    return made;
  }

  call<K extends Kind>(kind: K, body: Calls[K]["request"]): Promise<Calls[K]["reply"]> {
    const id = this.#next++;
    return new Promise<Calls[K]["reply"]>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, kind, body } as Request);
    });
  }
}
