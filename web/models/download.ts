// Brings a model file into the page: with progress, verified by SHA-256, going on where an interrupted download stopped,
// and kept for the next visit in Cache Storage under its digest. Free of the DOM, so that it runs in a worker.
//
// Promises: bytes that are given out have the digest that was asked for, also when they come from the cache; a wrong
// digest is an error and nothing of it stays; where Cache Storage is missing or full (private windows) the download works
// in memory, and the result says so.

/** A file as the model manifest describes it. */
export interface ModelFile {
  readonly url: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  readonly bytes: number;
}

export interface DownloadProgress {
  /** Bytes so far, with those that an earlier visit received. */
  readonly received: number;
  readonly total: number;
}

export interface DownloadOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
  /** Tries in a row that bring no byte before giving up; 3 by default. */
  readonly tries?: number | undefined;
  /** Milliseconds before the second try, doubled for each further one; 1,000 by default. */
  readonly backoffMs?: number | undefined;
  /** Milliseconds without a byte after which a connection counts as dead; 30,000 by default. */
  readonly stallMs?: number | undefined;
  /** For tests; the global ones by default. `null`: there is no Cache Storage. */
  readonly caches?: CacheStorage | null | undefined;
  readonly fetch?: typeof fetch | undefined;
}

export interface Downloaded {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly from: "cache" | "network";
  /** Whether the next visit finds it. */
  readonly kept: boolean;
  /** Why it was not kept, in words for a person; empty when it was. */
  readonly notKept: string;
}

export type DownloadFault = "wrong_digest" | "http_status" | "network" | "insecure_context";

/** A download that failed for good. An abort rejects with the signal's reason instead. */
export class DownloadError extends Error {
  readonly fault: DownloadFault;
  constructor(fault: DownloadFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DownloadError";
    this.fault = fault;
  }
}

/** The cache's name; its entries' URLs carry the digest, so a name for all versions of all models suffices. */
export const MODEL_CACHE = "polygraph-models";

/** A part is stored whenever this much has arrived (4 MiB): at most that is lost when the page closes. */
const PART_BYTES = 4 * 1024 * 1024;

/** Whether a model is kept, without reading it. */
export async function isKept(sha256: string, storage: CacheStorage | null = globalThis.caches ?? null): Promise<boolean> {
  try {
    return storage !== null && (await (await storage.open(MODEL_CACHE)).match(key(sha256))) !== undefined;
  } catch {
    return false;
  }
}

/** Forgets a kept model and the parts of an unfinished download. */
export async function forget(sha256: string, storage: CacheStorage | null = globalThis.caches ?? null): Promise<void> {
  const store = await Store.open(sha256, storage);
  await store.forget();
}

export async function download(file: ModelFile, options: DownloadOptions = {}): Promise<Downloaded> {
  if (globalThis.crypto?.subtle === undefined)
    throw new DownloadError("insecure_context", "models cannot be verified on this page: browsers offer SHA-256 only over https and on localhost");
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const store = await Store.open(file.sha256, options.caches === undefined ? (globalThis.caches ?? null) : options.caches);

  const stored = await store.whole();
  if (stored !== undefined) {
    if ((await sha256(stored)) === file.sha256) {
      onProgress?.({ received: stored.length, total: stored.length });
      return { bytes: stored, from: "cache", kept: true, notKept: "" };
    }
    await store.forget(); // damaged on the disk: fetch it again
  }

  const buffer = new Uint8Array(file.bytes);
  const transfer = new Transfer(file, buffer, store, options);
  for (let fresh = false; ; fresh = true) {
    const resumed = await transfer.run(fresh);
    signal?.throwIfAborted();
    const got = await sha256(buffer);
    if (got === file.sha256) break;
    await store.forget();
    // Parts of two versions of the file may have been joined: once more, from the beginning.
    if (!resumed)
      throw new DownloadError("wrong_digest", `${file.url} has the wrong content: SHA-256 ${file.sha256} was expected, ${got} was received; nothing of it was kept`);
  }
  await store.keep(buffer);
  return { bytes: buffer, from: "network", kept: store.trouble === "", notKept: store.trouble };
}

/** The kept bytes of one model: whole, or the parts of an unfinished download. */
class Store {
  /** Why nothing can be kept; empty while all is well. */
  trouble = "";
  readonly #sha256: string;
  readonly #cache: Cache | undefined;

  private constructor(digest: string, cache: Cache | undefined, trouble: string) {
    this.#sha256 = digest;
    this.#cache = cache;
    this.trouble = trouble;
  }

  static async open(digest: string, storage: CacheStorage | null): Promise<Store> {
    if (storage === null) return new Store(digest, undefined, "this browser offers no storage here (a private window?), so the next visit downloads it again");
    try {
      return new Store(digest, await storage.open(MODEL_CACHE), "");
    } catch (cause) {
      return new Store(digest, undefined, `the browser's storage cannot be used (${words(cause)}), so the next visit downloads it again`);
    }
  }

  async whole(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#read(key(this.#sha256));
  }

  /** Copies the parts that follow each other from the first byte on into `buffer`; their length. */
  async parts(buffer: Uint8Array): Promise<number> {
    let length = 0;
    for (;;) {
      const part = await this.#read(partKey(this.#sha256, length));
      if (part === undefined || part.length === 0 || length + part.length > buffer.length) return length;
      buffer.set(part, length);
      length += part.length;
    }
  }

  async keepPart(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#write(partKey(this.#sha256, offset), bytes);
  }

  /** Keeps the whole and drops its parts: first the parts, for there may be room for only one of the two. */
  async keep(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#cache === undefined) return;
    await this.#drop((url) => url.includes(`${this.#sha256}/`));
    this.trouble = "";
    await this.#write(key(this.#sha256), bytes);
  }

  async forget(): Promise<void> {
    await this.#drop((url) => url.includes(this.#sha256));
  }

  async #read(url: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    try {
      const response = await this.#cache?.match(url);
      return response === undefined ? undefined : new Uint8Array(await response.arrayBuffer());
    } catch {
      return undefined; // unreadable storage is as good as none
    }
  }

  async #write(url: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#cache === undefined || this.trouble !== "") return;
    try {
      const headers = { "content-type": "application/octet-stream", "content-length": String(bytes.length) };
      await this.#cache.put(url, new Response(bytes, { headers }));
    } catch (cause) {
      this.trouble = `the browser's storage took no more (${words(cause)}), so the next visit downloads it again`;
    }
  }

  async #drop(matches: (url: string) => boolean): Promise<void> {
    try {
      for (const request of (await this.#cache?.keys()) ?? []) if (matches(request.url)) await this.#cache?.delete(request);
    } catch {
      // What cannot be deleted is verified before use anyway.
    }
  }
}

/** One download into a buffer, over as many connections as it takes. */
class Transfer {
  readonly #file: ModelFile;
  readonly #buffer: Uint8Array<ArrayBuffer>;
  readonly #store: Store;
  readonly #options: DownloadOptions;
  #received = 0;
  #stored = 0;

  constructor(file: ModelFile, buffer: Uint8Array<ArrayBuffer>, store: Store, options: DownloadOptions) {
    this.#file = file;
    this.#buffer = buffer;
    this.#store = store;
    this.#options = options;
  }

  /** Fills the buffer; tells whether bytes of more than one connection were joined. */
  async run(fresh: boolean): Promise<boolean> {
    const { signal } = this.#options;
    const tries = this.#options.tries ?? 3;
    const backoffMs = this.#options.backoffMs ?? 1000;
    this.#received = this.#stored = fresh ? 0 : await this.#store.parts(this.#buffer);
    let joined = this.#received > 0;
    let pauseMs = backoffMs;
    for (let attempt = 1; this.#received < this.#buffer.length; ++attempt) {
      const before = this.#received;
      try {
        await this.#connection();
        if (this.#received === this.#buffer.length) break;
        throw new DownloadError("network", `${this.#file.url} ended after ${this.#received} of ${this.#buffer.length} bytes`);
      } catch (error) {
        signal?.throwIfAborted();
        if (!passing(error)) throw error;
        if (this.#received > before) {
          attempt = 0;
          pauseMs = backoffMs;
        } else if (attempt >= tries) {
          throw error instanceof DownloadError
            ? error
            : new DownloadError("network", `no connection to ${this.#file.url} (${words(error)}); the download goes on where it stopped`, { cause: error });
        }
      }
      joined ||= this.#received > 0;
      await pause(pauseMs, signal);
      pauseMs *= 2;
    }
    return joined;
  }

  async #connection(): Promise<void> {
    const { signal } = this.#options;
    const stall = new AbortController();
    const stallMs = this.#options.stallMs ?? 30_000;
    const giveUp = (): void => stall.abort(new DownloadError("network", `${this.#file.url} sent nothing for ${stallMs / 1000} s`));
    let timer = setTimeout(giveUp, stallMs);
    try {
      const headers: Record<string, string> = this.#received > 0 ? { range: `bytes=${this.#received}-` } : {};
      const response = await (this.#options.fetch ?? fetch)(this.#file.url, {
        headers,
        // The HTTP cache would keep a second copy.
        cache: "no-store",
        signal: signal === undefined ? stall.signal : AbortSignal.any([signal, stall.signal]),
      });
      await this.#place(response);
      if (response.body === null) return;
      const reader = response.body.getReader();
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          clearTimeout(timer);
          timer = setTimeout(giveUp, stallMs);
          if (this.#received + value.length > this.#buffer.length)
            throw new DownloadError("wrong_digest", `${this.#file.url} is longer than the ${this.#buffer.length} bytes that were expected; it is another file`);
          this.#buffer.set(value, this.#received);
          this.#received += value.length;
          this.#options.onProgress?.({ received: this.#received, total: this.#buffer.length });
          if (this.#received - this.#stored >= PART_BYTES) await this.#keepPart();
        }
      } finally {
        // Also ends the connection when the loop was left early.
        await reader.cancel().catch(() => undefined);
      }
    } catch (error) {
      throw stall.signal.aborted ? stall.signal.reason : error;
    } finally {
      clearTimeout(timer);
      if (this.#received < this.#buffer.length) await this.#keepPart();
    }
  }

  /** Where the response's bytes belong: after ours for the range we asked for, at the beginning otherwise. */
  async #place(response: Response): Promise<void> {
    if (response.status === 206 && this.#received > 0) {
      const start = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1];
      if (start === undefined || Number(start) === this.#received) return;
    }
    const whole = response.status === 200;
    if (whole || response.status === 206 || response.status === 416) {
      if (this.#received > 0) await this.#store.forget();
      this.#received = this.#stored = 0;
      if (whole) return;
      await response.body?.cancel();
      throw new DownloadError("network", `${this.#file.url} sent another part of the file than was asked for`);
    }
    await response.body?.cancel();
    throw new DownloadError("http_status", `the server answered ${response.status} for ${this.#file.url}`, { cause: response.status });
  }

  async #keepPart(): Promise<void> {
    if (this.#received === this.#stored) return;
    const begin = this.#stored;
    this.#stored = this.#received;
    await this.#store.keepPart(begin, this.#buffer.slice(begin, this.#received));
  }
}

/** Whether another try may help. */
function passing(error: unknown): boolean {
  if (!(error instanceof DownloadError)) return true; // fetch rejects with TypeError when the network fails
  if (error.fault === "network") return true;
  const status = error.fault === "http_status" ? Number(error.cause) : 0;
  return status === 408 || status === 429 || status >= 500;
}

/** Cache Storage takes http URLs only; these are never fetched. */
function key(digest: string): string {
  return `https://models.invalid/${digest}`;
}

function partKey(digest: string, offset: number): string {
  return `${key(digest)}/${offset}`;
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

function words(cause: unknown): string {
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
