// Replays a trace with the engine's WebAssembly in Node: what `polygraph replay --engine wasm` starts.
//
//   node replay.mjs INDEX TRACE ENGINE.mjs
//
// TRACE is a file, or - for stdin, which is read to its end before anything is written. Prints the engine's replay as one
// JSON value, identical or not, and exits 0. Exit 2: wrong use; 3: something could not be read, with the reason on stderr.

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { loadEngine } from "../engine/node.ts";

async function main(): Promise<number> {
  const [index, trace, engine, ...rest] = process.argv.slice(2);
  if (!index || !trace || !engine || rest.length > 0) {
    process.stderr.write("usage: node replay.mjs INDEX TRACE ENGINE.mjs\n");
    return 2;
  }
  const recorded = trace === "-" ? await text(process.stdin) : await readFile(trace, "utf8");
  const loaded = await loadEngine(engine);
  loaded.open(await readFile(index));
  process.stdout.write(`${loaded.replayJson(recorded)}\n`);
  return 0;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`replay: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 3;
  },
);
