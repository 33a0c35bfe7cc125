// Builds the trace inspector: as a page of the site, and as one file that opens from disk with the engine inside.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import zlib from "node:zlib";
import { build } from "esbuild";

const sitePolicy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self'; " +
  "object-src 'none'; base-uri 'none'; form-action 'none'";

const attribute = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
const hashed = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const filled = (template, parts) => template.replace(/%(POLICY|SITE|ICON|STYLE|LICENCES|BODY)%/g, (_, name) => parts[name]);

async function styleOf(root, debug) {
  const style = await build({ entryPoints: [path.join(root, "web/trace/trace.css")], bundle: true, write: false, minify: !debug, logLevel: "warning" });
  return style.outputFiles[0].text;
}

/**
 * The site's page. `put` stores a file under its digest; `bundle` makes one from TypeScript.
 * `foot`: what leads to the licences. Adds `site.trace_worker`; gives the page as a function of the site's final record, and the files that it needs.
 */
export async function inspectorPage({ root, debug, put, bundle, site, icon, foot }) {
  site.trace_worker = await put("trace-worker.js", await bundle("web/trace/worker.ts"));
  const css = await put("trace.css", await styleOf(root, debug));
  const js = await put("trace.js", await bundle("web/trace/inspector.ts"));
  const template = await readFile(path.join(root, "web/trace/trace.html"), "utf8");
  return {
    files: [css, js, site.trace_worker],
    html: () => filled(template, {
      POLICY: sitePolicy,
      SITE: attribute(JSON.stringify(site)),
      ICON: icon,
      STYLE: `<link rel="stylesheet" href="${css}">`,
      LICENCES: foot,
      BODY: `<script type="module" src="${js}"></script>`,
    }),
  };
}

/** The page in one file. Its WebAssembly is the build without SIMD, which every browser runs; replay gives the same bits. */
export async function inspectorFile({ root, debug, bundle, licences, engine }) {
  const modulePath = path.join(engine, "polygraph-engine-baseline.mjs");
  // What would end a script element early, or open a comment inside it, can only stand in a literal: there this says the same.
  const text = (bytes) => new TextDecoder().decode(bytes).replace(/<(?=\/script|!--|script)/gi, "\\x3C");
  const worker = text(await bundle("web/trace/file-worker.ts", {
    format: "iife",
    alias: { "polygraph-engine": modulePath },
    // The module's own address is never asked for: it is given its bytes.
    define: { "import.meta.url": '""' },
  }));
  const page = text(await bundle("web/trace/inspector.ts", { format: "iife" }));
  const style = await styleOf(root, debug);
  const wasm = zlib.gzipSync(await readFile(path.join(engine, "polygraph-engine-baseline.wasm")), { level: 9 }).toString("base64");
  licences.addEngine();
  const icon = await readFile(path.join(root, "assets/page/icon.svg"));
  const policy = [
    "default-src 'none'", `script-src ${hashed(page)} 'wasm-unsafe-eval'`, "worker-src blob:", `style-src ${hashed(style)}`, "img-src data:",
    "connect-src 'none'", "object-src 'none'", "base-uri 'none'", "form-action 'none'",
  ].join("; ");
  return filled(await readFile(path.join(root, "web/trace/trace.html"), "utf8"), {
    POLICY: policy,
    SITE: "",
    ICON: `data:image/svg+xml;base64,${icon.toString("base64")}`,
    STYLE: `<style>${style}</style>`,
    LICENCES: await licences.element(),
    BODY: `<script type="text/plain" id="worker-script">${worker}</script>\n  <script type="text/plain" id="engine-wasm">${wasm}</script>\n  <script>${page}</script>`,
  });
}
