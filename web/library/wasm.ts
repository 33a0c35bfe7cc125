// Where the two modules come from: the files of this package, or whatever the program that uses it hands over.

import { Engine } from "../engine/engine.ts";
import { Evaluation } from "../engine/evaluation.ts";
import { PolygraphError } from "./error.ts";
// The build says where they are.
import engineFactory from "polygraph-modules/polygraph-engine.mjs";
import evaluationFactory from "polygraph-modules/polygraph-evaluation.mjs";

export type Bytes = Uint8Array | ArrayBuffer;
export type WasmName = "polygraph-engine.wasm" | "polygraph-evaluation.wasm";
export type WasmLoader = (name: WasmName) => Bytes | Promise<Bytes>;

let loader: WasmLoader = besideThisFile;
let evaluation: Promise<Evaluation> | undefined;
const kept = new Map<WasmName, Promise<Bytes>>();

/**
 * Takes the WebAssembly files from `load` instead of from this package: in a page that has them elsewhere, in a program that is one file.
 * Call it before anything else.
 */
export function setWasmLoader(load: WasmLoader): void {
  loader = load;
  kept.clear();
  evaluation = undefined;
}

async function besideThisFile(name: WasmName): Promise<Bytes> {
  const url = new URL(`./${name}`, import.meta.url);
  if (url.protocol === "file:") {
    const filesystem = "node:fs/promises"; // in a variable: bundlers for pages need not know it
    const { readFile } = (await import(/* webpackIgnore: true */ /* @vite-ignore */ filesystem)) as typeof import("node:fs/promises");
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response.arrayBuffer();
}

function bytesOf(name: WasmName): Promise<Bytes> {
  let bytes = kept.get(name);
  if (!bytes) {
    bytes = Promise.resolve().then(() => loader(name)).catch((error: unknown) => {
      kept.delete(name); // the next call tries again
      throw new PolygraphError({ code: "io", message: `${name} could not be loaded: ${error instanceof Error ? error.message : String(error)}; setWasmLoader() takes it from elsewhere`, field: name });
    });
    kept.set(name, bytes);
  }
  return bytes;
}

/** An engine of its own for each index: indexes don't share memory. */
export async function newEngine(): Promise<Engine> {
  return Engine.create(engineFactory, { wasmBinary: await bytesOf("polygraph-engine.wasm") });
}

/** One for all: it keeps nothing between calls. */
export function theEvaluation(): Promise<Evaluation> {
  evaluation ??= bytesOf("polygraph-evaluation.wasm")
    .then((wasmBinary) => Evaluation.create(evaluationFactory, { wasmBinary }))
    .catch((error: unknown) => {
      evaluation = undefined;
      throw error;
    });
  return evaluation;
}
