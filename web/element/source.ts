// One engine worker for each index on a page, however many elements ask it and however often a site that goes from page to page
// in place makes its element anew.

import type { IndexInfo } from "../engine/boundary.ts";
import { capabilities, canStore } from "../worker/capabilities.ts";
import { WorkerClient } from "../worker/client.ts";
import type { ModelProgress, WorkerEvent } from "../worker/messages.ts";
import { at, type WorkerFiles } from "../worker/site.ts";
import type { ElementFiles } from "./files.ts";

export class Source {
  readonly client: WorkerClient;
  /** Rejects with the reason when the index cannot be searched. */
  readonly opened: Promise<IndexInfo>;
  readonly #listeners = new Set<(event: WorkerEvent) => void>();
  models: ModelProgress[] = [];
  threads = 1;
  #asked = false;

  constructor(files: WorkerFiles, worker: string) {
    this.client = new WorkerClient(worker, (event) => {
      if (event.event === "models") ({ models: this.models, threads: this.threads } = event);
      for (const listener of this.#listeners) listener(event);
    });
    this.opened = this.client.call("open", { site: files, capabilities: capabilities() }).then(({ info }) => info);
    this.opened.catch(() => undefined); // told to whoever asks
  }

  listen(listener: (event: WorkerEvent) => void, signal: AbortSignal): void {
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener), { once: true });
  }

  /** Loads the models, or tries again those that could not be had. */
  async loadModels(isolation: string): Promise<void> {
    await this.client.call("models", { action: "load", storage: await canStore() });
    if (this.#asked || !isolation || globalThis.crossOriginIsolated) return;
    this.#asked = true;
    // From the next page on, the models have several threads.
    await navigator.serviceWorker?.register(isolation).catch((error: unknown) => console.error(`polygraph-ask: ${isolation}: ${String(error)}`));
  }

  cancelModels(): Promise<null> {
    return this.client.call("models", { action: "cancel" });
  }
}

const sources = new Map<string, Source>();

export function sourceOf(files: ElementFiles, assets: string, src: string, withModels: boolean): Source {
  const key = [assets, src, withModels].join(" ");
  let source = sources.get(key);
  if (!source) {
    const { engine_worker, models } = files;
    source = new Source(at({ ...files, index: { url: src, bytes: 0 }, models: withModels ? models : [] }, assets), new URL(engine_worker, assets).href);
    sources.set(key, source);
    // What could not be opened is opened anew the next time.
    const failed = source;
    source.opened.catch(() => {
      sources.delete(key);
      failed.client.stop("the index could not be opened");
    });
  }
  return source;
}
