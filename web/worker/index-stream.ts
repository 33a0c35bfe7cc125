// Streams an index file into the engine and opens each part as soon as its bytes are there. A download that breaks off is
// continued where it stopped.

import type { Extent, IndexInfo } from "../engine/boundary.ts";
import { EngineError, type Engine } from "../engine/engine.ts";
import type { IndexFile } from "./site.ts";
import { within } from "./waiting.ts";

/** Attempts without a single new byte before the download is given up. */
const maxFruitlessAttempts = 4;
/** First pause between attempts; doubled each time. */
const firstPauseMs = 400;
/** A connection without a byte for so long has broken off, whatever it says. */
const quietMs = 20_000;

export interface IndexStage {
  received: number;
  /** 0 while it is not known. */
  total: number;
  part: "none" | "lexical" | "all";
  info: IndexInfo | null;
}

/**
 * Resolves when the whole file is open. Throws EngineError: `io` (the network), or what the engine says of the file.
 * @param begun a request for the whole file that is under way already
 */
export async function streamIndex(
  engine: Engine,
  file: IndexFile,
  onStage: (stage: IndexStage) => void,
  pauseMs = firstPauseMs,
  begun?: Promise<Response>,
): Promise<void> {
  if (file.bytes > 0) engine.reserve(file.bytes);
  const stage: IndexStage = { received: 0, total: file.bytes, part: "none", info: null };
  /** What came before the file's length was known. */
  const early: Uint8Array[] = [];
  let lexicalBytes: number | undefined;
  let fruitless = 0;
  const write = (piece: Uint8Array): void => {
    engine.write(piece, stage.received);
    stage.received += piece.byteLength;
  };

  while (stage.total === 0 || stage.received < stage.total) {
    const before = stage.received;
    let problem: string;
    try {
      const first = begun;
      begun = undefined;
      await receive(await (first ?? request(file.url, stage.received)), stage.received, (piece) => {
        if (stage.total === 0) {
          early.push(piece);
          stage.total = announcedBytes(engine, early);
          if (stage.total > 0) for (const each of early.splice(0)) write(each);
        } else {
          write(piece);
        }
        if (stage.part === "none") {
          lexicalBytes ??= lexicalExtent(engine, stage.received);
          if (lexicalBytes !== undefined && stage.received >= lexicalBytes) {
            stage.info = engine.openLexical(stage.received);
            stage.part = "lexical";
          }
        }
        onStage({ ...stage });
      });
      // Of a file that ends before its length can be read nothing is kept: it is asked for anew.
      early.length = 0;
      problem = stage.total === 0 ? "it ended before its header was complete" : `it ended after ${stage.received} of ${stage.total} bytes`;
    } catch (error) {
      if (error instanceof EngineError || error instanceof RangeError) throw error;
      early.length = 0;
      problem = error instanceof Error ? error.message : String(error);
    }
    if (stage.total > 0 && stage.received >= stage.total) break;
    fruitless = stage.received > before ? 0 : fruitless + 1;
    if (fruitless >= maxFruitlessAttempts) {
      throw new EngineError({ code: "io", message: `The index could not be loaded: ${problem}.`, field: file.url });
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs * 2 ** fruitless));
  }

  stage.info = engine.openAll(stage.received);
  stage.part = "all";
  onStage({ ...stage });
}

function lexicalExtent(engine: Engine, received: number): number | undefined {
  return extent(engine, received)?.lexical;
}

/** The file's length by its header, for which room is made then; 0 while the header has not arrived. */
function announcedBytes(engine: Engine, pieces: readonly Uint8Array[]): number {
  const received = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  engine.reserve(received);
  let offset = 0;
  for (const piece of pieces) {
    engine.write(piece, offset);
    offset += piece.byteLength;
  }
  const bytes = extent(engine, received)?.all ?? 0;
  if (bytes > 0) engine.reserve(bytes);
  return bytes;
}

function extent(engine: Engine, received: number): Extent | undefined {
  try {
    return engine.extent(received);
  } catch (error) {
    if (error instanceof EngineError && error.code === "truncated") return undefined;
    throw error;
  }
}

function request(url: string, from: number): Promise<Response> {
  // A request with a range is sent with `Accept-Encoding: identity` (Fetch standard), so offsets are those of the file.
  return fetch(url, from > 0 ? { headers: { Range: `bytes=${from}-` } } : {});
}

/** Reads from byte `from` on. A server that does not know ranges sends the file from its beginning: that part is skipped. */
async function receive(response: Response, from: number, take: (piece: Uint8Array) => void): Promise<void> {
  if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`);
  let skip = from > 0 && response.status !== 206 ? from : 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await within(reader.read(), quietMs, "nothing came").catch((error: unknown) => {
      void reader.cancel().catch(() => undefined);
      throw error;
    });
    if (done) return;
    if (skip >= value.byteLength) {
      skip -= value.byteLength;
      continue;
    }
    take(skip > 0 ? value.subarray(skip) : value);
    skip = 0;
  }
}
