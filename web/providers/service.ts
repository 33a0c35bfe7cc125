// What the site's server says of itself: whether it answers live, until when it does not, and which recorded runs it holds.
// On plain static hosting there is no such server: that is an answer too, and nothing to tell the visitor.

import { Deadline } from "./deadline.ts";
import { memberOf, textOf } from "./provider.ts";
import { timeOf } from "./proxy.ts";
import { parseRecordings, recordedRun, type RecordedRun, type Recording } from "./recordings.ts";

/** A question waits for the status no longer than this. */
export const statusWithinMs = 4_000;
export const recordingWithinMs = 15_000;

export interface Service {
  /** `unknown`: not asked yet. `none`: this site has no server that answers. `unreachable`: it had none to ask. */
  state: "unknown" | "none" | "unreachable" | "live" | "recorded" | "busy";
  /** When live answers are expected again, ISO 8601. */
  until: string | null;
  recordings: Recording[];
  /** Of the server's index; empty: unknown. */
  indexDigest: string;
}

/** Where a page asks: the address of /api/, or of the list of recorded runs among the files of a site without a server. */
export type ServiceAddress = string | { recordings: string };

export const noService: Service = { state: "unknown", until: null, recordings: [], indexDigest: "" };

export const serviceAddress = ({ recordings }: { recordings?: string }, api: string): ServiceAddress => (recordings ? { recordings } : api);

/** What the site offers beside its page. Never rejects, and always ends. */
export async function readService(at: ServiceAddress, before: Service = noService, signal?: AbortSignal): Promise<Service> {
  return typeof at === "string" ? askServer(at, before, signal) : readFiles(at.recordings, before, signal);
}

async function readFiles(list: string, before: Service, signal?: AbortSignal): Promise<Service> {
  if (before.recordings.length > 0) return before;
  const deadline = new Deadline(statusWithinMs, signal);
  try {
    return { ...noService, state: "none", recordings: await readRecordings(list, deadline.signal, list) };
  } finally {
    deadline.end();
  }
}

/** @param base address of /api/ */
async function askServer(base: string, before: Service, signal?: AbortSignal): Promise<Service> {
  const deadline = new Deadline(statusWithinMs, signal);
  try {
    const response = await fetch(new URL("status", base), { signal: deadline.signal, cache: "no-store" });
    if (response.status === 404 || response.status === 405 || response.status === 501) return { ...noService, state: "none" };
    if (!response.ok) return { ...before, state: "unreachable" };
    const text = await response.text();
    let status: unknown;
    try {
      status = JSON.parse(text) as unknown;
    } catch {
      return { ...noService, state: "none" }; // a host that gives its own page for every address
    }
    if (typeof memberOf(status, "live") !== "boolean") return { ...noService, state: "none" };
    const live = memberOf(status, "live") === true;
    const recordings = before.recordings.length > 0 ? before.recordings : await readRecordings(new URL("recordings", base).href, deadline.signal);
    return {
      state: live ? "live" : memberOf(status, "serving_recorded") === true ? "recorded" : "busy",
      until: live ? null : timeOf(memberOf(status, "until")),
      recordings,
      indexDigest: textOf(memberOf(memberOf(status, "index"), "digest")),
    };
  } catch {
    return { ...before, state: "unreachable" };
  } finally {
    deadline.end();
  }
}

async function readRecordings(address: string, signal: AbortSignal, list?: string): Promise<Recording[]> {
  try {
    const response = await fetch(address, { signal });
    return response.ok ? parseRecordings(await response.json(), list) : [];
  } catch {
    return []; // Live answers do not depend on them.
  }
}

/** One recorded run; null where it cannot be had or is none. */
export async function readRecording(base: string, recording: Pick<Recording, "id" | "url">, signal?: AbortSignal): Promise<RecordedRun | null> {
  const deadline = new Deadline(recordingWithinMs, signal);
  try {
    const response = await fetch(recording.url ?? new URL(`recordings/${encodeURIComponent(recording.id)}`, base), { signal: deadline.signal });
    return response.ok ? recordedRun(await response.text()) : null;
  } catch {
    return null;
  } finally {
    deadline.end();
  }
}
