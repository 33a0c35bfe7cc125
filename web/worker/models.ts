// The engine worker's end of the model worker: starts it, follows its progress, ends it on request, and says of each model
// whether it can be asked and, if not, why.

import type { EffectResult, IndexMetadata, TokenPair } from "../engine/boundary.ts";
import { encodeFloats } from "../engine/base64.ts";
import type { Capabilities } from "./capabilities.ts";
import type { ModelProgress } from "./messages.ts";
import type { FromModelWorker, ModelCalls, ModelKind, ModelRequest } from "./model-messages.ts";
import type { WorkerFiles } from "./site.ts";

type Role = ModelProgress["role"];
type Waiting = { resolve: (value: never) => void; reject: (error: Error) => void };

export class Models {
  readonly #site: WorkerFiles;
  readonly #capabilities: Capabilities;
  readonly #onChange: () => void;
  readonly #progress: Map<Role, ModelProgress>;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 1;
  threads = 1;

  constructor(site: WorkerFiles, capabilities: Capabilities, onChange: () => void) {
    this.#site = site;
    this.#capabilities = capabilities;
    this.#onChange = onChange;
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

  load(storage: boolean): void {
    const wanted = this.#site.models.filter(({ role }) => {
      const state = this.#progress.get(role)?.state;
      return state === "waiting" || state === "cancelled" || state === "failed";
    });
    if (wanted.length === 0) return;
    this.#worker ??= this.#start();
    for (const { role } of wanted) this.#set(role, { state: "loading", message: "" });
    const { ort } = this.#site;
    const { threads } = this.#capabilities;
    this.#call("load", { models: wanted, ort, threads, storage }).catch((error: Error) => this.#fail(error.message));
  }

  /** Stops what is loading; models that are ready stay. */
  cancel(): void {
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

  #start(): Worker {
    const worker = new Worker(this.#site.model_worker, { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<FromModelWorker>) => {
      if ("event" in data) {
        if (data.event === "progress") this.#set(data.progress.role, data.progress);
        else this.threads = data.threads;
        return;
      }
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ("error" in data) waiting?.reject(new Error(data.error));
      else waiting?.resolve(data.ok as never);
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#worker = undefined;
      const message = `the models' worker stopped: ${event.message || "it could not be loaded"}`;
      for (const waiting of this.#waiting.values()) waiting.reject(new Error(message));
      this.#waiting.clear();
      this.#fail(message);
    });
    return worker;
  }

  #call<K extends ModelKind>(kind: K, body: ModelCalls[K]["request"]): Promise<ModelCalls[K]["reply"]> {
    const worker = this.#worker;
    if (!worker) return Promise.reject(new Error("the models are not loaded"));
    const id = this.#next++;
    return new Promise<ModelCalls[K]["reply"]>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ id, kind, body } as ModelRequest);
    });
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
