// The evaluation module writes what the native command line writes, byte for byte; the figures of paired tests and intervals may
// differ by 1e-12, since the C libraries' logarithms do.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { EngineError } from "../../web/engine/engine.ts";
import type { Evaluation, RunIdentity } from "../../web/engine/evaluation.ts";
import { evaluationMissing, indexFile, missing, openEvaluation, program, seeded, type Finished } from "./engines.ts";
import { asFile, randomResults, randomTrec } from "./random_evaluations.ts";

const skip = evaluationMissing();
const seed = Number(process.env.POLYGRAPH_SEED ?? Math.floor(Math.random() * 2 ** 32));
console.log(`evaluation: seed ${seed} (POLYGRAPH_SEED=${seed} repeats it)`);

const folder = mkdtempSync(path.join(tmpdir(), "polygraph-evaluation-"));
after(() => rmSync(folder, { recursive: true, force: true }));
function file(name: string, text: string | Uint8Array): string {
  const at = path.join(folder, name);
  writeFileSync(at, text);
  return at;
}
const native = (...args: string[]): Finished => program(args);
/** The document that the native program printed; its exit status may be 1 where a check failed. */
function printed({ status, stdout, stderr }: Finished): string {
  assert.ok(status === 0 || status === 1, stderr);
  assert.ok(stdout.endsWith("\n"));
  return stdout.slice(0, -1);
}

/** Figures that go through a logarithm. */
const statistics = new Set(["p", "p_holm", "low", "high"]);
function same(ours: string, theirs: string, what: string): void {
  if (ours === theirs) return;
  const shown: string[] = [];
  const walk = (a: unknown, b: unknown, at: string, key: string): void => {
    if (typeof a === "number" && typeof b === "number" && statistics.has(key)) {
      assert.ok(Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(b)), `${what}: ${at} is ${a}, natively ${b}`);
      shown.push(at);
      return;
    }
    if (typeof a === "object" && typeof b === "object" && a !== null && b !== null) {
      assert.deepEqual(Object.keys(a), Object.keys(b), `${what}: ${at}`);
      for (const name of Object.keys(a)) walk((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name], `${at}.${name}`, name);
      return;
    }
    assert.equal(a, b, `${what}: ${at}`);
  };
  walk(JSON.parse(ours), JSON.parse(theirs), "", "");
  // Nothing but such figures made the texts differ.
  const masked = (text: string) => text.replace(/"(p|p_holm|low|high)":-?[0-9.e+-]+/g, '"$1":0');
  assert.equal(masked(ours), masked(theirs), what);
  assert.ok(shown.length > 0, what);
}

let loaded: Promise<Evaluation> | undefined;
const evaluation = (): Promise<Evaluation> => (loaded ??= openEvaluation());

/** What the module says of a bad document is what the program says. */
function sameRefusal(work: () => unknown, refused: Finished, what: string): void {
  assert.equal(refused.status, 3, `${what}: ${refused.stderr}`);
  assert.throws(work, (error: unknown) => {
    assert.ok(error instanceof EngineError, String(error));
    assert.ok(refused.stderr.includes(error.message), `${what}: "${error.message}" is not in "${refused.stderr}"`);
    return true;
  });
}

test("random results and reports of them: diagnose", { skip }, async () => {
  const module = await evaluation();
  const random = seeded(seed);
  for (let round = 0; round < 25; ++round) {
    const text = asFile(random, randomResults(random, round * 4), `pipeline ${round}`);
    const options = round % 3 === 0 ? { k: 3, goodRank: 2, slowMs: 400.5 } : {};
    const args = round % 3 === 0 ? ["--k", "3", "--good-rank", "2", "--slow-ms", "400.5"] : [];
    const run = native("diagnose", file("results.json", text), "--json", "--no-keep", ...args);
    if (run.status === 3) {
      sameRefusal(() => module.diagnose(text, options), run, `round ${round}`);
      continue;
    }
    const theirs = printed(run);
    same(module.text.diagnose(new TextEncoder().encode(text), options), theirs, `round ${round}`);
    // As a string, and of the diagnosis again, whose report has no results of its own.
    assert.equal(module.text.diagnose(text, options), module.text.diagnose(new TextEncoder().encode(text), options));
    const again = printed(native("diagnose", file("diagnosis.json", theirs), "--json", "--no-keep"));
    same(module.text.diagnose(theirs), again, `round ${round}, the diagnosis diagnosed`);
    // buildReport gives the report that stands in the diagnosis.
    const report = JSON.parse(module.text.buildReport(text, options)) as Record<string, unknown>;
    const { kind, schema, ...fields } = report;
    assert.deepEqual([kind, schema], ["evaluation", 1]);
    assert.deepEqual(fields, (JSON.parse(theirs) as { report: unknown }).report);
    const { results, ...short } = fields;
    const { kind: _, schema: __, ...without } = module.buildReport(text, { ...options, results: false });
    assert.ok(Array.isArray(results));
    assert.deepEqual(without, short);
  }
});

test("random results and reports of them: compare", { skip }, async () => {
  const module = await evaluation();
  const random = seeded(seed + 1);
  let compared = 0;
  for (let round = 0; round < 25; ++round) {
    const [a, b] = ["first", "second"].map((name) => asFile(random, randomResults(random, 3 + round * 3), round % 5 === 0 ? "same" : name)) as [string, string];
    const options = round % 2 === 0 ? {} : { qualityTolerance: 0.1, latencyToleranceMs: 2.5 };
    const args = round % 2 === 0 ? [] : ["--quality-tolerance", "0.1", "--latency-tolerance-ms", "2.5"];
    const run = native("compare", "--report-a", file("a.json", a), "--report-b", file("b.json", b), "--json", "--no-keep", ...args);
    if (run.status === 3) {
      sameRefusal(() => module.compare(a, b, options), run, `round ${round}`);
      continue;
    }
    ++compared;
    same(module.text.compare(a, b, options), printed(run), `round ${round}`);
    const reports = [module.text.buildReport(a, { results: false }), module.text.buildReport(b, { results: false })] as const;
    const bare = native("compare", "--report-a", file("a.json", reports[0]), "--report-b", file("b.json", reports[1]), "--json", "--no-keep");
    if (bare.status === 3) sameRefusal(() => module.compare(...reports), bare, `round ${round}, reports`);
    else same(module.text.compare(...reports), printed(bare), `round ${round}, reports`);
  }
  assert.ok(compared > 5, `only ${compared} pairs could be compared`);
});

test("Markdown of diagnosis and comparison", { skip }, async () => {
  const module = await evaluation();
  const random = seeded(seed + 2);
  const [a, b] = [JSON.stringify(randomResults(random, 30)), JSON.stringify(randomResults(random, 30))];
  const at = path.join(folder, "out.md");
  printed(native("diagnose", file("a.json", a), "--json", "--no-keep", "--md", at));
  assert.equal(module.markdown.diagnose(a), readFileSync(at, "utf8"));
  printed(native("compare", "--report-a", file("a.json", a), "--report-b", file("b.json", b), "--json", "--no-keep", "--md", at));
  assert.equal(module.markdown.compare(a, b), readFileSync(at, "utf8"));
});

test("random TREC files: metrics", { skip }, async () => {
  const module = await evaluation();
  const random = seeded(seed + 3);
  for (let round = 0; round < 15; ++round) {
    const { qrels, run } = randomTrec(random);
    const k = round % 2 === 0 ? [1, 3, 5, 10] : [20, 2, 7, 2];
    const theirs = printed(native("metrics", "--qrels", file("qrels.txt", qrels), "--run", file("run.txt", run), "--json", "--k", k.join(",")));
    assert.equal(module.text.metrics(qrels, run, { k }), theirs, `round ${round}`);
  }
});

for (const name of ["docker-doc", "fastify"]) {
  test(`the shipped golden set ${name}: validate and convert`, { skip }, async () => {
    const module = await evaluation();
    const source = `assets/golden/${name}.jsonl`;
    const set = readFileSync(source);
    assert.equal(module.text.validate(set), printed(native("validate", "--dataset", source, "--json")));
    assert.equal(module.validate(set).valid, true);
    for (const to of ["items", "samples", "csv", "tsv"] as const) {
      const at = path.join(folder, `converted.${to}`);
      printed(native("golden", "convert", "--dataset", source, "--out", at, "--to", to, "--json"));
      const [ours] = module.convert(set, to).files;
      assert.equal(ours!.text, readFileSync(at, "utf8"), to);
      assert.equal(module.text.validate(ours!.text), printed(native("validate", "--dataset", at, "--json")), to);
    }
    for (const to of ["trec", "beir"] as const) {
      const at = path.join(folder, to);
      printed(native("golden", "convert", "--dataset", source, "--out", at, "--to", to, "--json"));
      const { files } = module.convert(set, to);
      for (const each of files) assert.equal(each.text, readFileSync(path.join(at, each.name), "utf8"), `${to}/${each.name}`);
      const [queries, qrels] = files.map((each) => each.text) as [string, string];
      assert.equal(module.text.validate({ form: to, queries, qrels }), printed(native("validate", "--dataset", at, "--json")), to);
    }
    // RAGDiag has no place for items of other types: all are left out, or those that are none of its own.
    assert.equal(module.convert(set, "ragdiag").written, 0);
    assert.equal(native("golden", "convert", "--dataset", source, "--out", path.join(folder, "none.json"), "--to", "ragdiag").status, 3);
    const typed = file("typed.jsonl", set.toString("utf8").replaceAll('"type": "answerable"', '"extra": {"query_type": "factual"}, "type": "answerable"'));
    const at = path.join(folder, "ragdiag.json");
    const told = JSON.parse(printed(native("golden", "convert", "--dataset", typed, "--out", at, "--to", "ragdiag", "--json"))) as { written: number; left_out: unknown };
    const fitting = module.convert(readFileSync(typed), "ragdiag", { name: "typed" });
    assert.ok(fitting.written > 10, "nearly nothing was compared");
    assert.deepEqual([fitting.written, fitting.left_out], [told.written, told.left_out]);
    assert.equal(fitting.files[0]!.text, readFileSync(at, "utf8"));

    const read = module.readDataset(set);
    assert.equal(read.items.length, module.validate(set).counts.items);
    assert.match(read.digest, /^xxh128:[0-9a-f]{32}$/);
  });
}

test("a broken golden set: the same findings", { skip }, async () => {
  const module = await evaluation();
  const lines = readFileSync("assets/golden/docker-doc.jsonl", "utf8").trimEnd().split("\n");
  const random = seeded(seed + 4);
  for (let round = 0; round < 10; ++round) {
    const broken = lines.map((line) => {
      if (random() > 0.1) return line;
      const edits = [line.slice(0, -1), line.replace('"question"', '"querstion"'), line.replace(/"type":"[a-z]*"/, '"type":"odd"'), lines[0]!, line.replace(/"relevant_chunk_ids":\[[^\]]*\]/, '"relevant_chunk_ids":"none"')];
      return edits[Math.floor(random() * edits.length)]!;
    }).join(round % 2 ? "\r\n" : "\n");
    const theirs = native("validate", "--dataset", file("broken.jsonl", broken), "--json");
    assert.equal(module.text.validate(broken), printed(theirs));
    assert.equal(module.validate(broken).valid, theirs.status === 0);
  }
  sameRefusal(() => module.validate(new Uint8Array([0x7b, 0xff, 0xfe])), native("validate", "--dataset", file("bytes.jsonl", new Uint8Array([0x7b, 0xff, 0xfe]))), "no UTF-8");
});

test("runs over the shipped golden set: evaluation, comparison, matrix, and the lines themselves", { skip: skip || missing() }, async () => {
  const module = await evaluation();
  const lexical = ["--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false", "--json"];
  const runs = [["tuned", "--limit", "25", "--repeats", "2"], ["full", "--limit", "28", "--set", "TOP_K=3"], ["baseline", "--limit", "25"]].map(([config, ...args], i) => {
    const out = path.join(folder, `run-${i}.jsonl`);
    printed(native("run", "--config", config!, "--index", indexFile, "--out", out, ...args, ...lexical));
    return out;
  });
  const texts = runs.map((run) => readFileSync(run));
  const reports = printed(native("report", ...runs, "--json")).split("\n");
  for (const [i, text] of texts.entries()) {
    same(module.text.buildReport(text), reports[i]!, runs[i]!);
    same(module.text.diagnose(text), printed(native("diagnose", runs[i]!, "--json", "--no-keep")), runs[i]!);
    assert.equal(module.buildReport(text, { results: false }).results, undefined);
  }
  same(module.text.compare(texts[0]!, texts[1]!), printed(native("compare", "--report-a", runs[0]!, "--report-b", runs[1]!, "--json", "--no-keep")), "compare");

  const html = path.join(folder, "matrix.html");
  printed(native("report", ...runs, "--json", "--html", html));
  const [, matrix] = /<script type="application\/json" class="report-data">(.*?)<\/script>/s.exec(readFileSync(html, "utf8"))!;
  same(module.matrix(texts).replaceAll("<", "\\u003c"), matrix!, "matrix");

  // Each line made again from its trace is the line that the program wrote.
  for (const text of texts) {
    const [head, ...lines] = text.toString("utf8").trimEnd().split("\n") as [string, ...string[]];
    const { identity, items, created_at } = JSON.parse(head) as { identity: RunIdentity; items: number; created_at: string };
    const written = JSON.parse(module.runHead(identity, items, created_at)) as object;
    assert.deepEqual({ ...written, program: null }, { ...(JSON.parse(head) as object), program: null });
    for (const line of lines) {
      const { golden, result, repeat, finished_at } = JSON.parse(line) as { golden: object; result: { retrieved_chunks: { id: string; text: string }[] }; repeat: number; finished_at: string };
      const trace = line.slice(line.indexOf('"trace":') + '"trace":'.length, line.indexOf('},"judgement":'));
      const chunks = Object.fromEntries(result.retrieved_chunks.map((chunk) => [chunk.id, chunk.text]));
      const options = { k: identity.k, repeat, finishedAt: finished_at };
      assert.equal(module.runLineOfTrace(JSON.stringify(golden), trace, chunks, options), `${line}\n`);
    }
    // And from its result; then the run is one that the program reads.
    const again = lines.map((line) => {
      const { golden, result, repeat, finished_at } = JSON.parse(line) as { golden: object; result: object; repeat: number; finished_at: string };
      return module.runLine(JSON.stringify(golden), JSON.stringify(result), { k: identity.k, repeat, finishedAt: finished_at });
    });
    same(module.text.buildReport(module.runHead(identity, items, created_at) + again.join("")), printed(native("report", file("again.jsonl", module.runHead(identity, items, created_at) + again.join("")), "--json")), "made again");
  }
  // A line that was edited, and one that was cut: the program's words.
  const edited = texts[0]!.toString("utf8").replace(/"answer":"(.)/, '"answer":"$1!');
  sameRefusal(() => module.buildReport(edited), native("report", file("edited.jsonl", edited), "--json"), "edited");
  const cut = texts[0]!.subarray(0, texts[0]!.length - 10);
  same(module.text.buildReport(cut), printed(native("report", file("cut.jsonl", cut), "--json")), "cut");
});

test("bad documents are refused in the program's words, with code, field and line", { skip }, async () => {
  const module = await evaluation();
  const bad = ["", "{", "null", "[1]", "{}", '{"results":[{"query_id":"a"}]}', '[{"query_id":"a","query":"b"},{"query_id":"a","query":"b"}]', '{"k":0,"results":[]}', '[{"query_id":"a","query":"b","latency":{"retrieval_ms":1e999}}]', '{"kind":"run"}\n', `{"kind":"run","schema":1,"identity":${"[".repeat(200_000)}\n`];
  for (const text of bad) sameRefusal(() => module.diagnose(text), native("diagnose", file("bad.json", text), "--json", "--no-keep"), JSON.stringify(text.slice(0, 80)));
  sameRefusal(() => module.metrics("q1 0 a 1\n", "q1 Q0 b 1 high t\n"), native("metrics", "--qrels", file("q.txt", "q1 0 a 1\n"), "--run", file("r.txt", "q1 Q0 b 1 high t\n")), "a score");
  const told = (work: () => unknown): EngineError => {
    try {
      work();
    } catch (error) {
      assert.ok(error instanceof EngineError);
      return error;
    }
    throw new assert.AssertionError({ message: "nothing was refused" });
  };
  const score = told(() => module.metrics("q1 0 a 1\n", "q1 Q0 a 1 2 t\nq1 Q0 b 1 high t\n"));
  assert.deepEqual([score.code, score.field, score.line], ["invalid_text", "run.score", 2]);
  assert.equal(told(() => module.compare("[]", "{}")).field?.split(".")[0], "b");
  const option = told(() => module.diagnose("[]", { k: 0 }));
  assert.deepEqual([option.code, option.field], ["invalid_argument", "k"]);
  assert.equal(told(() => module.compare("[]", "[]", { qualityTolerance: Number.NaN })).field, "quality_tolerance");
  assert.equal(told(() => module.metrics("q1 0 a 1\n", "q1 Q0 a 1 2 t\n", { k: [1, 2.5] })).field, "k");
  const item = '{"id":"a","type":"answerable","question":"b","reference_answer":"c","relevant_pages":["d"]}', line = { finishedAt: "2026-12-01T12:00:00Z" };
  assert.equal(told(() => module.runLine(item, '{"query_id":"a","query":"b"}', { ...line, judgement: "[".repeat(200_000) })).field, "judgement");
  assert.equal(told(() => module.runLine(item, '{"query_id":"other","query":"b"}', line)).code, "mismatch");
  assert.equal(told(() => module.runLineOfTrace(item, "{}", {}, line)).field?.split(".")[0], "trace");
  assert.match(module.runLine(item, '{"query_id":"a","query":"b"}', line), /^\{"bytes":\[.*\}\n$/);
  // A lone surrogate has no UTF-8 form.
  assert.equal(module.buildReport('[{"query_id":"a\uD800","query":"b"}]').results?.[0]?.query_id, "a\uFFFD");
});
