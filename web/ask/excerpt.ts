// A line or two of a passage with the matched words marked. Offsets are code points of the passage's text.

import type { Range } from "../engine/boundary.ts";
import { toUtf16 } from "../engine/codepoints.ts";
import { h } from "./dom.ts";

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
