// Opens a document that somebody handed in: a trace, a recorded run, or an evaluation's result with its trace. Whatever else
// it is, the error says what was met, where, and what would do.

import type { Trace } from "../engine/trace.ts";
import { memberText } from "../providers/recordings.ts";
import { faultOfTrace } from "./shape.ts";

export interface TraceDocument {
  trace: Trace;
  /** The trace's own bytes, for replay, links and download. */
  json: string;
  /** Of a recorded run: when and by what. */
  recorded: { at: string; by: string } | null;
}

export class Unreadable extends Error {
  override readonly name = "Unreadable";
  readonly field: string;

  constructor(message: string, field = "") {
    super(message);
    this.field = field;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Throws Unreadable. */
export function openDocument(text: string): TraceDocument {
  const json = text.replace(/^\uFEFF/, "").trim();
  if (json === "") throw new Unreadable("There is nothing in it.");
  return documentOf(parse(json), json);
}

/** The same where the text has been parsed already. */
export function documentOf(value: unknown, json: string): TraceDocument {
  if (Array.isArray(value)) throw new Unreadable(`This is a list of ${value.length} values. Several traces come one a line (JSON Lines), each a document of its own.`);
  if (!isObject(value)) throw new Unreadable(`This is no trace but ${value === null ? "null" : `a ${typeof value}`}. A trace is a JSON object whose “kind” is “trace”.`);
  const { kind } = value;
  if (kind === "trace") return checked(value, json, "", null);
  if (kind === "recording") {
    const of = (name: string): string => (typeof value[name] === "string" ? value[name] : "");
    return checked(value["trace"], memberText(json, "trace") ?? "", "trace", { at: of("recorded_at"), by: of("made_by") });
  }
  if (isObject(value["trace"])) return checked(value["trace"], memberText(json, "trace") ?? "", "trace", null);
  if ("trace" in value) throw new Unreadable("trace is null: this result was kept without its trace.", "trace");
  const what = kind === undefined ? "kind is missing" : `kind is ${JSON.stringify(kind).slice(0, 60)}`;
  throw new Unreadable(`This is no trace: ${what}; “trace” or “recording” was expected.`, "kind");
}

function checked(value: unknown, json: string, at: string, recorded: TraceDocument["recorded"]): TraceDocument {
  const fault = faultOfTrace(value);
  if (fault) {
    const field = [at, fault.field].filter(Boolean).join(".");
    const where = at ? `In the field ${at}: ` : "";
    throw new Unreadable(`This trace cannot be shown. ${where}${fault.message}.`, field);
  }
  return { trace: value as Trace, json, recorded };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw new Unreadable(whyNoJson(json, error));
  }
}

/** Engines word this differently; where they name a position it is turned into line and column. */
function whyNoJson(json: string, error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  const named = /position (\d+)/.exec(said)?.[1];
  const at = named === undefined ? undefined : Number(named);
  const atEnd = /end of (JSON|data)|unterminated/i.test(said) || (at !== undefined && at >= json.length);
  if (!/^[{["\d\-tfn]/.test(json)) return `This is no JSON: it begins with “${json.slice(0, 24)}”. A trace is a JSON object, as “polygraph ask --json” prints it.`;
  if (atEnd) return `This JSON breaks off after ${json.length.toLocaleString("en")} characters: the file is truncated. Save it again, or copy all of it.`;
  if (at === undefined) return `This is no JSON: ${said}.`;
  const before = json.slice(0, at);
  const line = before.split("\n").length;
  const column = at - before.lastIndexOf("\n");
  return `This is no JSON: line ${line}, column ${column}, near “${json.slice(Math.max(0, at - 12), at + 12)}”.`;
}

// ---------------------------------------------------------------- what a file is, by its first bytes

export type FileKind = "index" | "document" | "lines";

const magics: { bytes: number[]; kind: "index" | null; what: string }[] = [
  { bytes: [0x89, 0x50, 0x4c, 0x59, 0x0d, 0x0a, 0x1a, 0x0a], kind: "index", what: "an index" },
  { bytes: [0x1f, 0x8b], kind: null, what: "a gzip file" },
  { bytes: [0x50, 0x4b, 0x03, 0x04], kind: null, what: "a zip file" },
  { bytes: [0x28, 0xb5, 0x2f, 0xfd], kind: null, what: "a Zstandard file" },
];

const headBytes = 256 * 1024;
const linesTried = 5;
/** A document is parsed whole; a file of lines may be of any size. */
const longestDocument = 256e6;

/** Tells an index, one document, and one document a line apart. Throws Unreadable for what is none of them. */
export async function kindOf(blob: Blob): Promise<FileKind> {
  const head = new Uint8Array(await blob.slice(0, headBytes).arrayBuffer());
  for (const { bytes, kind, what } of magics) {
    if (!bytes.every((byte, i) => head[i] === byte)) continue;
    if (kind) return kind;
    throw new Unreadable(`This is ${what}. Unpack it first, then open what is inside.`);
  }
  if (head.subarray(0, 4096).includes(0)) throw new Unreadable("This is a binary file, no text. A trace is a JSON document, as “polygraph ask --json” prints it.");
  const all = blob.size <= headBytes;
  const lines = new TextDecoder().decode(head).split("\n");
  if (!all && lines.length === 1) return "lines";
  if (!all) lines.pop(); // cut by the head's end
  const held = lines.map((line) => line.trim()).filter(Boolean);
  const more = held.length > 1 || !all;
  if (more && held.slice(0, linesTried).some(isJsonObject)) return "lines";
  if (blob.size > longestDocument) throw new Unreadable("This file is too large for one document. Many traces come one a line (JSON Lines).");
  return "document";
}

function isJsonObject(line: string): boolean {
  if (!line.startsWith("{") || !line.endsWith("}") || line.length < 3) return false;
  try {
    return isObject(JSON.parse(line));
  } catch {
    return false;
  }
}
