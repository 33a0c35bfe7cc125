import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { EngineError } from "../../../web/engine/engine.ts";
import { streamIndex, type IndexStage } from "../../../web/worker/index-stream.ts";
import { scriptedEngine } from "../engine/scripted_engine.ts";

const original = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = original;
});

const bytes = Uint8Array.from({ length: 100 }, (_, i) => i + 1);
const file = { url: "http://localhost/index", bytes: bytes.length, digest: "", built_at: "" };
const info = { digest: "d", documents: 1, chunks: 1, part: "lexical", metadata: {} };

/** Answers requests in turn: each gives the file from where the request asks (or from 0) up to its own end. */
function server(ends: number[], { ranges = true, status = 200 } = {}): string[] {
  const seen: string[] = [];
  globalThis.fetch = async (_url, init) => {
    const range = new Headers(init?.headers).get("range");
    seen.push(range ?? "whole");
    const from = range && ranges ? Number(/\d+/.exec(range)?.[0]) : 0;
    const end = ends[seen.length - 1] ?? bytes.length;
    if (status !== 200) return new Response("no", { status });
    let at = from;
    const body = new ReadableStream({
      pull(controller) {
        if (at < end) controller.enqueue(bytes.slice(at, (at = Math.min(at + 10, end))));
        else if (end < bytes.length) controller.error(new TypeError("network error"));
        else controller.close();
      },
    });
    return new Response(body, { status: range && ranges ? 206 : 200 });
  };
  return seen;
}

const engineWithLexicalPart = (lexical: number) =>
  scriptedEngine({
    extent: (received: never) => {
      if (received < 20) throw { code: "truncated", message: "no header yet" };
      return { lexical, all: bytes.length };
    },
    openLexical: () => info,
    openAll: () => ({ ...info, part: "all" }),
  });

test("the lexical part opens before the rest has arrived", async () => {
  server([]);
  const { engine, memory } = await engineWithLexicalPart(40);
  const stages: IndexStage[] = [];
  await streamIndex(engine, file, (stage) => stages.push(stage));
  assert.equal(stages.find((stage) => stage.part === "lexical")?.received, 40);
  assert.equal(stages.at(-1)?.part, "all");
  assert.deepEqual([...memory.subarray(0, 100)], [...bytes]);
});

test("a request that is under way already is read, not made again", async () => {
  const seen = server([60]);
  const { engine, memory } = await engineWithLexicalPart(40);
  await streamIndex(engine, file, () => undefined, 1, fetch(file.url));
  assert.equal(seen.length, 2);
  assert.equal(seen[0], "whole");
  assert.match(seen[1] ?? "", /^bytes=[1-9]\d*-$/);
  assert.deepEqual([...memory.subarray(0, 100)], [...bytes]);
});

test("a download that breaks off goes on where it stopped", async () => {
  const seen = server([60, 90]);
  const { engine, memory } = await engineWithLexicalPart(40);
  await streamIndex(engine, file, () => undefined);
  assert.equal(seen[0], "whole");
  assert.match(seen[1] ?? "", /^bytes=[1-9]\d*-$/);
  assert.deepEqual([...memory.subarray(0, 100)], [...bytes]);
});

test("a server without ranges sends the file again, and what was there is not written twice", async () => {
  server([60], { ranges: false });
  const { engine, memory } = await engineWithLexicalPart(40);
  await streamIndex(engine, file, () => undefined);
  assert.deepEqual([...memory.subarray(0, 100)], [...bytes]);
});

test("a server that refuses is given up with the reason and the address", async () => {
  const seen = server([], { status: 503 });
  const { engine } = await engineWithLexicalPart(40);
  await assert.rejects(
    streamIndex(engine, file, () => undefined, 1),
    (error: unknown) => error instanceof EngineError && error.code === "io" && error.message.includes("503") && error.field === file.url,
  );
  assert.ok(seen.length > 1);
});

test("a broken index is not asked for again", async () => {
  const seen = server([]);
  const { engine } = await scriptedEngine({
    extent: () => {
      throw { code: "corrupt", message: "the section table has another checksum" };
    },
  });
  await assert.rejects(streamIndex(engine, file, () => undefined), { code: "corrupt" });
  assert.equal(seen.length, 1);
});

test("a file whose length nobody knows says it itself, and nothing that came before is lost", async () => {
  const seen = server([15, 60]);
  const { engine, memory } = await engineWithLexicalPart(40);
  const stages: IndexStage[] = [];
  await streamIndex(engine, { url: file.url, bytes: 0 }, (stage) => stages.push(stage), 1);
  // It broke off inside its header, was asked for anew, and then went on where it stopped.
  assert.deepEqual(seen.slice(0, 2), ["whole", "whole"]);
  assert.match(seen[2] ?? "", /^bytes=[1-9]\d*-$/);
  assert.equal(stages[0]?.total, 0);
  assert.deepEqual(stages.at(-1), { received: 100, total: 100, part: "all", info: { ...info, part: "all" } });
  assert.deepEqual([...memory.subarray(0, 100)], [...bytes]);
});

test("a file of unknown length that always ends inside its header is given up with the reason", async () => {
  server([15, 15, 15, 15, 15]);
  const { engine } = await engineWithLexicalPart(40);
  await assert.rejects(streamIndex(engine, { url: file.url, bytes: 0 }, () => undefined, 1), { code: "io" });
});
