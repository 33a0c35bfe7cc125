// What a visitor downloads, in bytes.

import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { atMost, plain } from "./figures.mjs";
import { must } from "./setting.mjs";

const gzipped = (file) => gzipSync(readFileSync(file), { level: 9 }).byteLength;
const brotli = (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength } }).byteLength;

export async function run({ dist, index }) {
  const folder = path.join(dist, "site");
  const site = JSON.parse(readFileSync(must(path.join(folder, "site.json"), "the site"), "utf8"));
  const html = readFileSync(path.join(folder, "index.html"), "utf8");
  const figures = [atMost("index of docker-doc", statSync(must(index, "the index")).size, "bytes", 5_000_000)];
  for (const [name, file] of [["engine", site.engine_wasm], ["engine without SIMD", site.engine_baseline_wasm]]) {
    const bytes = readFileSync(path.join(folder, file));
    figures.push(atMost(`${name}, WebAssembly`, bytes.byteLength, "bytes", 400_000));
    figures.push(atMost(`${name}, Brotli`, brotli(bytes), "bytes", 150_000));
  }
  // The page's own code: what index.html names, the engine's worker and its loader, and the service worker. The model worker is
  // onnxruntime-web but for a few lines.
  const named = [...html.matchAll(/(?:src|href)="(assets\/[^"]+\.(?:js|css))"/g)].map((match) => match[1]);
  const own = [...new Set([...named, site.engine_worker, site.engine, "service-worker.js"])];
  const sizes = own.map((file) => [file.replace(/^assets\//, ""), gzipped(path.join(folder, file))]);
  figures.push(atMost("page's JavaScript and CSS, gzip", sizes.reduce((sum, [, bytes]) => sum + bytes, 0), "bytes", 120_000, "without onnxruntime-web"));
  figures.push(plain("model worker with onnxruntime-web's JavaScript, gzip", gzipped(path.join(folder, site.model_worker)), "bytes"));
  return { figures, tables: [{ title: "The page's own files", columns: ["file", "gzip bytes"], rows: sizes }] };
}
