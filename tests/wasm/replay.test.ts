// A trace made natively replays in WebAssembly, and the other way round, without a model: same steps, same bytes. A trace
// that was edited diverges in both, in the same words.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Ajv } from "ajv";
import type { EffectResult } from "../../web/engine/boundary.ts";
import type { Engine } from "../../web/engine/engine.ts";
import { drive } from "../../web/engine/run.ts";
import { builds, missing, openEngine, polygraph } from "./engines.ts";

const questions = [
  "How do I limit a container's memory?",
  "What does the restart policy unless-stopped do?",
  "How do I remove unused data together with volumes?",
  "What is the difference between CMD and ENTRYPOINT?",
  "container keeps dying",
  "--rm",
  "How do I set up an ingress controller on GKE?",
  "Wie begrenze ich den Speicher eines Containers?",
];

interface Source {
  name: string;
  args: string[];
  questions: string[];
  models: boolean;
}
// Reranking takes seconds a question, so the dearer presets get fewer.
const sources: Source[] = [
  { name: "tuned", args: ["--config", "tuned"], questions, models: true },
  { name: "baseline", args: ["--config", "baseline"], questions, models: true },
  { name: "hybrid", args: ["--config", "hybrid"], questions, models: true },
  { name: "full", args: ["--config", "full"], questions: questions.slice(3, 7), models: true },
  { name: "lexical", args: ["--config", "tuned", "--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false"], questions, models: false },
];

const made = new Map<string, string[]>();
/** The traces of one source, made once. */
function traces(source: Source): string[] {
  let lines = made.get(source.name);
  if (lines === undefined) {
    const { status, stdout, stderr } = polygraph(["ask", "--json", ...source.args], source.questions.map((question) => `${question}\n`).join(""));
    assert.equal(status, 0, stderr);
    lines = stdout.split("\n").filter((line) => line !== "");
    assert.equal(lines.length, source.questions.length, stderr);
    made.set(source.name, lines);
  }
  return lines;
}

/** Everything but which build wrote it. */
const withoutTarget = (trace: string) => trace.replace(/("engine":\{[^}]*"target":)"[^"]*"/, '$1""');
const validate = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(readFileSync("assets/schemas/trace.schema.json", "utf8")));
function mustFitSchema(trace: string): void {
  assert.ok(validate(JSON.parse(trace)), JSON.stringify(validate.errors?.slice(0, 3)));
}
/** The trace inside Engine.replayJson's text. */
const replayed = (json: string) => json.slice(json.indexOf('"trace":') + '"trace":'.length, -1);

const skipFor = (source: Source) => missing("program", "replay", ...(source.models ? (["models"] as const) : []));

for (const source of sources) {
  const skip = skipFor(source);
  test(`${source.name}: native traces fit the published schema`, { skip }, () => {
    for (const trace of traces(source)) mustFitSchema(trace);
  });

  for (const build of builds) {
    test(`${source.name}: ${build} makes the same bytes of a native trace's recorded results`, { skip }, async () => {
      const engine = await openEngine(build);
      for (const trace of traces(source)) {
        const json = engine.replayJson(trace);
        const verdict = JSON.parse(json) as { identical: boolean; difference: string };
        assert.deepEqual([verdict.identical, verdict.difference], [true, ""]);
        assert.equal(withoutTarget(replayed(json)), withoutTarget(trace));
        assert.notEqual(replayed(json), trace, "the trace does not say which build made it");
      }
      engine.delete();
    });
  }

  test(`${source.name}: polygraph replay calls the traces identical with both engines`, { skip }, () => {
    for (const engine of ["native", "wasm"]) {
      const { status, stdout, stderr } = polygraph(["replay", "-", "--engine", engine, "--json"], `${traces(source).join("\n")}\n`);
      assert.equal(status, 0, stderr);
      const verdicts = stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as { engine: string; identical: boolean });
      assert.equal(verdicts.length, source.questions.length);
      assert.ok(verdicts.every((verdict) => verdict.engine === engine && verdict.identical), stdout);
    }
  });
}

/** A whole run in WebAssembly on words alone, with a clock that ticks 7 ms a reading. */
async function lexicalTrace(engine: Engine, question: string): Promise<string> {
  let ms = 1000;
  const started = engine.start(question, { config: { preset: "tuned", set: {} }, embedder_missing: "the test has none", reranker_missing: "the test has none" });
  const host = {
    perform: async (effect: { kind: string }): Promise<EffectResult> => {
      assert.equal(effect.kind, "time", "a lexical, extractive run needs nothing but the time");
      return { time: { utc: "2026-11-30T12:00:00.000Z", ms: (ms += 7) } };
    },
  };
  const end = await drive(engine, started.run, started, host, () => undefined);
  assert.equal(end?.finished, true);
  return engine.traceJson(started.run);
}

for (const build of builds) {
  test(`${build}: traces made in WebAssembly fit the schema and replay natively`, { skip: missing("program") }, async () => {
    const engine = await openEngine(build);
    const lines: string[] = [];
    for (const question of questions) lines.push(await lexicalTrace(engine, question));
    engine.delete();
    for (const line of lines) mustFitSchema(line);
    const { status, stdout, stderr } = polygraph(["replay", "-", "--json"], `${lines.join("\n")}\n`);
    assert.equal(status, 0, stdout + stderr);
    assert.equal(stdout.trimEnd().split("\n").length, questions.length);
  });
}

// What somebody may change in a trace by hand: first occurrence of the pattern.
const edits: [what: string, pattern: RegExp, by: string][] = [
  ["a question", /("question":")([^"]*)/, '$1$2 now'],
  ["a score", /("bm25_score"|"bm25"):(\d+\.\d)\d*/, "$1:$23"],
  ["the answer", /("answer":")/, "$1Certainly. "],
  ["a digest of an effect", /("digest":")(.)/, "$1!"],
  ["a setting", /("top_k":)\d+/, "$11"],
  ["an id of the ranked list", /("retrieved_ids":\[")/, "$1edited/"],
  ["a recorded vector", /("embedding":")(.{8})/, "$1AACAPwAA"],
];

for (const build of builds) {
  for (const [what, pattern, by] of edits) {
    test(`${build}: a trace with ${what} edited is judged in the native engine's words`, { skip: missing("program", "models") }, async () => {
      const trace = traces(sources[0]!)[0]!;
      const edited = trace.replace(pattern, by);
      assert.notEqual(edited, trace, "the edit found nothing to change");
      const { status, stdout, stderr } = polygraph(["replay", "-", "--json"], edited);
      const engine = await openEngine(build);
      if (status === 1) {
        const native = JSON.parse(stdout) as { difference: string; step: number; effect: number; identical: boolean };
        const wasm = engine.replay(edited);
        assert.equal(wasm.identical, false);
        assert.notEqual(wasm.difference, "");
        assert.deepEqual([wasm.difference, wasm.step, wasm.effect], [native.difference, native.step, native.effect]);
      } else {
        assert.equal(status, 3, stdout + stderr);
        assert.throws(() => engine.replay(edited), (error: Error) => stderr.includes(error.message));
      }
      engine.delete();
    });
  }
}
