// A damaged index file opens, or is refused, in the same words natively and in WebAssembly.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { builds, indexFile, missing, Probe, RawEngine, seeded } from "./engines.ts";

const skip = missing("probe");
const mutations = 200;
/** The header and the section table: damage there is what a reader has to reason about; the rest has checksums. */
const headBytes = 512;
const versionAt = 8;

interface Mutation {
  part: "all" | "lexical";
  length: number;
  flips: [offset: number, mask: number][];
}

function* damaged(bytes: number): Generator<Mutation> {
  const random = seeded(4);
  const below = (limit: number) => Math.floor(random() * limit);
  for (let i = 0; i < mutations; ++i) {
    const cut = i % 4 === 0;
    const length = cut ? (i % 8 === 0 ? below(headBytes) : below(bytes)) : bytes;
    // Of random flips hardly one meets the four bytes of the format version.
    const version = i % 16 === 3;
    const flips: Mutation["flips"] = cut ? [] : version ? [[versionAt + below(4), 1 << below(8)]] : Array.from({ length: 1 + below(3) }, (): [number, number] => [i % 4 === 1 ? below(bytes) : below(headBytes), 1 << below(8)]);
    yield { part: i % 3 === 0 ? "lexical" : "all", length, flips };
  }
}

for (const build of builds) {
  test(`${build}: ${mutations} damaged index files are judged as natively`, { skip }, async () => {
    const engine = await RawEngine.load(build);
    const probe = new Probe();
    const file = readFileSync(indexFile);
    const codes = new Map<string, number>();
    for (const mutation of damaged(file.byteLength)) {
      const bytes = Uint8Array.from(file);
      for (const [offset, mask] of mutation.flips) bytes[offset]! ^= mask;
      const reply = engine.open(bytes.subarray(0, mutation.length), mutation.part);
      assert.equal(reply, await probe.ask({ open: mutation }), JSON.stringify(mutation));
      const { error } = JSON.parse(reply) as { error?: { code: string } };
      codes.set(error?.code ?? "opened", (codes.get(error?.code ?? "opened") ?? 0) + 1);
    }
    probe.end();
    for (const code of ["truncated", "corrupt", "unsupported_version"]) assert.ok(codes.has(code), `no mutation gave ${code}: ${JSON.stringify([...codes])}`);
  });

  test(`${build}: after a refused file the whole one opens`, { skip }, async () => {
    const engine = await RawEngine.load(build);
    const file = readFileSync(indexFile);
    assert.match(engine.open(file.subarray(0, 100), "all"), /^\{"error"/);
    assert.match(engine.open(file, "all"), /^\{"ok"/);
  });
}
