// assets/THIRD_PARTY.md names everything that is installed: npm packages, Python packages, system packages.

import assert from "node:assert/strict";
import { test } from "node:test";
import { text, trackedFiles } from "./tree.ts";

const document = text("assets/THIRD_PARTY.md");
/** Python's packages are the same with "-", "_" and "."; nobody is held to capitals. */
const folded = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, "-");
const words = new Set(folded(document).match(/@?[\w-]+(?:\/[\w-]+)?/g));
const names = (name: string): boolean => words.has(folded(name)) || words.has(`${folded(name)}`.replace(/^@/, ""));
const unnamed = (all: readonly string[]): string[] => all.filter((name) => !names(name));

test("npm packages", () => {
  const files = ["package.json", ...["docusaurus", "html", "vitepress"].map((site) => `tests/sites/${site}/package.json`)];
  const all = files.flatMap((file) => {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(text(file)) as Record<string, Record<string, string> | undefined>;
    return [...Object.keys(dependencies), ...Object.keys(devDependencies)];
  });
  assert.ok(all.includes("marked") && all.includes("typescript"));
  assert.deepEqual(unnamed(all), []);
});

test("system packages", () => {
  const all = ["polygraph", "tests/groups.sh"].flatMap((file) =>
    [...text(file).matchAll(/^\w+_packages=\(([^)]*)\)/gm)].flatMap((match) => match[1]!.split(/\s+/).filter(Boolean)));
  assert.ok(all.includes("cmake") && all.includes("wrk"));
  // What is chosen by what the machine has, and the wheel of Node.js.
  const chosen = [...text("polygraph").matchAll(/\becho (lib[\w.+-]+)|\$\(browser_packages ([\w -]+)\)/g)];
  all.push(...chosen.flatMap((match) => (match[1] ?? match[2]!).split(" ")));
  all.push(/^node_wheel=([\w-]+)==/m.exec(text("polygraph"))![1]!);
  assert.ok(all.includes("firefox-esr") && all.includes("chromium") && all.includes("libboost-dev"));
  assert.deepEqual(unnamed(all), []);
});

test("Python packages", (t) => {
  const files = trackedFiles()?.filter((file) => file.endsWith("requirements.txt"));
  if (!files) return t.skip("this is no git checkout");
  assert.ok(files.length >= 6);
  const all = files.flatMap((file) => [...text(file).matchAll(/^([\w.-]+)==/gm)].map((match) => match[1]!));
  assert.ok(all.includes("ranx"));
  assert.deepEqual(unnamed([...new Set(all)]), []);
});
