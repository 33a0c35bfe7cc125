// What a comment cites can be read: every *.md that one names stands in the tree. Names in `backquotes` are examples of input.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { text, trackedFiles } from "./tree.ts";

const slashes = /\.(hpp|cpp|h|c|inc|ts|mts|mjs|js|css|lua)$/;
const hashes = /(\.(sh|py|cmake|yml|yaml)|CMakeLists\.txt|Dockerfile|^polygraph)$/;

/** The comments of one line. In a string `//` follows a colon, and `#` seldom has a space on both sides. */
function comments(line: string, file: string): string[] {
  if (slashes.test(file)) return [/(?:^|\s)\/\/[/!<]*\s(.*)$/.exec(line)?.[1], /(?:^|\s)\/\*(.*)$/.exec(line)?.[1], /^\s*\*\s(.*)$/.exec(line)?.[1]].filter((each) => each !== undefined);
  return [/(?:^|\s)#\s(.*)$/.exec(line)?.[1]].filter((each) => each !== undefined);
}

/** The documents that a line's comments name, and that are none of `documents`. */
function missing(line: string, file: string, documents: ReadonlySet<string>): string[] {
  const names = comments(line, file).flatMap((comment) => comment.replace(/`[^`]*`/g, "").match(/[\w./*-]*[\w*]\.md\b/g) ?? []);
  return names.filter((name) => {
    if (name.includes("*")) {
      const pattern = new RegExp(`^${name.replace(/[.]/g, "\\.").replace(/\*/g, "[^/]*")}$`);
      return ![...documents].some((each) => pattern.test(each));
    }
    const at = path.posix.normalize(path.posix.join(path.posix.dirname(file), name));
    return !documents.has(name) && !documents.has(at) && !(!name.includes("/") && [...documents].some((each) => path.posix.basename(each) === name));
  });
}

test("comments name documents that are there", (t) => {
  const files = trackedFiles();
  if (files === null) return t.skip("this is no git checkout");
  const documents = new Set(files.filter((file) => file.endsWith(".md")));
  assert.ok(documents.has("README.md"));
  const wrong: string[] = [];
  for (const file of files) {
    if (!(slashes.test(file) || hashes.test(file)) || file.startsWith("tests/corpus/sites/") || !existsSync(file)) continue;
    text(file).split("\n").forEach((line, at) => {
      for (const name of missing(line, file, documents)) wrong.push(`${file}:${at + 1} names ${name}`);
    });
  }
  assert.deepEqual(wrong, []);
});

test("a document that is not there is found in every kind of comment", () => {
  const lost = "lost.md";
  const documents = new Set(["README.md", "assets/prompts/grade.md"]);
  const found = (line: string, file: string): string[] => missing(line, file, documents);
  assert.deepEqual(found(`int a;  ///< as ${lost} says`, "a/b.hpp"), [lost]);
  assert.deepEqual(found(`// the rules of ${lost}, *Rules*`, "a/b.cpp"), [lost]);
  assert.deepEqual(found(`/** As docs/${lost} has it. */`, "a/b.ts"), [`docs/${lost}`]);
  assert.deepEqual(found(` * As ${lost} has it.`, "a/b.ts"), [lost]);
  assert.deepEqual(found(`set(a b)  # see ${lost}`, "CMakeLists.txt"), [lost]);
  assert.deepEqual(found(`// assets/${lost.replace("lost", "lost/*")}`, "a/b.cpp"), ["assets/lost/*.md"]);
  assert.deepEqual(found(`write("${lost}", "// text");`, "a/b.cpp"), []);
  assert.deepEqual(found("// `a.md` becomes a page; README.md, assets/prompts/*.md and assets/prompts/grade.md tell", "a/b.cpp"), []);
});
