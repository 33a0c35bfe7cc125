// The trace inspector in one file: 10,000 traces of 20 KB, from the choice of their file to the first list, scrolled, with what
// the page holds of them; and a trace replayed by the engine.

import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { atMost, percentile, plain } from "./figures.mjs";
import { withChromium } from "./browser.mjs";
import { recordedTrace, writeManyTraces } from "./many_traces.mjs";
import { must } from "./setting.mjs";

const traces = 10_000;
const visits = 3;
const replays = 20;
const frames = 300;
const pixelsEach = 250;

/** Scrolls frame by frame; the milliseconds of each frame. */
async function scroll([count, pixels]) {
  const list = document.querySelector(".rows");
  const times = [];
  let most = 0;
  let last = await new Promise(requestAnimationFrame);
  for (let i = 0; i < count; ++i) {
    list.scrollTop += pixels;
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
    most = Math.max(most, document.querySelectorAll(".row").length);
  }
  return { times, most };
}

/** Milliseconds of work of the page's own thread while `work` runs: unlike a frame's length, the same on a busy machine. */
async function workOf(page, work) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  const before = await spent();
  const result = await work();
  const ms = await spent() - before;
  await session.detach();
  return { ms, result };
}

/** Bytes that the page and its worker hold after a collection. */
async function held(page) {
  const session = await page.context().newCDPSession(page);
  const asked = [{ id: 1, method: "HeapProfiler.collectGarbage" }, { id: 2, method: "Runtime.getHeapUsage" }];
  const worker = new Promise((resolve) => session.on("Target.receivedMessageFromTarget", ({ message }) => {
    const { id, result } = JSON.parse(message);
    if (id === 2) resolve(result.usedSize);
  }));
  session.on("Target.attachedToTarget", ({ sessionId }) => {
    for (const message of asked) void session.send("Target.sendMessageToTarget", { sessionId, message: JSON.stringify(message) });
  });
  await session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false });
  await session.send("HeapProfiler.collectGarbage");
  const own = (await session.send("Runtime.getHeapUsage")).usedSize;
  const bytes = own + await worker;
  await session.detach();
  return bytes;
}

export async function run({ root, dist, index }) {
  const inspector = must(path.join(dist, "trace.html"), "the trace inspector");
  const folder = mkdtempSync(path.join(tmpdir(), "polygraph-bench-inspector-"));
  const file = path.join(folder, "traces.jsonl");
  writeManyTraces(root, file, traces);
  const trace = path.join(folder, "trace.json");
  writeFileSync(trace, JSON.stringify(recordedTrace(root, "refused")));
  try {
    return await withChromium(async (browser) => {
      const first = [];
      const whole = [];
      let scrolled;
      let scrolling;
      let bytes = 0;
      for (let i = 0; i < visits; ++i) {
        const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
        await page.goto(pathToFileURL(inspector).href);
        // In the page: what a test's own round trips take is not the page's.
        await page.evaluate((expected) => {
          window.shown = {};
          document.getElementById("files").addEventListener("change", () => (window.shown.begun = performance.now()), true);
          new MutationObserver(() => {
            const { shown } = window;
            if (document.querySelector(".row")) shown.first ??= performance.now() - shown.begun;
            if (document.querySelector(".list-head")?.textContent.startsWith(expected)) shown.whole ??= performance.now() - shown.begun;
          }).observe(document.body, { childList: true, subtree: true, characterData: true });
        }, `${(traces + 1).toLocaleString("en")} traces`);
        await page.locator("#files").setInputFiles(file);
        await page.waitForFunction(() => window.shown.whole !== undefined, undefined, { timeout: 120_000 });
        const shown = await page.evaluate(() => window.shown);
        first.push(shown.first);
        whole.push(shown.whole);
        ({ ms: scrolling, result: scrolled } = await workOf(page, () => page.evaluate(scroll, [frames, pixelsEach])));
        bytes = Math.max(bytes, await held(page));
        await page.close();
      }

      const page = await browser.newPage();
      await page.goto(pathToFileURL(inspector).href);
      await page.locator("#files").setInputFiles([trace, must(index, "the index")]);
      await page.locator("#foot").getByText("Index for replay").waitFor();
      const replayed = [];
      for (let i = 0; i < replays; ++i) {
        await page.getByRole("button", { name: "Replay" }).click();
        const said = await page.locator("p.replay").filter({ hasText: / in [\d.,]+ ms/ }).textContent({ timeout: 30_000 });
        if (!said.startsWith("Identical")) throw new Error(`the replay says: ${said}`);
        replayed.push(Number(/ in ([\d.,]+) ms/.exec(said)[1]));
        await page.keyboard.press("ArrowRight");
      }
      return {
        figures: [
          atMost("inspector in one file", statSync(inspector).size, "bytes", 1_500_000),
          atMost(`first list of ${traces.toLocaleString("en")} traces`, percentile(first, 0.5), "ms", 2000, `${(statSync(file).size / 1e6).toFixed(0)} MB, median of ${visits}, worst ${percentile(first, 1).toFixed(0)}`),
          plain("whole list", percentile(whole, 0.5), "ms"),
          atMost("frame while scrolling, p99", percentile(scrolled.times, 0.99), "ms", 50, `${frames} frames, p50 ${percentile(scrolled.times, 0.5).toFixed(1)}, longest ${percentile(scrolled.times, 1).toFixed(1)}`),
          atMost("of it the page's own work, mean", scrolling / frames, "ms", 8),
          atMost("rows in the document", scrolled.most, "", 80),
          atMost("held of the file, page and worker", bytes / 1e6, "MB", 50),
          atMost("replay of a trace, median", percentile(replayed, 0.5), "ms", 50, `9 steps, ${replays} replays, p95 ${percentile(replayed, 0.95).toFixed(0)}`),
        ],
      };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
