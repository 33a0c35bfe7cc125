import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError, wellFormed } from "../../../web/engine/engine.ts";
import { scriptedEngine } from "./scripted_engine.ts";

test("an error of the engine is thrown with its code, field and line", async () => {
  const { engine } = await scriptedEngine({
    openAll: () => {
      throw { code: "corrupt", message: "the section vectors has another checksum", field: "vectors", line: 0 };
    },
  });
  assert.throws(
    () => engine.open(new Uint8Array(8)),
    (error: unknown) => error instanceof EngineError && error.code === "corrupt" && error.field === "vectors" && error.line === undefined,
  );
});

test("an index is written where the engine reserved room for it", async () => {
  const { engine, memory } = await scriptedEngine({});
  engine.reserve(6);
  engine.write(Uint8Array.of(1, 2, 3), 0);
  engine.write(Uint8Array.of(4, 5, 6), 3);
  assert.deepEqual([...memory.subarray(0, 7)], [1, 2, 3, 4, 5, 6, 0]);
});

test("bytes past the announced length are refused instead of overwriting the engine's memory", async () => {
  const { engine, memory } = await scriptedEngine({});
  engine.reserve(2);
  assert.throws(() => engine.write(Uint8Array.of(9, 9, 9), 0), RangeError);
  assert.deepEqual([...memory.subarray(0, 3)], [0, 0, 0]);
});

test("a trace is kept as the engine's own bytes, numbers included", async () => {
  const written = '{"ms":1.0,"text":"a}:{b"}';
  const { engine } = await scriptedEngine({}, { trace: `{"ok":${written}}` });
  assert.equal(engine.traceJson(1), written);
});

test("a lone surrogate becomes the replacement character, and pairs stay", () => {
  assert.equal(wellFormed("a\ud800b"), "a\ufffdb");
  assert.equal(wellFormed("\udc00x"), "\ufffdx");
  assert.equal(wellFormed("snow \u{1f328}"), "snow \u{1f328}");
});
