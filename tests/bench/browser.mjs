// Chromium for the benchmarks, and the servers that it loads pages from.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { must } from "./setting.mjs";

const systemChromium = process.env.POLYGRAPH_CHROMIUM ?? "/usr/bin/chromium";

export async function withChromium(work) {
  const browser = await chromium.launch({
    ...(existsSync(systemChromium) ? { executablePath: systemChromium } : {}),
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  try {
    return await work(browser);
  } finally {
    await browser.close();
  }
}

/**
 * Serves {path: {type, body}} from memory, cross-origin isolated: only then is the browser's clock finer than 0.1 ms.
 * `onRequest` hears each path.
 */
export async function withFiles(files, work, onRequest = () => undefined) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const file = files[pathname];
    onRequest(pathname);
    response.writeHead(file ? 200 : 404, {
      "content-type": file?.type ?? "text/plain",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
    });
    response.end(file?.body ?? "");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await work(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** The built site behind the program's own server. */
export async function withSite({ program, dist, root }, work) {
  const server = spawn(must(program, "the native program"), ["serve", "--site", `${dist}/site`, "--port", "0"], { stdio: ["ignore", "pipe", "pipe"], cwd: root });
  // Its log of requests is of interest only when it ends by itself.
  let log = "";
  server.stderr.setEncoding("utf8").on("data", (text) => (log = (log + text).slice(-4000)));
  try {
    const line = await new Promise((resolve, reject) => {
      createInterface({ input: server.stdout }).once("line", resolve);
      server.once("error", reject);
      server.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${log}`)));
    });
    return await work(JSON.parse(line).listening);
  } finally {
    await ended(server);
  }
}

/** Ends a child that this process started. */
export async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await exit;
}

/**
 * Runs in the page before its own code: keeps when each message went to the engine's worker and came back, and when passages
 * appeared after an input. `bench.call(kind, body)` asks the worker beside the page.
 */
export function watchPage() {
  const bench = { ready: null, models: [], threads: 0, calls: [], keys: [], firstPassages: null };
  const waiting = new Map();
  // A keypress draws the old passages again; those that count are drawn after the reply to its own lookup.
  let pressed = null;
  let lookup = null;
  let answered = false;
  const Native = window.Worker;
  window.Worker = class extends Native {
    constructor(...args) {
      super(...args);
      if (bench.worker) return;
      bench.worker = this;
      bench.ready = performance.now();
      this.addEventListener("message", ({ data }) => {
        const now = performance.now();
        if (data.event === "models") {
          bench.models = data.models.map(({ role, state }) => `${role} ${state}`);
          bench.threads = data.threads;
        }
        const sent = waiting.get(data.id);
        if (sent === undefined) return;
        waiting.delete(data.id);
        answered ||= data.id === lookup;
        bench.calls.push({ kind: data.kind, ms: now - sent.at });
        sent.resolve?.(data);
      });
    }
    postMessage(message, ...rest) {
      if (message?.kind === "typeahead") [lookup, answered] = [message.id, false];
      if (message?.kind) waiting.set(message.id, { at: performance.now(), ...message.bench });
      super.postMessage(message.bench ? { ...message, bench: undefined } : message, ...rest);
    }
  };
  let next = -1;
  bench.call = (kind, body) => new Promise((resolve) => bench.worker.postMessage({ id: next--, kind, body, bench: { resolve } }));
  window.addEventListener("input", () => (pressed = performance.now()), true);
  document.addEventListener("DOMContentLoaded", () => {
    const list = document.getElementById("passages");
    new MutationObserver(() => {
      const now = performance.now();
      if (!answered || list.hidden || list.querySelector("li") === null) return;
      answered = false;
      bench.firstPassages ??= now;
      bench.keys.push(now - pressed);
    }).observe(list, { childList: true, subtree: true });
  });
  window.bench = bench;
}
