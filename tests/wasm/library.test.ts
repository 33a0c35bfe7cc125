// The npm package as users get it: packed, installed into an empty folder from the tarball alone, its README's examples run there,
// its documents held against the native command line's.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import * as ortNode from "onnxruntime-node";
import { ModelRuntime, type Ort } from "../../web/models/runtime.ts";
import type * as Polygraph from "../../web/library/index.ts";
import { dist, indexFile, missing, modelFile, polygraph, program, seeded } from "./engines.ts";
import { randomResults, randomTrec } from "./random_evaluations.ts";

const packageFolder = path.join(dist, "library");
const skip = missing("program") || (existsSync(path.join(packageFolder, "package.json")) ? false : `missing: ${packageFolder}; \`./polygraph test wasm\` builds it`);
const seed = Number(process.env.POLYGRAPH_SEED ?? Math.floor(Math.random() * 2 ** 32));
if (!skip) console.log(`library: seed ${seed} (POLYGRAPH_SEED=${seed} repeats it)`);

const folder = mkdtempSync(path.join(tmpdir(), "polygraph-library-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let installed: Promise<typeof Polygraph> | undefined;
/** Packs and installs it, and puts beside it the files that the README's examples name. */
function library(): Promise<typeof Polygraph> {
  return (installed ??= (async () => {
    const npm = (...args: string[]): string => execFileSync("npm", [...args, "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--cache", path.join(folder, ".npm")], { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    const [packed] = JSON.parse(npm("pack", packageFolder, "--json")) as { filename: string; files: { path: string }[] }[];
    assert.deepEqual(packed!.files.map((each) => each.path).filter((name) => !name.startsWith("types/")).sort(),
      ["LICENSE", "README.md", "index.d.ts", "index.mjs", "licences.txt", "package.json", "polygraph-engine.wasm", "polygraph-evaluation.wasm"]);
    writeFileSync(path.join(folder, "package.json"), '{"private": true, "type": "module"}\n');
    npm("install", path.join(folder, packed!.filename));
    assert.deepEqual(readdirSync(path.join(folder, "node_modules")).filter((name) => !name.startsWith(".")), ["polygraph"], "it brings nothing with it");
    const random = seeded(seed);
    const put = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
    put("before.json", JSON.stringify(randomResults(random, 30)));
    put("after.json", JSON.stringify(randomResults(random, 30)));
    const { qrels, run } = randomTrec(random);
    put("qrels.txt", qrels);
    put("run.txt", run);
    cpSync("assets/golden/docker-doc.jsonl", path.join(folder, "golden.jsonl"));
    cpSync(indexFile, path.join(folder, "docs.polygraph"));
    return (await import(pathToFileURL(path.join(folder, "node_modules/polygraph/index.mjs")).href)) as typeof Polygraph;
  })());
}

/** The blocks of JavaScript of a README. */
function examples(file: string): string[] {
  return [...readFileSync(file, "utf8").matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
}

/** Runs a program text in the folder; what it printed. */
async function runThere(text: string, environment: Record<string, string> = {}): Promise<string> {
  const file = path.join(folder, "example.mjs");
  writeFileSync(file, text);
  const child = spawn(process.execPath, [file], { cwd: folder, env: { ...process.env, NODE_OPTIONS: "", ...environment }, stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (out += piece));
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (err += piece));
  const status = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(status, 0, `${text}\n${err}`);
  return out;
}

interface Asked {
  messages: { role: string; content: string }[];
}
/** An endpoint that speaks OpenAI's chat API, with a reply to each kind of task. */
async function endpoint(): Promise<{ url: string; asked: Asked[]; stop(): void }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      const task = JSON.parse(body) as Asked;
      asked.push(task);
      const ids = [...task.messages.at(-1)!.content.matchAll(/<passage id="([^"]+)"/g)].map((match) => match[1]!);
      const grading = task.messages[0]!.content.includes("relevant_chunk_ids");
      const content = grading ? JSON.stringify({ relevant: true, reason: "they say it", relevant_chunk_ids: ids }) : `With --memory [${ids[0]}].`;
      response.setHeader("content-type", "application/json").end(JSON.stringify({ choices: [{ message: { content } }], usage: { prompt_tokens: 5, completion_tokens: 7 } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked, stop: () => server.close() };
}

test("the package's README: every example runs from an installed tarball and prints what the command line says", { skip }, async () => {
  await library();
  const [asking, completing, evaluating, failing, ...rest] = examples("web/library/README.md");
  assert.equal(rest.length, 0);

  const lexical = ["--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false"];
  const question = "How do I limit a container's memory?";
  const native = JSON.parse(polygraph(["ask", "--json", ...lexical, question], "").stdout) as Polygraph.Trace;
  const asked = await runThere(asking!);
  const hits = JSON.parse(polygraph(["search", "--json", "--mode", "bm25", "--no-rerank", "--top", "3", "limit memory"], "").stdout) as { results: { id: string; title: string; rank: number }[] };
  assert.equal(asked, [...hits.results.map(({ rank, title, id }) => `${rank} ${title} ${id}`), `${native.status} ${native.answer}`, ...native.citations.map(({ title, url }) => `${title} ${url}`), "true", ""].join("\n"));

  const { url, asked: tasks, stop } = await endpoint();
  const completed = await runThere(completing!, { OPENAI_BASE_URL: url, OPENAI_API_KEY: "none" });
  stop();
  assert.equal(tasks.length, 2);
  assert.match(completed, /answered With --memory \[[^\]]+\]\. \{ in: 10, out: 14 \}\n$/);

  const there = (name: string): string => path.join(folder, name);
  const value = <T>(...args: string[]): T => JSON.parse(program(args).stdout) as T;
  const report = value<Polygraph.Diagnosis>("diagnose", there("before.json"), "--json", "--no-keep").report;
  const modes = value<Polygraph.Diagnosis>("diagnose", there("after.json"), "--json", "--no-keep").failure_modes;
  const comparison = value<Polygraph.ComparisonReport>("compare", "--report-a", there("before.json"), "--report-b", there("after.json"), "--json", "--no-keep");
  const { mean } = value<Polygraph.TrecEvaluation>("metrics", "--qrels", there("qrels.txt"), "--run", there("run.txt"), "--json", "--k", "1,5");
  assert.equal(await runThere(evaluating!), [
    "true", `${report.retrieval.mean_recall_at_k} ${report.health_profile.grade}`, ...modes.map((mode) => `${mode.category} ${mode.count} ${mode.action}`),
    `${comparison.winner} ${comparison.regression_analysis.overall_regression}`, `${mean["recall@5"]} ${mean["map"]}`, "",
  ].join("\n"));

  assert.match(await runThere(failing!), /^invalid_json \S+ \S+ .*"a".*\n$/);
});

test("the README of the project: its JavaScript example runs from an installed tarball", { skip }, async () => {
  await library();
  const [example, ...rest] = examples("README.md");
  assert.equal(rest.length, 0);
  assert.match(await runThere(example!), /^answered .+\n[A-Z]\w+ \d+\.\d\n$/s);
});

test("types: a strict program of a user compiles against the package", { skip }, async () => {
  await library();
  writeFileSync(path.join(folder, "user.ts"), `
import { ask, compareReports, diagnose, openIndex, search, setWasmLoader, validateDataset, PolygraphError, type EvaluationReport, type Index, type Models, type Trace } from "polygraph";
setWasmLoader(async (name) => new Uint8Array(name.length));
const models: Models = { embed: (ids) => new Float32Array(ids.length), score: async (pairs) => pairs.map(({ ids }) => ids.length), complete: ({ messages }) => messages[0]?.content ?? "" };
export async function use(bytes: Uint8Array): Promise<string | number> {
  const index: Index = await openIndex(bytes);
  const trace: Trace = await ask(index, "?", { models, set: { TOP_K: 3 }, signal: AbortSignal.timeout(5) });
  const first = trace.steps[0];
  if (first?.node === "retrieve") return first.data.candidates.length;
  const report: EvaluationReport = (await diagnose([{ query_id: "a", query: "b" }])).report;
  const { winner_side } = await compareReports(report, report);
  const hits = await search(index, "x", { mode: "bm25" });
  // @ts-expect-error: no such mode
  await search(index, "x", { mode: "fuzzy" });
  // @ts-expect-error: a number is no golden set
  await validateDataset(5);
  return winner_side.overall + hits.results[0]!.title + new PolygraphError({ code: "io", message: "" }).code;
}
`);
  for (const resolution of [["nodenext", "nodenext"], ["esnext", "bundler"]] as const) {
    execFileSync(process.execPath, [path.resolve("node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--lib", "es2023,dom", "--types", "", "--module", resolution[0], "--moduleResolution", resolution[1], "user.ts"], { cwd: folder, stdio: "pipe" });
  }
});

test("search: the native ranking, scores and all, in every mode and with the real models", { skip: skip || missing("models"), timeout: 180_000 }, async () => {
  const { openIndex, search } = await library();
  const index = await openIndex(readFileSync(indexFile));
  const runtime = new ModelRuntime(ortNode as unknown as Ort, async (role) => modelFile(role), 1);
  const models: Polygraph.Models = {
    embed: async (ids) => (await runtime.embed([Int32Array.from(ids)]))[0]!,
    score: async (pairs, budgetMs) => runtime.score(pairs.map(({ ids, split }) => ({ ids: Int32Array.from(ids), split })), { budgetMs }),
  };
  const queries = ["how do I limit memory", "docker-compose.yml", "--rm"];
  const cases: [args: string[], options: Polygraph.SearchOptions, queries: string[]][] = [
    [["--mode", "bm25", "--no-rerank", "--top", "20"], { mode: "bm25", rerank: false, top: 20 }, queries],
    [["--mode", "dense", "--no-rerank"], { mode: "dense", rerank: false }, queries],
    [["--no-rerank", "--top", "5"], { rerank: false, top: 5 }, queries],
    [["--config", "hybrid"], { preset: "hybrid" }, queries],
    [["--set", "RERANK_CANDIDATES=3"], { set: { RERANK_CANDIDATES: 3 } }, queries.slice(0, 1)],
    [["--config", "hybrid_rerank", "--set", "RERANK_CANDIDATES=3"], { preset: "hybrid_rerank", set: { RERANK_CANDIDATES: 3 } }, queries.slice(0, 1)],
  ];
  for (const [args, options, asked] of cases) {
    const native = polygraph(["search", "--json", ...args], `${asked.join("\n")}\n`);
    assert.equal(native.status, 0, native.stderr);
    const lines = native.stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Polygraph.SearchResult);
    for (const [i, query] of asked.entries()) {
      const { results, ...ours } = await search(index, query, { ...options, models });
      assert.equal(ours.query, query);
      assert.deepEqual(results, lines[i]!.results, `${args.join(" ")}: ${query}`);
    }
  }
  await runtime.dispose();
  index.close();
});

test("ask: a trace made by the library replays natively, with models of the caller and without", { skip }, async () => {
  const { ask, openIndex, replay } = await library();
  const index = await openIndex(readFileSync(indexFile));
  const progress: number[] = [];
  const traces = [
    await ask(index, "What is a dangling image?", { onProgress: ({ steps }) => progress.push(steps.length) }),
    await ask(index, "How do I set up an ingress controller on GKE?", { preset: "full" }),
    await ask(index, "What is a dangling image?", { withText: true, models: { complete: ({ task, passages }) => (task === "grade" ? JSON.stringify({ relevant: true, reason: "r", relevant_chunk_ids: [passages[0]!.id] }) : task === "generate" ? `An image [${passages[0]!.id}].` : "images") } }),
  ];
  assert.ok(progress.length > 0 && progress.at(-1)! >= 2);
  assert.equal(traces[2]!.answer.startsWith("An image ["), true);
  assert.ok(traces[2]!.steps.some((step) => step.node === "retrieve" && (step.data.passages?.length ?? 0) > 0));
  for (const trace of traces) {
    assert.equal((await replay(index, trace)).identical, true);
    const { status, stdout, stderr } = polygraph(["replay", "-", "--json"], `${JSON.stringify(trace)}\n`);
    assert.equal(status, 0, stdout + stderr);
  }
  const edited = await replay(index, { ...traces[0]!, answer: "Certainly." });
  assert.equal(edited.identical, false);
  assert.match(edited.difference, /answer/);
  index.close();
});

test("what goes wrong is one error with code and field, or a failed trace", { skip }, async () => {
  const { ask, openIndex, PolygraphError, search, setWasmLoader, validateDataset } = await library();
  const refused = async (work: Promise<unknown>): Promise<Polygraph.PolygraphError> => {
    const error = await work.then(() => assert.fail("nothing was refused"), (why: unknown) => why);
    assert.ok(error instanceof PolygraphError, String(error));
    return error;
  };
  const bytes = readFileSync(indexFile);
  assert.equal((await refused(openIndex(bytes.subarray(0, 1000)))).code, "truncated");
  const flipped = Uint8Array.from(bytes);
  flipped[bytes.length - 1]! ^= 1;
  assert.equal((await refused(openIndex(flipped))).code, "corrupt");
  const index = await openIndex(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  assert.equal((await refused(search(index, "x", { top: 21 }))).field, "top");
  assert.equal((await refused(ask(index, "x", { set: { TOP_K: 0 } }))).field, "TOP_K");
  assert.equal((await refused(ask(index, "x", { preset: "best" as Polygraph.Preset }))).code, "invalid_argument");
  assert.throws(() => index.chunk("nowhere#001"), PolygraphError);

  const failed = await ask(index, "What is a dangling image?", { models: { complete: () => Promise.reject(new PolygraphError({ code: "quota_spent", message: "come back tomorrow" })) } });
  assert.deepEqual([failed.status, failed.error], ["failed", { code: "quota_spent", message: "come back tomorrow" }]);
  // A model that fails is a stage that is left out.
  const without = await ask(index, "What is a dangling image?", { models: { embed: () => { throw new Error("no memory for it"); } } });
  assert.equal(without.status, "answered");
  assert.match(without.stages.dense, /no memory for it/);

  const controller = new AbortController();
  const reason = new Error("enough");
  const waiting = ask(index, "What is a dangling image?", { signal: controller.signal, models: { complete: ({ signal }) => new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
    controller.abort(reason);
  }) } });
  await assert.rejects(waiting, reason);
  index.close();
  index.close();
  assert.equal((await refused(search(index, "x"))).message, "the index is closed");

  // A loader of one's own, and one that fails first.
  let calls = 0;
  setWasmLoader((name) => {
    if (++calls === 1) throw new Error("the disk is away");
    return readFileSync(path.join(packageFolder, name));
  });
  const away = await refused(validateDataset("{}"));
  assert.deepEqual([away.code, away.field, away.message], ["io", "polygraph-evaluation.wasm", "polygraph-evaluation.wasm could not be loaded: the disk is away; setWasmLoader() takes it from elsewhere"]);
  assert.equal((await validateDataset(readFileSync("assets/golden/docker-doc.jsonl"))).valid, true);
  assert.equal(calls, 2);
});
