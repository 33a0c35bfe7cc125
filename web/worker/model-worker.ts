// The page's model worker: brings the embedder and the reranker, one after the other, and answers embed and score requests
// with onnxruntime-web.

import * as ort from "onnxruntime-web/wasm";
import { download } from "../models/download.ts";
import { ModelRuntime, type Role } from "../models/runtime.ts";
import { configure } from "../models/web.ts";
import type { ModelProgress } from "./messages.ts";
import type { ModelCalls, ModelEvent } from "./model-messages.ts";
import { useReliableThreads } from "./reliable.ts";
import { serveCalls, type Handlers } from "./serve.ts";

useReliableThreads();

const files = new Map<Role, Uint8Array>();
let runtime: ModelRuntime | undefined;
let loading: AbortController | undefined;

const post = (message: ModelEvent): void => self.postMessage(message);

const handlers: Handlers<ModelCalls> = {
  async load({ models, ort: paths, threads, storage }) {
    loading?.abort();
    const controller = new AbortController();
    loading = controller;
    runtime ??= new ModelRuntime(ort, async (role) => {
      const bytes = files.get(role);
      files.delete(role); // the session keeps a copy of its own
      return bytes ?? Promise.reject(new Error(`the ${role} has not been downloaded`));
    }, configure(ort, paths, threads));
    post({ event: "threads", threads });
    for (const model of models) {
      const progress: ModelProgress = { role: model.role, state: "loading", received: 0, total: model.bytes, message: "" };
      const report = (change: Partial<ModelProgress>): void => post({ event: "progress", progress: Object.assign(progress, change) });
      try {
        let shown = 0;
        const { bytes, notKept } = await download(model, {
          signal: controller.signal,
          ...(storage ? {} : { caches: null }),
          onProgress: ({ received }) => {
            // A screen shows no more than this.
            if (performance.now() - shown < 80 && received < model.bytes) return;
            shown = performance.now();
            report({ received });
          },
        });
        report({ state: "starting", received: model.bytes });
        files.set(model.role, bytes);
        await runtime.warm(model.role);
        report({ state: "ready", message: notKept });
      } catch (error) {
        if (controller.signal.aborted) {
          for (const { role, bytes } of models.slice(models.indexOf(model))) {
            post({ event: "progress", progress: { role, state: "cancelled", received: role === model.role ? progress.received : 0, total: bytes, message: "" } });
          }
          return null;
        }
        report({ state: "failed", message: words(error) });
      }
    }
    return null;
  },

  async cancel() {
    loading?.abort();
    return null;
  },

  async embed({ ids }) {
    const begun = performance.now();
    const [vector] = await ready().embed([Int32Array.from(ids)]);
    if (!vector) throw new Error("the embedder gave no vector");
    return { vector, ms: performance.now() - begun };
  },

  async score({ pairs, budget_ms }) {
    const begun = performance.now();
    const logits = await ready().score(pairs.map(({ ids, split }) => ({ ids: Int32Array.from(ids), split })), { budgetMs: budget_ms });
    return { logits, ms: performance.now() - begun };
  },
};

function ready(): ModelRuntime {
  if (!runtime) throw new Error("the models are not loaded");
  return runtime;
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

serveCalls(handlers, words);
