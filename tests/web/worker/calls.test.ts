import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkerCalls } from "../../../web/worker/calls.ts";
import { Models } from "../../../web/worker/models.ts";
import type { WorkerFiles } from "../../../web/worker/site.ts";

interface Calls {
  double: { request: number; reply: number };
}

type Script = (request: { id: number; kind: string; body: never }, say: (message: unknown) => void) => void;

/** Stands for a browser's worker, of which some never take a message: `handle` is the script's side. */
class ScriptedWorker {
  readonly told: { id: number; kind: string; body: unknown }[] = [];
  terminated = false;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  readonly #handle: Script | null;

  constructor(handle: Script | null) {
    this.#handle = handle;
  }

  postMessage(request: { id: number; kind: string; body: never }): void {
    this.told.push(request);
    setTimeout(() => {
      if (this.#handle && !this.terminated) this.#handle(request, (message) => this.say(message));
    });
  }
  terminate(): void {
    this.terminated = true;
  }
  say(data: unknown): void {
    this.onmessage?.(new MessageEvent("message", { data }));
  }
}

const doubling: Script = ({ id, body }, say) => {
  say({ event: "listening" });
  say({ id, ok: 2 * body });
};

function calls(workers: ScriptedWorker[], patienceMs: readonly number[]): WorkerCalls<Calls> {
  let next = 0;
  return new WorkerCalls<Calls>({
    start: () => workers[next++] as unknown as Worker,
    refused: (error: string) => new Error(error),
    stopped: (why) => new Error(`stopped: ${why}`),
    patienceMs,
  });
}

test("a worker that never takes its first message is replaced, and the next is told everything again", { timeout: 20_000 }, async () => {
  const workers = [new ScriptedWorker(null), new ScriptedWorker(null), new ScriptedWorker(doubling)];
  const made = calls(workers, [20, 20, 60_000]);
  assert.deepEqual(await Promise.all([made.call("double", 2), made.call("double", 21)]), [4, 42]);
  assert.deepEqual(workers.map(({ terminated }) => terminated), [true, true, false]);
  assert.equal(await made.call("double", 5), 10);
  assert.deepEqual(workers[2]?.told.map(({ body }) => body), [2, 21, 5]);
});

test("a worker that listens may take as long as it needs", { timeout: 20_000 }, async () => {
  const workers = [new ScriptedWorker(({ id, body }, say) => {
    say({ event: "listening" });
    setTimeout(() => say({ id, ok: body }), 500);
  })];
  assert.equal(await calls(workers, [400]).call("double", 7), 7);
  assert.equal(workers[0]?.terminated, false);
});

test("after its last start a silent worker is an error for every call, also for a later one", { timeout: 20_000 }, async () => {
  const made = calls([new ScriptedWorker(null), new ScriptedWorker(null)], [10, 10]);
  await assert.rejects(made.call("double", 1), /stopped: it did not answer, though it was started 2 times/);
  await assert.rejects(made.call("double", 1), /started 2 times/);
});

test("a worker whose script cannot be loaded is an error at once", { timeout: 20_000 }, async () => {
  const worker = new ScriptedWorker(null);
  const made = calls([worker], [60_000]);
  const failing = assert.rejects(made.call("double", 1), /stopped: /);
  worker.onerror?.(new Event("error", { cancelable: true }));
  await failing;
  await assert.rejects(made.call("double", 1), /stopped: /);
});

const site = {
  model_worker: "model-worker.js",
  ort: { mjs: "ort.mjs", wasm: "ort.wasm" },
  models: [
    { role: "embedder", name: "e", url: "e", sha256: "0", bytes: 10 },
    { role: "reranker", name: "r", url: "r", sha256: "1", bytes: 10 },
  ],
} as unknown as WorkerFiles;

/** Starts models as the model worker tells of it; with more threads than `works` the first one never gets ready. */
function modelWorker(works: number): Script {
  return ({ id, kind, body }, say) => {
    if (kind !== "load") return;
    const { models, threads } = body as { models: WorkerFiles["models"]; threads: number };
    say({ event: "listening" });
    say({ event: "threads", threads });
    for (const { role, bytes } of models) {
      say({ event: "progress", progress: { role, state: "starting", received: bytes, total: bytes, message: "" } });
      if (threads > works) return;
      say({ event: "progress", progress: { role, state: "ready", received: bytes, total: bytes, message: "" } });
    }
    say({ id, ok: null });
  };
}

/** Runs `body` where a browser's workers start models with up to `works` threads; the workers that it started. */
async function withModelWorkers(works: number, body: () => Promise<void>): Promise<ScriptedWorker[]> {
  const started: ScriptedWorker[] = [];
  const original = globalThis.Worker;
  globalThis.Worker = class {
    constructor() {
      const worker = new ScriptedWorker(modelWorker(works));
      started.push(worker);
      return worker as never;
    }
  } as unknown as typeof Worker;
  await body().finally(() => (globalThis.Worker = original));
  return started;
}

const settled = (models: Models): boolean => models.progress.every(({ state }) => state === "ready" || state === "failed");

async function loadModels(works: number): Promise<{ models: Models; started: ScriptedWorker[] }> {
  const models = new Models(site, { webassembly: true, simd: true, threads: 4 }, () => undefined, { threaded: 30, single: 60 });
  const started = await withModelWorkers(works, async () => {
    models.load(true);
    while (!settled(models)) await new Promise((resolve) => setTimeout(resolve, 10));
  });
  return { models, started };
}

test("models whose threads never start are started again without threads", { timeout: 20_000 }, async () => {
  const { models, started } = await loadModels(1);
  assert.deepEqual(models.progress.map(({ state }) => state), ["ready", "ready"]);
  assert.equal(models.threads, 1);
  assert.deepEqual(started.map(({ terminated }) => terminated), [true, false]);
});

test("models that do not start at all are reported as failed, in words", { timeout: 20_000 }, async () => {
  const { models, started } = await loadModels(0);
  assert.deepEqual(models.progress.map(({ state }) => state), ["failed", "failed"]);
  assert.match(models.missing("embedder"), /the embedder did not start within/);
  assert.ok(started.every(({ terminated }) => terminated));
});

test("models wait for a quiet moment to start, and can be cancelled until then", { timeout: 20_000 }, async () => {
  const models = new Models(site, { webassembly: true, simd: true, threads: 4 }, () => undefined);
  const before = await withModelWorkers(4, async () => {
    let index = (): void => undefined;
    models.load(true, new Promise<void>((resolve) => (index = resolve)));
    assert.deepEqual(models.progress.map(({ state }) => state), ["loading", "loading"]);
    models.cancel();
    index();
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
  assert.deepEqual(models.progress.map(({ state }) => state), ["cancelled", "cancelled"]);
  assert.equal(before.length, 0);
  const after = await withModelWorkers(4, async () => {
    models.load(true, Promise.reject(new Error("the index is broken")));
    while (!settled(models)) await new Promise((resolve) => setTimeout(resolve, 5));
  });
  assert.equal(after.length, 1);
});

test("models that start keep their threads", { timeout: 20_000 }, async () => {
  const { models, started } = await loadModels(4);
  assert.deepEqual(models.progress.map(({ state }) => state), ["ready", "ready"]);
  assert.equal(models.threads, 4);
  assert.equal(started.length, 1);
});
