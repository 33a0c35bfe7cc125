// Runs the TypeScript tests under a folder: bundles each *.test.ts with esbuild and hands them to Node's test runner.
//
//   node tests/run.mjs tests/web [name-part …]
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const [folder, ...parts] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node tests/run.mjs FOLDER [NAME-PART …]");
  process.exit(2);
}

const tests = readdirSync(path.join(root, folder), { recursive: true })
  .map((file) => path.join(root, folder, file.toString()))
  .filter((file) => file.endsWith(".test.ts") && (parts.length === 0 || parts.some((part) => file.includes(part))))
  .sort();
if (tests.length === 0) {
  console.error(`no *.test.ts under ${folder}`);
  process.exit(1);
}

// The bundles stand inside the checkout, so that packages left outside them are found.
const out = path.join(root, "build", "tests-js", folder.replaceAll(path.sep, "-"));
rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: tests,
  outdir: out,
  outbase: path.join(root, folder),
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  sourcemap: "inline",
  logLevel: "warning",
});
const bundles = readdirSync(out, { recursive: true })
  .map((file) => path.join(out, file.toString()))
  .filter((file) => file.endsWith(".test.mjs"));
const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...bundles], { stdio: "inherit", cwd: root });
process.exit(run.status ?? 1);
