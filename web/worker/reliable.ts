// A new worker may never take its first message: it was seen in Firefox, with about one fresh module worker in fifty and with more of
// the threads that onnxruntime-web starts, for which its session then waits for ever. A worker that stays silent is replaced, and the
// new one is told everything again: nothing has been answered by then, so nothing is done twice.

/** How long a thread may stay silent, for its first to its last start; its script is here already. */
const threadPatienceMs: readonly number[] = [3_000, 6_000, 12_000];

/** What is used of a worker. What it is told before it says something must be clonable to more than one. */
export class ReliableWorker {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  /** It stayed silent at its last start, too. */
  onsilent: ((starts: number) => void) | null = null;
  readonly #start: () => Worker;
  readonly #patienceMs: readonly number[];
  #worker: Worker;
  /** What it was told before it said anything; null: it has. */
  #told: unknown[] | null = [];
  #starts = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param patienceMs how long it may stay silent, for its first to its last start */
  constructor(start: () => Worker, patienceMs: readonly number[]) {
    this.#start = start;
    this.#patienceMs = patienceMs;
    this.#worker = this.#started();
  }

  /** Whether it has said anything yet. */
  get listens(): boolean {
    return this.#told === null;
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
      if (++this.#starts >= this.#patienceMs.length) {
        this.onsilent?.(this.#starts);
        return;
      }
      this.#worker.terminate();
      this.#worker = this.#started();
      this.#expect();
      for (const message of this.#told ?? []) this.#worker.postMessage(message);
    }, this.#patienceMs[this.#starts]);
  }
}

/** From here on, workers that onnxruntime-web starts in this thread are reliable ones. */
export function useReliableThreads(): void {
  const Browsers = globalThis.Worker;
  globalThis.Worker = class extends ReliableWorker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(() => new Browsers(url, options), threadPatienceMs);
    }
  } as unknown as typeof Worker;
}
