// Registers the service worker and reports what of the page is kept for a visit without a network.

import type { Offline } from "./state.ts";

export class OfflineKeeper {
  readonly #report: (change: Partial<Offline>) => void;
  #registration: ServiceWorkerRegistration | undefined;

  constructor(report: (change: Partial<Offline>) => void) {
    this.#report = report;
  }

  async start(canStore: boolean): Promise<void> {
    if (!("serviceWorker" in navigator)) {
      const message = window.isSecureContext ? "this browser has no service workers" : "this address is not secure (https or localhost)";
      this.#report({ state: "unsupported", message });
      return;
    }
    if (!canStore) {
      this.#report({ state: "unsupported", message: "this browser keeps no files for pages, as in a private window" });
      return;
    }
    try {
      const registration = await navigator.serviceWorker.register("service-worker.js");
      this.#registration = registration;
      this.#watch(registration);
      await navigator.serviceWorker.ready;
      this.#report({ state: "ready" });
    } catch (error) {
      this.#report({ state: "failed", message: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Once the models answer: keeps their runtime too. The models themselves are in the browser's store by then. */
  async keepRuntime(): Promise<void> {
    if (!this.#registration) return;
    const { active } = await navigator.serviceWorker.ready;
    const channel = new MessageChannel();
    const reply = new Promise<{ ok: boolean; message?: string }>((resolve) => {
      channel.port1.onmessage = (event: MessageEvent<{ ok: boolean; message?: string }>) => resolve(event.data);
    });
    active?.postMessage({ ask: "keep-runtime" }, [channel.port2]);
    const { ok, message } = await reply;
    this.#report(ok ? { models: true } : { message: message ?? "" });
  }

  /** Lets the waiting version take over and loads the page anew. */
  update(): void {
    const waiting = this.#registration?.waiting;
    if (!waiting) return;
    navigator.serviceWorker.addEventListener("controllerchange", () => window.location.reload(), { once: true });
    waiting.postMessage({ ask: "take-over" });
  }

  #watch(registration: ServiceWorkerRegistration): void {
    const look = (): void => {
      if (registration.waiting && navigator.serviceWorker.controller) this.#report({ update: true });
    };
    look();
    registration.addEventListener("updatefound", () => registration.installing?.addEventListener("statechange", look));
  }
}
