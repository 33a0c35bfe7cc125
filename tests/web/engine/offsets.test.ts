import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFloats, encodeFloats } from "../../../web/engine/base64.ts";
import { slice, toUtf16 } from "../../../web/engine/codepoints.ts";

test("code point offsets become UTF-16 positions behind characters outside the basic plane", () => {
  assert.deepEqual(toUtf16("a\u{1f40b}bc", [0, 1, 2, 3, 4]), [0, 1, 3, 4, 5]);
});

test("offsets may come in any order and past the end", () => {
  assert.deepEqual(toUtf16("\u{1f40b}x", [9, 1, 0]), [3, 2, 0]);
  assert.equal(slice("\u{1f40b}whale", 1, 3), "wh");
});

test("floats survive base64 bit for bit, with a negative zero and a subnormal", () => {
  const values = Float32Array.of(1, -0, 1e-45, -3.4028234663852886e38, 0.1);
  assert.deepEqual([...decodeFloats(encodeFloats(values))].map((v) => [v, Object.is(v, -0)]), [...values].map((v) => [v, Object.is(v, -0)]));
  assert.equal(encodeFloats(Float32Array.of(1)), "AACAPw==");
});
