// The inspector's worker: reads files of many traces, or replays and forks a trace with the engine. A fork takes from the
// trace what it holds; what it lacks is asked of the site's models, where they are loaded, and is missing otherwise.

import type { Effect, EffectResult, EngineFactory, IndexInfo, RunConfig } from "../engine/boundary.ts";
import { Engine, EngineError } from "../engine/engine.ts";
import { drive } from "../engine/run.ts";
import type { Trace } from "../engine/trace.ts";
import { streamIndex } from "../worker/index-stream.ts";
import { Models } from "../worker/models.ts";
import { serveCalls, type Handlers } from "../worker/serve.ts";
import type { Site } from "../worker/site.ts";
import { filtered, scanLine, scanLines, type Row, type Scanned } from "./lines.ts";
import type { Calls, Forked, WorkerEvent } from "./messages.ts";

export type Module = { factory: EngineFactory; options: Parameters<EngineFactory>[0] };
/** Where the engine's module comes from. */
export type ModuleSource = (request: Calls["engine"]["request"]) => Promise<Module>;

/** An index is held in the engine's memory whole. */
const longestIndex = 1.5e9;

export function serve(moduleOf: ModuleSource): void {
  const post = (message: WorkerEvent): void => self.postMessage(message);

  const held: { status: Row["status"]; steps: number }[] = [];
  const texts: string[] = [];
  let reading = new AbortController();

  let engine: Engine | undefined;
  let site: Site | undefined;
  let models: Models | undefined;
  let info: IndexInfo | undefined;

  /** LLM tasks that the page works on. */
  const tasks = new Map<number, (result: EffectResult) => void>();
  let nextTicket = 1;
  const complete: Complete = (task) =>
    new Promise((resolve) => {
      const ticket = nextTicket++;
      tasks.set(ticket, resolve);
      post({ event: "complete", ticket, task });
    });

  const ready = (): Engine => {
    if (!engine) throw new EngineError({ code: "invalid_argument", message: "The engine is not loaded yet." });
    return engine;
  };

  const handlers: Handlers<Calls> = {
    async scan({ blob, file, whole }) {
      const { signal } = reading;
      const take = (scanned: Scanned[]): void => {
        if (signal.aborted) return;
        for (const { row, text } of scanned) {
          held.push({ status: row.status, steps: row.steps });
          texts.push(text);
        }
        const last = scanned.at(-1)?.row;
        post({ event: "rows", rows: scanned.map(({ row }) => row), read: last ? last.offset + last.length : 0, size: blob.size });
      };
      if (!whole) return scanLines(blob, file, take, signal);
      take([scanLine(await blob.text(), { file, line: 1, offset: 0, length: blob.size })]);
      return 1;
    },
    filter: (filter) => filtered(held, texts, filter),
    forget: () => {
      reading.abort();
      reading = new AbortController();
      held.length = texts.length = 0;
      return null;
    },

    async engine(request) {
      const { factory, options } = await moduleOf(request);
      engine = await Engine.create(factory, options);
      if ("site" in request) {
        site = request.site;
        const made = new Models(request.site, request.capabilities, () => post({ event: "models", models: made.progress }));
        models = made;
        post({ event: "models", models: made.progress });
      }
      return engine.presets();
    },
    async index(request) {
      const target = ready();
      info = undefined;
      if (request) {
        if (request.blob.size > longestIndex) throw new EngineError({ code: "invalid_argument", message: "This index is too large for a browser tab." });
        info = target.open(new Uint8Array(await request.blob.arrayBuffer()));
      } else {
        if (!site) throw new EngineError({ code: "not_found", message: "This page carries no index." });
        let opened: IndexInfo | null = null;
        await streamIndex(target, site.index, (stage) => (opened = stage.info));
        info = opened ?? undefined;
      }
      if (!info) throw new EngineError({ code: "internal", message: "The index could not be opened." });
      models?.checkAgainst(info.metadata);
      return info;
    },
    chunks: ({ ids }) =>
      ids.map((id) => {
        try {
          return ready().chunk(id);
        } catch {
          return null;
        }
      }),
    replay({ trace }) {
      const begun = performance.now();
      const { identical, difference, step, effect } = ready().replay(trace);
      return { identical, difference, step, effect, ms: performance.now() - begun };
    },
    fork: ({ trace, step, config, live }) => fork(ready(), models, trace, step, config, live ? complete : null),
    completed: ({ ticket, result }) => {
      tasks.get(ticket)?.(result);
      tasks.delete(ticket);
      return null;
    },
    models({ storage }) {
      models?.load(storage);
      return null;
    },
  };

  serveCalls(handlers);
}

const without = "this page carries no models";

type Complete = (task: Extract<Effect, { kind: "complete" }>) => Promise<EffectResult>;

async function fork(engine: Engine, models: Models | undefined, trace: string, step: number, config: RunConfig, complete: Complete | null): Promise<Forked> {
  const missing: string[] = [];
  // Asked for only where the trace holds no result: each refusal here is something that the fork had to do without.
  const unanswered = (what: string, why: string): EffectResult => {
    missing.push(`${what}: ${why}`);
    return { error: { code: "model_unavailable", message: why } };
  };
  const begun = engine.fork(trace, step, { config, embedder_missing: "", reranker_missing: "" });
  try {
    const perform = async (effect: Effect): Promise<EffectResult> => {
      switch (effect.kind) {
        case "time":
          return { time: { utc: new Date().toISOString(), ms: performance.now() } };
        case "embed": {
          const why = models ? models.missing("embedder") : without;
          return why || !models ? unanswered("a query’s vector", why) : models.embed(effect.token_ids);
        }
        case "score": {
          const why = models ? models.missing("reranker") : without;
          return why || !models ? unanswered(`the cross-encoder’s scores of ${effect.pairs.length} passages`, why) : models.score(effect.pairs, effect.budget_ms);
        }
        case "complete": {
          const what = `a language model’s reply (${effect.task})`;
          if (!complete) return unanswered(what, "nobody was chosen to give it, and the trace holds no reply to this request");
          const result = await complete(effect);
          if ("error" in result) missing.push(`${what}: ${result.error.message}`);
          return result;
        }
      }
    };
    const last = await drive(engine, begun.run, begun, { perform }, () => undefined);
    const json = engine.traceJson(begun.run);
    return { trace: JSON.parse(json) as Trace, json, served: last?.served ?? begun.served ?? 0, missing };
  } finally {
    engine.release(begun.run);
  }
}
