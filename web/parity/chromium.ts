// Runs the first retrieval of questions in headless Chromium, with the site's own engine, models and workers: what
// `polygraph parity` starts and holds against its own.
//
//   node parity.mjs SITE INDEX        SITE: the built site's folder; INDEX: the index file that is opened in the page
//
// stdin: one line {"config": {preset, set}, "models": true, "questions": ["…", …]}; its end stops the program at once.
// stdout: {"chromium": "151.0…", "threads": 2} when the page can be asked, then one trace a line in the order of the questions. A
// trace ends after its first retrieval: what would generate the answer is told that there is nobody.
// Exit 2: wrong use; 3: a file is missing or no JSON; 5: Chromium or what runs in it failed. stderr says why.

import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { availableParallelism } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "playwright-core";
import type { RunConfig } from "../engine/boundary.ts";
import { threadsHere } from "../models/web.ts";
import type { Capabilities } from "../worker/capabilities.ts";
import type { FromWorker, Request } from "../worker/messages.ts";
import { resolveSite, type Site } from "../worker/site.ts";

class Failure extends Error {
  constructor(readonly status: 3 | 5, message: string) {
    super(message);
  }
}

/** Loading 68 MB of models and compiling them, on a slow, busy machine. */
const modelsMs = 180_000;
const indexPath = "/parity-index.polygraph";
const types: Record<string, string> = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

interface Wanted {
  config: RunConfig;
  models: boolean;
  questions: string[];
}

/** The site's files, an empty page beside them, and the index; cross-origin isolated as the real server's pages are. */
function serve(site: string, index: string): Server {
  return createServer((request, response) => {
    const name = path.posix.normalize(decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname));
    const file = name === indexPath ? index : path.join(site, name);
    const headers = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp", "cross-origin-resource-policy": "same-origin" };
    if (name === "/") return void response.writeHead(200, { ...headers, "content-type": "text/html" }).end("<!doctype html><title>parity</title>");
    if (!existsSync(file) || !statSync(file).isFile()) return void response.writeHead(404, headers).end();
    response.writeHead(200, { ...headers, "content-type": types[path.extname(file)] ?? "application/octet-stream", "content-length": statSync(file).size });
    createReadStream(file).pipe(response);
  });
}

declare global {
  // In the page: runs one question, gives its trace.
  var askParity: (question: string, config: RunConfig) => Promise<string>;
}

/** Runs in the page: starts the site's engine worker and defines askParity(). Resolves when everything is loaded. */
async function prepare({ site, capabilities, withModels, limitMs }: { site: Site; capabilities: Capabilities; withModels: boolean; limitMs: number }): Promise<void> {
  const worker = new Worker(site.engine_worker, { type: "module" });
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  const post = (request: Request): void => worker.postMessage(request);
  let next = 1;
  const call = <T>(kind: Request["kind"], body: unknown): Promise<T> => new Promise<T>((resolve, reject) => {
    waiting.set(next, { resolve: resolve as (value: never) => void, reject });
    post({ id: next++, kind, body } as Request);
  });
  let modelsReady: () => void;
  let modelsFailed: (error: Error) => void;
  const models = new Promise<void>((resolve, reject) => ([modelsReady, modelsFailed] = [resolve, reject]));
  models.catch(() => undefined);
  worker.addEventListener("error", (event) => {
    const error = new Error(`the engine's worker stopped: ${event.message}`);
    modelsFailed(error);
    for (const { reject } of waiting.values()) reject(error);
  });
  worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
    if (!("event" in data)) {
      const { resolve, reject } = waiting.get(data.id) ?? {};
      waiting.delete(data.id);
      if ("error" in data) reject?.(new Error(data.error.message));
      else resolve?.(data.ok as never);
    } else if (data.event === "models") {
      const bad = data.models.find(({ state }) => state === "failed" || state === "unsupported");
      if (bad) modelsFailed(new Error(`the ${bad.role}: ${bad.message}`));
      else if (data.models.length > 0 && data.models.every(({ state }) => state === "ready")) modelsReady();
    } else if (data.event === "complete") {
      post({ id: next++, kind: "completed", body: { ticket: data.ticket, result: { error: { code: "provider_failed", message: "only the first retrieval is wanted" } } } });
    }
  });
  await call("open", { site, capabilities });
  if (withModels) {
    if (site.models.length === 0) throw new Error("the site was built without models");
    await call("models", { action: "load", storage: false });
    const late = setTimeout(() => modelsFailed(new Error(`the models did not start within ${limitMs / 1000} s`)), limitMs);
    await models;
    clearTimeout(late);
  }
  globalThis.askParity = async (question, config) => (await call<{ json: string }>("ask", { question, config, turn: 1 })).json;
}

async function launch() {
  const playwright = await import("playwright-core").catch(() => {
    throw new Failure(5, "playwright-core, which drives Chromium, is not installed: `npm ci` in the checkout installs it");
  });
  const own = process.env["POLYGRAPH_CHROMIUM"] ?? "/usr/bin/chromium";
  try {
    return await playwright.chromium.launch({ ...(existsSync(own) ? { executablePath: own } : {}), args: flags });
  } catch (error) {
    throw new Failure(5, `Chromium did not start (${words(error).split("\n")[0]}): install the package chromium, or name one in POLYGRAPH_CHROMIUM`);
  }
}

async function ask(page: Page, wanted: Wanted): Promise<void> {
  for (const question of wanted.questions) {
    const trace = await page.evaluate(([text, config]) => globalThis.askParity(text, config), [question, wanted.config] as const);
    process.stdout.write(`${trace}\n`);
  }
}

async function main(): Promise<void> {
  const [folder, index, ...rest] = process.argv.slice(2);
  if (!folder || !index || rest.length > 0) {
    process.stderr.write("usage: node parity.mjs SITE INDEX\n");
    process.exit(2);
  }
  const manifest = path.join(folder, "site.json");
  for (const file of [manifest, index]) if (!existsSync(file)) throw new Failure(3, `${file} is missing; \`./polygraph build\` makes it`);
  const site = JSON.parse(readFileSync(manifest, "utf8")) as Site;

  const lines = createInterface({ input: process.stdin });
  const wanted = await new Promise<Wanted>((resolve, reject) => {
    lines.once("line", (line) => {
      try {
        resolve(JSON.parse(line) as Wanted);
      } catch {
        reject(new Failure(3, "stdin is no JSON"));
      }
    });
    lines.once("close", () => reject(new Failure(3, "stdin holds nothing")));
  });
  const server = serve(folder, index);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await launch();
  // Whoever started this is gone, or wants no more.
  lines.once("close", () => void browser.close().finally(() => process.exit(0)));
  try {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const page = await browser.newPage();
    await page.goto(base);
    const threads = threadsHere(true, availableParallelism());
    const opened = resolveSite({ ...site, index: { ...site.index, url: indexPath, bytes: statSync(index).size } }, base);
    await page.evaluate(prepare, { site: opened, capabilities: { webassembly: true, simd: true, threads }, withModels: wanted.models, limitMs: modelsMs });
    process.stdout.write(`${JSON.stringify({ chromium: browser.version(), threads })}\n`);
    await ask(page, wanted);
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${words(error).replace(/^page\.evaluate: (Error: )?/, "")}\n`);
    process.exit(error instanceof Failure ? error.status : 5);
  },
);
