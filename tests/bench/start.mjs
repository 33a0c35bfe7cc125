// From the command to a page that answers: the second start of the demo, the first passages after navigation, and the work
// between a keypress and its passages.

import { spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { atMost, percentile, plain } from "./figures.mjs";
import { ended, watchPage, withChromium } from "./browser.mjs";

const visits = 5;
const typed = ["How do I limit a container's memory?", "docker-compose.yml", "bind mount permissions"];
/** Between two keypresses of a quick typist. */
const keyMs = 60;

/** Starts the demo and gives its address and how long that took. */
async function startDemo(root) {
  const begun = performance.now();
  const demo = spawn(path.join(root, "polygraph"), ["demo", "--port", "0"], { cwd: root, stdio: ["ignore", "inherit", "pipe"] });
  const address = await new Promise((resolve, reject) => {
    let found = null;
    createInterface({ input: demo.stderr }).on("line", (line) => {
      if (found) return;  // the server's log of requests
      found = /answers at .*?(http:\/\/[0-9a-z.:[\]]+)/.exec(line);
      if (found) resolve(found[1]);
      else console.error(line);
    });
    demo.once("error", reject);
    demo.once("exit", (code) => reject(new Error(`./polygraph demo ended with ${code}`)));
  });
  return { demo, address, ms: performance.now() - begun };
}

/** Types a question as soon as the page has a worker to ask. */
function typeAtOnce(question) {
  const timer = setInterval(() => {
    if (window.bench?.ready == null) return;
    clearInterval(timer);
    const field = document.getElementById("question");
    field.value = question;
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }, 1);
}

export async function run({ root }) {
  const { demo, address, ms } = await startDemo(root);
  try {
    return await withChromium(async (browser) => {
      const first = [];
      for (let i = 0; i < visits; ++i) {
        const context = await browser.newContext();  // nothing cached
        const page = await context.newPage();
        await page.addInitScript(watchPage);
        await page.addInitScript(typeAtOnce, typed[0]);
        await page.goto(`${address}/`);
        await page.waitForFunction(() => window.bench.firstPassages !== null, undefined, { timeout: 60_000 });
        first.push(await page.evaluate(() => window.bench.firstPassages));
        await context.close();
      }

      // Lexical only: models that load at the same time are another measurement.
      const page = await browser.newPage();
      await page.addInitScript(watchPage);
      await page.addInitScript(typeAtOnce, typed[0]);
      await page.goto(`${address}/`);
      await page.waitForFunction(() => window.bench.models.length > 0 && window.bench.models.every((state) => !/ (waiting|loading|starting)$/.test(state)), undefined, { timeout: 180_000 });
      await page.evaluate(() => Object.assign(window.bench, { keys: [], calls: [] }));
      for (const question of typed) {
        await page.locator("#question").fill("");
        await page.locator("#question").pressSequentially(question, { delay: keyMs });
      }
      await page.waitForTimeout(500);
      const { keys, calls } = await page.evaluate(() => ({ keys: window.bench.keys, calls: window.bench.calls.filter(({ kind }) => kind === "typeahead").map(({ ms }) => ms) }));
      return {
        figures: [
          atMost("second start of the demo", ms / 1000, "s", 5),
          atMost("first passages after navigation", percentile(first, 0.5), "ms", 1000, `median of ${visits} visits without a cache, worst ${percentile(first, 1).toFixed(0)}`),
          atMost("keypress to passages, p95", percentile(keys, 0.95), "ms", 16, `${keys.length} keypresses, p50 ${percentile(keys, 0.5).toFixed(1)}`),
          plain("of it the worker's call, p95", percentile(calls, 0.95), "ms", `p50 ${percentile(calls, 0.5).toFixed(1)}`),
        ],
      };
    });
  } finally {
    await ended(demo);
  }
}
