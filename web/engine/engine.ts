// The engine as an ordinary class: methods that take and return values, and throw one error type. It hides the module,
// its memory and its JSON, and runs unchanged in a browser worker and in Node.

import type {
  Chunk, EffectResult, EngineFactory, EngineModule, ErrorBody, Extent, Hit, IndexInfo, NativeEngine, Presets,
  Progress, Replay, Reply, RunOptions, Started,
} from "./boundary.ts";
import type { Trace } from "./trace.ts";

/** What the engine refused, with the code that tells why (wasm/error.hpp) and the field it is about. */
export class EngineError extends Error {
  override readonly name = "PolygraphError"; // as the library calls it
  readonly code: string;
  readonly field: string | undefined;
  readonly line: number | undefined;

  constructor(body: ErrorBody) {
    super(body.message);
    this.code = body.code;
    this.field = body.field || undefined;
    this.line = body.line || undefined;
  }
}

function value<T>(json: string): T {
  const reply = JSON.parse(json) as Reply<T>;
  if ("error" in reply) throw new EngineError(reply.error);
  return reply.ok;
}

/** The value as its own JSON text. */
function text(json: string): string {
  value(json);
  return json.slice(json.indexOf(":") + 1, json.lastIndexOf("}"));
}

export class Engine {
  readonly #module: EngineModule;
  readonly #native: NativeEngine;
  #index = { pointer: 0, bytes: 0 };

  private constructor(module: EngineModule) {
    this.#module = module;
    this.#native = new module.Engine();
  }

  static async create(factory: EngineFactory, options: Parameters<EngineFactory>[0]): Promise<Engine> {
    return new Engine(await factory(options));
  }

  /** Makes room for an index file of so many bytes. Drops the index that was open. */
  reserve(bytes: number): void {
    this.#index = { pointer: value<{ pointer: number }>(this.#native.reserve(bytes)).pointer, bytes };
  }

  /** Puts a piece of the file where the engine reads it. Throws a RangeError past the reserved end. */
  write(piece: Uint8Array, offset: number): void {
    if (offset + piece.byteLength > this.#index.bytes) {
      throw new RangeError(`index is longer than the announced ${this.#index.bytes} bytes`);
    }
    this.#module.HEAPU8.set(piece, this.#index.pointer + offset);
  }

  /** Throws `truncated` while the header has not arrived. */
  extent(received: number): Extent {
    return value(this.#native.extent(received));
  }

  openLexical(received: number): IndexInfo {
    return value(this.#native.openLexical(received));
  }

  openAll(received: number): IndexInfo {
    return value(this.#native.openAll(received));
  }

  /** Opens a whole file at once. */
  open(file: Uint8Array): IndexInfo {
    this.reserve(file.byteLength);
    this.write(file, 0);
    return this.openAll(file.byteLength);
  }

  typeahead(query: string, limit: number): Hit[] {
    return value<{ hits: Hit[] }>(this.#native.typeahead(wellFormed(query), limit)).hits;
  }

  chunk(id: string): Chunk {
    return value(this.#native.chunk(wellFormed(id)));
  }

  start(question: string, options: RunOptions): Started {
    return value(this.#native.start(wellFormed(question), JSON.stringify(options)));
  }

  resume(run: number, effect: number, result: EffectResult): Progress {
    return value(this.#native.resume(run, effect, JSON.stringify(result)));
  }

  abort(run: number, error: { code: string; message: string }): void {
    value(this.#native.abort(run, error.code, error.message));
  }

  /** The record so far; `running` until the run is finished. */
  trace(run: number, withText = false): Trace {
    return value(this.#native.trace(run, withText));
  }

  /** The same as the engine's own bytes, for keeping and replaying: JavaScript would write numbers in another form. */
  traceJson(run: number, withText = false): string {
    return text(this.#native.trace(run, withText));
  }

  release(run: number): void {
    this.#native.release(run);
  }

  /** The trace goes in as its own bytes: parsing and writing it here could change a number's form. */
  replay(trace: string): Replay {
    return value(this.#native.replay(wellFormed(trace)));
  }

  /** The same as the engine's own bytes. */
  replayJson(trace: string): string {
    return text(this.#native.replay(wellFormed(trace)));
  }

  fork(trace: string, step: number, options: RunOptions): Started {
    return value(this.#native.fork(wellFormed(trace), step, JSON.stringify(options)));
  }

  presets(): Presets {
    return value(this.#native.presets());
  }

  /** Frees the engine and its index. */
  delete(): void {
    this.#native.delete();
  }
}

/** A lone surrogate has no UTF-8 form; it becomes U+FFFD before it crosses the boundary. */
export function wellFormed(text: string): string {
  return text.replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, "\uFFFD");
}
