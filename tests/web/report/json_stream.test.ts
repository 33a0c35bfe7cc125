import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonProblem, JsonStream, readJson, type Cut } from "../../../web/report/json-stream.ts";
import { random } from "./sample.ts";

function cuts(source: string | Uint8Array, size = Number.MAX_SAFE_INTEGER): Cut[] {
  const bytes = typeof source === "string" ? new TextEncoder().encode(source) : source;
  const found: Cut[] = [];
  const stream = new JsonStream((cut) => found.push(cut));
  for (let i = 0; i < bytes.length; i += size) stream.push(bytes.slice(i, i + size));
  stream.end();
  return found;
}

const report = `{"a": [1, {"results": [7]}], "results": [ {"query_id": "x", "t": "]}\\"", "u": {"results": [1]}} ,\n {"query_id": "é", "v": []}, "s\\\\", 12, null ],
  "reports": [{"results": [{"query_id": "m"}], "k": 5}, {"results": []}], "end": "\\u005d"}`;

test("results are cut out of a report, and what remains is the report with empty arrays in their place", () => {
  const found = cuts(report);
  assert.deepEqual(found.map(({ path, value }) => [path, value]), [
    ["results", { query_id: "x", t: ']}"', u: { results: [1] } }], ["results", { query_id: "é", v: [] }], ["results", "s\\"], ["results", 12], ["results", null],
    ["reports.0.results", { query_id: "m" }],
    ["", { a: [1, { results: [7] }], results: [], reports: [{ results: [], k: 5 }, { results: [] }], end: "]" }],
  ]);
});

test("each cut knows its bytes in the file", () => {
  const bytes = new TextEncoder().encode(report);
  for (const { value, start, end, path } of cuts(report)) {
    if (path !== "") assert.deepEqual(JSON.parse(new TextDecoder().decode(bytes.slice(start, end))), value);
  }
});

test("the pieces in which a file arrives make no difference", () => {
  const whole = cuts(report);
  for (let size = 1; size < 40; ++size) assert.deepEqual(cuts(report, size), whole, `pieces of ${size}`);
});

test("JSON Lines, CRLF, blank lines, a byte order mark and a plain array are read alike", () => {
  const items = [{ query_id: "1", s: "a\nb" }, { query_id: "2" }];
  const lines = `\uFEFF${items.map((item) => JSON.stringify(item)).join("\r\n\r\n")}\r\n`;
  assert.deepEqual(cuts(lines).map((cut) => cut.value), items);
  assert.deepEqual(cuts(JSON.stringify(items)).map((cut) => cut.value), items);
  assert.deepEqual(cuts("[]"), []);
});

test("a key written with escapes, and one that only looks like results, are read as JSON reads them", () => {
  assert.deepEqual(cuts('{"x\\"results": [1], "result": [2], "deep": {"results": [3]}}').map((cut) => cut.value), [{ 'x"results': [1], result: [2], deep: { results: [3] } }]);
});

for (const [what, source, message] of [
  ["a file that was cut short", '{"results": [{"query_id": "a"', /ends in the middle/],
  ["an element that is no JSON", '{"total_queries": 1,\n"results": [{"a": NaN}]}', /Line 2 is not JSON/],
  ["a missing comma between results", '{"results": [{} {}]}', /comma is missing/],
  ["a comma too many", '{"results": [{},]}', /comma without a value/],
  ["text that is no JSON", "<html>", /begins with/],
  ["a raw line break in a string", '{"a": "x\ny"}', /not JSON/],
  ["brackets that do not match", '{"a": [}', /bracket/],
  ["a lone value", "17", /begins with/],
] as const) {
  test(`${what} is named, with its line`, () => {
    assert.throws(() => cuts(source), (error) => error instanceof JsonProblem && message.test(error.message));
    assert.throws(() => cuts(source, 3), JsonProblem);
  });
}

test("random documents come out as JSON.parse reads them", () => {
  const seed = Date.now() % 1e9;
  const next = random(seed);
  const word = (): string => ["results", "a", "é\u2028", 'q"', "\\", "</script>", "\u202e", "[{", ""][Math.floor(next() * 9)]!;
  const value = (depth: number): unknown => {
    const kind = next();
    if (depth > 3 || kind < 0.3) return [word(), next() * 1e6, -0.5, true, null][Math.floor(next() * 5)];
    if (kind < 0.65) return Array.from({ length: Math.floor(next() * 4) }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length: Math.floor(next() * 4) }, () => [word(), value(depth + 1)]));
  };
  for (let i = 0; i < 200; ++i) {
    const document = { head: value(1), results: Array.from({ length: Math.floor(next() * 5) }, () => value(1)), pipeline_a_report: { results: [value(2)], x: value(2) } };
    const found = cuts(JSON.stringify(document, null, Math.floor(next() * 3)), 1 + Math.floor(next() * 50));
    assert.deepEqual(found.filter((cut) => cut.path === "results").map((cut) => cut.value), document.results, `seed ${seed}`);
    assert.deepEqual(found.at(-1)!.value, { ...document, results: [], pipeline_a_report: { ...document.pipeline_a_report, results: [] } }, `seed ${seed}`);
  }
});

test("a file is read as a stream, and says how far it is", async () => {
  const shares: number[] = [];
  let n = 0;
  await readJson(new Blob([`${'{"query_id": "a"}\n'.repeat(20_000)}`]), () => void ++n, (share) => shares.push(share));
  assert.equal(n, 20_000);
  assert.equal(shares.at(-1), 1);
});
