// The site's own server as provider: it holds the key, the prompts and the quota (proxy-interface: POST /api/complete). It
// is sent the question and passage ids, and takes the passages' text from its own copy of the index.

import type { EffectResult } from "../engine/boundary.ts";
import { Deadline } from "./deadline.ts";
import { countOf, failureOf, memberOf, ProviderFailure, textOf, type Context, type FailureKind, type Provider, type Task } from "./provider.ts";
import { SseParser, type ServerEvent } from "./sse.ts";

/** The server's own deadlines are 30 s for a task and 120 s for an answer; beyond these it is not answering. */
export const answerWithinMs = 45_000;
/** A stream that says nothing, not even its keep-alive of each 10 s, is dead. */
export const quietForMs = 25_000;
export const streamWithinMs = 120_000;

const who = "The server that answers live";

/** What tokens of a model cost, in USD; null: unknown. */
export type CostOf = (model: string, tokens: { in: number; out: number }) => number | null;

/** @param address of /api/complete */
export class ProxyProvider implements Provider {
  readonly #address: string;
  readonly #costOf: CostOf;

  constructor(address: string, costOf: CostOf = () => null) {
    this.#address = address;
    this.#costOf = costOf;
  }

  async complete(task: Task, context: Context): Promise<EffectResult> {
    const stream = task.task === "generate";
    const deadline = new Deadline(stream ? streamWithinMs : answerWithinMs, context.signal);
    const begun = performance.now();
    try {
      deadline.within(answerWithinMs);
      const response = await fetch(this.#address, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: stream ? "text/event-stream, application/json" : "application/json" },
        body: JSON.stringify(bodyOf(task, context.indexDigest)),
        signal: deadline.signal,
        redirect: "error",
      });
      if (!response.ok) throw await refusalOf(response);
      const streamed = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
      const answer = streamed ? await read(response, deadline, context.onDraft) : await json(response);
      return resultOf(task, answer, performance.now() - begun, this.#costOf);
    } catch (error) {
      throw failureOf(error, deadline, who);
    } finally {
      deadline.end();
    }
  }
}

/** Exactly the fields that belong to the task: the server turns down any other. */
export function bodyOf(task: Task, indexDigest: string): Record<string, unknown> {
  const inputs = task.task === "rewrite" ? { failed_query: task.failed_query, reason: task.reason } : { chunk_ids: task.chunk_ids };
  return { task: task.task, question: task.question, ...inputs, ...(task.task === "generate" ? { stream: true } : {}), index_digest: indexDigest };
}

async function json(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ProviderFailure("invalid", `${who} sent something that is no JSON.`);
  }
}

/** Reads a stream to its `done`; text goes to `onDraft` as it comes. */
async function read(response: Response, deadline: Deadline, onDraft: (text: string) => void): Promise<unknown> {
  const reader = response.body?.getReader();
  if (!reader) throw new ProviderFailure("invalid", `${who} sent an empty stream.`);
  const parser = new SseParser();
  let draft = "";
  try {
    for (;;) {
      deadline.within(quietForMs);
      const { done, value } = await reader.read().catch((error: unknown) => {
        if (deadline.signal.aborted) throw error;
        throw new ProviderFailure("cut", "The live answer broke off.");
      });
      if (done) throw new ProviderFailure("cut", "The live answer broke off.");
      for (const event of parser.push(value)) {
        if (event.event === "done") return parsed(event);
        if (event.event === "error") throw failureOfBody(parsed(event), 0, null);
        if (event.event !== "delta") continue;
        draft += textOf(memberOf(parsed(event), "text"));
        onDraft(draft);
      }
    }
  } catch (error) {
    if (error instanceof RangeError) throw new ProviderFailure("invalid", `${who} sent a broken stream: ${error.message}.`);
    throw error;
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function parsed({ event, data }: ServerEvent): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch {
    throw new ProviderFailure("invalid", `${who} sent a broken stream: its event “${event}” is no JSON.`);
  }
}

/** The answer of /api/complete as the engine takes it: grade and rewrite as the JSON text that a model would have given. */
export function resultOf(task: Task, answer: unknown, measuredMs: number, costOf: CostOf = () => null): EffectResult {
  const value = memberOf(answer, "value");
  const text = task.task === "generate" ? memberOf(value, "text") : value && JSON.stringify(value);
  if (typeof text !== "string" || memberOf(answer, "task") !== task.task) {
    throw new ProviderFailure("invalid", `${who} sent an answer without a value for the task “${task.task}”.`);
  }
  const used = memberOf(answer, "tokens");
  const tokens = { in: countOf(memberOf(used, "in")), out: countOf(memberOf(used, "out")) };
  const model = textOf(memberOf(answer, "model"));
  const ms = memberOf(answer, "ms");
  return {
    text,
    model,
    // A cached answer keeps the time that it took when it was made.
    ms: typeof ms === "number" && Number.isFinite(ms) && ms >= 0 ? ms : measuredMs,
    tokens,
    cost_usd: costOf(model, tokens),
    cached: memberOf(answer, "cached") === true,
    finish: memberOf(answer, "finish") === "length" ? "length" : "stop",
  };
}

async function refusalOf(response: Response): Promise<ProviderFailure> {
  const body: unknown = await response.text().then((text) => JSON.parse(text) as unknown).catch(() => null);
  return failureOfBody(body, response.status, response.headers.get("retry-after"));
}

const kinds: Record<string, FailureKind> = {
  busy: "busy", too_many_connections: "busy", shutting_down: "busy", rate_limited: "busy",
  index_mismatch: "index_mismatch",
  timeout: "timeout",
  upstream_invalid: "invalid", internal: "invalid",
};

/** @param status 0 for an error event of a stream */
export function failureOfBody(body: unknown, status: number, retryAfter: string | null, now = Date.now()): ProviderFailure {
  const error = memberOf(body, "error");
  const code = textOf(memberOf(error, "code"));
  const message = textOf(memberOf(error, "message")).slice(0, 400);
  // Without our error body it is not our server that spoke: a plain file server, or something before it.
  const known = code !== "" && (code !== "not_found" || message !== "");
  let kind: FailureKind = kinds[code] ?? "refused";
  if (!known) kind = status === 404 || status === 405 || status === 501 ? "absent" : status === 429 || status === 503 ? "busy" : status === 504 ? "timeout" : "invalid";
  else if (code === "not_found" || code === "method_not_allowed" || code === "not_implemented") kind = "absent";
  const seconds = Number(memberOf(error, "retry_after") ?? retryAfter ?? Number.NaN);
  const until = timeOf(memberOf(error, "until")) ?? timeOf(memberOf(body, "until"));
  // A few seconds' wait is no date to tell anyone of, but it says when to look again.
  const later = until ?? (kind === "busy" && Number.isFinite(seconds) && seconds >= 0 ? new Date(now + 1000 * seconds).toISOString() : null);
  const words: Partial<Record<FailureKind, string>> = {
    absent: "Nothing answers live at this address.",
    // A spent quota, a model that does not answer, a full queue: the server says which.
    busy: `There are no live answers for the moment${message ? `: ${message.replace(/\.$/, "")}` : ""}.`,
    index_mismatch: "The server that answers live holds another edition of these documents.",
    timeout: `${who} did not answer in time.`,
  };
  const recording = textOf(memberOf(error, "recording")) || textOf(memberOf(body, "recording")) || null;
  return new ProviderFailure(kind, words[kind] ?? (message || `${who} answered ${status}.`), later, recording);
}

export function timeOf(value: unknown): string | null {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
