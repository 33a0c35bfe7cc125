// Metrics, intervals and tests over 10,000 items and 4 configurations, beside ranx and scipy for the same figures in the same run.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { atMost, plain } from "../figures.mjs";
import { benchProgram, output } from "../setting.mjs";

/** How many items scipy gets: it takes minutes for 10,000. */
const fewerItems = 200;
const folder = path.dirname(fileURLToPath(import.meta.url));

/** What the peers compute, null with a note where their packages can't be had. */
function peers(setting, data, fewer) {
  const requirements = path.join(folder, "requirements.txt");
  const env = { POLYGRAPH_ORACLE_REQUIREMENTS: requirements, POLYGRAPH_DIR: setting.cache, CI: "" };
  try {
    return JSON.parse(output(path.join(setting.root, "tests/oracles/run.sh"), [path.join(folder, "peers.py"), data, fewer], { env }));
  } catch (error) {
    console.error(`bench: ranx and scipy: ${error.message}`);
    return null;
  }
}

export async function run(setting) {
  const data = mkdtempSync(path.join(tmpdir(), "polygraph-metrics-"));
  try {
    const program = benchProgram(setting, "metrics_bench");
    const fewer = path.join(data, "fewer");
    mkdirSync(fewer);
    const own = JSON.parse(output(program, [data]));
    const small = JSON.parse(output(program, [fewer, String(fewerItems)]));
    const peer = peers(setting, data, fewer);
    const over = `${own.items.toLocaleString("en")} items, ${own.configurations} configurations, 12 metrics, 6 pairs`;
    const figures = [
      atMost("metrics, intervals and tests", (own.retrieval_ms + own.intervals_ms + own.pairs_ms) / 1000, "s", 2, `${over}; processor time`),
      plain("of these: retrieval metrics", own.retrieval_ms, "ms"),
      plain("of these: intervals", own.intervals_ms, "ms"),
      plain("of these: tests and intervals of pairs", own.pairs_ms, "ms"),
    ];
    if (peer === null) return { figures, notes: ["Without ranx and scipy: their packages could not be installed."] };
    const row = (name, key, ours, whose) => [name, ours[key], peer[key], peer[key] / ours[key], whose];
    return {
      figures,
      tables: [
        {
          title: "The same figures by others, processor time",
          columns: ["", "ours ms", "theirs ms", "theirs to ours", "by"],
          rows: [
            row("six retrieval metrics of four runs", "retrieval_ms", own, `ranx, ${own.items} items`),
            row("twelve intervals of one configuration", "one_configuration_ms", small, `scipy, ${fewerItems} items`),
            row("twelve tests and intervals of one pair", "one_pair_ms", small, `scipy, ${fewerItems} items`),
          ],
        },
        {
          title: "What came out over the fewer items, ours and theirs (random draws differ)",
          columns: ["", "mean", "theirs", "low", "theirs", "high", "theirs", "p", "theirs"],
          rows: Object.entries(small.figures).map(([name, ours]) => {
            const theirs = peer.figures[name];
            return [name, ...["mean", "low", "high", "p"].flatMap((key) => [ours[key].toPrecision(4), theirs[key].toPrecision(4)])];
          }),
        },
      ],
    };
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}
