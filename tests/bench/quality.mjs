// Retrieval and refusal over the development questions, by the program `quality` beside this file.

import { existsSync } from "node:fs";
import path from "node:path";
import { atLeast } from "./figures.mjs";
import { benchProgram, dockerDocsIndex, output } from "./setting.mjs";

// What was reached when the design was chosen: the configuration `tuned` has to hold it. Compared at the precision it was
// published with.
const wanted = [
  ["hit@4", 0.952],
  ["mrr@4", 0.92],
  ["answered_of_answerable", 0.79],
  ["refused_of_unanswerable", 0.77],
];
const columns = ["hit@4", "mrr@4", "hit@10", "answered_of_answerable", "refused_of_unanswerable", "answered_of_vague"];

/** "0.952 [0.91, 0.98] n 126" */
const cell = ({ value, low, high, n }) => (value === null ? `– n ${n}` : `${value.toFixed(3)} [${low.toFixed(2)}, ${high.toFixed(2)}] n ${n}`);

export async function run(setting) {
  const dataset = path.join(setting.shared, "golden-dev/docker-docs.jsonl");
  const index = dockerDocsIndex(setting);
  if (index === null || !existsSync(dataset)) {
    return { notes: ["Needs the corpus and the golden set beside the checkout: ../shared/corpus/docker-docs and ../shared/golden-dev (POLYGRAPH_SHARED names another place)."] };
  }
  const { configurations } = JSON.parse(output(benchProgram(setting, "quality"), ["--index", index, "--dataset", dataset, "--json"]));
  const tuned = configurations.find(({ name }) => name === "tuned");
  return {
    figures: wanted.map(([name, limit]) => atLeast(`tuned, ${name.replaceAll("_", " ")}`, Number(tuned[name].value.toFixed(String(limit).length - 2)), "", limit)),
    tables: [{
      title: "Over pages, with 95 % intervals",
      columns: ["configuration", ...columns.map((name) => name.replaceAll("_", " "))],
      rows: configurations.map((row) => [row.name, ...columns.map((name) => cell(row[name]))]),
    }],
    configurations,
  };
}
