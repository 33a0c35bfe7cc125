import assert from "node:assert/strict";
import { test } from "node:test";
import { kindOf, openDocument, Unreadable } from "../../../web/trace/document.ts";
import { answered, answeredRecording } from "./recorded.ts";

function refusal(text: string): { message: string; field: string } {
  try {
    openDocument(text);
  } catch (error) {
    if (error instanceof Unreadable) return { message: error.message, field: error.field };
    throw error;
  }
  throw new Error("it was opened");
}

const without = (change: (trace: Record<string, never>) => void): string => {
  const trace = answered() as unknown as Record<string, never>;
  change(trace);
  return JSON.stringify(trace);
};

test("a trace opens with its own bytes, whatever the form of its numbers", () => {
  const text = `\uFEFF  ${JSON.stringify(answered()).replace('"max_rewrites":2', '"max_rewrites":2,"x":1.0')}\n`;
  const { json, trace, recorded } = openDocument(text);
  assert.ok(json.startsWith("{") && json.endsWith("}") && json.includes('"x":1.0'));
  assert.equal(trace.steps.length, 3);
  assert.equal(recorded, null);
});

test("a recorded run opens as its trace, with when and by what it was made", () => {
  const { json, trace, recorded } = openDocument(answeredRecording);
  assert.equal(trace.status, "answered");
  assert.match(recorded?.at ?? "", /^2026-/);
  assert.deepEqual(JSON.parse(json), answered());
});

test("a result of an evaluation opens as the trace in it, and says when it was kept without one", () => {
  const { json } = openDocument(JSON.stringify({ id: "q1", question: "?", trace: answered() }));
  assert.deepEqual(JSON.parse(json), answered());
  assert.match(refusal('{"id":"q1","trace":null}').message, /kept without its trace/);
});

test("a field that is missing, of another type or of another value is named with its path", () => {
  const cases: [change: (trace: never) => void, field: string, words: RegExp][] = [
    [(trace: { question?: string }) => delete trace.question, "question", /question is missing; a string was expected/],
    [(trace: { steps: unknown }) => (trace.steps = {}), "steps", /steps is an object; a list was expected/],
    [(trace: { steps: { data: { candidates: { ranks: { bm25: unknown } }[] } }[] }) => (trace.steps[0]!.data.candidates[3]!.ranks.bm25 = "1"), "steps[0].data.candidates[3].ranks.bm25", /is "1"; a number was expected/],
    [(trace: { steps: { node: string }[] }) => (trace.steps[1]!.node = "ponder"), "steps[1].node", /is "ponder"; one of retrieve, grade_context, rewrite_query, generate, refuse was expected/],
    [(trace: { steps: { effects: { tokens: unknown }[] }[] }) => (trace.steps[2]!.effects[0]!.tokens = null), "steps[2].effects[0].tokens", /is null; an object was expected/],
    [(trace: { status: string }) => (trace.status = "pending"), "status", /one of answered, refused, failed, running/],
    [(trace: { schema: number }) => (trace.schema = 2), "schema", /schema is 2; 1 was expected/],
    [(trace: { error: unknown }) => (trace.error = { code: 7, message: "" }), "error.code", /error.code is 7; a string was expected/],
  ] as never;
  for (const [change, field, words] of cases) {
    const said = refusal(without(change as never));
    assert.equal(said.field, field);
    assert.match(said.message, words);
  }
});

test("a fault in a recording is named by its path in the recording", () => {
  const recording = JSON.parse(answeredRecording) as { trace: { totals?: unknown } };
  delete recording.trace.totals;
  assert.equal(refusal(JSON.stringify(recording)).field, "trace.totals");
});

test("a trace cut anywhere is called truncated", () => {
  const text = JSON.stringify(answered());
  for (const share of [0.1, 0.37, 0.5, 0.93]) {
    assert.match(refusal(text.slice(0, Math.floor(text.length * share))).message, /breaks off|is no JSON/);
  }
  assert.match(refusal(text.slice(0, -1)).message, /breaks off after [\d,]+ characters: the file is truncated/);
});

test("broken JSON says line and column", () => {
  assert.match(refusal('{\n  "kind": "trace",\n  oops\n}').message, /line 3, column 3/);
});

test("foreign files say what they are and what was expected", () => {
  assert.match(refusal("").message, /nothing in it/);
  assert.match(refusal("# A page\n").message, /begins with “# A page/);
  assert.match(refusal("[1,2]").message, /list of 2 values.*one a line/);
  assert.match(refusal("null").message, /no trace but null/);
  assert.match(refusal("7").message, /no trace but a number/);
  assert.match(refusal('{"kind":"evaluation","schema":1}').message, /kind is "evaluation"; “trace” or “recording” was expected/);
  assert.equal(refusal('{"a":1}').field, "kind");
});

test("names that every object has are not taken for fields", () => {
  assert.match(refusal('{"kind":"trace","schema":1,"__proto__":{"question":"?"}}').message, /id is missing/);
  assert.match(refusal(without((trace) => ((trace as unknown as { steps: { node: string }[] }).steps[0]!.node = "constructor"))).message, /node is "constructor"/);
});

const file = (...parts: BlobPart[]): Blob => new Blob(parts);

test("an index, one document and one document a line are told apart by their bytes", async () => {
  const line = JSON.stringify(answered());
  assert.equal(await kindOf(file(new Uint8Array([0x89, 0x50, 0x4c, 0x59, 0x0d, 0x0a, 0x1a, 0x0a, 1, 0]))), "index");
  assert.equal(await kindOf(file(line)), "document");
  assert.equal(await kindOf(file(`${line}\n`)), "document");
  assert.equal(await kindOf(file(JSON.stringify(answered(), null, 2))), "document");
  assert.equal(await kindOf(file(`${line}\n${line}\n`)), "lines");
  assert.equal(await kindOf(file(`{"broken\n${line}\n`)), "lines");
  assert.equal(await kindOf(file(`${line}\n`.repeat(40))), "lines");
  assert.equal(await kindOf(file("not json")), "document");
});

test("compressed and binary files say what to do", async () => {
  await assert.rejects(kindOf(file(new Uint8Array([0x1f, 0x8b, 8, 0]))), /gzip file. Unpack it first/);
  await assert.rejects(kindOf(file(new Uint8Array([0x50, 0x4b, 3, 4]))), /zip file/);
  await assert.rejects(kindOf(file(new Uint8Array([1, 0, 2, 0]))), /binary file/);
});
