import assert from "node:assert/strict";
import { test } from "node:test";
import { memberText, parseRecordings, questionKey, recordedRun, recordingFor, type Recording } from "../../../web/providers/recordings.ts";

const recording = (more: Partial<Recording>): Recording => ({
  id: "memory", question: "How do I limit a container's memory?", aliases: [], recordedAt: "2026-01-01T00:00:00Z", madeBy: "", models: {}, indexDigest: "a", ...more,
});

test("case, doubled spaces and end punctuation do not count in a question, anything else does", () => {
  for (const same of ["how do i limit  a container's\tmemory", " How do I limit a container's memory?! ", "HOW DO I LIMIT A CONTAINER'S MEMORY ?", "How do I limit a container's memory:", "How do I limit a container's memory,؟;"]) {
    assert.equal(recordingFor(same, [recording({})], "a")?.id, "memory", same);
  }
  for (const other of ["How do I limit a containers memory?", "How do I limit a container's memory on Windows?", "", "?"]) {
    assert.equal(recordingFor(other, [recording({})], "a"), null, other);
  }
  assert.equal(questionKey("Was heißt\u00A0ÜBER …"), "was heißt über");
});

test("an alias that the server lists is as good as the question", () => {
  const listed = parseRecordings({ recordings: [{ id: "memory", question: "How do I limit a container's memory?", aliases: ["limit memory"] }] });
  assert.equal(recordingFor("Limit memory!", listed, "a")?.id, "memory");
  assert.equal(recordingFor("Limit memory", [recording({ aliases: ["limit memory?"] })], "a")?.id, "memory");
});

test("the recording over this index comes first, then the newest", () => {
  const all = [
    recording({ id: "old", recordedAt: "2026-01-01T00:00:00Z" }),
    recording({ id: "new", recordedAt: "2026-02-01T00:00:00Z" }),
    recording({ id: "newest-elsewhere", recordedAt: "2026-03-01T00:00:00Z", indexDigest: "b" }),
  ];
  assert.equal(recordingFor("how do I limit a container's memory", all, "a")?.id, "new");
  assert.equal(recordingFor("how do I limit a container's memory", all, "c")?.id, "newest-elsewhere");
});

test("a list of anything is read as far as it holds recordings", () => {
  assert.deepEqual(parseRecordings(null), []);
  assert.deepEqual(parseRecordings({ recordings: "none" }), []);
  const read = parseRecordings({ recordings: [null, 7, { id: "../secret", question: "q" }, { id: "a", question: "" }, { id: "b", question: "q", models: { grader: 7, generator: "m" }, aliases: [1, "x"] }] });
  assert.deepEqual(read, [{ id: "b", question: "q", aliases: ["x"], recordedAt: "", madeBy: "", models: { generator: "m" }, indexDigest: "" }]);
});

test("an exported site's list names each recording's file beside it; an entry without one is none", () => {
  const entry = { id: "memory", question: "q", file: "recording-memory-0123456789abcdef.json" };
  const list = "https://docs.example.org/docs/ask/assets/recordings-fedcba9876543210.json";
  assert.equal(parseRecordings({ recordings: [entry] }, list)[0]?.url, "https://docs.example.org/docs/ask/assets/recording-memory-0123456789abcdef.json");
  for (const file of [undefined, "", "../secret.json", "https://elsewhere.example/a.json", "//elsewhere.example/a"]) {
    assert.deepEqual(parseRecordings({ recordings: [{ ...entry, file }] }, list), [], String(file));
  }
});

const step = '{"n": 1, "node": "retrieve", "started_ms": 0, "ms": 1.0, "effects": [], "data": {"query": "q", "candidates": [], "retrieved_ids": []}}';
const trace = `{"kind": "trace", "id": "run-1", "question": "q", "status": "answered", "answer": "a}\\"{,", "config": {"retrieval_mode": "hybrid", "use_reranker": true},
  "engine": {"version": "1", "target": "t"}, "index_digest": "a", "corpus_revision": "r", "models": {"embedder": null}, "started_at": "", "steps": [${step}],
  "citations": [{"chunk_id": "a#000", "title": "", "url": "", "start": 0, "end": 1}], "totals": {"ms": 1.0, "steps": 1, "rewrites": 0, "tokens": {"in": 0, "out": 0}, "cost_usd": null},
  "stages": {"lexical": "used", "dense": "", "rerank": ""}}`;
const file = (member: string): string => `{"kind":"recording","schema":1,"id":"memory","question":"q \\"trace\\": {","note":{"trace":{}},"trace" : ${member} ,"made_by":"x"}`;

test("a recorded trace is kept byte for byte, numbers included", () => {
  assert.equal(recordedRun(file(trace))?.json, trace);
  assert.equal(memberText(`{"a":1,"trace":[1.0]}`, "trace"), "[1.0]");
  assert.equal(memberText(`{"a":{"trace":1}}`, "trace"), null);
});

test("a file that is cut, no recording, or whose run did not end well is none", () => {
  assert.equal(recordedRun(file(trace).slice(0, -1)), null);
  assert.equal(recordedRun(file(trace).replace('"recording"', '"trace"')), null);
  assert.equal(recordedRun(file(trace.replace("answered", "failed"))), null);
  for (const [from, to] of [['"steps": [', '"steps": [null, '], ['"candidates": []', '"candidates": [{"id": "a#000"}]'], ['"retrieve"', '"toString"'], ['"lexical": "used"', '"lexical": 7'], ['"start": 0', '"start": "0"']] as const) {
    assert.notEqual(trace.replace(from, to), trace);
    assert.equal(recordedRun(file(trace.replace(from, to))), null, to);
  }
  assert.equal(recordedRun("null"), null);
});
