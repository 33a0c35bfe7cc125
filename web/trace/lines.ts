// A file of many traces, one a line. Only where each line stands, what the list shows of it and what can be searched are
// kept: the trace itself is read from the file again when it is opened.

import type { Status } from "../engine/trace.ts";
import { documentOf } from "./document.ts";
import { visible } from "./visible.ts";

export interface Row {
  /** Which of the opened files. */
  file: number;
  /** From 1. */
  line: number;
  /** Bytes. */
  offset: number;
  length: number;
  question: string;
  status: Status | "broken";
  steps: number;
  ms: number;
  /** Why a broken line cannot be shown; of a failed run, its error. */
  problem: string;
}

/** A row, and the text that a search looks through. */
export interface Scanned {
  row: Row;
  text: string;
}

export interface Filter {
  /** Words, each of which must occur. */
  text: string;
  /** Empty: any. */
  status: string;
  /** Steps; 0: any. */
  steps: number;
}

const pieceBytes = 4 * 1024 * 1024;
const longestLine = 64 * 1024 * 1024;
const shownQuestion = 200;
const searchedText = 2000;

/** Hands on what it has read, piece by piece, until the end or until `signal`. */
export async function scanLines(blob: Blob, file: number, take: (rows: Scanned[]) => void | Promise<void>, signal?: AbortSignal, piece = pieceBytes, longest = longestLine): Promise<number> {
  const decoder = new TextDecoder();
  let carry: Uint8Array = new Uint8Array(0);
  let position = 0;
  let line = 0;
  let found = 0;
  /** Bytes of a line that is too long to keep. */
  let skipped = 0;
  const read = (bytes: Uint8Array, offset: number): Scanned | null => {
    ++line;
    const json = decoder.decode(bytes).replace(/^\uFEFF/, "");
    return json.trim() === "" ? null : scanLine(json, { file, line, offset, length: bytes.length });
  };
  while (position < blob.size && !signal?.aborted) {
    const next = new Uint8Array(await blob.slice(position, position + piece).arrayBuffer());
    const bytes = carry.length > 0 ? joined(carry, next) : next;
    const base = position - carry.length;
    position += next.length;
    const rows: Scanned[] = [];
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      if (skipped > 0) {
        ++line;
        rows.push(tooLong({ file, line, offset: base + from - skipped, length: 0 }, longest));
        skipped = 0;
      } else {
        const row = read(bytes.subarray(from, end), base + from);
        if (row) rows.push(row);
      }
      from = end + 1;
    }
    carry = bytes.slice(from);
    if (carry.length > longest || skipped > 0) {
      skipped += carry.length;
      carry = new Uint8Array(0);
    }
    if (position >= blob.size) {
      if (skipped > 0) {
        rows.push(tooLong({ file, line: line + 1, offset: blob.size - skipped, length: 0 }, longest));
      } else if (carry.length > 0) {
        const row = read(carry, blob.size - carry.length);
        if (row) rows.push(row);
      }
    }
    found += rows.length;
    if (rows.length > 0) await take(rows);
  }
  return found;
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

type Place = Pick<Row, "file" | "line" | "offset" | "length">;

function tooLong(place: Place, longest: number): Scanned {
  return { row: { ...place, question: "", status: "broken", steps: 0, ms: 0, problem: `This line is longer than ${Math.round(longest / 1e6)} MB.` }, text: "" };
}

export function scanLine(json: string, place: Place): Scanned {
  try {
    const { trace } = documentOf(JSON.parse(json) as unknown, json);
    const problem = trace.error ? trace.error.message : "";
    return {
      row: { ...place, question: visible(trace.question.slice(0, shownQuestion)), status: trace.status, steps: trace.steps.length, ms: trace.totals.ms, problem: visible(problem.slice(0, shownQuestion)) },
      text: `${trace.question.slice(0, searchedText)}\n${trace.answer.slice(0, searchedText)}\n${problem}\n${trace.id}`.toLowerCase(),
    };
  } catch (error) {
    const said = error instanceof SyntaxError ? "This line is no JSON, or was cut." : error instanceof Error ? error.message : String(error);
    const problem = visible(said.slice(0, 2 * shownQuestion));
    return { row: { ...place, question: "", status: "broken", steps: 0, ms: 0, problem }, text: problem.toLowerCase() };
  }
}

/** Positions of the rows that `filter` lets through, in their order. */
export function filtered(rows: readonly { status: Row["status"]; steps: number }[], texts: readonly string[], filter: Filter): Uint32Array {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const kept: number[] = [];
  rows.forEach(({ status, steps }, i) => {
    if (filter.status && status !== filter.status) return;
    if (filter.steps && steps !== filter.steps) return;
    const text = texts[i] ?? "";
    if (words.every((word) => text.includes(word))) kept.push(i);
  });
  return Uint32Array.from(kept);
}
