// Keeps what the site's server says of itself: asked for again when a question is asked and it may have changed, when it said
// that live answers come back, and when the network does.

import type { ProviderFailure } from "../providers/provider.ts";
import { readService, type Service, type ServiceAddress } from "../providers/service.ts";

/** A status that says "not now" is asked for again after this long, when somebody asks a question. */
const staleMs = 15_000;
/** Longest timer that browsers count down correctly. */
const longestTimerMs = 2 ** 31 - 1;
const servedBefore = "polygraph.service";

export class ServiceWatch {
  readonly #at: ServiceAddress;
  readonly #storage: Storage | null;
  readonly #onChange: (service: Service) => void;
  #service: Service;
  #reading: Promise<void> | null = null;
  #readAt = 0;
  #timer = 0;

  /** @param signal fires when the page or the element is gone */
  constructor(at: ServiceAddress, service: Service, storage: Storage | null, onChange: (service: Service) => void, signal?: AbortSignal) {
    this.#at = at;
    this.#service = service;
    this.#storage = storage;
    this.#onChange = onChange;
    window.addEventListener("online", () => void this.refresh(), signal ? { signal } : {});
    signal?.addEventListener("abort", () => window.clearTimeout(this.#timer));
  }

  refresh(): Promise<void> {
    this.#reading ??= readService(this.#at, this.#service).then((service) => {
      this.#reading = null;
      this.#readAt = performance.now();
      this.#set(service);
    });
    return this.#reading;
  }

  /** Before a question is asked: the status, where it is unknown or may have changed. It ends by itself within seconds. */
  async forAsking(): Promise<void> {
    const { state } = this.#service;
    const stale = state !== "live" && state !== "none" && performance.now() - this.#readAt > staleMs;
    if (state === "unknown" || stale) await this.refresh();
  }

  /** A failed task tells more than the status did when it was read. */
  learnFrom(failure: ProviderFailure): void {
    this.#readAt = performance.now();
    if (failure.kind === "busy") this.#set({ ...this.#service, state: "busy", until: failure.until });
    else if (failure.kind === "unreachable" || failure.kind === "timeout") this.#set({ ...this.#service, state: "unreachable", until: null });
    else if (failure.kind === "index_mismatch") void this.refresh();
    else if (failure.kind === "absent") this.#set({ ...this.#service, state: "none", until: null });
  }

  #set(service: Service): void {
    try {
      if (service.state !== "unreachable") this.#storage?.setItem(servedBefore, service.state === "none" ? "none" : "yes");
      // Without a network nobody knows whether this site has such a server; one that never answered is not missed.
      else if (!navigator.onLine && this.#storage?.getItem(servedBefore) !== "yes") service = { ...service, state: "none" };
    } catch {
      // Nothing is remembered, so a visit without a network says that the server cannot be reached.
    }
    this.#service = service;
    this.#onChange(service);
    window.clearTimeout(this.#timer);
    if (!service.until) return;
    const wait = Date.parse(service.until) - Date.now() + 1000;
    if (wait > 0 && wait < longestTimerMs) this.#timer = window.setTimeout(() => void this.refresh(), wait);
  }
}
