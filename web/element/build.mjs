// Builds the npm package of <polygraph-ask>: the loader, what it loads, a command that puts them into a site, types, README.
//
//   package.json README.md LICENSE polygraph-ask.d.ts command.mjs
//   files/polygraph-ask.js      the loader; the other files have their digest in their name
//   files/polygraph-isolation.js  the service worker that isolates a site's pages
//   files/polygraph-licences.txt  the notices of what the files contain of others; goes into the site with them
//   files/polygraph-ask.json    which of them a site needs, and which only with models
//
// Beside the folder stands polygraph-ask.tgz, as `npm pack` makes it.
//
// Models are no part of the package: the command copies them from where `polygraph models fetch` keeps them.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import zlib from "node:zlib";
import { build, transform } from "esbuild";
import { shadowStyle } from "./style.mjs";

const loaderName = "polygraph-ask.js";
const licencesName = "polygraph-licences.txt";

/** @param bundle makes one file of JavaScript from TypeScript @returns what was built, for people */
export async function elementPackage({ root, debug, bundle, licences, engine, out }) {
  const staging = `${out}.new`;
  const folder = path.join(staging, "files");
  await rm(staging, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });

  const put = async (name, bytes) => {
    const { name: stem, ext } = path.parse(name);
    const target = `${stem}-${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}${ext}`;
    await writeFile(path.join(folder, target), bytes);
    return target;
  };
  const style = async (...names) => {
    let css = "";
    for (const name of names) {
      const bundled = await build({ entryPoints: [path.join(root, name)], bundle: true, write: false, logLevel: "warning" });
      css += bundled.outputFiles[0].text;
    }
    const { code } = await transform(shadowStyle(css), { loader: "css", minify: !debug, target: ["chrome109", "firefox115", "safari16.4"] });
    return JSON.stringify(code.trim());
  };
  const read = (file) => readFile(path.join(root, file), "utf8");
  const engineFile = (name) => readFile(path.join(engine, name));
  const ort = path.join(root, "node_modules/onnxruntime-web/dist");

  const { version } = JSON.parse(await read("package.json"));
  const manifest = JSON.parse(await read("assets/models.json"));
  const files = {
    version,
    dialog: await put("dialog.js", await bundle("web/element/dialog.ts", { define: { DIALOG_STYLE: await style("web/element/dialog.css") } })),
    engine: await put("engine.mjs", await engineFile("polygraph-engine.mjs")),
    engine_wasm: await put("engine.wasm", await engineFile("polygraph-engine.wasm")),
    engine_baseline: await put("engine-baseline.mjs", await engineFile("polygraph-engine-baseline.mjs")),
    engine_baseline_wasm: await put("engine-baseline.wasm", await engineFile("polygraph-engine-baseline.wasm")),
    engine_worker: await put("engine-worker.js", await bundle("web/worker/engine-worker.ts")),
    model_worker: await put("model-worker.js", await bundle("web/worker/model-worker.ts", { conditions: ["onnxruntime-web-use-extern-wasm"] })),
    ort: {
      mjs: await put("ort.mjs", await readFile(path.join(ort, "ort-wasm-simd-threaded.mjs"))),
      wasm: await put("ort.wasm", await readFile(path.join(ort, "ort-wasm-simd-threaded.wasm"))),
    },
    models: manifest.models.flatMap(({ role, name, files: parts }) => {
      const file = parts.find((part) => part.name === "model.onnx");
      return role === "embedder" || role === "reranker" ? [{ role, name, url: `${role}-${file.sha256.slice(0, 16)}.onnx`, sha256: file.sha256, bytes: file.bytes }] : [];
    }),
    languages: {},
  };
  for (const language of ["de"]) {
    const words = JSON.parse(await read(`web/element/languages/${language}.json`));
    const frame = Object.fromEntries(Object.entries(words).filter(([name]) => name.startsWith("frame.")));
    files.languages[language] = { file: await put(`${language}.json`, JSON.stringify(words)), frame };
  }
  const loader = await bundle("web/element/loader.ts", { define: { FILES: JSON.stringify(files), STYLE: await style("web/ask/colours.css", "web/element/frame.css") } });
  await writeFile(path.join(folder, loaderName), loader);
  await writeFile(path.join(folder, "polygraph-isolation.js"), await bundle("web/element/isolation.ts", { format: "iife" }));

  licences.addEngine();
  licences.addRuntime();
  await writeFile(path.join(folder, licencesName), await licences.text());

  const { dialog, engine: engineModule, engine_wasm, engine_baseline, engine_baseline_wasm, engine_worker, model_worker, models } = files;
  await writeFile(path.join(folder, "polygraph-ask.json"), JSON.stringify({
    files: [loaderName, licencesName, dialog, engine_worker, engineModule, engine_wasm, engine_baseline, engine_baseline_wasm, ...Object.values(files.languages).map(({ file }) => file)],
    runtime: [model_worker, files.ort.mjs, files.ort.wasm],
    models,
  }));

  await build({
    entryPoints: [path.join(root, "web/element/command.ts")], bundle: true, platform: "node", format: "esm", target: "node20", minify: false,
    outfile: path.join(staging, "command.mjs"), banner: { js: "#!/usr/bin/env node" }, logLevel: "warning",
  });
  await copyFile(path.join(root, "LICENSE"), path.join(staging, "LICENSE"));
  for (const name of ["README.md", "polygraph-ask.d.ts"]) await copyFile(path.join(root, "web/element/package", name), path.join(staging, name));
  await writeFile(path.join(staging, "package.json"), `${JSON.stringify({
    name: "polygraph-ask",
    version,
    description: "Ask the docs: a custom element that searches and answers over a documentation site inside the visitor's browser.",
    license: "MIT",
    type: "module",
    bin: { "polygraph-ask": "command.mjs" },
    exports: { ".": { types: "./polygraph-ask.d.ts", default: `./files/${loaderName}` }, "./files/*": "./files/*" },
    types: "polygraph-ask.d.ts",
    files: ["files", "command.mjs", "polygraph-ask.d.ts"],
    engines: { node: ">=20" },
    keywords: ["documentation", "search", "question answering", "custom element", "webassembly"],
  }, null, 2)}\n`);

  await rm(out, { recursive: true, force: true });
  if (existsSync(out)) throw new Error(`${out} could not be replaced`);
  await rename(staging, out);
  const packed = execFileSync("npm", ["pack", path.resolve(out), "--pack-destination", path.dirname(out), "--silent"], { encoding: "utf8" }).trim();
  const tarball = path.join(path.dirname(out), "polygraph-ask.tgz");
  await rename(path.join(path.dirname(out), packed), tarball);
  const gzipped = (bytes) => zlib.gzipSync(bytes, { level: 9 }).byteLength;
  return {
    package: path.relative(process.cwd(), out) || ".", version, tarball_bytes: (await stat(tarball)).size,
    loader_gzip_bytes: gzipped(loader), dialog_gzip_bytes: gzipped(await readFile(path.join(out, "files", dialog))),
  };
}
