// Downloads of models into the page, from a real HTTP server that behaves, or does not.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";

import { download, DownloadError, forget, isKept, type DownloadOptions, type ModelFile } from "../../../web/models/download.ts";
import { MemoryCaches } from "./memory_caches.ts";

const MiB = 1024 * 1024;

/** Bytes that no two places share, so that a wrongly joined download shows. */
function modelBytes(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let i = 0; i + 4 <= size; i += 4) bytes.writeUInt32LE(Math.imul(i, 2654435761) >>> 0, i);
  return bytes;
}

const content = modelBytes(6 * MiB);

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Answers each request with the next handler; the last one repeats. */
async function serve(t: TestContext, ...handlers: Handler[]): Promise<{ url: string; ranges: string[] }> {
  const ranges: string[] = [];
  const server: Server = createServer((request, response) => {
    ranges.push(request.headers.range ?? "");
    const handler = handlers[Math.min(ranges.length, handlers.length) - 1] as Handler;
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/model.onnx`, ranges };
}

function startOf(request: IncomingMessage): number {
  return Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
}

/** A server that knows ranges; sends at most `until` bytes of the file, then breaks the connection. */
function sends(bytes: Buffer, until = bytes.length): Handler {
  return (request, response) => {
    const start = startOf(request);
    const headers = { "content-length": bytes.length - start };
    if (start > 0) response.writeHead(206, { ...headers, "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}` });
    else response.writeHead(200, headers);
    if (until >= bytes.length) response.end(bytes.subarray(start));
    else response.write(bytes.subarray(start, until), () => setTimeout(() => response.destroy(), 50));
  };
}

const closes: Handler = (request) => request.socket.destroy();
const answers = (status: number): Handler => (_, response) => response.writeHead(status).end("an error page");

function fileAt(url: string, bytes: Buffer = content): ModelFile {
  return { url, sha256: createHash("sha256").update(bytes).digest("hex"), bytes: bytes.length };
}

const quick: DownloadOptions = { backoffMs: 5 };

async function failure(promise: Promise<unknown>): Promise<DownloadError> {
  const error: unknown = await promise.then(() => assert.fail("it should have failed"), (reason: unknown) => reason);
  assert.ok(error instanceof DownloadError, String(error));
  return error;
}

test("a model arrives verified, with progress, and the next visit finds it without the network", async (t) => {
  const server = await serve(t, sends(content));
  const caches = new MemoryCaches();
  const file = fileAt(server.url);
  let last = { received: 0, total: 0 };
  const first = await download(file, { ...quick, caches, onProgress: (progress) => (last = { ...progress }) });
  assert.ok(content.equals(first.bytes));
  assert.deepEqual([first.from, first.kept, first.notKept], ["network", true, ""]);
  assert.deepEqual(last, { received: content.length, total: content.length });
  assert.ok(await isKept(file.sha256, caches));
  assert.equal(caches.entries.size, 1, "the parts are gone");

  const second = await download(file, { ...quick, caches, fetch: () => assert.fail("the network was used") });
  assert.ok(content.equals(second.bytes));
  assert.equal(second.from, "cache");
});

test("a download that breaks in the middle goes on there", async (t) => {
  const server = await serve(t, sends(content, 5 * MiB), sends(content));
  const { bytes } = await download(fileAt(server.url), { ...quick, caches: new MemoryCaches() });
  assert.ok(content.equals(bytes));
  assert.deepEqual(server.ranges, ["", `bytes=${5 * MiB}-`]);
});

test("a download that an earlier visit began goes on there", async (t) => {
  const server = await serve(t, sends(content, 5 * MiB), closes, closes, closes, sends(content));
  const caches = new MemoryCaches();
  const file = fileAt(server.url);
  const broken = await failure(download(file, { ...quick, caches }));
  assert.equal(broken.fault, "network");
  assert.match(broken.message, /no connection to http:\/\/127\.0\.0\.1.*goes on where it stopped/);
  const seen: number[] = [];
  const { bytes } = await download(file, { ...quick, caches, onProgress: ({ received }) => seen.push(received) });
  assert.ok(content.equals(bytes));
  assert.equal(server.ranges.at(-1), `bytes=${5 * MiB}-`);
  assert.ok((seen[0] as number) > 5 * MiB);
});

test("a server without ranges sends everything again", async (t) => {
  const whole: Handler = (_, response) => response.writeHead(200, { "content-length": content.length }).end(content);
  const server = await serve(t, sends(content, 5 * MiB), whole);
  const { bytes } = await download(fileAt(server.url), { ...quick, caches: new MemoryCaches() });
  assert.ok(content.equals(bytes));
});

test("another range than the one asked for is not joined", async (t) => {
  const wrong: Handler = (_, response) =>
    response.writeHead(206, { "content-range": `bytes ${4 * MiB}-${content.length - 1}/${content.length}` }).end(content.subarray(4 * MiB));
  const server = await serve(t, sends(content, 5 * MiB), wrong, sends(content));
  const { bytes } = await download(fileAt(server.url), { ...quick, caches: new MemoryCaches() });
  assert.ok(content.equals(bytes));
  assert.equal(server.ranges.at(-1), "");
});

test("halves of two versions are noticed and fetched afresh", async (t) => {
  const server = await serve(t, sends(modelBytes(content.length).fill(1), 5 * MiB), sends(content));
  const caches = new MemoryCaches();
  const { bytes } = await download(fileAt(server.url), { ...quick, caches });
  assert.ok(content.equals(bytes));
  assert.deepEqual(server.ranges, ["", `bytes=${5 * MiB}-`, ""]);
});

test("a wrong digest is an error that names both, and nothing is kept", async (t) => {
  const other = Buffer.from(content);
  other[7] = (other[7] as number) ^ 1;
  const server = await serve(t, sends(other));
  const caches = new MemoryCaches();
  const file = fileAt(server.url);
  const error = await failure(download(file, { ...quick, caches }));
  assert.equal(error.fault, "wrong_digest");
  assert.ok(error.message.includes(file.sha256) && error.message.includes(fileAt("", other).sha256));
  assert.equal(caches.entries.size, 0);
  assert.equal(server.ranges.length, 1);
});

test("a file that is longer than expected is refused", async (t) => {
  const server = await serve(t, sends(Buffer.concat([content, content])));
  const error = await failure(download(fileAt(server.url), { ...quick, caches: new MemoryCaches() }));
  assert.equal(error.fault, "wrong_digest");
});

test("kept bytes that were damaged are fetched again", async (t) => {
  const server = await serve(t, sends(content));
  const caches = new MemoryCaches();
  const file = fileAt(server.url);
  await download(file, { ...quick, caches });
  for (const bytes of caches.entries.values()) bytes[100] = (bytes[100] as number) ^ 1;
  const again = await download(file, { ...quick, caches });
  assert.equal(again.from, "network");
  assert.ok(content.equals(again.bytes));
});

test("without Cache Storage it works in memory and says so", async (t) => {
  const server = await serve(t, sends(content));
  const result = await download(fileAt(server.url), { ...quick, caches: null });
  assert.ok(content.equals(result.bytes));
  assert.equal(result.kept, false);
  assert.match(result.notKept, /private window.*next visit/);
});

test("a full storage is no failure, and it is said", async (t) => {
  const server = await serve(t, sends(content));
  const result = await download(fileAt(server.url), { ...quick, caches: new MemoryCaches(1 * MiB) });
  assert.ok(content.equals(result.bytes));
  assert.equal(result.kept, false);
  assert.match(result.notKept, /quota/);
});

test("a storage with room for the whole but not for whole and parts keeps the whole", async (t) => {
  const server = await serve(t, sends(content));
  const result = await download(fileAt(server.url), { ...quick, caches: new MemoryCaches(7 * MiB) });
  assert.equal(result.kept, true);
});

test("a missing file is said once, with its status", async (t) => {
  const server = await serve(t, answers(404));
  const error = await failure(download(fileAt(server.url), { ...quick, caches: new MemoryCaches() }));
  assert.equal(error.fault, "http_status");
  assert.match(error.message, /404/);
  assert.equal(server.ranges.length, 1);
});

test("an overloaded server is tried again", async (t) => {
  const server = await serve(t, answers(503), sends(content));
  assert.ok(content.equals((await download(fileAt(server.url), { ...quick, caches: null })).bytes));
});

test("a connection that stalls is given up and the rest asked for", async (t) => {
  const stalls: Handler = (_, response) => {
    response.writeHead(200, { "content-length": content.length });
    response.write(content.subarray(0, 5 * MiB));
  };
  const server = await serve(t, stalls, sends(content));
  const { bytes } = await download(fileAt(server.url), { ...quick, caches: null, stallMs: 1500 });
  assert.ok(content.equals(bytes));
  assert.equal(server.ranges.length, 2);
  assert.match(server.ranges[1] as string, /^bytes=\d+-$/);
});

test("cancelling stops at once with the signal's reason and keeps what has arrived", async (t) => {
  const stalls: Handler = (_, response) => {
    response.writeHead(200, { "content-length": content.length });
    response.write(content.subarray(0, 5 * MiB));
  };
  const server = await serve(t, stalls, sends(content));
  const caches = new MemoryCaches();
  const file = fileAt(server.url);
  const controller = new AbortController();
  const reason = new Error("the visitor pressed cancel");
  const onProgress = ({ received }: { received: number }): void => {
    if (received === 5 * MiB) controller.abort(reason);
  };
  await assert.rejects(download(file, { ...quick, caches, signal: controller.signal, onProgress }), reason);
  await download(file, { ...quick, caches });
  assert.equal(server.ranges.at(-1), `bytes=${5 * MiB}-`);
});

test("forgetting a model leaves nothing of it", async (t) => {
  const server = await serve(t, sends(content));
  const caches = new MemoryCaches();
  const file = fileAt(server.url);
  await download(file, { ...quick, caches });
  await forget(file.sha256, caches);
  assert.equal(caches.entries.size, 0);
  assert.equal(await isKept(file.sha256, caches), false);
});
