// The engine worker's end of the model worker: starts it, follows its progress, ends it on request, and says of each model
// whether it can be asked and, if not, why.

import type { EffectResult, IndexMetadata, TokenPair } from "../engine/boundary.ts";
import { encodeFloats } from "../engine/base64.ts";
import type { Capabilities } from "./capabilities.ts";
import type { ModelProgress } from "./messages.ts";
import { WorkerCalls } from "./calls.ts";
import type { ModelCalls, ModelEvent } from "./model-messages.ts";
import type { WorkerFiles } from "./site.ts";

type Role = ModelProgress["role"];

/**
 * How long a model may take to start, once its bytes are here. One that takes longer waits for a thread that the browser
 * never started (see reliable.ts): its worker is replaced, and the new one does without threads.
 */
const startingMs = { threaded: 40_000, single: 120_000 };

export class Models {
  readonly #site: WorkerFiles;
  readonly #onChange: () => void;
  readonly #progress: Map<Role, ModelProgress>;
  readonly #startingMs: typeof startingMs;
  #worker: WorkerCalls<ModelCalls> | undefined;
  #storage = false;
  /** A load that has not been asked of the worker yet. */
  #begun: symbol | null = null;
  #late: ReturnType<typeof setTimeout> | undefined;
  threads = 1;
  /** Fewer than the browser offers once they did not start. */
  #threadsMax: number;

  constructor(site: WorkerFiles, capabilities: Capabilities, onChange: () => void, limits = startingMs) {
    this.#site = site;
    this.#onChange = onChange;
    this.#startingMs = limits;
    this.#threadsMax = capabilities.threads;
    const supported = capabilities.simd;
    this.#progress = new Map(
      site.models.map(({ role, bytes }) => [
        role,
        {
          role,
          state: supported ? "waiting" : "unsupported",
          received: 0,
          total: bytes,
          message: supported ? "" : "this browser has no WebAssembly SIMD, which the models need",
        },
      ]),
    );
  }

  get progress(): ModelProgress[] {
    return [...this.#progress.values()];
  }

  /** Empty when the model answers; otherwise why it does not. */
  missing(role: Role): string {
    const model = this.#progress.get(role);
    if (!model) return `this site carries no ${role}`;
    switch (model.state) {
      case "ready":
        return "";
      case "waiting":
        return `the ${role} has not been loaded yet`;
      case "loading":
        return `the ${role} is still loading (${megabytes(model.received)} of ${megabytes(model.total)} MB)`;
      case "starting":
        return `the ${role} is starting`;
      case "cancelled":
        return `loading the ${role} was cancelled`;
      case "failed":
      case "unsupported":
        return model.message;
    }
  }

  /** Vectors of two embedders cannot be compared: the index names the one it was built with. */
  checkAgainst(metadata: IndexMetadata): void {
    const wanted = metadata.embedder;
    const ours = this.#site.models.find((model) => model.role === "embedder");
    if (!ours || !wanted.sha256 || wanted.sha256 === ours.sha256) return;
    const message = `the index was built with ${wanted.name} (${wanted.sha256.slice(0, 12)}), this site carries ${ours.name} (${ours.sha256.slice(0, 12)})`;
    this.#set("embedder", { state: "unsupported", message });
  }

  /**
   * @param quiet when a worker may be started: one of Firefox that starts another while a stream comes in can hang in the
   *        attempt, for ever
   */
  load(storage: boolean, quiet: Promise<unknown> = Promise.resolve()): void {
    const wanted = this.#site.models.filter(({ role }) => {
      const state = this.#progress.get(role)?.state;
      return state === "waiting" || state === "cancelled" || state === "failed";
    });
    if (wanted.length === 0) return;
    this.#storage = storage;
    for (const { role } of wanted) this.#set(role, { state: "loading", message: "" });
    const begun = (this.#begun = Symbol());
    void quiet.catch(() => undefined).then(() => {
      if (begun !== this.#begun) return;
      this.#begun = null;
      const worker = (this.#worker ??= this.#start());
      worker.call("load", { models: wanted, ort: this.#site.ort, threads: this.#threadsMax, storage }).catch((error: Error) => {
        if (worker === this.#worker) this.#fail(error.message);
      });
    });
  }

  /** Stops what is loading; models that are ready stay. */
  cancel(): void {
    if (this.#begun) {
      this.#begun = null;
      for (const { role, state } of this.progress) if (state === "loading") this.#set(role, { state: "cancelled" });
    }
    void this.#call("cancel", null).catch(() => undefined);
  }

  async embed(ids: number[]): Promise<EffectResult> {
    const { vector, ms } = await this.#call("embed", { ids });
    return { embedding: encodeFloats(vector), ms, model: this.#name("embedder"), tokens: { in: ids.length, out: 0 } };
  }

  async score(pairs: TokenPair[], budgetMs: number): Promise<EffectResult> {
    const { logits, ms } = await this.#call("score", { pairs, budget_ms: budgetMs });
    const tokens = pairs.slice(0, logits.length).reduce((sum, pair) => sum + pair.ids.length, 0);
    return { logits: encodeFloats(logits), ms, model: this.#name("reranker"), tokens: { in: tokens, out: 0 } };
  }

  #name(role: Role): string {
    return this.#site.models.find((model) => model.role === role)?.name ?? role;
  }

  #start(): WorkerCalls<ModelCalls> {
    const calls: WorkerCalls<ModelCalls> = new WorkerCalls<ModelCalls>({
      start: () => new Worker(this.#site.model_worker, { type: "module" }),
      onEvent: (said: ModelEvent) => {
        if (calls !== this.#worker) return;
        if (said.event === "threads") this.threads = said.threads;
        else this.#hear(said.progress);
      },
      refused: (message: string) => new Error(message),
      stopped: (why) => {
        const message = `the models' worker stopped: ${why || "it could not be loaded"}`;
        if (calls === this.#worker) {
          this.#worker = undefined;
          this.#fail(message);
        }
        return new Error(message);
      },
    });
    return calls;
  }

  #hear(progress: ModelProgress): void {
    clearTimeout(this.#late);
    if (progress.state === "starting") {
      const limit = this.#threadsMax > 1 ? this.#startingMs.threaded : this.#startingMs.single;
      this.#late = setTimeout(() => this.#stuck(progress.role, limit), limit);
    }
    this.#set(progress.role, progress);
  }

  #stuck(role: Role, limit: number): void {
    const worker = this.#worker;
    this.#worker = undefined;
    const roles = this.progress.filter(({ state }) => state === "starting" || state === "loading" || state === "ready").map((model) => model.role);
    if (this.#threadsMax > 1) {
      this.#threadsMax = 1;
      for (const each of roles) this.#set(each, { state: "waiting" });
      worker?.stop("it did not start");
      this.load(this.#storage);
    } else {
      this.#fail(`the ${role} did not start within ${limit / 1000} seconds`);
      worker?.stop("it did not start");
    }
  }

  #call<K extends keyof ModelCalls>(kind: K, body: ModelCalls[K]["request"]): Promise<ModelCalls[K]["reply"]> {
    return this.#worker?.call(kind, body) ?? Promise.reject(new Error("the models are not loaded"));
  }

  #set(role: Role, change: Partial<ModelProgress>): void {
    const model = this.#progress.get(role);
    if (!model) return;
    this.#progress.set(role, { ...model, ...change });
    this.#onChange();
  }

  #fail(message: string): void {
    for (const model of this.progress) {
      if (model.state !== "failed") this.#set(model.role, { state: "failed", message });
    }
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
