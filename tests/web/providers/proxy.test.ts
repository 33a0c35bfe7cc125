// The provider over real HTTP: a server of the test answers, streams, stalls, cuts and refuses.

import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import type { EffectResult } from "../../../web/engine/boundary.ts";
import { bodyOf, failureOfBody, ProxyProvider, resultOf } from "../../../web/providers/proxy.ts";
import { ProviderFailure, type FailureKind, type Task } from "../../../web/providers/provider.ts";
import { readService, serviceAddress } from "../../../web/providers/service.ts";

const task = (more: Partial<Task> = {}): Task => ({ id: 1, kind: "complete", task: "generate", question: "q", chunk_ids: ["a#000"], failed_query: "", reason: "", schema: null, repair: null, ...more });
const done = { task: "generate", value: { text: "Whole. [a#000]" }, model: "m", prompt_version: "v", tokens: { in: 10, out: 2 }, ms: 7, cached: false, finish: "stop", request_id: "r" };

async function serve(t: TestContext, answer: (response: ServerResponse, path: string) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => answer(response, request.url ?? ""));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/`;
}

async function complete(address: string, drafts: string[] = [], signal = new AbortController().signal): Promise<EffectResult> {
  const context = { indexDigest: "d", chunks: async () => [], onDraft: (text: string) => void drafts.push(text), signal };
  return new ProxyProvider(new URL("complete", address).href).complete(task(), context);
}

const failsAs = (kind: FailureKind) => (error: unknown): boolean => error instanceof ProviderFailure && error.kind === kind;

const sse = (response: ServerResponse, ...events: [string, unknown][]): void => {
  if (!response.headersSent) response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
  for (const [event, data] of events) response.write(`: keep-alive\r\n\r\nevent: ${event}\r\ndata: ${JSON.stringify(data)}\r\n\r\n`);
};

test("a stream's text grows as a draft, and its end is the answer", async (t) => {
  const address = await serve(t, (response) => {
    sse(response, ["delta", { text: "Wh" }], ["unknown", {}], ["delta", { text: "ole." }], ["done", done]);
    response.end();
  });
  const drafts: string[] = [];
  assert.deepEqual(await complete(address, drafts), { text: "Whole. [a#000]", model: "m", ms: 7, tokens: { in: 10, out: 2 }, cost_usd: null, cached: false, finish: "stop" });
  assert.deepEqual(drafts, ["Wh", "Whole."]);
});

test("an answer that does not stream is taken as well", async (t) => {
  const address = await serve(t, (response) => response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ ...done, cached: true })));
  assert.equal((await complete(address)).cached, true);
});

test("a stream that ends, or breaks, before its end is a failure", async (t) => {
  const ends = await serve(t, (response) => {
    sse(response, ["delta", { text: "Half" }]);
    response.end();
  });
  await assert.rejects(complete(ends), failsAs("cut"));
  const breaks = await serve(t, (response) => {
    sse(response, ["delta", { text: "Half" }]);
    response.write("event: done\ndata: {", () => response.destroy());
  });
  await assert.rejects(complete(breaks), failsAs("cut"));
});

test("an error event is the failure that it names", async (t) => {
  const address = await serve(t, (response) => sse(response, ["delta", { text: "Half" }], ["error", { error: { code: "upstream_invalid", message: "The reply was cut." } }]));
  await assert.rejects(complete(address), failsAs("invalid"));
});

test("events that are no JSON, and answers of another task, are failures", async (t) => {
  const rubbish = await serve(t, (response) => response.writeHead(200, { "Content-Type": "text/event-stream" }).end("event: delta\ndata: {\n\n"));
  await assert.rejects(complete(rubbish), failsAs("invalid"));
  assert.throws(() => resultOf(task(), { ...done, task: "grade" }, 0), failsAs("invalid"));
  assert.throws(() => resultOf(task(), { ...done, value: null }, 0), failsAs("invalid"));
  assert.throws(() => resultOf(task(), null, 0), failsAs("invalid"));
});

test("figures that are none do not reach the trace", () => {
  const result = resultOf(task(), { ...done, ms: -1, tokens: { in: 1.5, out: "9" }, cached: "yes", finish: 7, model: null }, 42);
  assert.deepEqual(result, { text: "Whole. [a#000]", model: "", ms: 42, tokens: { in: 0, out: 0 }, cost_usd: null, cached: false, finish: "stop" });
});

test("whoever cancels ends the request", async (t) => {
  let closed: () => void = () => undefined;
  const left = new Promise<void>((resolve) => (closed = resolve));
  const controller = new AbortController();
  const address = await serve(t, (response) => {
    response.on("close", closed);
    sse(response, ["delta", { text: "Half" }]);
    controller.abort();
  });
  await assert.rejects(complete(address, [], controller.signal), failsAs("cancelled"));
  await left;
});

test("a server that is not there is unreachable", async () => {
  await assert.rejects(complete("http://127.0.0.1:1/api/"), failsAs("unreachable"));
});

test("each refusal has its kind, and `busy` the time to come back", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const of = (code: string, more: object = {}, status = 503): ProviderFailure => failureOfBody({ error: { code, message: "said", ...more } }, status, null, now);
  const until = "2026-01-01T01:00:00.000Z";
  assert.deepEqual([of("busy", { until }).kind, of("busy", { until }).until], ["busy", until]);
  assert.equal(failureOfBody({ error: { code: "busy", message: "" }, until }, 503, null, now).until, until);
  assert.equal(of("rate_limited", { retry_after: 30 }, 429).until, "2026-01-01T00:00:30.000Z");
  assert.equal(of("busy", { until: "soon" }).until, null);
  assert.equal(failureOfBody({ error: { code: "busy", message: "the model did not answer in time" } }, 503, null, now).message, "There are no live answers for the moment: the model did not answer in time.");
  assert.equal(of("busy", { recording: "memory" }).recording, "memory");
  assert.equal(of("index_mismatch", {}, 409).kind, "index_mismatch");
  assert.equal(of("context_too_large", {}, 413).kind, "refused");
  assert.equal(of("context_too_large", {}, 413).message, "said");
  assert.equal(failureOfBody(null, 404, null, now).kind, "absent");
  assert.equal(failureOfBody("<html>", 502, null, now).kind, "invalid");
  assert.equal(failureOfBody(null, 503, "7", now).until, "2026-01-01T00:00:07.000Z");
});

test("a body holds the fields of its task and no others", () => {
  assert.deepEqual(bodyOf(task({ task: "grade", repair: "x" }), "d"), { task: "grade", question: "q", chunk_ids: ["a#000"], index_digest: "d" });
  assert.deepEqual(bodyOf(task({ task: "rewrite", chunk_ids: [], failed_query: "f", reason: "r" }), "d"), { task: "rewrite", question: "q", failed_query: "f", reason: "r", index_digest: "d" });
  assert.deepEqual(bodyOf(task(), "d"), { task: "generate", question: "q", chunk_ids: ["a#000"], stream: true, index_digest: "d" });
});

test("a site of files asks no server: its recorded runs come from their list, and nobody answers live", async (t) => {
  const asked: string[] = [];
  const address = await serve(t, (response, path) => {
    asked.push(path);
    response.end(JSON.stringify({ recordings: [{ id: "memory", question: "q", file: "recording-memory-0123456789abcdef.json" }] }));
  });
  const list = new URL("recordings-0123456789abcdef.json", address).href;
  const service = await readService(serviceAddress({ recordings: list }, address));
  assert.deepEqual([service.state, service.recordings.map(({ url }) => url)], ["none", [new URL("recording-memory-0123456789abcdef.json", list).href]]);
  assert.deepEqual((await readService({ recordings: list }, service)).recordings, service.recordings);
  assert.equal(asked.length, 1);
  assert.deepEqual((await readService({ recordings: "http://127.0.0.1:1/none.json" })).recordings, []);
  assert.deepEqual(serviceAddress({}, address), address);
});

test("a status tells live from spent, and a host without one from one that is down", async (t) => {
  let status: object | null = { live: true, serving_recorded: false, until: null, index: { digest: "d", chunks: 3 }, models: [] };
  let listed = 0;
  const address = await serve(t, (response, path) => {
    if (path.endsWith("recordings")) {
      ++listed;
      response.end(JSON.stringify({ recordings: [{ id: "memory", question: "q" }] }));
    } else if (status) response.end(JSON.stringify(status));
    else response.writeHead(404).end();
  });
  const live = await readService(address);
  assert.deepEqual([live.state, live.indexDigest, live.recordings.length], ["live", "d", 1]);
  status = { live: false, serving_recorded: true, until: "2026-01-01T00:00:00Z" };
  const spent = await readService(address, live);
  assert.deepEqual([spent.state, spent.until, spent.recordings.length, listed], ["recorded", "2026-01-01T00:00:00.000Z", 1, 1]);
  status = null;
  assert.equal((await readService(address)).state, "none");
  assert.deepEqual((await readService("http://127.0.0.1:1/api/", spent)).state, "unreachable");
  assert.deepEqual((await readService("http://127.0.0.1:1/api/", spent)).recordings, spent.recordings);
});
