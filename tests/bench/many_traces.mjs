// A file of many traces, no two alike, out of two recorded runs: for the trace inspector's test and benchmark.

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import path from "node:path";

const recordings = { answered: "how-do-i-limit-a-containers-memory", refused: "how-do-i-set-up-an-ingress-controller-on-gke" };
const lineBytes = 20_000;
const atOnce = 500;

export const recordedTrace = (root, status) => JSON.parse(readFileSync(path.join(root, "assets/recordings", `${recordings[status]}.json`), "utf8")).trace;

/** Writes `count` (a multiple of 500) traces of at least 20 KB as JSON Lines, every tenth a refusal, and one that is cut off. */
export function writeManyTraces(root, file, count) {
  const out = openSync(file, "w");
  const texts = ["answered", "refused"].map((status) => recordedTrace(root, status)).map((trace) => JSON.stringify({ ...trace, question: "%QUESTION%", answer: `%ANSWER% ${trace.answer}` }));
  for (let from = 0; from < count; from += atOnce) {
    let piece = "";
    for (let i = from; i < from + atOnce; ++i) {
      const line = texts[i % 10 === 9 ? 1 : 0].replace("%QUESTION%", `Question ${i} about topic ${i % 37}`).replace("%ANSWER%", `Answer ${i}.`);
      piece += line.length < lineBytes ? `${line.slice(0, -1)},"padding":"${"x".repeat(lineBytes - line.length)}"}\n` : `${line}\n`;
    }
    writeSync(out, piece);
  }
  writeSync(out, `${texts[0].slice(0, 500)}\n`);
  closeSync(out);
}
