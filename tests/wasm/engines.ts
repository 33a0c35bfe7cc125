// What the tests of this folder compare: the native program and probe on one side, both builds of the WebAssembly engine
// on the other, over one real index.
//
//   POLYGRAPH_PROGRAM     the native program           build/default/cli/polygraph
//   POLYGRAPH_PROBE       the native engine, by line    build/default/tests/wasm/engine_probe
//   POLYGRAPH_TEST_INDEX  index file                    docker-doc's in the cache
//   POLYGRAPH_DIST        built JavaScript and engine   dist

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import type { EngineFactory, NativeEngine } from "../../web/engine/boundary.ts";
import { Engine } from "../../web/engine/engine.ts";
import type { Evaluation } from "../../web/engine/evaluation.ts";
import { loadEngine, loadEvaluation } from "../../web/engine/node.ts";

const root = process.cwd();
const cache = process.env.POLYGRAPH_DIR ?? path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache"), "polygraph");
export const dist = process.env.POLYGRAPH_DIST ?? path.join(root, "dist");
const programFile = process.env.POLYGRAPH_PROGRAM ?? path.join(root, "build/default/cli/polygraph");
const probe = process.env.POLYGRAPH_PROBE ?? path.join(root, "build/default/tests/wasm/engine_probe");
export const indexFile = process.env.POLYGRAPH_TEST_INDEX ?? path.join(cache, "index/docker-doc.polygraph");
const engineFiles = {
  simd: path.join(dist, "engine/polygraph-engine.mjs"),
  baseline: path.join(dist, "engine/polygraph-engine-baseline.mjs"),
};
export type Build = keyof typeof engineFiles;
export const builds = Object.keys(engineFiles) as Build[];

/** Why the tests can't run here, or false. `./polygraph test` builds all of it. */
export function missing(...also: ("program" | "probe" | "models" | "replay")[]): string | false {
  const needed: [string, string][] = [["the index", indexFile], ...builds.map((build): [string, string] => [`the ${build} engine`, engineFiles[build]])];
  if (also.includes("program")) needed.push(["the native program", programFile]);
  if (also.includes("probe")) needed.push(["the native probe", probe]);
  if (also.includes("models")) needed.push(["the embedder", path.join(cache, "models/embedder")], ["the reranker", path.join(cache, "models/reranker")], ["the model worker", path.join(dist, "model-worker.mjs")]);
  if (also.includes("replay")) needed.push(["the replay script", path.join(dist, "replay.mjs")]);
  const absent = needed.filter(([, file]) => !existsSync(file)).map(([what, file]) => `${what} (${file})`);
  return absent.length > 0 && `missing: ${absent.join(", ")}; \`./polygraph test wasm\` builds what is missing`;
}

const evaluationFile = path.join(dist, "engine/polygraph-evaluation.mjs");
/** Why the evaluation module can't be held against the native program here, or false. */
export function evaluationMissing(): string | false {
  const absent = [evaluationFile, programFile].filter((file) => !existsSync(file));
  return absent.length > 0 && `missing: ${absent.join(", ")}; \`./polygraph test wasm\` builds what is missing`;
}
export const openEvaluation = (): Promise<Evaluation> => loadEvaluation(evaluationFile);

/** A model of the native program's store. */
export function modelFile(role: "embedder" | "reranker"): string {
  const folder = path.join(cache, "models", role);
  const file = readdirSync(folder).map((digest) => path.join(folder, digest, "model.onnx")).find((each) => existsSync(each));
  if (!file) throw new Error(`no model.onnx under ${folder}`);
  return file;
}

/** The engine as the page uses it, with the index open. */
export async function openEngine(build: Build): Promise<Engine> {
  const engine = await loadEngine(engineFiles[build]);
  engine.open(readFileSync(indexFile));
  return engine;
}

interface ForTests extends NativeEngine {
  scores(query: string, vector: string): string;
  analyse(text: string): string;
}

/** The Embind class itself, for what the page has no method for. */
export class RawEngine {
  private constructor(
    readonly native: ForTests,
    private readonly heap: () => Uint8Array,
  ) {}

  static async load(build: Build): Promise<RawEngine> {
    const file = engineFiles[build];
    const { default: factory } = (await import(pathToFileURL(file).href)) as { default: EngineFactory };
    const module = await factory({ wasmBinary: readFileSync(file.replace(/\.mjs$/, ".wasm")) });
    return new RawEngine(new module.Engine() as ForTests, () => module.HEAPU8);
  }

  /** The engine's own words about these bytes. */
  open(bytes: Uint8Array, part: "all" | "lexical"): string {
    const { ok } = JSON.parse(this.native.reserve(bytes.byteLength)) as { ok: { pointer: number } };
    this.heap().set(bytes, ok.pointer);
    return part === "all" ? this.native.openAll(bytes.byteLength) : this.native.openLexical(bytes.byteLength);
  }
}

/** tests/wasm/engine_probe.cpp: one JSON line in, one out. */
export class Probe {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    this.#child = spawn(probe, [indexFile], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  async ask(request: unknown): Promise<string> {
    this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the native probe ended before it answered");
    return value;
  }

  end(): void {
    this.#child.stdin!.end();
  }
}

export interface Finished {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** The native program over the test's index, with `input` on stdin. */
export function polygraph(args: string[], input: string): Finished {
  return program([...args, "--index", indexFile], input);
}

/** The native program. */
export function program(args: string[], input = ""): Finished {
  const { status, stdout, stderr, error } = spawnSync(programFile, args, { input, encoding: "utf8", maxBuffer: 1 << 28 });
  if (error) throw error;
  return { status, stdout, stderr };
}

/** A generator of the same numbers everywhere (mulberry32), in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
