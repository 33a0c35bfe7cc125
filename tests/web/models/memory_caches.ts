// Cache Storage in memory, with a quota, for tests outside a browser.
export class MemoryCaches implements CacheStorage {
  readonly entries = new Map<string, Uint8Array<ArrayBuffer>>();
  #quota: number;

  constructor(quota: number = Number.POSITIVE_INFINITY) {
    this.#quota = quota;
  }

  async open(): Promise<Cache> {
    const { entries } = this;
    const url = (request: RequestInfo | URL): string => (request instanceof Request ? request.url : String(request));
    const cache: Partial<Cache> = {
      match: async (request) => {
        const bytes = entries.get(url(request));
        return bytes === undefined ? undefined : new Response(bytes);
      },
      put: async (request, response) => {
        const bytes = new Uint8Array(await response.arrayBuffer());
        const used = [...entries.values()].reduce((sum, entry) => sum + entry.length, 0);
        if (used + bytes.length > this.#quota) throw new DOMException("the quota has been exceeded", "QuotaExceededError");
        entries.set(url(request), bytes);
      },
      delete: async (request) => entries.delete(url(request)),
      keys: async () => [...entries.keys()].map((key) => new Request(key)),
    };
    return cache as Cache;
  }

  has = (): Promise<boolean> => Promise.resolve(true);
  delete = (): Promise<boolean> => Promise.resolve(true);
  keys = (): Promise<string[]> => Promise.resolve([]);
  match = (): Promise<undefined> => Promise.resolve(undefined);
}
