// onnxruntime-web as the page uses it: WebAssembly on the CPU, its files from the site itself, in the worker that calls it.
import type { Env } from "onnxruntime-common";

import type { Ort } from "./runtime.ts";

/** More threads than this gain little for models of 33 million parameters, and take cores from everything else. */
const THREADS_MAX = 4;

/** Threads that onnxruntime-web may use here: several need SharedArrayBuffer, so a page that is cross-origin isolated. */
export function threadsHere(
  isolated: boolean = globalThis.crossOriginIsolated === true,
  cores: number = globalThis.navigator?.hardwareConcurrency ?? 1,
): number {
  return isolated ? Math.max(1, Math.min(cores, THREADS_MAX)) : 1;
}

/**
 * Sets onnxruntime-web up; call it before the first session.
 * @param wasmPaths addresses of `ort-wasm-simd-threaded.mjs` and `.wasm`; as a string, their folder with a slash at its end
 * @returns the threads for `ModelRuntime`
 */
export function configure(ort: Ort & { readonly env: Env }, wasmPaths: string | { mjs: string; wasm: string }, threads: number = threadsHere()): number {
  ort.env.wasm.wasmPaths = wasmPaths;
  ort.env.wasm.numThreads = threads;
  ort.env.wasm.proxy = false; // we are in a worker already
  ort.env.logLevel = "error";
  return threads;
}
