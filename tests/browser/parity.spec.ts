// `polygraph parity` over the built site: Chromium finds what the command line finds, and a difference is noticed.

import { test, expect } from "@playwright/test";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { program, root } from "./site.ts";

const cache = process.env["POLYGRAPH_DIR"] ?? path.join(process.env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"), "polygraph");
const index = process.env["POLYGRAPH_TEST_INDEX"] ?? path.join(cache, "index/docker-doc.polygraph");
const dist = process.env["POLYGRAPH_DIST"] ?? path.join(root, "dist");

interface Parity {
  equal: boolean;
  items: number;
  replayed: number;
  differences: { item: string; side: string; rank: number }[];
  sides: Record<string, { metrics: Record<string, { value: number; n: number }>; rankings_that_differ: number | null }>;
}

let scratch: string;
test.beforeAll(() => {
  scratch = mkdtempSync(path.join(tmpdir(), "polygraph-parity-"));
});
test.afterAll(() => rmSync(scratch, { recursive: true }));

function parity(args: string[], environment: Record<string, string> = {}): Promise<{ status: number | null; out: string; err: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ["parity", "--index", index, ...args], {
      cwd: scratch,
      env: { ...process.env, POLYGRAPH_DIR: cache, POLYGRAPH_DIST: dist, POLYGRAPH_CHROMIUM: process.env["POLYGRAPH_TEST_CHROMIUM"] ?? "/usr/bin/chromium", ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, out, err }));
  });
}

/** The shipped set's first items over whatever edition of the default corpus is here. */
const few = ["--limit", "4", "--skip-unknown"];

// The two onnxruntime builds round int8 products differently, and natively the processor decides how: rankings at an edge may differ
// from machine to machine. The engine over the same vectors may not.
test("retrieval with every stage in Chromium is replayed natively, and stands beside int8 and float32", async () => {
  const done = await parity([...few, "--json"]);
  expect([0, 1], done.err).toContain(done.status);
  const found = JSON.parse(done.out) as Parity;
  expect(found.equal, "status and verdict agree").toBe(done.status === 0);
  expect(found.items).toBe(4);
  expect(found.replayed, "the native engine makes Chromium's traces again, bit for bit").toBe(4);
  const [native, chromium, float32] = ["native_int8", "chromium_int8", "native_float32"].map((side) => found.sides[side]?.metrics);
  expect(native?.["recall@4"]?.n).toBe(4);
  expect(native?.["mrr@4"]?.value, "the first questions of the set find something").toBeGreaterThan(0);
  expect(chromium?.["mrr@4"]?.value).toBeGreaterThan(0);
  expect(Object.is(JSON.stringify(chromium), JSON.stringify(native)), "the verdict is over these figures").toBe(found.equal);
  expect(float32?.["recall@4"]?.n).toBe(4);
});

test("without a model the lexical stages are the same, and the table says so", async () => {
  const done = await parity(["--skip-unknown", "--limit", "20", "--config", "hybrid", "--set", "RETRIEVAL_MODE=bm25"]);
  expect(done.status, done.err).toBe(0);
  expect(done.out).toContain("20 of 20 rankings are the native ones");
  expect(done.out).toContain("equal: every metric of Chromium is the native one");
});

test("a native embedder with other vectors is found out, with the items", async () => {
  const worker = readFileSync(path.join(dist, "model-worker.mjs"), "utf8");
  const vector = "data.subarray(0, width)";
  expect(worker.split(vector).length, "the line that takes the first token's vector").toBe(2);
  // Beside the original: it imports onnxruntime-node from there. Another token's vector would be too near to matter.
  const wrong = path.join(dist, `wrong-model-worker-${process.pid}.mjs`);
  writeFileSync(wrong, worker.replace(vector, "data.slice(0, width).reverse()"));
  try {
    const done = await parity([...few, "--config", "baseline", "--no-float32", "--json"], { POLYGRAPH_WORKER: wrong });
    expect(done.status, done.err).toBe(1);
    const found = JSON.parse(done.out) as Parity;
    expect(found.equal).toBe(false);
    expect(found.differences.length).toBeGreaterThan(0);
    expect(found.differences[0]).toMatchObject({ side: "chromium_int8" });
  } finally {
    rmSync(wrong);
  }
});

test("without Chromium or the site it says what is missing", async () => {
  const lexical = ["--config", "hybrid", "--set", "RETRIEVAL_MODE=bm25", "--dataset", path.join(root, "assets/golden/docker-doc.jsonl")];
  const site = await parity([...few, ...lexical], { POLYGRAPH_DIST: scratch });
  expect(site.status).toBe(5);
  expect(site.err).toContain("parity.mjs is missing");
  writeFileSync(path.join(scratch, "no-chromium"), "#!/bin/sh\nexit 7\n", { mode: 0o755 });
  const chromium = await parity([...few, ...lexical], { POLYGRAPH_CHROMIUM: path.join(scratch, "no-chromium") });
  expect(chromium.status).toBe(5);
  expect(chromium.err).toContain("Chromium did not start");
});
