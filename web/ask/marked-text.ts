// Text of a passage as DOM: code blocks as code, marked ranges as <mark>. Offsets are code points of the passage's text.

import type { Range } from "../engine/boundary.ts";
import { toUtf16 } from "../engine/codepoints.ts";
import { h } from "./dom.ts";

/** One run of text with its marks. Overlapping and unordered ranges are merged. */
export function markedText(text: string, marks: readonly Range[]): (Node | string)[] {
  return markUtf16(text, toRanges(text, marks), 0, text.length);
}

function toRanges(text: string, marks: readonly Range[]): [number, number][] {
  const flat = toUtf16(text, marks.flat());
  const ranges: [number, number][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) ranges.push([flat[i]!, flat[i + 1]!]);
  return ranges.sort((a, b) => a[0] - b[0]);
}

function markUtf16(text: string, ranges: readonly [number, number][], from: number, to: number): (Node | string)[] {
  const nodes: (Node | string)[] = [];
  let at = from;
  for (const [begin, end] of ranges) {
    const start = Math.max(begin, at);
    const stop = Math.min(end, to);
    if (start >= stop) continue;
    if (start > at) nodes.push(text.slice(at, start));
    nodes.push(h("mark", null, text.slice(start, stop)));
    at = stop;
  }
  if (at < to) nodes.push(text.slice(at, to));
  return nodes;
}

const fence = /^ {0,3}(`{3,}|~{3,})/;

/** A whole passage: fenced code as <pre>, everything else with its line breaks kept. */
export function passage(text: string, marks: readonly Range[]): HTMLElement[] {
  const ranges = toRanges(text, marks);
  const blocks: HTMLElement[] = [];
  let begin = 0;
  let open: string | null = null;
  const close = (end: number): void => {
    const trimmed = open === null ? trimRange(text, begin, end) : ([begin, Math.max(begin, end - 1)] as const);
    if (trimmed[1] > trimmed[0]) {
      const content = markUtf16(text, ranges, trimmed[0], trimmed[1]);
      blocks.push(open === null ? h("p", { class: "passage-text" }, content) : h("pre", { tabindex: 0 }, h("code", null, content)));
    }
  };
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const next = newline < 0 ? text.length : newline + 1;
    const found = fence.exec(text.slice(at, next));
    const closes = open !== null && found?.[1]?.startsWith(open) && text.slice(at, next).trim() === found[1];
    if (found?.[1] && (open === null || closes)) {
      close(at);
      open = open === null ? found[1] : null;
      begin = next;
    }
    at = next;
  }
  close(text.length + (open === null ? 0 : 1));
  return blocks;
}

function trimRange(text: string, begin: number, end: number): [number, number] {
  while (begin < end && /\s/.test(text[begin]!)) ++begin;
  while (end > begin && /\s/.test(text[end - 1]!)) --end;
  return [begin, end];
}

/** Around the first mark: what fits in a line or two of a list. */
export function excerpt(text: string, marks: readonly Range[], length = 180): (Node | string)[] {
  const ranges = toRanges(text, marks);
  const first = ranges[0]?.[0] ?? 0;
  let from = Math.max(0, first - Math.floor(length / 3));
  if (from > 0) {
    const space = text.slice(from, first).search(/\s/);
    from = space < 0 ? first : from + space + 1;
  }
  let to = Math.min(text.length, from + length);
  if (to < text.length) {
    const space = text.slice(0, to).search(/\s\S*$/);
    if (space > from + length / 2) to = space;
  }
  const nodes = markUtf16(text, ranges, from, to).map((node) => (typeof node === "string" ? withoutMarkup(node) : node));
  return [from > 0 ? "… " : "", ...nodes, to < text.length ? " …" : ""];
}

/** In a line or two, Markdown's own characters only cost room. */
function withoutMarkup(text: string): string {
  return text
    .replace(/^\s*(`{3,}|~{3,}).*$/gm, "")
    .replace(/^\s*#{1,6} /gm, "")
    .replace(/\|[-:| ]{3,}\|/g, "")
    .replace(/[`|]|\*\*/g, "");
}
