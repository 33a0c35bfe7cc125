// Loads the engine's modules in Node. They were built for pages and would fetch their WebAssembly, so they are handed it.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { EngineFactory } from "./boundary.ts";
import { Engine } from "./engine.ts";
import { Evaluation, type EvaluationFactory } from "./evaluation.ts";

async function load<Factory>(file: string): Promise<{ factory: Factory; wasmBinary: Uint8Array }> {
  const module = path.resolve(file);
  const { default: factory } = (await import(pathToFileURL(module).href)) as { default: Factory };
  return { factory, wasmBinary: await readFile(module.replace(/\.mjs$/, ".wasm")) };
}

/** `file`: the module's .mjs; its .wasm stands beside it. */
export async function loadEngine(file: string): Promise<Engine> {
  const { factory, wasmBinary } = await load<EngineFactory>(file);
  return Engine.create(factory, { wasmBinary });
}

/** The same of the evaluation module. */
export async function loadEvaluation(file: string): Promise<Evaluation> {
  const { factory, wasmBinary } = await load<EvaluationFactory>(file);
  return Evaluation.create(factory, { wasmBinary });
}
