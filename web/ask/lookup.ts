// Passages for what stands in the field: one look-up at a time, and of what is typed while it runs only the last is looked up
// next.

import type { Hit } from "../engine/boundary.ts";
import type { WorkerClient } from "../worker/client.ts";

/** Passages listed while somebody types. */
const passagesShown = 8;

export class Lookup {
  readonly #worker: () => Promise<WorkerClient>;
  readonly #show: (hits: Hit[] | null, ms: number) => void;
  /** What the field asks passages for and has not got yet. */
  #wanted: { query: string; since: number } | null = null;
  #looking = false;

  /** @param show null: there is nothing to list. `ms` runs from the keypress. */
  constructor(worker: () => Promise<WorkerClient>, show: (hits: Hit[] | null, ms: number) => void) {
    this.#worker = worker;
    this.#show = show;
  }

  async look(query: string): Promise<void> {
    this.#wanted = { query, since: performance.now() };
    if (this.#looking) return;
    this.#looking = true;
    try {
      const worker = await this.#worker();
      while (this.#wanted) {
        const now: { query: string; since: number } = this.#wanted;
        const hits = await worker.call("typeahead", { query: now.query, limit: passagesShown });
        if (!this.#wanted) break; // the field was left meanwhile
        if (this.#wanted === now) this.#wanted = null;
        this.#show(hits, performance.now() - now.since);
      }
    } catch {
      this.stop();
    } finally {
      this.#looking = false;
    }
  }

  /** Whatever is still on its way is not shown. */
  forget(): void {
    this.#wanted = null;
  }

  stop(): void {
    this.forget();
    this.#show(null, 0);
  }
}
