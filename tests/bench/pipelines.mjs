// What a call of a pipeline costs beyond the pipeline's own time, which is next to nothing here: five ready passages.

import { atMost, percentile, plain } from "./figures.mjs";
import { benchProgram, output } from "./setting.mjs";

export async function run(setting) {
  const microseconds = JSON.parse(output(benchProgram(setting, "pipelines_bench"), []));
  const at = (kind, p) => percentile(microseconds[kind], p) / 1000;
  return {
    figures: [
      atMost("a call of a command", at("command", 0.5), "ms", 0.2, "median; the command's own time is within it"),
      plain("a call of a command, p95", at("command", 0.95), "ms"),
      plain("through the Python shim", at("python", 0.5), "ms", "median"),
      plain("through the JavaScript shim", at("javascript", 0.5), "ms", "median"),
    ],
  };
}
