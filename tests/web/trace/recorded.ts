// Recorded runs of the default corpus, as the project ships them: real traces for tests that need one.

import { readFileSync } from "node:fs";
import type { Trace } from "../../../web/engine/trace.ts";

const read = (id: string): string => readFileSync(`assets/recordings/${id}.json`, "utf8");

export const refusedRecording = read("how-do-i-set-up-an-ingress-controller-on-gke");
export const answeredRecording = read("how-do-i-limit-a-containers-memory");
export const traceOf = (recording: string): Trace => (JSON.parse(recording) as { trace: Trace }).trace;
export const refused = (): Trace => traceOf(refusedRecording);
export const answered = (): Trace => traceOf(answeredRecording);
