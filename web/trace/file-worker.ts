// The inspector's worker inside a page in one file: the engine's module is part of this script, and its WebAssembly is
// handed over by the page, since a file opened from disk cannot fetch another.

// @ts-expect-error The build puts the engine's module here; it has no types of its own (engine/boundary.ts has them).
import factory from "polygraph-engine";
import type { EngineFactory } from "../engine/boundary.ts";
import { EngineError } from "../engine/engine.ts";
import { serve } from "./serve.ts";

serve(async (request) => {
  if (!("wasm" in request)) throw new EngineError({ code: "invalid_argument", message: "The engine is part of this page." });
  return { factory: factory as EngineFactory, options: { wasmBinary: request.wasm, locateFile: (name) => name } };
});
