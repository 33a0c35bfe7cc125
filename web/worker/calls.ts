// A worker at a distance, for the page: its calls as promises, what it says unasked to a listener. `serve.ts` is its other end.
//
// A new worker may never take its first message: it was seen in Firefox, with about one fresh module worker in fifty. So a
// worker says `listening` as soon as the first message reaches it; one that stays silent is replaced, and the new one is
// told everything again. Nothing has been answered by then, so nothing is done twice.

/** What a worker says first. */
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
  /** What the worker was told before it said anything; null: it listens. */
  #told: unknown[] | null = [];
  #worker: Worker;
  #starts = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Why no call can be made any more; null: calls can be made. */
  #over: string | null = null;
  #next = 1;

  constructor(options: Options) {
    this.#options = options;
    this.#worker = this.#start();
  }

  call<K extends keyof Calls>(kind: K, body: Calls[K]["request"]): Promise<Calls[K]["reply"]> {
    if (this.#over !== null) return Promise.reject(this.#options.stopped(this.#over));
    const id = this.#next++;
    return new Promise<Calls[K]["reply"]>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const request = { id, kind, body };
      if (this.#told?.push(request) === 1) this.#expect();
      this.#worker.postMessage(request);
    });
  }

  /** Ends the worker; calls under way reject. */
  stop(why: string): void {
    this.#worker.terminate();
    this.#end(why);
  }

  #start(): Worker {
    const worker = this.#options.start();
    worker.addEventListener("message", ({ data }: MessageEvent<Said>) => {
      if (worker === this.#worker) this.#hear(data);
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      if (worker !== this.#worker) return;
      // One that listens has thrown somewhere and goes on; one that never did could not be loaded.
      if (this.#told) this.#end(event.message ?? "");
      else this.#rejectAll(event.message ?? "");
    });
    return worker;
  }

  #expect(): void {
    const limits = this.#options.patienceMs ?? patienceMs;
    this.#timer = setTimeout(() => {
      if (++this.#starts >= limits.length) return this.stop(`it did not answer, though it was started ${limits.length} times`);
      this.#worker.terminate();
      this.#worker = this.#start();
      this.#expect();
      for (const request of this.#told ?? []) this.#worker.postMessage(request);
    }, limits[this.#starts]);
  }

  #hear(said: Said): void {
    if (this.#told) {
      this.#told = null;
      clearTimeout(this.#timer);
    }
    if ("event" in said) {
      if (said.event !== "listening") this.#options.onEvent?.(said as never);
      return;
    }
    const waiting = this.#waiting.get(said.id);
    this.#waiting.delete(said.id);
    if ("error" in said) waiting?.reject(this.#options.refused(said.error as never));
    else waiting?.resolve(said.ok as never);
  }

  #end(why: string): void {
    clearTimeout(this.#timer);
    this.#over = why;
    this.#rejectAll(why);
  }

  #rejectAll(why: string): void {
    for (const { reject } of this.#waiting.values()) reject(this.#options.stopped(why));
    this.#waiting.clear();
  }
}
