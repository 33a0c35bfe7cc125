// What is distributed carries the notices of what it contains: each built file is held against the packages that esbuild finds
// behind it, in another build than the one that wrote the file.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { build } from "esbuild";

const dist = path.resolve(process.env.POLYGRAPH_DIST ?? "dist");
const engineParts = ["nlohmann/json", "tl::expected", "xxHash", "Unicode Character Database", "Hugging Face tokenizers", "Emscripten", "musl", "LLVM's libc++"];
const engineTexts = ["Copyright (c) 2013-2022 Niels Lohmann", "CC0 Public Domain Dedication", "Copyright (c) 2012-2014 Yann Collet", "Redistributions in binary form must reproduce",
  "UNICODE, INC. LICENSE AGREEMENT", "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION", "The Emscripten Authors", "Rich Felker", "you may redistribute such embedded portions"];

const distributed: { file: string; entries: string[]; engine: boolean; runtime?: boolean; made: string }[] = [
  {
    file: "site/licences.txt", engine: true, runtime: true, made: "site --index FILE",
    entries: ["web/ask/ask.ts", "web/trace/inspector.ts", "web/trace/worker.ts", "web/report/report.ts", "web/review/review.ts", "web/report/local/evaluation-worker.ts",
      "web/worker/engine-worker.ts", "web/worker/model-worker.ts", "web/service-worker.ts"],
  },
  { file: "element/files/polygraph-licences.txt", engine: true, runtime: true, made: "element", entries: ["web/element/loader.ts", "web/element/dialog.ts", "web/worker/engine-worker.ts", "web/worker/model-worker.ts"] },
  { file: "library/licences.txt", engine: true, made: "library", entries: [] },
  { file: "report.html", engine: false, made: "pages", entries: ["web/report/report.ts"] },
  { file: "review.html", engine: false, made: "pages", entries: ["web/review/review.ts"] },
  { file: "trace.html", engine: true, made: "trace", entries: ["web/trace/inspector.ts"] },
];

/** Names and folders of the packages behind some files of TypeScript, those without a byte in the result left out. */
async function packagesBehind(entries: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  if (entries.length === 0) return found;
  const { metafile } = await build({
    entryPoints: [...entries], bundle: true, write: false, format: "esm", minify: true, outdir: "out", metafile: true, logLevel: "error", conditions: ["onnxruntime-web-use-extern-wasm"],
  });
  for (const output of Object.values(metafile.outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(output.inputs)) {
      const parts = file.split("/");
      const at = parts.lastIndexOf("node_modules");
      if (at < 0 || bytesInOutput === 0) continue;
      const name = parts.slice(at + 1, at + (parts[at + 1]!.startsWith("@") ? 3 : 2));
      found.set(name.join("/"), path.join(...parts.slice(0, at + 1), ...name));
    }
  }
  return found;
}

const spaced = (text: string): string => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&").replace(/\s+/g, " ");

for (const { file, entries, engine, runtime, made } of distributed) {
  const at = path.join(dist, file);
  test(`${file} names what it contains, with the licences' texts`, { skip: existsSync(at) ? false : `not built: node web/build.mjs ${made}` }, async () => {
    const text = spaced(readFileSync(at, "utf8"));
    const packages = await packagesBehind(entries);
    if (entries.includes("web/report/report.ts")) assert.ok(["@observablehq/plot", "d3-scale", "marked"].every((name) => packages.has(name)), [...packages.keys()].join(" "));
    for (const [name, folder] of packages) {
      const { version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as { version: string; license: string };
      assert.ok(text.includes(`${name} ${version} (${license})`), name);
      const licence = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
      if (licence) assert.ok(text.includes(spaced(readFileSync(path.join(folder, licence), "utf8")).trim()), `the licence of ${name}`);
      else assert.ok(name.startsWith("onnxruntime-") && text.includes("Copyright (c) Microsoft Corporation"), name);
    }
    for (const part of engine ? [...engineParts, ...engineTexts] : []) assert.ok(text.includes(part), part);
    if (runtime) for (const part of ["onnxruntime-web 1.", "Copyright (c) Microsoft Corporation", "protocolbuffers/protobuf", "Mozilla Public License Version 2.0", "The RE2 Authors"]) assert.ok(text.includes(part), part);
  });
}

test("the site's pages lead to its licences, and the service worker keeps them", { skip: existsSync(path.join(dist, "site")) ? false : "not built: node web/build.mjs site --index FILE" }, () => {
  const site = (name: string): string => readFileSync(path.join(dist, "site", name), "utf8");
  for (const name of ["index.html", "trace.html", "report.html", "review.html"]) assert.match(site(name), /<footer[^]*<a href="licences\.txt">Licences<\/a>[^]*<\/footer>/, name);
  const manifest = JSON.parse(/^const MANIFEST=(.*);$/m.exec(site("service-worker.js"))![1]!) as { files: string[] };
  assert.ok(manifest.files.includes("licences.txt"));
});
