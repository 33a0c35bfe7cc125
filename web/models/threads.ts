// onnxruntime-web's threads are workers that its own code starts. In Firefox one of them now and then never takes its first
// message, and the session then waits for it for ever. A thread that stays silent is therefore replaced by another, which is
// told the same again: the module and the shared memory, which any number of workers can be given.

/** How long a new thread may stay silent, for its first to its last start. */
const patienceMs: readonly number[] = [3_000, 6_000, 12_000];

/** What onnxruntime-web uses of a worker; made in place of `Worker`. */
export class ReliableThread {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly #start: () => Worker;
  readonly #patienceMs: readonly number[];
  #worker: Worker;
  /** What it was told before it said anything; null: it has. */
  #told: unknown[] | null = [];
  #starts = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(start: () => Worker, limits: readonly number[] = patienceMs) {
    this.#start = start;
    this.#patienceMs = limits;
    this.#worker = this.#started();
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    if (this.#told?.push(message) === 1) this.#expect();
    this.#worker.postMessage(message, transfer);
  }

  terminate(): void {
    clearTimeout(this.#timer);
    this.#worker.terminate();
  }

  #started(): Worker {
    const worker = this.#start();
    worker.onmessage = (event) => {
      if (worker !== this.#worker) return;
      this.#told = null;
      clearTimeout(this.#timer);
      this.onmessage?.(event);
    };
    worker.onerror = (event) => {
      if (worker === this.#worker) this.onerror?.(event);
    };
    return worker;
  }

  #expect(): void {
    this.#timer = setTimeout(() => {
      if (++this.#starts >= this.#patienceMs.length) return; // whoever waits for the session has a limit of their own
      this.#worker.terminate();
      this.#worker = this.#started();
      this.#expect();
      for (const message of this.#told ?? []) this.#worker.postMessage(message);
    }, this.#patienceMs[this.#starts]);
  }
}

/** From here on, workers that this thread starts are reliable ones. */
export function useReliableThreads(): void {
  const Browsers = globalThis.Worker;
  globalThis.Worker = class extends ReliableThread {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(() => new Browsers(url, options));
    }
  } as unknown as typeof Worker;
}
