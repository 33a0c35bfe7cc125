import assert from "node:assert/strict";
import { test } from "node:test";
import { slice } from "../../../web/engine/codepoints.ts";
import { asMarkdown, numberCitations, withMark } from "../../../web/ask/markdown.ts";
import { addressOf, questionOf } from "../../../web/ask/route.ts";
import { supportingSentence } from "../../../web/ask/support.ts";
import { wordDiff } from "../../../web/ask/word-diff.ts";
import { duration, path, stageUsed } from "../../../web/ask/words.ts";

test("citations are numbered by first appearance, and only those that the trace holds", () => {
  const { ids, source } = numberCitations("Use -m [run#002]. See [daemon#001] and [run#002], not [other#009].", ["daemon#001", "run#002"]);
  assert.deepEqual(ids, ["run#002", "daemon#001"]);
  assert.ok(source.includes("[other#009]"));
  assert.ok(!source.includes("[run#002]"));
});

test("an answer copied as Markdown links each citation and lists its pages", () => {
  const answer = numberCitations("Use `-m` [run#002]. Or both [run#002][page#001].", ["run#002", "page#001"]);
  const text = asMarkdown("How?", answer, (id) => (id === "run#002" ? { title: "run [ref]", href: "https://docs.example/run(1)#m" } : { title: "Page", href: "" }));
  assert.equal(text, "**How?**\n\nUse `-m` [[1]](https://docs.example/run%281%29#m). Or both [[1]](https://docs.example/run%281%29#m)[2].\n\n1. [run \\[ref\\]](https://docs.example/run%281%29#m)\n2. Page\n");
});

test("a quoted sentence is found though its Markdown and line breaks differ", () => {
  const passage = "Intro line.\n\nThe `--memory` flag sets the\nmaximum amount of memory. Another sentence.";
  const range = supportingSentence(passage, "The --memory flag sets the maximum amount of memory.");
  assert.ok(range);
  assert.equal(slice(passage, ...range), "The `--memory` flag sets the\nmaximum amount of memory.");
});

test("a sentence in other words is found by the words it shares", () => {
  const passage = "Containers restart by themselves. The daemon keeps running containers alive while it is upgraded.";
  const range = supportingSentence(passage, "Running containers are kept alive while the daemon is upgraded");
  assert.ok(range);
  assert.equal(slice(passage, ...range), "The daemon keeps running containers alive while it is upgraded.");
});

test("nothing is marked where no sentence shares enough", () => {
  assert.equal(supportingSentence("Volumes are kept on the host.", "Set the proxy of the build with an argument"), null);
});

test("offsets of a supporting sentence count code points", () => {
  const passage = "\u{1f40b}\u{1f40b} first. The exact words stand in here.";
  const range = supportingSentence(passage, "The exact words stand in here.");
  assert.deepEqual(range, [10, 40]);
});

test("a rewrite is shown as the words that went and came", () => {
  assert.deepEqual(wordDiff("container keeps dying", "container restart policy dying").map((c) => `${c.kind[0]}:${c.text}`), [
    "s:container", "r:keeps", "a:restart", "a:policy", "s:dying",
  ]);
});

test("a question survives the address", () => {
  const question = "what is `a&b` #1 + 100 %?";
  assert.equal(questionOf(addressOf(question)), question);
  assert.equal(addressOf(""), "./");
});

test("figures read as a person writes them", () => {
  assert.equal(duration(3.14159), "3.1 ms");
  assert.equal(duration(1234), "1,234 ms");
  assert.equal(duration(12_345), "12.3 s");
  assert.equal(path("run", "run > Options"), "run › Options");
  assert.equal(path("run", "run"), "run");
  assert.equal(path("run", "Options > Memory"), "run › Options › Memory");
  assert.ok(stageUsed("used: 7 of 10 scored"));
  assert.ok(!stageUsed("unused model"));
});

test("a mark keeps clear of list markers, table bars and code fences", () => {
  const bare = (text: string): string => text.replace("\ue002", "«").replace("\ue003", "»");
  const mark = (text: string, begin = 0, end = text.length): string => bare(withMark(text, [begin, end]));
  assert.equal(mark("- one `x` item"), "- «one `x` item»");
  assert.equal(mark("| a | b |"), "| «a | b» |");
  assert.equal(mark("```console\n$ docker ps\n```"), "```console\n«$ docker ps»\n```");
  assert.equal(mark("Text.\n\n```\ncode\n```", 10, 18), "Text.\n\n```\n«code»\n```");
  assert.equal(bare(withMark("\u{1f40b} all", [2, 5])), "\u{1f40b} «all»");
});
