// Where everything is that the benchmarks measure, and how they run the native programs.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export function readSetting() {
  const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
  const { env } = process;
  const cache = env.POLYGRAPH_DIR ?? path.join(env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache"), "polygraph");
  const build = env.POLYGRAPH_BUILD ?? path.join(root, "build/default");
  return {
    root,
    cache,
    build,
    dist: env.POLYGRAPH_DIST ?? path.join(root, "dist"),
    shared: env.POLYGRAPH_SHARED ?? path.join(root, "../shared"),
    program: env.POLYGRAPH_PROGRAM ?? path.join(build, "cli/polygraph"),
    /** Of the default corpus. */
    index: path.join(cache, "index/docker-doc.polygraph"),
  };
}

export function must(file, what) {
  if (!existsSync(file)) throw new Error(`${what} is missing: ${file}; \`./polygraph bench\` builds it`);
  return file;
}

/** Runs a program to its end; its messages go to stderr. Gives its stdout. */
export function output(command, args, { input, env = {} } = {}) {
  const { status, stdout, error } = spawnSync(command, args, {
    input,
    encoding: "utf8",
    env: { ...process.env, ...env },
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "inherit"],
    maxBuffer: 1 << 28,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${path.basename(command)} ${args[0] ?? ""} ended with ${status}`);
  return stdout;
}

/** A native benchmark program, built first. */
export function benchProgram(setting, target) {
  output("cmake", ["--build", setting.build, "--target", target]);
  return must(path.join(setting.build, "tests/bench", target), `the program ${target}`);
}

/** The index of the larger corpus beside the checkout, built when it is missing; null where there is no such corpus. */
export function dockerDocsIndex(setting) {
  const file = path.join(setting.cache, "index/docker-docs.polygraph");
  const corpus = path.join(setting.shared, "corpus/docker-docs");
  if (!existsSync(corpus)) return null;
  if (!existsSync(file)) {
    mkdirSync(path.dirname(file), { recursive: true });
    output(must(setting.program, "the native program"), ["index", "--corpus", `dir:${corpus}`, "--out", file]);
  }
  return file;
}
