// Recorded runs: which one belongs to a question, and what a recording's file holds. They come from a server: data, not trust.

import type { Trace } from "../engine/trace.ts";
import { memberOf, textOf } from "./provider.ts";
import { showsAsTrace } from "./trace-shape.ts";

export interface Recording {
  id: string;
  question: string;
  aliases: string[];
  recordedAt: string;
  madeBy: string;
  /** generator, grader, rewriter. */
  models: Record<string, string>;
  indexDigest: string;
  /** Where its file is, on a site without a server; otherwise the server is asked for its id. */
  url?: string;
}

export interface RecordedRun {
  recording: Recording;
  trace: Trace;
  /** The trace's own bytes, for download and replay. */
  json: string;
}

/** Case, doubled spaces and end punctuation do not count in a question: the same marks as for the server (question_key). */
export function questionKey(question: string): string {
  return question.normalize("NFC").toLowerCase().replace(/\s+/gu, " ").trim().replace(/[\s.?!,;:…。？！؟]+$/u, "");
}

/** The recording of this very question: over the page's index first, then the newest. No other question's will do. */
export function recordingFor(question: string, recordings: readonly Recording[], indexDigest: string): Recording | null {
  const key = questionKey(question);
  if (!key) return null;
  const fits = recordings.filter((each) => [each.question, ...each.aliases].some((asked) => questionKey(asked) === key));
  const rank = (each: Recording): number => (each.indexDigest === indexDigest ? 1 : 0);
  return fits.sort((a, b) => rank(b) - rank(a) || Date.parse(b.recordedAt) - Date.parse(a.recordedAt) || (a.id < b.id ? -1 : 1))[0] ?? null;
}

function recordingOf(value: unknown): Recording | null {
  const id = textOf(memberOf(value, "id"));
  const question = textOf(memberOf(value, "question"));
  if (!/^[a-z0-9-]{1,64}$/.test(id) || !question) return null;
  const aliases = memberOf(value, "aliases");
  const models = memberOf(value, "models");
  return {
    id,
    question,
    aliases: Array.isArray(aliases) ? aliases.filter((alias): alias is string => typeof alias === "string") : [],
    recordedAt: textOf(memberOf(value, "recorded_at")),
    madeBy: textOf(memberOf(value, "made_by")),
    models: typeof models === "object" && models !== null
      ? Object.fromEntries(Object.entries(models).filter((entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== ""))
      : {},
    indexDigest: textOf(memberOf(value, "index_digest")),
  };
}

/** The body of GET /api/recordings, or an exported site's list, whose entries name a `file` beside the list. @param list its address */
export function parseRecordings(body: unknown, list?: string): Recording[] {
  const entries = memberOf(body, "recordings");
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry) => {
    const recording = recordingOf(entry);
    const file = textOf(memberOf(entry, "file"));
    if (!recording || list === undefined) return recording ?? [];
    return /^[a-z0-9.-]+$/.test(file) ? { ...recording, url: new URL(file, list).href } : [];
  });
}

/** A recording's file; null where it is none, or its run did not end with an answer or a refusal. */
export function recordedRun(file: string): RecordedRun | null {
  let body: unknown;
  try {
    body = JSON.parse(file) as unknown;
  } catch {
    return null;
  }
  const recording = recordingOf(body);
  const trace = memberOf(body, "trace");
  const status = memberOf(trace, "status");
  const complete = memberOf(body, "kind") === "recording" && (status === "answered" || status === "refused") && showsAsTrace(trace);
  const json = complete ? memberText(file, "trace") : null;
  return recording && json !== null ? { recording, trace: trace as Trace, json } : null;
}

/**
 * The text of a member of the outermost object, byte for byte: parsing and writing it could change the form of a number,
 * and a trace is replayed from its own bytes. `json` is known to be JSON. Null: there is no such member.
 */
export function memberText(json: string, name: string): string | null {
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;
  let depth = 0;
  let key: string | null = null;
  let start = -1;
  for (let match = token.exec(json); match; match = token.exec(json)) {
    const [found] = match;
    if (depth === 1 && start < 0) {
      if (found.startsWith('"')) key = JSON.parse(found) as string;
      if (found === ":" && key === name) {
        start = match.index + 1;
        continue;
      }
    }
    if (depth === 1 && start >= 0 && (found === "," || found === "}")) return json.slice(start, match.index).trim();
    if (found === "{" || found === "[") ++depth;
    if (found === "}" || found === "]") --depth;
  }
  return null;
}
