// Builds everything that is TypeScript.
//
//   node web/build.mjs node                               the Node.js programs: dist/model-worker.mjs, dist/replay.mjs, dist/parity.mjs
//   node web/build.mjs site --index FILE [--models DIR] [--evaluation FILE]   the site: dist/site
//   node web/build.mjs pages [--out DIR]                  pages that are one file each: dist/report.html, dist/review.html
//   node web/build.mjs trace                              the trace inspector in one file: dist/trace.html
//   node web/build.mjs element [--out DIR]                the npm package of <polygraph-ask>: dist/element, dist/polygraph-ask.tgz
//   node web/build.mjs library                            the npm package: dist/library
//
// The site: page and workers bundled with esbuild; every file's name holds its digest; the engine, onnxruntime-web, the index
// and the models stand beside them, and licences.txt with the notices of all that these contain; what compresses has Brotli and gzip variants. DIR is the model store of the native program,
// ROLE/SHA256/model.onnx; each model is verified against assets/models.json. Without --models the page answers lexically.
// The result depends on its inputs alone.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, link, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs, promisify } from "node:util";
import zlib from "node:zlib";
import { build } from "esbuild";
import { elementPackage } from "./element/build.mjs";
import { Licences, licencesLink, licencesName } from "./licences.mjs";
import { filePage, sitePage, versionMarker } from "./pages.mjs";
import { library } from "./library/build.mjs";
import { inspectorFile, inspectorPage } from "./trace/build.mjs";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: "string", default: path.join(root, "dist/engine") },
    index: { type: "string" },
    models: { type: "string" },
    evaluation: { type: "string", default: path.join(root, "assets/evaluation/docker-doc.json") },
    out: { type: "string" },
    debug: { type: "boolean", default: false },
  },
});

/** Files under these endings are served compressed where the client takes it. Models hardly shrink. */
const compressed = new Set([".html", ".js", ".mjs", ".css", ".json", ".svg", ".wasm", ".polygraph", ".txt"]);
/** Brotli's best level takes a minute for onnxruntime's 14 MB and saves 6 % over level 9. */
const bestLevelUpTo = 6_000_000;
/** Compressed variants are kept by digest, since the same large files come again in every build. */
const variants = path.join(root, "dist/.compressed");

const started = Date.now();
const fail = (message, code = 3) => {
  console.error(`web/build: ${message}`);
  process.exit(code);
};

const [what, ...rest] = positionals;
if (rest.length > 0 || !["node", "site", "pages", "trace", "library", "element"].includes(what)) {
  fail("usage: node web/build.mjs node | pages [--out DIR] | trace [--out FILE] | library [--out DIR] | element [--out DIR] | site --index FILE [--models DIR] [--evaluation FILE] [--out DIR]", 2);
}
flags.out ??= path.join(root, { pages: "dist", trace: "dist/trace.html", library: "dist/library", element: "dist/element" }[what] ?? "dist/site");
if (what === "node") {
  await build({
    entryPoints: {
      "model-worker": path.join(root, "web/models/node-worker.ts"),
      replay: path.join(root, "web/replay/node.ts"),
      parity: path.join(root, "web/parity/chromium.ts"),
    },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["onnxruntime-node", "playwright-core"],
    outdir: path.join(root, "dist"),
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
  });
  process.exit(0);
}
if (what === "pages") {
  await mkdir(flags.out, { recursive: true });
  for (const name of ["report", "review"]) await writeFile(path.join(flags.out, `${name}.html`), await filePage(root, name, flags.debug));
  process.exit(0);
}
const must = (file, what) => (existsSync(file) ? file : fail(`${what} is missing: ${file}`));

const licences = new Licences(root);
const bundle = async (entry, options = {}) => {
  const result = await build({
    entryPoints: [path.join(root, entry)],
    bundle: true,
    write: false,
    format: "esm",
    target: ["es2022", "chrome109", "firefox115", "safari16.4"],
    minify: !flags.debug,
    legalComments: "none",  // the notices stand in licences.txt
    metafile: true,
    logLevel: "warning",
    outfile: "out.js",
    ...options,
  });
  licences.addBundle(result.metafile);
  return result.outputFiles[0].contents;
};

/** Prompts, schemas of replies, and prices of models. */
async function taskFile() {
  const asset = (name) => readFile(must(path.join(root, "assets", name), "an asset"), "utf8");
  const prompts = {};
  for (const task of ["grade", "rewrite", "generate"]) {
    const schema = task === "generate" ? null : JSON.parse(await asset(`prompts/${task}.schema.json`));
    prompts[task] = { text: await asset(`prompts/${task}.md`), schema };
  }
  const { tokens, prices } = JSON.parse(await asset("prices.json"));
  return { prompts, prices: { tokens, prices } };
}

if (what === "library") {
  for (const name of ["engine", "evaluation"]) must(path.join(flags.engine, `polygraph-${name}.wasm`), "the engine");
  const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8"));
  await library({ root, out: flags.out, engine: flags.engine, bundle, licences, tasks: await taskFile(), version }).catch((error) => fail(error.message));
  console.log(JSON.stringify({ library: path.relative(process.cwd(), flags.out), index_bytes: (await stat(path.join(flags.out, "index.mjs"))).size }));
  process.exit(0);
}
if (what === "trace") {
  must(path.join(flags.engine, "polygraph-engine-baseline.wasm"), "the engine");
  await writeFile(flags.out, await inspectorFile({ root, debug: flags.debug, bundle, licences, engine: flags.engine }));
  console.log(JSON.stringify({ file: path.relative(process.cwd(), flags.out), bytes: (await stat(flags.out)).size }));
  process.exit(0);
}
if (what === "element") {
  must(path.join(flags.engine, "polygraph-engine-baseline.wasm"), "the engine");
  console.log(JSON.stringify(await elementPackage({ root, debug: flags.debug, bundle, licences, engine: flags.engine, out: flags.out })));
  process.exit(0);
}
if (!flags.index) fail("--index FILE is needed", 2);

const staging = `${flags.out}.new`;
await rm(staging, { recursive: true, force: true });
await mkdir(path.join(staging, "assets"), { recursive: true });
const written = [];

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Puts a file under assets/ with its digest in its name; gives its address relative to the page. */
async function put(name, bytes, digest = sha256(bytes)) {
  const { name: stem, ext } = path.parse(name);
  const target = `assets/${stem}-${digest.slice(0, 16)}${ext}`;
  await writeFile(path.join(staging, target), bytes);
  written.push(target);
  return target;
}

/** The same for a large file, without a copy where the file system can link it. */
async function putFile(name, file, digest) {
  const { name: stem, ext } = path.parse(name);
  const target = `assets/${stem}-${digest.slice(0, 16)}${ext}`;
  const to = path.join(staging, target);
  await link(file, to).catch(() => copyFile(file, to));
  written.push(target);
  return target;
}

// ---- what the page loads later. Modules end in .js: some hosts name no type for .mjs, and browsers run none without one.

const engineFile = (name) => readFile(must(path.join(flags.engine, name), "the engine"));
const site = { version: "" };
site.engine = await put("engine.js", await engineFile("polygraph-engine.mjs"));
site.engine_wasm = await put("engine.wasm", await engineFile("polygraph-engine.wasm"));
site.engine_baseline = await put("engine-baseline.js", await engineFile("polygraph-engine-baseline.mjs"));
site.engine_baseline_wasm = await put("engine-baseline.wasm", await engineFile("polygraph-engine-baseline.wasm"));

const ort = path.join(root, "node_modules/onnxruntime-web/dist");
site.ort = {
  mjs: await put("ort.js", await readFile(path.join(ort, "ort-wasm-simd-threaded.mjs"))),
  wasm: await put("ort.wasm", await readFile(path.join(ort, "ort-wasm-simd-threaded.wasm"))),
};

site.engine_worker = await put("engine-worker.js", await bundle("web/worker/engine-worker.ts"));
// The condition picks the build of onnxruntime-web that loads its WebAssembly from the files above.
site.model_worker = await put("model-worker.js", await bundle("web/worker/model-worker.ts", { conditions: ["onnxruntime-web-use-extern-wasm"] }));

/** An index's digest as the engine and every trace name it. */
async function identityOf(bytes) {
  const { default: factory } = await import(pathToFileURL(path.resolve(flags.engine, "polygraph-engine-baseline.mjs")).href);
  const module = await factory({ wasmBinary: await readFile(path.join(flags.engine, "polygraph-engine-baseline.wasm")) });
  const engine = new module.Engine();
  const reply = (json) => { const { ok, error } = JSON.parse(json); return ok ?? fail(`${flags.index}: ${error.message}`); };
  module.HEAPU8.set(bytes, reply(engine.reserve(bytes.byteLength)).pointer);
  return reply(engine.openAll(bytes.byteLength)).digest;
}

const indexFile = must(flags.index, "the index");
const indexBytes = await readFile(indexFile);
const indexDigest = sha256(indexBytes);
site.index = {
  url: await put("index.polygraph", indexBytes, indexDigest),
  bytes: indexBytes.byteLength,
  digest: indexDigest,
  identity: await identityOf(indexBytes),
  built_at: (await stat(indexFile)).mtime.toISOString(),
};

// The evaluation that the report page opens with. An empty FILE: none.
site.evaluation = flags.evaluation && existsSync(flags.evaluation) ? await put("evaluation.json", await readFile(flags.evaluation)) : "";
if (site.evaluation) {
  site.evaluation_engine = await put("evaluation.js", await engineFile("polygraph-evaluation.mjs"));
  site.evaluation_engine_wasm = await put("evaluation.wasm", await engineFile("polygraph-evaluation.wasm"));
  site.evaluation_worker = await put("evaluation-worker.js", await bundle("web/report/local/evaluation-worker.ts"));
}

site.models = [];
if (flags.models) {
  const manifest = JSON.parse(await readFile(path.join(root, "assets/models.json"), "utf8"));
  for (const { role, name, files } of manifest.models) {
    if (role !== "embedder" && role !== "reranker") continue;
    const expected = files.find((file) => file.name === "model.onnx");
    const file = must(path.join(flags.models, role, expected.sha256, "model.onnx"), `the ${role}`);
    const bytes = await readFile(file);
    if (sha256(bytes) !== expected.sha256) fail(`${file} is not the ${role} of assets/models.json: its SHA-256 is ${sha256(bytes)}, not ${expected.sha256}`);
    site.models.push({ role, name, url: await putFile(`${role}.onnx`, file, expected.sha256), sha256: expected.sha256, bytes: bytes.byteLength });
  }
}

site.examples = await put("examples.json", await readFile(path.join(root, "assets/page/examples.json")));

site.tasks = await put("tasks.json", JSON.stringify(await taskFile()));

// ---- the page and the service worker

const style = await build({ entryPoints: [path.join(root, "web/ask/ask.css")], bundle: true, write: false, minify: !flags.debug, logLevel: "warning" });
const page = {
  CSS: await put("ask.css", style.outputFiles[0].contents),
  JS: await put("ask.js", await bundle("web/ask/ask.ts")),
  ICON: await put("icon.svg", await readFile(path.join(root, "assets/page/icon.svg"))),
};
const inspector = await inspectorPage({ root, debug: flags.debug, put, bundle, site, icon: page.ICON, foot: licencesLink });
const template = await readFile(path.join(root, "web/index.html"), "utf8");
const further = [];  // pages, and what they are made of
for (const name of ["report", "review"]) {
  const files = [];
  const html = await sitePage(root, name, flags.debug, page.ICON, async (...asset) => files[files.push(await put(...asset)) - 1], site, licences);
  further.push({ file: `${name}.html`, html, files });
}
licences.addEngine();
licences.addRuntime();
const notices = await licences.text();
await writeFile(path.join(staging, licencesName), notices);
written.push(licencesName);
site.version = sha256(JSON.stringify([template, site, page, inspector.html(), further, notices])).slice(0, 16);
const attribute = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
const html = template.replace(/%(SITE|CSS|JS|ICON|LICENCES)%/g, (_, name) => ({ ...page, SITE: attribute(JSON.stringify(site)), LICENCES: licencesLink })[name]);
await writeFile(path.join(staging, "index.html"), html);
await writeFile(path.join(staging, "trace.html"), inspector.html());
await writeFile(path.join(staging, "site.json"), `${JSON.stringify(site, null, 2)}\n`);
const manifest = {
  version: site.version,
  page: "index.html",
  others: ["trace.html", ...further.map(({ file }) => file)],
  // The baseline engine is left out: browsers without SIMD keep it in their ordinary cache.
  files: [...Object.values(page), ...inspector.files, ...further.flatMap(({ files }) => files), site.engine, site.engine_wasm, site.engine_worker, site.model_worker, site.index.url, site.examples, site.tasks, licencesName],
  runtime: [site.ort.mjs, site.ort.wasm],
  later: site.evaluation ? [site.evaluation, site.evaluation_engine, site.evaluation_engine_wasm, site.evaluation_worker] : [],
};
// On a line of its own, so that `polygraph export` can write another one.
await writeFile(path.join(staging, "service-worker.js"), `const MANIFEST=${JSON.stringify(manifest)};\n${new TextDecoder().decode(await bundle("web/service-worker.ts", { format: "iife" }))}`);
written.push("index.html", "trace.html", "site.json", "service-worker.js");
for (const { file, html: text } of further) {
  await writeFile(path.join(staging, file), text.replaceAll(versionMarker, site.version));
  written.push(file);
}

// ---- compressed variants

const brotli = promisify(zlib.brotliCompress);
const gzip = promisify(zlib.gzip);
await mkdir(variants, { recursive: true });
for (const target of written) {
  if (!compressed.has(path.extname(target))) continue;
  const file = path.join(staging, target);
  const bytes = await readFile(file);
  const digest = sha256(bytes);
  for (const [ending, compress] of [
    ["br", () => brotli(bytes, { params: {
      [zlib.constants.BROTLI_PARAM_QUALITY]: bytes.byteLength > bestLevelUpTo ? 9 : 11,
      [zlib.constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
      [zlib.constants.BROTLI_PARAM_LGWIN]: 22,
    } })],
    ["gz", () => gzip(bytes, { level: 9 })],
  ]) {
    const kept = path.join(variants, `${digest}.${ending}`);
    if (!existsSync(kept)) {
      await writeFile(`${kept}.new`, await compress());
      await rename(`${kept}.new`, kept);
    }
    if ((await stat(kept)).size < bytes.byteLength) await copyFile(kept, `${file}.${ending}`);
  }
}

await rm(flags.out, { recursive: true, force: true });
await rename(staging, flags.out);

const gzipped = async (target) => (await gzip(await readFile(path.join(flags.out, target)), { level: 9 })).byteLength;
const own = await Promise.all([page.JS, page.CSS, site.engine_worker, "service-worker.js"].map(gzipped));
console.log(JSON.stringify({
  site: path.relative(process.cwd(), flags.out) || ".",
  version: site.version,
  // Without the model worker, which is onnxruntime-web but for a few lines.
  own_gzip_bytes: own.reduce((sum, bytes) => sum + bytes, 0),
  engine_wasm_bytes: (await stat(path.join(flags.out, site.engine_wasm))).size,
  engine_wasm_brotli_bytes: (await brotli(await readFile(path.join(flags.out, site.engine_wasm)))).byteLength,
  index_bytes: site.index.bytes,
  ms: Date.now() - started,
}));
