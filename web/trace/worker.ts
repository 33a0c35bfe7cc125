// The inspector's worker on a site: the engine's module and its WebAssembly are files of that site.

import type { EngineFactory } from "../engine/boundary.ts";
import { EngineError } from "../engine/engine.ts";
import { serve } from "./serve.ts";

serve(async (request) => {
  if (!("site" in request)) throw new EngineError({ code: "invalid_argument", message: "The engine stands beside this page, not in it." });
  const { site, capabilities } = request;
  const [{ default: factory }, wasmBinary] = await Promise.all([
    import(capabilities.simd ? site.engine : site.engine_baseline) as Promise<{ default: EngineFactory }>,
    bytesOf(capabilities.simd ? site.engine_wasm : site.engine_baseline_wasm),
  ]);
  return { factory, options: { wasmBinary } };
});

async function bytesOf(url: string): Promise<ArrayBuffer> {
  const response = await fetch(url);
  if (!response.ok) throw new EngineError({ code: "io", message: `The engine could not be loaded: the server answered ${response.status}.`, field: url });
  return response.arrayBuffer();
}
