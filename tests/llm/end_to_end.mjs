// The program through a real language model: every reply is a model's own. A question whose trace replays, and an evaluation that the
// same model answers and judges. The model is too small for anything it says to count: this is about the wiring.
//
//   node tests/llm/end_to_end.mjs PROGRAM FOLDER [INDEX]     FOLDER as tests/llm/setup.sh made it
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";

const [program, folder, index] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node tests/llm/end_to_end.mjs PROGRAM FOLDER [INDEX]");
  process.exit(2);
}
const server = spawn(process.execPath, [fileURLToPath(new URL("server.mjs", import.meta.url)), path.resolve(folder)], { stdio: ["pipe", "pipe", "inherit"] });
const [line] = await once(readline.createInterface({ input: server.stdout }), "line");
const { url, model } = JSON.parse(line);

const run = (args, input = "") =>
  new Promise((resolve) => {
    const env = { ...process.env, PROVIDER: "openai-compatible", OPENAI_BASE_URL: url, GENERATOR_MODEL: model };
    const child = execFile(program, args, { env, maxBuffer: 1 << 26 }, (error, stdout, stderr) => resolve({ status: error?.code ?? 0, stdout, stderr }));
    child.stdin.end(input);
  });
const scratch = mkdtempSync(path.join(tmpdir(), "polygraph-llm-"));
const where = index === undefined ? [] : ["--index", index];

try {
  const lexical = ["--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false", "--set", "TOP_K=2", "--set", "MAX_REWRITES=1"];
  const asked = await run(["ask", "--json", ...where, ...lexical, "How do I limit a container's memory?"]);
  assert.equal(asked.status, 0, asked.stderr);
  const trace = JSON.parse(asked.stdout);
  assert.ok(["answered", "refused"].includes(trace.status), trace.status);
  assert.equal(trace.models.grader, model);
  assert.ok(trace.totals.tokens.in > 100 && trace.totals.tokens.out > 0, JSON.stringify(trace.totals));
  assert.equal(trace.totals.cost_usd, null);
  const again = await run(["replay", "-", ...where], asked.stdout);
  assert.equal(again.status, 0, again.stderr);
  console.log(`${trace.status} by ${model}: ${trace.totals.steps} steps, ${trace.totals.tokens.in} tokens in, ${trace.totals.tokens.out} out, ${Math.round(trace.totals.ms)} ms; replays`);

  const golden = path.join(scratch, "golden.jsonl");
  const file = path.join(scratch, "run.jsonl");
  writeFileSync(golden, [
    { id: "memory", type: "answerable", question: "How do I limit a container's memory?", reference_answer: "With --memory.", relevant_chunk_ids: [], relevant_pages: ["reference/run"], should_refuse: false },
    { id: "trains", type: "unanswerable", question: "When does the last train to Kyoto leave?", should_refuse: true },
  ].map((item) => `${JSON.stringify(item)}\n`).join(""));
  const evaluate = (...more) => run(["run", ...where, ...lexical, "--config", "full", "--dataset", golden, "--judge", "openai", "--judge-model", model, "--out", file, "--json", ...more]);
  const evaluated = await evaluate();
  assert.equal(evaluated.status, 0, evaluated.stderr);
  const outcome = JSON.parse(evaluated.stdout);
  assert.equal(outcome.complete, true);
  assert.equal(outcome.done, 2);
  const [header, ...items] = readFileSync(file, "utf8").trimEnd().split("\n").map((text) => JSON.parse(text));
  assert.equal(header.identity.judge.model, model);
  const states = {};
  for (const { result, judgement } of items) {
    assert.equal(result.status, "completed", result.error);
    for (const { state, value } of Object.values(judgement.metrics)) {
      states[state] = (states[state] ?? 0) + 1;
      assert.equal(value === null, state !== "scored", `${state} with the value ${value}`);
    }
  }
  assert.equal(states.failed, undefined);
  const continued = await evaluate();
  assert.equal(continued.status, 0, continued.stderr);
  assert.match(continued.stderr, /nothing to do/);
  const shown = await run(["report", file, "--json"]);
  assert.equal(shown.status, 0, shown.stderr);
  assert.equal(JSON.parse(shown.stdout).judge.model, model);
  console.log(`2 items answered and judged by ${model}: ${Object.entries(states).map(([state, count]) => `${count} ${state}`).join(", ")}`);

  // So small a grader refuses nearly everything, and a refusal is not judged: a pipeline that always answers is.
  const pipeline = path.join(scratch, "plain.mjs"), one = path.join(scratch, "one.jsonl");
  writeFileSync(pipeline, `export const retrieve = () => [{ id: "reference/run#000", text: "--memory limits a container's memory." }];
export const generate = () => "Use --memory.";\n`);
  writeFileSync(one, `${readFileSync(golden, "utf8").split("\n")[0]}\n`);
  const judged = await run(["run", ...where, "--pipeline", pipeline, "--dataset", one, "--judge", "openai", "--judge-model", model, "--out", path.join(scratch, "judged.jsonl")]);
  assert.equal(judged.status, 0, judged.stderr);
  const { judgement } = JSON.parse(readFileSync(path.join(scratch, "judged.jsonl"), "utf8").trimEnd().split("\n")[1]);
  const said = Object.entries(judgement.metrics).filter(([, { state }]) => state === "scored" || state === "judge_error");
  assert.ok(said.length >= 3, `the judge was hardly asked: ${JSON.stringify(judgement.metrics)}`);
  for (const [name, { state, value }] of said) assert.equal(value === null, state === "judge_error", `${name}: ${state} with the value ${value}`);
  console.log(`an answer judged: ${said.map(([name, { state, value }]) => `${name} ${value ?? state}`).join(", ")}`);
} finally {
  rmSync(scratch, { recursive: true });
  server.kill();
}
