// Holds the evaluation module: reading runs and drawing 10,000 resamples for each interval would hold up a page.

import { EngineError } from "../../engine/engine.ts";
import { Evaluation, type EvaluationFactory } from "../../engine/evaluation.ts";
import { serveCalls, type Handlers } from "../../worker/serve.ts";
import type { Calls } from "./messages.ts";

let evaluation: Evaluation | null = null;

function loaded(): Evaluation {
  if (!evaluation) throw new EngineError({ code: "invalid_argument", message: "The evaluation module is not loaded yet." });
  return evaluation;
}

const handlers: Handlers<Calls> = {
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

serveCalls(handlers);
