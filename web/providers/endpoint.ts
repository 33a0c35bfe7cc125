// The visitor's own endpoint: any that speaks the OpenAI chat API. Address and model are kept in this browser; the key stays
// in memory unless the visitor says otherwise, and is sent to that endpoint and nowhere else.

import type { EffectResult } from "../engine/boundary.ts";
import { Deadline } from "./deadline.ts";
import type { Prompt, Prompts } from "./prompts.ts";
import { countOf, failureOf, memberOf, ProviderFailure, textOf, type Context, type Provider, type Task } from "./provider.ts";
import { SseParser } from "./sse.ts";

export interface Endpoint {
  /** Base address, as in `https://api.groq.com/openai/v1`. */
  url: string;
  model: string;
  key: string;
  /** The visitor ticked *keep in this browser*. */
  keepKey: boolean;
}

export const noEndpoint: Endpoint = { url: "", model: "", key: "", keepKey: false };

/** A model on one's own machine may take its time to load. */
const firstWordWithinMs = 90_000;
const quietForMs = 45_000;
const answerWithinMs = 180_000;

const storageKey = "polygraph.endpoint";

export function loadEndpoint(storage: Storage | null): Endpoint {
  try {
    const stored: unknown = JSON.parse(storage?.getItem(storageKey) ?? "null");
    const key = textOf(memberOf(stored, "key"));
    return { url: textOf(memberOf(stored, "url")), model: textOf(memberOf(stored, "model")), key, keepKey: key !== "" };
  } catch {
    return noEndpoint;
  }
}

/** The key is written only where the visitor asked for it; a kept one goes as soon as that is taken back. */
export function saveEndpoint(storage: Storage | null, { url, model, key, keepKey }: Endpoint): void {
  try {
    if (!url && !model && !(keepKey && key)) storage?.removeItem(storageKey);
    else storage?.setItem(storageKey, JSON.stringify({ url, model, ...(keepKey && key ? { key } : {}) }));
  } catch {
    // A full or forbidden store: it holds until the page is closed.
  }
}

/** Where the tasks go; null for what is no web address. Plain http is for a program on this machine only. */
export function completionsAddress(url: string): string | null {
  try {
    const base = new URL(url.trim());
    const local = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(base.hostname);
    if (base.protocol !== "https:" && !(base.protocol === "http:" && local)) return null;
    if (base.username || base.password) return null;
    base.search = base.hash = "";
    const path = base.pathname.replace(/\/+$/, "");
    base.pathname = path.endsWith("/chat/completions") ? path : `${path}/chat/completions`;
    return base.href;
  } catch {
    return null;
  }
}

/** Why tasks cannot go there; empty: they can. */
export function endpointProblem({ url, model }: Endpoint): string {
  if (!url.trim()) return "Your endpoint has no address yet.";
  if (!completionsAddress(url)) return "Your endpoint’s address must be https, or http on this machine.";
  return model.trim() ? "" : "Your endpoint has no model yet.";
}

export class EndpointProvider implements Provider {
  readonly #endpoint: Endpoint;
  readonly #prompts: Prompts;

  constructor(endpoint: Endpoint, prompts: Prompts) {
    this.#endpoint = endpoint;
    this.#prompts = prompts;
  }

  async complete(task: Task, context: Context): Promise<EffectResult> {
    const address = completionsAddress(this.#endpoint.url);
    if (!address) throw new ProviderFailure("refused", endpointProblem(this.#endpoint));
    const prompt = this.#prompts.of(task, await context.chunks(task.chunk_ids));
    const stream = task.task === "generate";
    const deadline = new Deadline(answerWithinMs, context.signal);
    const begun = performance.now();
    try {
      deadline.within(firstWordWithinMs);
      const response = await fetch(address, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...(this.#endpoint.key ? { Authorization: `Bearer ${this.#endpoint.key}` } : {}) },
        body: JSON.stringify({
          model: this.#endpoint.model.trim(),
          messages: prompt.messages,
          ...parametersOf(new URL(address).hostname, this.#endpoint.model.trim(), task.task, prompt),
          ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
        }),
        signal: deadline.signal,
        credentials: "omit",
        referrerPolicy: "no-referrer",
        redirect: "error",
      });
      if (!response.ok) throw refusal(response);
      const streamed = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
      const reply = streamed ? await read(response, deadline, context.onDraft) : whole(await response.json().catch(() => null));
      const model = this.#endpoint.model.trim();
      return {
        text: reply.text,
        model: reply.model || model,
        ms: performance.now() - begun,
        tokens: reply.tokens,
        cost_usd: this.#prompts.cost(new URL(address).hostname, model, reply.tokens),
        finish: reply.finish === "length" ? "length" : "stop",
      };
    } catch (error) {
      throw failureOf(error, deadline, "Your endpoint");
    } finally {
      deadline.end();
    }
  }
}

/** What is beside the messages: Groq's API and OpenAI's reasoning models each name and allow other things than the rest. */
export function parametersOf(host: string, model: string, task: Task["task"], { schema, maxTokens }: Prompt): Record<string, unknown> {
  const groq = /(^|\.)groq\.com$/.test(host);
  const gptOss = model.includes("gpt-oss");
  const reasoning = !groq && /^(o1|o3|o4|gpt-5)/.test(model);
  const strict = !groq || gptOss;
  return {
    [groq || reasoning ? "max_completion_tokens" : "max_tokens"]: maxTokens,
    ...(reasoning ? {} : { temperature: 0 }),
    ...(groq && gptOss ? { reasoning_effort: "low", include_reasoning: false } : {}),
    ...(groq && model.includes("qwen3") ? { reasoning_format: "hidden" } : {}),
    ...(schema ? { response_format: strict ? { type: "json_schema", json_schema: { name: task, strict: true, schema } } : { type: "json_object" } } : {}),
  };
}

interface Reply {
  text: string;
  model: string;
  tokens: { in: number; out: number };
  finish: string;
}

/** Of the status alone: an endpoint's own words could hold the key that it was sent. */
function refusal({ status }: Response): ProviderFailure {
  if (status === 401 || status === 403) return new ProviderFailure("refused", `Your endpoint does not accept the key (${status}).`);
  if (status === 404) return new ProviderFailure("refused", "Your endpoint knows no such address or model (404).");
  if (status === 429) return new ProviderFailure("busy", "Your endpoint’s limit is reached (429).");
  return new ProviderFailure(status >= 500 ? "invalid" : "refused", `Your endpoint answered ${status}.`);
}

function usageOf(body: unknown): Reply["tokens"] {
  const usage = memberOf(body, "usage");
  return { in: countOf(memberOf(usage, "prompt_tokens")), out: countOf(memberOf(usage, "completion_tokens")) };
}

const choiceOf = (body: unknown): unknown => {
  const choices = memberOf(body, "choices");
  return Array.isArray(choices) ? choices[0] : undefined;
};

function whole(body: unknown): Reply {
  const choice = choiceOf(body);
  const text = memberOf(memberOf(choice, "message"), "content");
  if (typeof text !== "string") throw new ProviderFailure("invalid", "Your endpoint sent an answer without a message.");
  return { text, model: textOf(memberOf(body, "model")), tokens: usageOf(body), finish: textOf(memberOf(choice, "finish_reason")) };
}

async function read(response: Response, deadline: Deadline, onDraft: (text: string) => void): Promise<Reply> {
  const reader = response.body?.getReader();
  if (!reader) throw new ProviderFailure("invalid", "Your endpoint sent an empty stream.");
  const parser = new SseParser();
  const reply: Reply = { text: "", model: "", tokens: { in: 0, out: 0 }, finish: "" };
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        if (deadline.signal.aborted) throw error;
        throw new ProviderFailure("cut", "Your endpoint’s answer broke off.");
      });
      deadline.within(quietForMs);
      if (done) {
        // Some servers end without `[DONE]`; a reply that never said why it ended is not whole.
        if (reply.finish) return reply;
        throw new ProviderFailure("cut", "Your endpoint’s answer broke off.");
      }
      for (const { data } of parser.push(value)) {
        if (data.trim() === "[DONE]") {
          if (reply.finish) return reply;
          throw new ProviderFailure("cut", "Your endpoint’s answer broke off.");
        }
        take(reply, data);
        if (reply.text) onDraft(reply.text);
      }
    }
  } catch (error) {
    if (error instanceof RangeError) throw new ProviderFailure("invalid", `Your endpoint sent a broken stream: ${error.message}.`);
    throw error;
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function take(reply: Reply, data: string): void {
  let body: unknown;
  try {
    body = JSON.parse(data) as unknown;
  } catch {
    throw new ProviderFailure("invalid", "Your endpoint sent a broken stream: an event is no JSON.");
  }
  if (memberOf(body, "error")) throw new ProviderFailure("invalid", "Your endpoint broke its answer off with an error.");
  const choice = choiceOf(body);
  reply.text += textOf(memberOf(memberOf(choice, "delta"), "content"));
  reply.model ||= textOf(memberOf(body, "model"));
  reply.finish = textOf(memberOf(choice, "finish_reason")) || reply.finish;
  const tokens = usageOf(body);
  if (tokens.in + tokens.out > 0) reply.tokens = tokens;
}
