// Holds the evaluation module: reading runs and drawing 10,000 resamples for each interval would hold up a page.

import { EngineError } from "../../engine/engine.ts";
import { Evaluation, type EvaluationFactory } from "../../engine/evaluation.ts";
import type { Answer, Calls, Kind, Request } from "./messages.ts";

let evaluation: Evaluation | null = null;

function loaded(): Evaluation {
  if (!evaluation) throw new EngineError({ code: "invalid_argument", message: "The evaluation module is not loaded yet." });
  return evaluation;
}

type Handlers = { [K in Kind]: (body: Calls[K]["request"]) => Calls[K]["reply"] | Promise<Calls[K]["reply"]> };

const handlers: Handlers = {
  async load({ module, wasm }) {
    const [{ default: factory }, response] = await Promise.all([import(module) as Promise<{ default: EvaluationFactory }>, fetch(wasm)]);
    if (!response.ok) throw new EngineError({ code: "io", message: `The evaluation module could not be loaded: the server answered ${response.status}.`, field: wasm });
    evaluation = await Evaluation.create(factory, { wasmBinary: await response.arrayBuffer() });
    return null;
  },
  line: ({ golden, trace, texts, k, finishedAt }) => loaded().runLineOfTrace(golden, trace, texts, { k, finishedAt }),
  run: ({ identity, items, createdAt, lines }) => loaded().runHead(identity, items, createdAt) + lines.join(""),
  report: ({ run }) => loaded().buildReport(run, { results: false }),
  document: ({ runs }) => (runs.length === 1 ? loaded().text.buildReport(runs[0]!, { results: true }) : loaded().matrix(runs)),
};

self.addEventListener("message", ({ data }: MessageEvent<Request>) => {
  void answer(data).then((reply) => self.postMessage(reply));
});

async function answer({ id, kind, body }: Request): Promise<Answer> {
  try {
    return { id, kind, ok: await (handlers[kind] as (body: unknown) => unknown)(body) } as Answer;
  } catch (error) {
    if (error instanceof EngineError) return { id, kind, error: { code: error.code, message: error.message, ...(error.field ? { field: error.field } : {}) } };
    return { id, kind, error: { code: "internal", message: error instanceof Error ? error.message : String(error) } };
  }
}
