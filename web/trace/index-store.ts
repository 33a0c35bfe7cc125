// The index that a replay or a fork needs, by its digest: the site's own, or a file that somebody opened. Viewing needs none.

import type { IndexInfo } from "../engine/boundary.ts";
import type { InspectorWorker } from "./client.ts";

export class IndexStore {
  readonly #worker: () => Promise<InspectorWorker>;
  readonly #site: boolean;
  /** Files by the digest that the engine found in them. */
  readonly #files = new Map<string, File>();
  #siteDigest: string | null = null;
  #open: IndexInfo | null = null;
  /** One thing at a time: the engine holds one index. */
  #turn: Promise<unknown> = Promise.resolve();

  /** @param site this page has an index of its own */
  constructor(worker: () => Promise<InspectorWorker>, site: boolean) {
    this.#worker = worker;
    this.#site = site;
  }

  get open(): IndexInfo | null {
    return this.#open;
  }

  /** Opens a file for good: it is used for every trace that names it. Throws what the engine says of it. */
  use(file: File): Promise<IndexInfo> {
    return this.#next(async () => {
      const info = await this.#load(file);
      this.#files.set(info.digest, file);
      return info;
    });
  }

  /** Makes the index with that digest the open one. False: nobody here has it. */
  want(digest: string): Promise<boolean> {
    return this.#next(async () => {
      if (this.#open?.digest === digest) return true;
      const file = this.#files.get(digest);
      if (file) {
        await this.#load(file);
        return true;
      }
      if (!this.#site || (this.#siteDigest !== null && this.#siteDigest !== digest)) return false;
      const info = await this.#load(null);
      this.#siteDigest = info.digest;
      return info.digest === digest;
    });
  }

  async #load(file: File | null): Promise<IndexInfo> {
    this.#open = null;
    const worker = await this.#worker();
    this.#open = await worker.call("index", file && { blob: file });
    return this.#open;
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const made = this.#turn.then(work, work);
    this.#turn = made.catch(() => undefined);
    return made;
  }
}
