// Native and WebAssembly engines give the same bits: scores over all chunks, order, token ids and terms, compared as the text
// of their JSON, in which every double has its shortest form that reads back as the same bits.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { builds, indexFile, missing, Probe, RawEngine, seeded } from "./engines.ts";

const skip = missing("probe");
const queries = 200;
const dimensions = 384;

const fixed = [
  "How do I limit a container's memory?",
  "--rm",
  "docker-compose.yml",
  "host.docker.internal",
  "/var/run/docker.sock",
  "addon",
  "contaner memmory",
  "What's the difference between CMD and ENTRYPOINT?",
  "why can't my container resolve DNS",
  "Überprüfung der Größe",
  "コンテナのメモリ制限",
  "🐳 docker",
  "the of and",
  "a",
  "",
  "\u0000\u0007 control",
  "e\u0301\u0327 ﬁ ① İ ß",
  `${"long ".repeat(2000)}question`,
];
const words = "container image volume network daemon mount build cache layer registry push pull run exec log driver memory cpu limit port publish bridge overlay host swarm secret config compose service restart policy health check user root capability seccomp".split(" ");

/** Fixed queries first, then words, identifiers and random Unicode. */
function* vectors(): Generator<{ query: string; vector: number[] }> {
  const random = seeded(20261130);
  for (let i = 0; i < queries; ++i) {
    let query = fixed[i];
    if (query === undefined) {
      const parts = Array.from({ length: 1 + Math.floor(random() * 8) }, () => {
        const kind = random();
        const word = words[Math.floor(random() * words.length)]!;
        if (kind < 0.7) return word;
        if (kind < 0.85) return `--${word}-${words[Math.floor(random() * words.length)]}`;
        return String.fromCodePoint(...Array.from({ length: 4 }, () => 0x20 + Math.floor(random() * 0xd7e0)));
      });
      query = parts.join(" ");
    }
    // A sum of uniform numbers is near enough to normal; the length is 1 but for rounding.
    const direction = Array.from({ length: dimensions }, () => random() + random() + random() - 1.5);
    const length = Math.sqrt(direction.reduce((sum, x) => sum + x * x, 0));
    yield { query, vector: direction.map((x) => Math.fround(x / length)) };
  }
}

for (const build of builds) {
  test(`${build}: BM25F, dense and fused order of ${queries} queries are the native ones, bit for bit`, { skip }, async () => {
    const engine = await RawEngine.load(build);
    engine.open(readFileSync(indexFile), "all");
    const probe = new Probe();
    let nonzero = 0;
    for (const { query, vector } of vectors()) {
      const native = await probe.ask({ scores: { query, vector } });
      assert.equal(engine.native.scores(query, JSON.stringify(vector)), native, query.slice(0, 80));
      const { ok } = JSON.parse(native) as { ok: { bm25: number[]; dense: number[] } };
      if (ok.bm25.some((score) => score > 0) && ok.dense.some((score) => score !== 0)) ++nonzero;
    }
    probe.end();
    assert.ok(nonzero > queries / 2, `only ${nonzero} queries had scores at all`);
  });

  test(`${build}: a query without a vector has the native lexical scores`, { skip }, async () => {
    const engine = await RawEngine.load(build);
    engine.open(readFileSync(indexFile), "all");
    const probe = new Probe();
    for (const query of fixed) {
      assert.equal(engine.native.scores(query, "[]"), await probe.ask({ scores: { query, vector: [] } }), query.slice(0, 80));
    }
    probe.end();
  });

  test(`${build}: token ids and terms are the native ones`, { skip }, async () => {
    const engine = await RawEngine.load(build);
    engine.open(readFileSync(indexFile), "all");
    const probe = new Probe();
    for (const { query } of vectors()) {
      assert.equal(engine.native.analyse(query), await probe.ask({ analyse: query }), query.slice(0, 80));
    }
    probe.end();
  });
}
