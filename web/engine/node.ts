// Loads the engine's module in Node. The module was built for pages and would fetch its WebAssembly, so it is handed it.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { EngineFactory } from "./boundary.ts";
import { Engine } from "./engine.ts";

/** `file`: the module's .mjs; its .wasm stands beside it. */
export async function loadEngine(file: string): Promise<Engine> {
  const module = path.resolve(file);
  const { default: factory } = (await import(pathToFileURL(module).href)) as { default: EngineFactory };
  return Engine.create(factory, { wasmBinary: await readFile(module.replace(/\.mjs$/, ".wasm")) });
}
