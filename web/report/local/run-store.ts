// A run in this browser, kept item by item in IndexedDB, so that a reload loses nothing that is finished. Where the browser
// keeps nothing (private windows, storage denied) it stands in memory, and `kept` says so.

/** What a run is over. There is one at a time. */
export interface Plan {
  /** Names of the configurations, as the shipped evaluation has them. */
  configs: string[];
  items: string[];
  subset: string;
  createdAt: string;
  /** Which evaluation over which index: a plan of another one is dropped. */
  of: string;
}

export interface Done {
  config: string;
  item: string;
  /** Of the run, as `polygraph run` writes it. */
  line: string;
  ms: number;
}

const database = "polygraph-runs";

const settled = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's store failed"));
  });

export class RunStore {
  readonly #db: IDBDatabase | null;
  #plan: Plan | null = null;
  #done = new Map<string, Done>();

  private constructor(db: IDBDatabase | null) {
    this.#db = db;
  }

  static async open(): Promise<RunStore> {
    let db: IDBDatabase | null = null;
    try {
      const request = indexedDB.open(database, 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore("plan");
        request.result.createObjectStore("done");
      };
      db = await settled(request);
    } catch {
      return new RunStore(null);
    }
    const store = new RunStore(db);
    try {
      const read = db.transaction(["plan", "done"]);
      store.#plan = ((await settled(read.objectStore("plan").get("plan"))) as Plan | undefined) ?? null;
      for (const each of (await settled(read.objectStore("done").getAll())) as Done[]) store.#done.set(keyOf(each), each);
    } catch {
      return new RunStore(null);
    }
    return store;
  }

  /** Whether a reload finds what stands here. */
  get kept(): boolean {
    return this.#db !== null;
  }

  get plan(): Plan | null {
    return this.#plan;
  }

  done(config: string, item: string): Done | undefined {
    return this.#done.get(keyOf({ config, item }));
  }

  get count(): number {
    return this.#done.size;
  }

  /** Drops what was there. */
  async begin(plan: Plan): Promise<void> {
    await this.clear();
    this.#plan = plan;
    await this.#write("plan", "plan", plan);
  }

  async add(done: Done): Promise<void> {
    this.#done.set(keyOf(done), done);
    await this.#write("done", keyOf(done), done);
  }

  async clear(): Promise<void> {
    this.#plan = null;
    this.#done.clear();
    if (!this.#db) return;
    const change = this.#db.transaction(["plan", "done"], "readwrite");
    await Promise.all([settled(change.objectStore("plan").clear()), settled(change.objectStore("done").clear())]);
  }

  /** Throws with a sentence where the store is full. */
  async #write(store: "plan" | "done", key: string, value: unknown): Promise<void> {
    if (!this.#db) return;
    try {
      await settled(this.#db.transaction(store, "readwrite").objectStore(store).put(value, key));
    } catch (error) {
      throw new Error(`This browser could not keep the run: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

const keyOf = ({ config, item }: { config: string; item: string }): string => `${config}\n${item}`;
