// One run of the program through a real language model: every reply is a model's own, and the trace of it replays.
//
//   node tests/llm/end_to_end.mjs PROGRAM FOLDER [INDEX]     FOLDER as tests/llm/setup.sh made it
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
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
} finally {
  server.kill();
}
