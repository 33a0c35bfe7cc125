// A recorded run as the page shows it: step by step, and its passages only as far as this index holds the same text.

import type { Chunk } from "../engine/boundary.ts";
import type { Trace } from "../engine/trace.ts";

/** A recorded step is shown this long before the next one comes. */
const stepMs = 220;

/** Shows the run's steps one after the other. Resolves after the last one, or at once when it need not move. */
export async function playSteps(trace: Trace, show: (soFar: Trace) => void, signal: AbortSignal, still: boolean): Promise<void> {
  if (still) return;
  for (let shown = 1; shown < trace.steps.length && !signal.aborted; ++shown) {
    show({ ...trace, status: "running", steps: trace.steps.slice(0, shown) });
    await new Promise((resolve) => setTimeout(resolve, stepMs));
  }
}

/** Passages that the trace itself carries, by id. */
function recordedTexts(trace: Trace): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const step of trace.steps) {
    if (step.node !== "retrieve") continue;
    for (const { id, text } of step.data.passages ?? []) texts.set(id, text);
  }
  return texts;
}

/**
 * Of a run over another index: an id may stand for another text here, so a passage counts only where the trace carries its
 * text and this index holds the very same.
 */
export function sameTextOnly(trace: Trace, chunks: ReadonlyMap<string, Chunk | null>): Map<string, Chunk | null> {
  const texts = recordedTexts(trace);
  return new Map([...chunks].map(([id, chunk]) => [id, chunk && texts.get(id) === chunk.text ? chunk : null]));
}
