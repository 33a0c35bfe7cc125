// A worker at a distance, for the page: its calls as promises, what it says unasked to a listener. `serve.ts` is its other end.

import { ReliableWorker } from "./reliable.ts";

/** What a worker says as soon as the first message reaches it, so that one that never takes it is known (reliable.ts). */
export interface Listening {
  event: "listening";
}

/** How long a new worker may stay silent, for its first to its last start; its script has to come over the network. */
const patienceMs: readonly number[] = [6_000, 15_000, 60_000];

interface Options {
  start: () => Worker;
  /** Everything but answers to calls. */
  onEvent?: (event: never) => void;
  /** What a call rejects with when the worker refuses it. */
  refused: (error: never) => Error;
  /** The same when the worker has stopped or cannot be started; `why` is empty when the browser does not say. */
  stopped: (why: string) => Error;
  patienceMs?: readonly number[];
}

interface Waiting {
  resolve: (value: never) => void;
  reject: (error: Error) => void;
}

type Said = Listening | { event: string } | { id: number; ok: unknown } | { id: number; error: unknown };

/** `Calls`: by kind, what a request carries and its reply. */
export class WorkerCalls<Calls extends Record<keyof Calls, { request: unknown; reply: unknown }>> {
  readonly #options: Options;
  readonly #waiting = new Map<number, Waiting>();
  readonly #worker: ReliableWorker;
  /** Why no call can be made any more; null: calls can be made. */
  #over: string | null = null;
  #next = 1;

  constructor(options: Options) {
    this.#options = options;
    this.#worker = new ReliableWorker(options.start, options.patienceMs ?? patienceMs);
    this.#worker.onmessage = ({ data }: MessageEvent<Said>) => this.#hear(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      const why = event.message ?? "";
      // One that listens has thrown somewhere and goes on; one that never did could not be loaded.
      if (this.#worker.listens) this.#rejectAll(why);
      else this.stop(why);
    };
    this.#worker.onsilent = (starts) => this.stop(`it did not answer, though it was started ${starts} times`);
  }

  call<K extends keyof Calls>(kind: K, body: Calls[K]["request"]): Promise<Calls[K]["reply"]> {
    if (this.#over !== null) return Promise.reject(this.#options.stopped(this.#over));
    const id = this.#next++;
    return new Promise<Calls[K]["reply"]>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, kind, body });
    });
  }

  /** Ends the worker; calls under way reject. */
  stop(why: string): void {
    this.#worker.terminate();
    this.#over = why;
    this.#rejectAll(why);
  }

  #hear(said: Said): void {
    if ("event" in said) {
      if (said.event !== "listening") this.#options.onEvent?.(said as never);
      return;
    }
    const waiting = this.#waiting.get(said.id);
    this.#waiting.delete(said.id);
    if ("error" in said) waiting?.reject(this.#options.refused(said.error as never));
    else waiting?.resolve(said.ok as never);
  }

  #rejectAll(why: string): void {
    for (const { reject } of this.#waiting.values()) reject(this.#options.stopped(why));
    this.#waiting.clear();
  }
}
