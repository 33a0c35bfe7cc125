// `./polygraph bench [NAME …] [--json]`: Polygraph's figures beside the limits that it set itself. A missed limit is printed as
// missed and fails nothing: a figure depends on the machine.
//
//   size      what a visitor downloads: index, engine, page
//   element   <polygraph-ask>: bytes by stage, opening to the first passages
//   search    queries and typing in Chromium, beside other search libraries over the same passages, and natively
//   quality   retrieval and refusal over a golden set
//   stages    one question end to end, by stage, natively and in Chromium; reranking by candidates and length
//   start     from `./polygraph demo` to a page that answers
//   pipelines what a call costs beyond the pipeline's own time: a command, the shims
//   inspector 10,000 traces listed and scrolled, a trace replayed
//   proxy     static files beside nginx, idle connections, the time added to a model's own, start
//   rebuild   an index after one page changed, beside building it from nothing
//   metrics   metrics, intervals and tests over 10,000 items, beside ranx and scipy
//
// Run through the entry script, which builds what is measured. --json prints one document on stdout.

import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";
import { print } from "./figures.mjs";
import { readSetting } from "./setting.mjs";

const names = ["size", "element", "search", "quality", "stages", "start", "pipelines", "inspector", "proxy", "rebuild", "metrics"];
let flags, chosen;
try {
  ({ values: flags, positionals: chosen } = parseArgs({ allowPositionals: true, options: { json: { type: "boolean", default: false } } }));
  const unknown = chosen.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`there is no benchmark ${unknown}`);
} catch (error) {
  console.error(`bench: ${error.message}; usage: ./polygraph bench [--json] [${names.join("|")} …]`);
  process.exit(2);
}

const setting = readSetting();
const document = { kind: "bench", cores: availableParallelism(), cpu: cpus()[0]?.model.trim() ?? "", node: process.version, benchmarks: {} };
if (!flags.json) console.log(`${document.cores} cores, ${document.cpu}, Node.js ${document.node}`);
let broken = false;
for (const name of chosen.length > 0 ? chosen : names) {
  console.error(`bench: ${name} …`);
  try {
    const { run } = await import(["search", "metrics"].includes(name) ? `./${name}/${name}.mjs` : `./${name}.mjs`);
    const result = await run(setting);
    document.benchmarks[name] = result;
    if (!flags.json) print(name, result);
  } catch (error) {
    broken = true;
    document.benchmarks[name] = { error: error.message };
    console.error(`bench: ${name}: ${error.message}`);
  }
}
if (flags.json) console.log(JSON.stringify(document, null, 2));
process.exit(broken ? 1 : 0);
