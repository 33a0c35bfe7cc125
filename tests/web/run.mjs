// Bundles the TypeScript tests (tests/web/**/*.test.ts) and runs them with Node's own test runner.
// Arguments name folders or files below tests/web; none means all: `node tests/web/run.mjs models`
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
// Inside the checkout, so that packages that are not bundled are found.
const out = join(root, "build", "web-tests");

const wanted = process.argv.slice(2);
const tests = readdirSync(here, { recursive: true })
  .map(String)
  .filter((path) => path.endsWith(".test.ts") && (wanted.length === 0 || wanted.some((name) => path === name || path.startsWith(name + sep))))
  .sort();
if (tests.length === 0) {
  console.error(`no test under tests/web matches ${wanted.join(" ") || "*.test.ts"}`);
  process.exit(1);
}

rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: tests.map((path) => join(here, path)),
  outdir: out,
  outbase: here,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  packages: "external",
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
  logLevel: "warning",
});
const files = tests.map((path) => relative(root, join(out, path.replace(/\.ts$/, ".mjs"))));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], { cwd: root, stdio: "inherit" });
process.exit(status ?? 1);
