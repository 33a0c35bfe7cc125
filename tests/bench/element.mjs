// <polygraph-ask> on a plain page: bytes by stage, from the loader to a question with models, and the time from its opening to the
// first passages.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { withChromium, withFiles } from "./browser.mjs";
import { atMost, percentile, plain } from "./figures.mjs";
import { must } from "./setting.mjs";

const openings = 7;
const typed = "memory limit";
const question = "How do I limit a container's memory?";
const types = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".json": "application/json" };

/** Opens the dialog, types, and gives the milliseconds until passages stand in it. */
async function firstPassages(query) {
  const element = document.querySelector("polygraph-ask");
  const field = element.shadowRoot.querySelector("input");
  const begun = performance.now();
  const shown = new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      if (!element.shadowRoot.querySelector(".typed a.passage")) return;
      observer.disconnect();
      resolve(performance.now() - begun);
    }).observe(element.shadowRoot, { childList: true, subtree: true });
  });
  element.show();
  field.value = query;
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  return shown;
}

/** Asks, and resolves with the status of the answer that used every stage that the site offers. */
async function answered({ asked, models }) {
  const element = document.querySelector("polygraph-ask");
  const done = new Promise((resolve) => {
    for (const name of ["polygraph-answer", "polygraph-refusal"]) {
      element.addEventListener(name, ({ detail }) => {
        if (!models || detail.trace.stages.rerank.startsWith("used")) resolve(detail.trace.status);
        else setTimeout(() => element.ask(asked), 1000);  // the models are still on their way
      });
    }
  });
  element.ask(asked);
  return done;
}

export async function run({ dist, index, cache }) {
  const command = must(path.join(dist, "element/command.mjs"), "the element");
  const folder = mkdtempSync(path.join(tmpdir(), "polygraph-bench-"));
  try {
    execFileSync("node", [command, "copy", folder, "--models", path.join(cache, "models")], { stdio: ["ignore", "ignore", "inherit"] });
    const files = {};
    for (const name of readdirSync(folder)) files[`/ask/${name}`] = { type: types[path.extname(name)] ?? "application/octet-stream", body: readFileSync(path.join(folder, name)) };
    files["/docs.polygraph"] = { type: "application/octet-stream", body: readFileSync(must(index, "the index")) };
    for (const models of ["none", "auto"]) {
      const body = `<!doctype html><title>Bench</title><link rel="icon" href="data:,"><script type="module" src="/ask/polygraph-ask.js"></script><polygraph-ask src="/docs.polygraph" models="${models}"></polygraph-ask>`;
      files[`/${models}.html`] = { type: "text/html", body };
    }
    // Hosts compress what compresses; models hardly do.
    const bytesOf = (name) => (name.endsWith(".onnx") ? files[name].body.byteLength : gzipSync(files[name].body, { level: 9 }).byteLength);
    let seen = [];
    const taken = () => {
      const names = seen.filter((name) => files[name] && !name.endsWith(".html"));
      seen = [];
      return names;
    };
    const sum = (names) => names.reduce((total, name) => total + bytesOf(name), 0);

    return await withFiles(files, (address) => withChromium(async (browser) => {
      const times = [];
      let stages;
      for (let i = 0; i < openings; ++i) {
        const context = await browser.newContext();  // nothing cached
        const page = await context.newPage();
        seen = [];
        await page.goto(`${address}/none.html`);
        await page.waitForTimeout(300);
        const loader = taken();
        times.push(await page.evaluate(firstPassages, typed));
        const opened = taken();
        await page.evaluate(answered, { asked: question, models: false });
        stages = { loader, opened, asked: taken() };
        await context.close();
      }
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(`${address}/auto.html`);
      await page.evaluate(firstPassages, typed);
      taken();
      await page.evaluate(answered, { asked: question, models: true });
      const withModels = taken();
      await context.close();

      const short = (names) => names.map((name) => path.basename(name).replace(/-[0-9a-f]{16}/, "")).sort().join(", ");
      return {
        figures: [
          atMost("loader, gzip", sum(stages.loader), "bytes", 15_000, "all that a page fetches until the dialog is opened"),
          plain("opened, to the first passages, gzip", sum(stages.opened), "bytes", "dialog, engine and the whole index of docker-doc"),
          atMost("a question with models=none", sum(stages.asked), "bytes", 0),
          plain("a question with models=auto", sum(withModels), "bytes", "onnxruntime-web and both models, once"),
          atMost("opening to the first passages", percentile(times, 0.5), "ms", 300, `median of ${openings} without a cache, worst ${percentile(times, 1).toFixed(0)}`),
        ],
        tables: [{
          title: "What each stage fetches",
          columns: ["stage", "files"],
          rows: [["loader", short(stages.loader)], ["opened", short(stages.opened)], ["asked", short(stages.asked) || "nothing"], ["asked, with models", short(withModels)]],
        }],
      };
    }), (name) => seen.push(name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
