// Searching and typing over a real index in Chromium, beside other libraries over the same passages in the same run, and the
// same natively.

import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { withChromium, withFiles } from "../browser.mjs";
import { atMost, percentile, plain } from "../figures.mjs";
import { benchProgram, dockerDocsIndex, must, output } from "../setting.mjs";

const folder = path.dirname(fileURLToPath(import.meta.url));

async function inChromium({ dist }, index) {
  const { outputFiles } = await build({
    entryPoints: [path.join(folder, "page.mjs")],
    bundle: true,
    write: false,
    format: "esm",
    target: "chrome109",
    external: ["/engine.mjs"],
    logLevel: "warning",
  });
  const engine = (ending) => readFileSync(must(path.join(dist, `engine/polygraph-engine.${ending}`), "the engine"));
  const files = {
    "/": { type: "text/html", body: '<!doctype html><meta charset="utf-8"><script type="module" src="/page.mjs"></script>' },
    "/page.mjs": { type: "text/javascript", body: outputFiles[0].contents },
    "/engine.mjs": { type: "text/javascript", body: engine("mjs") },
    "/engine.wasm": { type: "application/wasm", body: engine("wasm") },
    "/index.polygraph": { type: "application/octet-stream", body: readFileSync(index) },
  };
  return withFiles(files, (address) => withChromium(async (browser) => {
    const page = await browser.newPage();
    page.on("pageerror", (error) => console.error(`bench: the page: ${error.message}`));
    await page.goto(`${address}/`);
    await page.waitForFunction(() => window.run !== undefined, undefined, { timeout: 30_000 });
    return page.evaluate(() => window.run());
  }));
}

/** Rows of the Google Benchmark program beside this folder. */
function natively(setting, index) {
  const json = output(benchProgram(setting, "retrieval_bench"), ["--benchmark_format=json", "--benchmark_min_time=0.2"], { env: { POLYGRAPH_BENCH_INDEX: index } });
  const perMs = { ns: 1e-6, us: 1e-3, ms: 1, s: 1000 };
  return JSON.parse(json).benchmarks.map(({ name, real_time, time_unit }) => [name, real_time * perMs[time_unit]]);
}

export async function run(setting) {
  const larger = dockerDocsIndex(setting);
  const index = larger ?? must(setting.index, "the index");
  const { chunks, queries, vectors, measured } = await inChromium(setting, index);
  const [own] = measured;
  const half = (times) => percentile(times, 0.5);
  const table = (title, kind, extra = () => []) => ({
    title,
    columns: ["", "p50 ms", "p95 ms", "p50 to ours", ...(kind === "search" ? ["identifiers", "questions without a result"] : kind === "nearest" ? ["same first ten"] : [])],
    rows: measured.filter((row) => row[kind]).map((row) => [row.name, half(row[kind]), percentile(row[kind], 0.95), half(row[kind]) / half(own[kind]), ...extra(row)]),
  });
  const over = `${chunks.toLocaleString("en")} chunks`;
  return {
    figures: [
      atMost("BM25F query, p50", half(own.search), "ms", 0.3, over),
      atMost("dense query, p50", half(own.nearest), "ms", 0.5, over),
      plain("typing, p50", half(own.complete), "ms", over),
      plain("typing, p95", percentile(own.complete, 0.95), "ms", over),
    ],
    tables: [
      table(`In Chromium, ${queries} queries over ${over}; identifiers: share of the first ten places that hold the literal string`, "search", (row) => [row.identifiers, row.empty]),
      table("In Chromium, every keypress of five questions", "complete"),
      table("In Chromium, exact dense search", "nearest", (row) => [`${row.same_as_first} of ${vectors}`]),
      { title: "In Chromium, until the first query (ours: the index is a file)", columns: ["", "ms"], rows: measured.slice(1).map((row) => [row.name, row.build_ms]) },
      { title: "Native", columns: ["", "ms"], rows: natively(setting, index) },
    ],
    notes: [`The limits are meant at 2,700 chunks; this index has ${chunks.toLocaleString("en")}.${larger ? "" : " With ../shared/corpus/docker-docs a larger one is used."}`],
  };
}
