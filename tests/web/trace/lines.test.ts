import assert from "node:assert/strict";
import { test } from "node:test";
import { filtered, scanLines, type Scanned } from "../../../web/trace/lines.ts";
import { answered, refused } from "./recorded.ts";

async function scan(text: string, piece?: number, longest?: number): Promise<Scanned[]> {
  const all: Scanned[] = [];
  const found = await scanLines(new Blob([text]), 0, (rows) => void all.push(...rows), undefined, piece, longest);
  assert.equal(found, all.length);
  return all;
}

const a = JSON.stringify(answered());
const r = JSON.stringify(refused());

test("each line is found where it stands, whatever pieces the file is read in", async () => {
  const text = `${a}\n\n${r}\r\nbroken {\n${a.replace("limit", "l\u{1f40b}mit")}`;
  const bytes = new Blob([text]);
  for (const piece of [997, 5000, 1 << 22]) {
    const rows = (await scan(text, piece)).map(({ row }) => row);
    assert.deepEqual(rows.map(({ line, status, steps }) => [line, status, steps]), [[1, "answered", 3], [3, "refused", 9], [4, "broken", 0], [5, "answered", 3]]);
    const last = rows[3]!;
    const read = JSON.parse(await bytes.slice(last.offset, last.offset + last.length).text()) as { question: string };
    assert.equal(read.question, "How do I l\u{1f40b}mit a container's memory?");
    const second = rows[1]!;
    assert.deepEqual(JSON.parse(await bytes.slice(second.offset, second.offset + second.length).text()), refused());
  }
});

test("a line that is no trace says why, and the others are read on", async () => {
  const rows = (await scan(`{"kind":"report"}\n${a}\n[]\n`)).map(({ row }) => row);
  assert.deepEqual(rows.map(({ status }) => status), ["broken", "answered", "broken"]);
  assert.match(rows[0]!.problem, /kind is "report"/);
});

test("a line longer than can be kept is passed over, and the next one is found", async () => {
  const rows = (await scan(`${"x".repeat(5000)}\n${a}\n`, 512, 20_000)).map(({ row }) => row);
  assert.deepEqual(rows.map(({ line, status }) => [line, status]), [[1, "broken"], [2, "answered"]]);
  const skipped = (await scan(`${"x".repeat(50_000)}\n${a}\n${"y".repeat(50_000)}`, 512, 20_000)).map(({ row }) => row);
  assert.deepEqual(skipped.map(({ line, status, offset }) => [line, status, offset]), [[1, "broken", 0], [2, "answered", 50_001], [3, "broken", 50_002 + a.length]]);
});

test("reading stops when the file is closed", async () => {
  const stop = new AbortController();
  let pieces = 0;
  await scanLines(new Blob([`${a}\n`.repeat(50)]), 0, () => {
    ++pieces;
    stop.abort();
  }, stop.signal, a.length + 1);
  assert.equal(pieces, 1);
});

test("rows are filtered by status, steps and words of question and answer, all at once", async () => {
  const scanned = await scan(`${a}\n${r}\n${a}\nbroken\n`);
  const rows = scanned.map(({ row }) => row);
  const texts = scanned.map(({ text }) => text);
  const keep = (text: string, status = "", steps = 0): number[] => [...filtered(rows, texts, { text, status, steps })];
  assert.deepEqual(keep(""), [0, 1, 2, 3]);
  assert.deepEqual(keep("", "refused"), [1]);
  assert.deepEqual(keep("", "broken"), [3]);
  assert.deepEqual(keep("", "", 3), [0, 2]);
  assert.deepEqual(keep("MEMORY limit"), [0, 2]);
  assert.deepEqual(keep("memory gke"), []);
  assert.deepEqual(keep("gke", "answered"), []);
  assert.deepEqual(keep("knowledge base"), [1]);
});
