// Registers the service worker and reports what of the page is kept for a visit without a network.

import { threadsHere } from "../models/web.ts";
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
    const controlled = navigator.serviceWorker.controller !== null;
    try {
      const registration = await navigator.serviceWorker.register("service-worker.js");
      this.#registration = registration;
      this.#watch(registration);
      await navigator.serviceWorker.ready;
      this.#report({ state: "ready", threads: !controlled && threadsHere() < threadsHere(true) });
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

  /** Loads the page anew, in the newest version of it that the site has. */
  async update(): Promise<void> {
    const reload = (): void => window.location.reload();
    const registration = this.#registration ?? (await navigator.serviceWorker?.getRegistration().catch(() => undefined));
    if (!registration?.active) return reload();
    if (!registration.waiting) await registration.update().catch(() => undefined);
    const next = registration.waiting ?? registration.installing;
    if (!next) return reload();
    navigator.serviceWorker.addEventListener("controllerchange", reload, { once: true });
    const takeOver = (): void => {
      if (next.state === "installed") next.postMessage({ ask: "take-over" });
      else if (next.state === "redundant") reload();
    };
    next.addEventListener("statechange", takeOver);
    takeOver();
  }

  #watch(registration: ServiceWorkerRegistration): void {
    const look = (): void => {
      if (registration.waiting && navigator.serviceWorker.controller) this.#report({ update: true });
    };
    look();
    // Another tab went over to a newer version: what this page has not loaded yet may be gone.
    if (navigator.serviceWorker.controller) navigator.serviceWorker.addEventListener("controllerchange", () => this.#report({ update: true }));
    registration.addEventListener("updatefound", () => registration.installing?.addEventListener("statechange", look));
  }
}
