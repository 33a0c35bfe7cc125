// The page's engine worker: loads the engine, streams the index into it, answers passages while somebody types, and runs
// the agent, asking the model worker for embeddings and scores, and the page for what a language model completes.

import type { Effect, EffectResult, EngineFactory, IndexInfo, RunConfig, RunOptions, Started } from "../engine/boundary.ts";
import { Engine, EngineError } from "../engine/engine.ts";
import { drive } from "../engine/run.ts";
import type { Trace } from "../engine/trace.ts";
import type { Capabilities } from "./capabilities.ts";
import { streamIndex } from "./index-stream.ts";
import type { Calls, Finished, IndexProgress, RecordedResult, ReplyOf, WorkerEvent } from "./messages.ts";
import { Models } from "./models.ts";
import { serveCalls, type Handlers } from "./serve.ts";
import type { WorkerFiles } from "./site.ts";
import { aborted } from "./waiting.ts";

interface Opened {
  engine: Engine;
  models: Models;
  /** Settles when the whole index is open: a run needs all of it. */
  whole: Promise<void>;
}

let opened: Opened | undefined;
let running: AbortController | undefined;
/** LLM tasks that the page works on. */
const tasks = new Map<number, (result: EffectResult) => void>();
let nextTicket = 1;

const post = (message: WorkerEvent): void => self.postMessage(message);

const handlers: Handlers<Calls> = {
  open: ({ site, capabilities }) => open(site, capabilities),
  typeahead: ({ query, limit }) => ready().engine.typeahead(query, limit),
  chunks: ({ ids }) =>
    ids.map((id) => {
      try {
        return ready().engine.chunk(id);
      } catch {
        return null;
      }
    }),
  ask: ({ question, config, turn }) => run(turn, (engine) => engine.start(question, options(config))),
  fork: ({ trace, step, config, turn }) => run(turn, (engine) => engine.fork(trace, step, options(config))),
  again: ({ question, config, results }) => again(question, config, results),
  replay: async ({ trace }) => {
    const { engine, whole } = ready();
    await whole;
    const begun = performance.now();
    const { identical, difference, step } = engine.replay(trace);
    return { identical, difference, step, ms: performance.now() - begun };
  },
  cancel: () => {
    running?.abort();
    return null;
  },
  completed: ({ ticket, result }) => {
    tasks.get(ticket)?.(result);
    tasks.delete(ticket);
    return null;
  },
  models: (request) => {
    const { models, whole } = ready();
    if (request.action === "load") models.load(request.storage, whole);
    else models.cancel();
    return null;
  },
};

serveCalls(handlers);

function ready(): Opened {
  if (!opened) throw new EngineError({ code: "invalid_argument", message: "The engine is not loaded yet." });
  return opened;
}

async function open(site: WorkerFiles, capabilities: Capabilities): Promise<ReplyOf<"open">> {
  const moduleUrl = capabilities.simd ? site.engine : site.engine_baseline;
  const wasmUrl = capabilities.simd ? site.engine_wasm : site.engine_baseline_wasm;
  // All three at once: the index is the longest of them, and what comes early waits in its stream.
  const index = fetch(site.index.url);
  index.catch(() => undefined); // told where it is read
  const [{ default: factory }, wasmBinary] = await Promise.all([
    import(moduleUrl) as Promise<{ default: EngineFactory }>,
    engineBytes(wasmUrl),
  ]);
  const engine = await Engine.create(factory, { wasmBinary });

  const progress: IndexProgress = { received: 0, total: site.index.bytes, part: "none", info: null, error: null };
  let lexical: (info: IndexInfo) => void;
  let failed: (error: unknown) => void;
  const first = new Promise<IndexInfo>((resolve, reject) => {
    lexical = resolve;
    failed = reject;
  });
  const whole = streamIndex(engine, site.index, (stage) => {
    const advanced = stage.part !== progress.part;
    Object.assign(progress, stage);
    post({ event: "index", progress: { ...progress } });
    if (advanced && stage.info) lexical(stage.info);
  }, undefined, index).catch((error: unknown) => {
    const told = ofTheIndex(error);
    failed(told);
    post({ event: "index", progress: { ...progress, error: { code: told.code, message: told.message } } });
    throw told;
  });
  whole.catch(() => undefined); // said above; whoever awaits it is told again

  const show = (): void => post({ event: "models", models: models.progress, threads: models.threads });
  const models = new Models(site, capabilities, show);
  show();
  opened = { engine, models, whole };
  const info = await first;
  models.checkAgainst(info.metadata);
  return { info, presets: engine.presets() };
}

/** The network's errors speak for themselves; what the engine says of the file needs to be told of which file. */
function ofTheIndex(error: unknown): EngineError {
  if (!(error instanceof EngineError)) return new EngineError({ code: "internal", message: `The index could not be opened: ${String(error)}.` });
  if (error.code === "io") return error;
  const { code, message, field } = error;
  return new EngineError({ code, message: `The index of this site cannot be used: ${message}${field ? ` (${field})` : ""}. Whoever runs the site has to build it again.` });
}

async function engineBytes(url: string): Promise<ArrayBuffer> {
  const response = await fetch(url);
  if (!response.ok) throw new EngineError({ code: "io", message: `The engine could not be loaded: the server answered ${response.status}.`, field: url });
  return response.arrayBuffer();
}

function options(config: RunConfig): RunOptions {
  const { models } = ready();
  return {
    config,
    embedder_missing: models.missing("embedder"),
    reranker_missing: models.missing("reranker"),
  };
}

const cancelled = (): EngineError => new EngineError({ code: "cancelled", message: "The question was cancelled." });

/** A run from its beginning to its end. It can be cancelled while the index is still on its way, too. */
async function run(turn: number, start: (engine: Engine) => Started): Promise<Finished> {
  const { engine, models, whole } = ready();
  running?.abort();
  const controller = new AbortController();
  const { signal } = controller;
  running = controller;
  let started: Started | undefined;
  try {
    await Promise.race([whole, aborted(signal)]);
    if (signal.aborted) throw cancelled();
    const begun = (started = start(engine));
    const show = (): void => post({ event: "run", turn, trace: engine.trace(begun.run) });
    show();
    const host = { perform: (effect: Effect) => perform(models, effect, turn) };
    const last = await drive(engine, begun.run, begun, host, show, signal);
    if (!last) throw cancelled();
    const json = engine.traceJson(begun.run);
    return { trace: JSON.parse(json) as Trace, json, served: last.served ?? 0 };
  } finally {
    if (started) engine.release(started.run);
    if (running === controller) {
      running = undefined;
      tasks.clear();
    }
  }
}

/** No model is asked: a request that was not made then ends the run with an error that says so. */
async function again(question: string, config: RunConfig, results: readonly RecordedResult[]): Promise<Finished> {
  const { engine, whole } = ready();
  await whole;
  const kept = new Map<string, EffectResult[]>();
  for (const { digest, result } of results) kept.set(digest, [...(kept.get(digest) ?? []), result]);
  const host = {
    perform: async (effect: Effect): Promise<EffectResult> =>
      kept.get(effect.kind === "time" ? "" : (effect.digest ?? ""))?.shift() ?? { error: { code: "not_found", message: `the recorded run asked for no such ${effect.kind}` } },
  };
  const begun = engine.start(question, { config, embedder_missing: "", reranker_missing: "" });
  try {
    await drive(engine, begun.run, begun, host, () => undefined);
    const json = engine.traceJson(begun.run);
    return { trace: JSON.parse(json) as Trace, json, served: results.length };
  } finally {
    engine.release(begun.run);
  }
}

async function perform(models: Models, effect: Effect, turn: number): Promise<EffectResult> {
  switch (effect.kind) {
    case "time":
      return { time: { utc: new Date().toISOString(), ms: performance.now() } };
    case "embed":
      return models.embed(effect.token_ids);
    case "score":
      return models.score(effect.pairs, effect.budget_ms);
    case "complete":
      return new Promise((resolve) => {
        const ticket = nextTicket++;
        tasks.set(ticket, resolve);
        post({ event: "complete", turn, ticket, task: effect });
      });
  }
}
