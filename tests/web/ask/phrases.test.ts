import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { english, Phrases } from "../../../web/ask/phrases.ts";
import { dialogWords, frameWords } from "../../../web/element/words.ts";

const own = { "sources.one": "{n} source", "sources.other": "{n} sources", "said": "{sources}: {text}" } as const;

test("a phrase takes its values, and text in them is not taken for further values", () => {
  const phrases = new Phrases(own);
  assert.equal(phrases.text("said", { sources: "1 source", text: "{sources} and $& stay" }), "1 source: {sources} and $& stay");
  assert.equal(phrases.count("sources", 1), "1 source");
  assert.equal(phrases.count("sources", 1200), "1,200 sources");
});

test("a translation has the plural forms of its language, and what it lacks stays English", () => {
  const polish = new Phrases(own, "pl", { "sources.one": "{n} źródło", "sources.few": "{n} źródła", "sources.many": "{n} źródeł" });
  assert.deepEqual([1, 3, 5].map((n) => polish.count("sources", n)), ["1 źródło", "3 źródła", "5 źródeł"]);
  assert.equal(polish.text("said", { sources: "1", text: "2" }), "1: 2");
  assert.equal(polish.find("said"), "{sources}: {text}");
  assert.equal(polish.find("advice.of_a_code_to_come"), null);
});

test("a language that is none counts as English", () => {
  assert.equal(new Phrases(own, "no such language!").count("sources", 2), "2 sources");
});

test("the German translation has every word, and no other", () => {
  const german = JSON.parse(readFileSync("web/element/languages/de.json", "utf8")) as Record<string, string>;
  const names = Object.keys({ ...english, ...dialogWords, ...frameWords });
  assert.deepEqual(Object.keys(german).sort(), names.sort());
  const values = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();
  const all: Record<string, string> = { ...english, ...dialogWords, ...frameWords };
  for (const name of names) assert.deepEqual(values(german[name]!), values(all[name]!), name);
});
