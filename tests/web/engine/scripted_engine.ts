// An engine module whose answers a test writes down: stands in for the WebAssembly where only the wrapper is tested.
import type { EngineModule, NativeEngine } from "../../../web/engine/boundary.ts";
import { Engine } from "../../../web/engine/engine.ts";

export interface ScriptedEngine {
  engine: Engine;
  memory: Uint8Array;
  calls: string[];
}

const reservedAt = 16;

type Answers = Partial<Record<keyof NativeEngine, (...args: never[]) => unknown>>;

/** `answers` maps a method to its value (an error body is thrown), `literal` one to its very JSON. */
export async function scriptedEngine(answers: Answers, literal: Partial<Record<keyof NativeEngine, string>> = {}, bytes = 4096): Promise<ScriptedEngine> {
  const memory = new Uint8Array(bytes);
  const calls: string[] = [];
  class Native {}
  const methods = ["reserve", "extent", "openLexical", "openAll", "typeahead", "chunk", "start", "resume", "abort", "trace", "release", "replay", "fork", "presets", "delete"];
  for (const method of methods) {
    Object.defineProperty(Native.prototype, method, {
      value: (...args: never[]): string => {
        calls.push(`${method}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`);
        if (method === "reserve") return JSON.stringify({ ok: { pointer: reservedAt } });
        const exact = literal[method as keyof NativeEngine];
        if (exact !== undefined) return exact;
        const answer = answers[method as keyof NativeEngine];
        try {
          return JSON.stringify({ ok: answer ? answer(...args) : {} });
        } catch (error) {
          return JSON.stringify({ error });
        }
      },
    });
  }
  const engine = await Engine.create(async () => ({ HEAPU8: memory, Engine: Native }) as unknown as EngineModule, {});
  return { engine, memory: memory.subarray(reservedAt), calls };
}
