// One question end to end with models loaded: where the time goes, natively and on the page, and what reranking costs by the
// number of candidates and their length.

import { percentile, plain } from "./figures.mjs";
import { watchPage, withChromium, withSite } from "./browser.mjs";
import { must, output } from "./setting.mjs";

const warmUp = "What is a dangling image?";
const questions = ["How do I limit a container's memory?", "What does the restart policy unless-stopped do?", "How do I set up an ingress controller on GKE?"];
const candidates = [5, 10, 20];
const lengths = [128, 180, 256];
/** Loading 55 MB of models on a busy machine. */
const modelsMs = 180_000;

/** A step's rows: each effect, and the engine's own work beside it. */
function rows(trace) {
  const list = [];
  for (const step of trace.steps) {
    let own = step.ms;
    for (const effect of step.effects) {
      if (effect.kind === "time") continue;
      own -= effect.ms;
      list.push([`${step.n} ${step.node}`, effect.kind === "score" ? `rerank, ${pairs(effect)} pairs` : effect.kind, effect.ms]);
    }
    list.push([`${step.n} ${step.node}`, "engine", Math.max(0, own)]);
  }
  return [...list, ["", "whole run", trace.totals.ms]];
}
/** Logits are base64 of float32. */
const pairs = ({ result }) => (result?.logits ? Buffer.from(result.logits, "base64").byteLength / 4 : 0);
const rerankMs = (trace) => trace.steps.flatMap((step) => step.effects).filter((effect) => effect.kind === "score").reduce((sum, effect) => sum + effect.ms, 0);

const table = (where, trace) => ({ title: `${where}: ${trace.question} (${trace.status})`, columns: ["step", "work", "ms"], rows: rows(trace) });
const grid = (where, measured) => ({
  title: `${where}: reranking in ms, median of ${questions.length} questions, by candidates and tokens of the longest pair`,
  columns: ["candidates", ...lengths.map((length) => `${length} tokens`)],
  rows: candidates.map((count) => [`${count}`, ...lengths.map((length) => percentile(measured.get(`${count} ${length}`), 0.5))]),
});

/** Asks through `ask(question, set)` with every setting of the grid. */
async function measureGrid(ask) {
  const measured = new Map();
  for (const count of candidates) {
    for (const length of lengths) {
      const times = [];
      for (const trace of await ask(questions, { MAX_REWRITES: "0", RERANK_CANDIDATES: `${count}`, MAX_PAIR_TOKENS: `${length}` })) times.push(rerankMs(trace));
      measured.set(`${count} ${length}`, times);
    }
  }
  return measured;
}

function native(setting) {
  return (asked, set = {}) => {
    const assignments = Object.entries(set).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
    const lines = output(setting.program, ["ask", "--json", "--index", must(setting.index, "the index"), "--config", "tuned", ...assignments], { input: [warmUp, ...asked].map((line) => `${line}\n`).join("") });
    return lines.trimEnd().split("\n").slice(1).map((line) => JSON.parse(line));
  };
}

export async function run(setting) {
  const askNative = native(setting);
  const nativeTraces = askNative(questions);
  const nativeGrid = await measureGrid(askNative);
  return withSite(setting, (site) => withChromium(async (browser) => {
    const page = await browser.newPage();
    await page.addInitScript(watchPage);
    await page.goto(`${site}/`);
    await page.waitForFunction(() => window.bench.models.length > 0 && window.bench.models.every((state) => state.endsWith(" ready")), undefined, { timeout: modelsMs });
    const askPage = async (asked, set = {}) => {
      const traces = [];
      for (const question of asked) {
        const reply = await page.evaluate(([question, set]) => window.bench.call("ask", { question, config: { preset: "tuned", set } }), [question, set]);
        if (reply.error) throw new Error(reply.error.message);
        traces.push(reply.ok.trace);
      }
      return traces;
    };
    await askPage([warmUp]);
    const pageTraces = await askPage(questions);
    const pageGrid = await measureGrid(askPage);
    const threads = await page.evaluate(() => window.bench.threads);
    const where = `in Chromium, ${threads} ${threads === 1 ? "thread" : "threads"}`;
    return {
      figures: [
        plain("native, whole run", percentile(nativeTraces.map((trace) => trace.totals.ms), 0.5), "ms", "median"),
        plain(`${where}, whole run`, percentile(pageTraces.map((trace) => trace.totals.ms), 0.5), "ms", "median"),
      ],
      tables: [...nativeTraces.map((trace) => table("native", trace)), ...pageTraces.map((trace) => table(where, trace)), grid("native", nativeGrid), grid(where, pageGrid)],
    };
  }));
}
