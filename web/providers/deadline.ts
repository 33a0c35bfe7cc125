// A wait that ends: by itself when time runs out, or when whoever asked gives up. Browsers of two years ago have neither
// AbortSignal.any nor a way to start a timeout anew, so this is both.

export class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #giveUp = (): void => this.#controller.abort();
  #whole: ReturnType<typeof setTimeout>;
  #quiet: ReturnType<typeof setTimeout> | undefined;
  /** True when time ran out; false when it was cancelled, or is still running. */
  expired = false;

  /** @param ms for everything together */
  constructor(ms: number, outer?: AbortSignal) {
    this.#outer = outer;
    this.#whole = setTimeout(() => this.#expire(), ms);
    if (outer?.aborted) this.#controller.abort();
    outer?.addEventListener("abort", this.#giveUp, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on something has to come within `ms`; called again whenever something came. */
  within(ms: number): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.#expire(), ms);
  }

  end(): void {
    clearTimeout(this.#whole);
    clearTimeout(this.#quiet);
    this.#outer?.removeEventListener("abort", this.#giveUp);
  }

  /** Settles with `work`, or rejects as soon as the signal fires: for work that does not listen to one. */
  async race<T>(work: Promise<T>): Promise<T> {
    let stop: () => void = () => undefined;
    const fired = new Promise<never>((_, reject) => {
      stop = () => reject(new DOMException("The wait was ended.", "AbortError"));
      if (this.signal.aborted) stop();
      this.signal.addEventListener("abort", stop, { once: true });
    });
    try {
      return await Promise.race([work, fired]);
    } finally {
      this.signal.removeEventListener("abort", stop);
    }
  }

  #expire(): void {
    this.expired = true;
    this.#controller.abort();
  }
}
