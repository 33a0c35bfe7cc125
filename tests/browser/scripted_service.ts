// The site with a server that answers live, played by a script: real HTTP, real streams, and every way to misbehave that a
// test asks for. What it says is fixed here; that the program says the same is tested against the program.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import path from "node:path";
import type { Effect, EffectResult } from "../../web/engine/boundary.ts";
import { loadEngine } from "../../web/engine/node.ts";
import { drive } from "../../web/engine/run.ts";
import { engineFolder, siteFolder, StaticServer } from "./site.ts";

export interface Completion {
  task: "grade" | "rewrite" | "generate";
  question: string;
  chunk_ids?: string[];
  failed_query?: string;
  reason?: string;
  stream?: boolean;
  index_digest: string;
}

export type Script = (body: Completion, response: ServerResponse) => void | Promise<void>;

export const models = { grade: "openai/gpt-oss-20b", rewrite: "openai/gpt-oss-20b", generate: "openai/gpt-oss-120b" };

/** A sentence for each of the first two passages, as a generator would write it. */
export const sentences = (ids: readonly string[]): string[] =>
  ids.slice(0, 2).map((id, i) => `Sentence ${i + 1} of the live answer. [${id}]${i === 0 ? "\n\n" : ""}`);

export const valueOf = ({ task, question, chunk_ids = [] }: Pick<Completion, "task" | "question" | "chunk_ids">): unknown => {
  if (task === "grade") return { relevant: true, reason: "The first passage says it.", relevant_chunk_ids: chunk_ids.slice(0, 2) };
  return task === "rewrite" ? { query: `${question} in other words` } : { text: sentences(chunk_ids).join("") };
};

export const answerOf = (body: Completion, value: unknown = valueOf(body), more: object = {}): object => ({
  task: body.task, value, model: models[body.task], prompt_version: `${body.task}-00000000`, tokens: { in: 1200, out: 80 },
  ms: 345, cached: false, finish: "stop", request_id: "test", ...more,
});

export function send(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store", ...headers }).end(JSON.stringify(body));
}

export const busy = (until: string | null, more: object = {}): object => ({
  error: { code: "busy", message: "the quota is spent", retry_after: 60, until, ...more },
});

/** A stream whose events the caller sends. */
export function openStream(response: ServerResponse): (event: string, data: object) => void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  response.write(": keep-alive\n\n");
  return (event, data) => void response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** Answers everything at once, streaming where it is asked to. */
export const answering: Script = (body, response) => {
  if (!body.stream) return send(response, 200, answerOf(body));
  const event = openStream(response);
  for (const text of sentences(body.chunk_ids ?? [])) event("delta", { text });
  event("done", answerOf(body));
  response.end();
};

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString("utf8");
}

export interface RecordingFile {
  id: string;
  question: string;
  aliases?: string[];
  recorded_at: string;
  models: Record<string, string>;
  index_digest: string;
  made_by: string;
  /** The whole file. */
  json: string;
}

export class ScriptedService {
  readonly files: StaticServer;
  /** Bodies of /api/complete, in order of arrival. */
  readonly asked: Completion[] = [];
  /** Of those, how many the page left before they were answered. */
  left = 0;
  status: object | ((response: ServerResponse) => void) = {};
  script: Script = answering;
  recordings: RecordingFile[] = [];
  listsAliases = true;

  constructor(options: ConstructorParameters<typeof StaticServer>[1] = {}, folder = siteFolder) {
    this.files = new StaticServer(folder, options);
    this.files.route = (request, response) => this.#route(request, response);
    this.live();
  }

  live(): void {
    this.status = { live: true, serving_recorded: false, until: null, index: { digest: "", chunks: 0 }, models: [] };
  }

  spent(until: string | null = null): void {
    this.status = { live: false, serving_recorded: true, until, index: { digest: "", chunks: 0 }, models: [] };
  }

  start(): Promise<string> {
    return this.files.start();
  }
  stop(): Promise<void> {
    return this.files.stop();
  }

  #route(request: IncomingMessage, response: ServerResponse): boolean {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    if (!pathname.startsWith("/api/")) return false;
    if (pathname === "/api/status") {
      if (typeof this.status === "function") (this.status as (response: ServerResponse) => void)(response);
      else send(response, 200, this.status);
    } else if (pathname === "/api/recordings") {
      send(response, 200, { recordings: this.recordings.map(({ json: _file, ...listed }) => (this.listsAliases ? listed : { ...listed, aliases: [] })) });
    } else if (pathname.startsWith("/api/recordings/")) {
      const found = this.recordings.find(({ id }) => pathname.endsWith(`/${id}`));
      if (found) response.writeHead(200, { "Content-Type": "application/json" }).end(found.json);
      else send(response, 404, { error: { code: "not_found", message: "No such recording." } });
    } else if (pathname === "/api/complete" && request.method === "POST") {
      response.on("close", () => {
        if (!response.writableFinished) ++this.left;
      });
      void bodyOf(request).then((text) => {
        const body = JSON.parse(text) as Completion;
        this.asked.push(body);
        return this.script(body, response);
      });
    } else {
      send(response, 404, { error: { code: "not_found", message: "No such route." } });
    }
    return true;
  }
}

const siteIndex = (): string => {
  const { index } = JSON.parse(readFileSync(path.join(siteFolder, "site.json"), "utf8")) as { index: { url: string } };
  return path.join(siteFolder, index.url);
};

/** A recording as the program makes it: a real run of the real engine, whose language model is played here. */
export async function record(question: string, more: { id?: string; aliases?: string[]; index_digest?: string } = {}): Promise<RecordingFile> {
  const engine = await loadEngine(path.join(engineFolder, "polygraph-engine.mjs"));
  engine.open(readFileSync(siteIndex()));
  const missing = "recorded without models";
  const started = engine.start(question, { config: { preset: "tuned", set: { PROVIDER: "proxy" } }, embedder_missing: missing, reranker_missing: missing });
  let ms = 0;
  const perform = async (effect: Effect): Promise<EffectResult> => {
    ms += 20;
    if (effect.kind === "time") return { time: { utc: "2026-11-30T10:00:00Z", ms } };
    if (effect.kind !== "complete") throw new Error(`unexpected effect ${effect.kind}`);
    const value = valueOf(effect) as { text?: string };
    return { text: (value.text ?? JSON.stringify(value)).replaceAll("live answer", "recorded answer"), model: models[effect.task], ms: 200, tokens: { in: 900, out: 60 }, cost_usd: null, cached: false, finish: "stop" };
  };
  await drive(engine, started.run, started, { perform }, () => undefined);
  let trace = engine.traceJson(started.run, true);
  const ours = (JSON.parse(trace) as { index_digest: string }).index_digest;
  if (more.index_digest) trace = trace.replace(`"index_digest":"${ours}"`, `"index_digest":"${more.index_digest}"`);
  engine.delete();
  const about = {
    id: more.id ?? "recorded-example", question, aliases: more.aliases ?? [], recorded_at: "2026-11-30T10:00:00Z", made_by: "a test's scripted model",
    models: { generator: models.generate, grader: models.grade, rewriter: models.rewrite }, index_digest: more.index_digest ?? ours,
  };
  return { ...about, json: `${JSON.stringify({ kind: "recording", schema: 1, ...about }).slice(0, -1)},"trace":${trace}}` };
}

/** An endpoint of the visitor's own: the OpenAI chat API with CORS, as llama.cpp or Ollama serve it. */
export class ScriptedEndpoint {
  readonly #server: Server;
  readonly asked: { authorization: string | undefined; body: { model: string; messages: { role: string; content: string }[]; stream?: boolean; response_format?: unknown } }[] = [];
  status = 200;

  constructor() {
    this.#server = createServer((request, response) => {
      response.setHeader("Access-Control-Allow-Origin", request.headers.origin ?? "*");
      response.setHeader("Access-Control-Allow-Headers", "authorization, content-type");
      if (request.method === "OPTIONS") {
        response.writeHead(204).end();
        return;
      }
      void bodyOf(request).then((text) => this.#answer(request, text, response));
    });
  }

  #answer(request: IncomingMessage, text: string, response: ServerResponse): void {
    const body = JSON.parse(text) as ScriptedEndpoint["asked"][number]["body"];
    this.asked.push({ authorization: request.headers.authorization, body });
    if (this.status !== 200 || request.url !== "/v1/chat/completions") {
      send(response, this.status === 200 ? 404 : this.status, { error: { message: `no: ${request.headers.authorization}` } });
      return;
    }
    const ids = [...(body.messages.at(-1)?.content ?? "").matchAll(/<passage id="([^"]+)"/g)].map((match) => match[1]!);
    if (!body.stream) {
      const content = JSON.stringify(valueOf({ task: "grade", question: "", chunk_ids: ids }));
      send(response, 200, { model: "tiny", choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }], usage: { prompt_tokens: 700, completion_tokens: 30 } });
      return;
    }
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const sentence of sentences(ids)) response.write(`data: ${JSON.stringify({ model: "tiny", choices: [{ index: 0, delta: { content: sentence.replace("live", "own") } }] })}\r\n\r\n`);
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: { prompt_tokens: 800, completion_tokens: 40 } })}\r\n\r\n`);
    response.end("data: [DONE]\r\n\r\n");
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
