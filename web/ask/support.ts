// Which part of a passage supports a sentence of the answer: the sentence itself where the answer quotes it, otherwise the
// passage's sentence that shares most of its words. It guides the reader's eye and decides nothing.

import type { Range } from "../engine/boundary.ts";

/** Less than this share of the claim's words in one sentence is no support worth marking. */
const leastShare = 0.4;

/** A code point range of `passage`, or null. */
export function supportingSentence(passage: string, claim: string): Range | null {
  const quoted = quotation(passage, claim);
  if (quoted) return inCodePoints(passage, quoted);

  const wanted = new Set(words(claim));
  if (wanted.size === 0) return null;
  let best: readonly [number, number] | null = null;
  let bestShare = leastShare;
  for (const range of sentences(passage)) {
    const found = new Set(words(passage.slice(...range)).filter((word) => wanted.has(word)));
    const share = found.size / wanted.size;
    if (share > bestShare) {
      bestShare = share;
      best = range;
    }
  }
  return best && inCodePoints(passage, best);
}

/** Finds the claim in the passage when white space, Markdown emphasis and case do not count. */
function quotation(passage: string, claim: string): readonly [number, number] | null {
  const strip = (text: string): { bare: string; at: number[] } => {
    let bare = "";
    const at: number[] = [];
    for (let i = 0; i < text.length; ++i) {
      const unit = text[i]!;
      if (/[\s*_`>#|]/.test(unit)) continue;
      const lower = unit.toLowerCase();
      bare += lower.length === 1 ? lower : unit;
      at.push(i);
    }
    return { bare, at };
  };
  const whole = strip(passage);
  const part = strip(claim.replace(/[\s.:;,]+$/, "")).bare;
  if (part.length < 12) return null;
  const found = whole.bare.indexOf(part);
  if (found < 0) return null;
  let end = whole.at[found + part.length - 1]! + 1;
  while (/[.!?`*)"]/.test(passage[end] ?? "")) ++end;
  return [whole.at[found]!, end];
}

function words(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}_.\-/]*[\p{L}\p{N}]|[\p{L}\p{N}]/gu) ?? []).filter((word) => word.length > 2);
}

function* sentences(text: string): Generator<readonly [number, number]> {
  const lines = /[^\n]+(?:\n(?!\s*\n)[^\n]+)*/g;
  for (let block = lines.exec(text); block; block = lines.exec(text)) {
    if (typeof Intl.Segmenter !== "function") {
      yield [block.index, block.index + block[0].length];
      continue;
    }
    for (const { segment, index } of new Intl.Segmenter("en", { granularity: "sentence" }).segment(block[0])) {
      const end = block.index + index + segment.trimEnd().length;
      if (end > block.index + index) yield [block.index + index, end];
    }
  }
}

function inCodePoints(text: string, [begin, end]: readonly [number, number]): Range {
  const before = Array.from(text.slice(0, begin)).length;
  return [before, before + Array.from(text.slice(begin, end)).length];
}
