import assert from "node:assert/strict";
import { test } from "node:test";
import { SseParser, type ServerEvent } from "../../../web/providers/sse.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const stream = "\uFEFF: keep-alive\r\nevent: delta\r\ndata: {\"text\":\"Größe 🐋\"}\r\n\r\ndata:first\ndata: second\n\n: ping\n\nevent: done\rdata: {}\r\rid: 7\nretry: 10\nevent: none\n\nevent: error\ndata\n\n";
const events: ServerEvent[] = [
  { event: "delta", data: '{"text":"Größe 🐋"}' },
  { event: "message", data: "first\nsecond" },
  { event: "done", data: "{}" },
  { event: "error", data: "" },
];

test("a stream gives the same events whole, byte by byte, and split at any place", () => {
  const whole = bytes(stream);
  assert.deepEqual(new SseParser().push(whole), events);
  const single = new SseParser();
  assert.deepEqual([...whole].flatMap((byte) => single.push(Uint8Array.of(byte))), events);
  for (let at = 0; at <= whole.length; ++at) {
    const parser = new SseParser();
    assert.deepEqual([...parser.push(whole.subarray(0, at)), ...parser.push(whole.subarray(at))], events, `split at ${at}`);
  }
});

test("an event that the stream does not finish is never given out", () => {
  assert.deepEqual(new SseParser().push(bytes("event: done\ndata: {}\n")), []);
  assert.deepEqual(new SseParser().push(bytes("event: done\ndata: {}")), []);
});

test("one space after the colon belongs to the field, further ones to its value", () => {
  assert.deepEqual(new SseParser().push(bytes("data:  two\ndata:none\n\n")), [{ event: "message", data: " two\nnone" }]);
});

test("a line or an event without an end is refused before it fills the memory", () => {
  const piece = bytes("x".repeat(200_000));
  const line = new SseParser();
  line.push(bytes("data: "));
  assert.throws(() => Array.from({ length: 10 }, () => line.push(piece)), RangeError);
  const event = new SseParser();
  assert.throws(() => Array.from({ length: 10 }, () => event.push(bytes(`data: ${"x".repeat(200_000)}\n`))), RangeError);
});
