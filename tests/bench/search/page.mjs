// Runs in Chromium: opens the index, hands every competitor the same passages, and times the same queries one by one.

import factory from "/engine.mjs";
import * as flexsearch from "./flexsearch.mjs";
import * as lunr from "./lunr.mjs";
import * as minisearch from "./minisearch.mjs";
import * as orama from "./orama.mjs";
import * as plainInt8 from "./plain_int8.mjs";
import * as polygraph from "./polygraph.mjs";
import { identifiers, questions } from "./queries.mjs";
import { read } from "./reply.mjs";

const competitors = [polygraph, minisearch, flexsearch, lunr, orama, plainInt8];
const rounds = 20;
/** Keypresses are many, and slow with some. */
const typingRounds = 3;
const warmUpRounds = 1;

/** The sections of vectors and their scales (wasm/index/format.hpp). */
function denseSections(file) {
  const view = new DataView(file);
  const section = (kind) => {
    const entry = 40 + (kind - 1) * 40;
    return [Number(view.getBigUint64(entry + 8, true)), Number(view.getBigUint64(entry + 16, true))];
  };
  const [rowsAt, rowBytes] = section(9);
  const [scalesAt, scaleBytes] = section(10);
  const scales = new Float32Array(file, scalesAt, scaleBytes / 4);
  return { rows: new Int8Array(file, rowsAt, rowBytes), scales, dimensions: rowBytes / scales.length };
}

const base64 = (floats) => btoa(String.fromCharCode(...new Uint8Array(floats.buffer)));

/** Milliseconds of every call, after some that are not counted. `await` only where the library answers with a promise. */
async function time(call, inputs, rounds) {
  const times = [];
  for (let round = -warmUpRounds; round < rounds; ++round) {
    for (const input of inputs) {
      const begun = performance.now();
      const reply = call(...input);
      if (reply instanceof Promise) await reply;
      if (round >= 0) times.push(performance.now() - begun);
    }
  }
  return times;
}

async function results(call, inputs) {
  const lists = [];
  for (const input of inputs) lists.push(await call(...input));
  return lists;
}

window.run = async () => {
  const file = await (await fetch("/index.polygraph")).arrayBuffer();
  const module = await factory({ locateFile: () => "/engine.wasm" });
  const engine = new module.Engine();
  module.HEAPU8.set(new Uint8Array(file), read(engine.reserve(file.byteLength)).pointer);
  const { chunks } = read(engine.openAll(file.byteLength));
  const passages = read(engine.chunkIds()).ids.map((id) => {
    const { title, heading_path: heading, text } = read(engine.chunk(id));
    return { id, title, heading, text };
  });
  const { rows, scales, dimensions } = denseSections(file);

  const asked = [...identifiers, ...questions].map((query) => [query]);
  // Every prefix that a person sees answered while typing a question.
  const typed = questions.slice(0, 5).flatMap((query) => Array.from(query, (_, i) => [query.slice(0, i + 1)]));
  const vectors = questions.map((_, i) => {
    const row = (i * 97) % scales.length;
    const vector = Float32Array.from(rows.subarray(row * dimensions, (row + 1) * dimensions), (x) => x * scales[row]);
    return [vector, base64(vector)];
  });
  const holders = new Map(identifiers.map((literal) => [literal, new Set(passages.filter((p) => `${p.title}\n${p.heading}\n${p.text}`.includes(literal)).map(({ id }) => id))]));

  const measured = [];
  let exact = null;
  for (const competitor of competitors) {
    const begun = performance.now();
    const { search, complete, nearest } = await competitor.create({ engine, passages, rows, scales, dimensions });
    const row = { name: competitor.name, build_ms: performance.now() - begun };
    if (search) {
      row.search = await time(search, asked, rounds);
      let places = 0;
      let held = 0;
      for (const literal of identifiers) {
        const holding = holders.get(literal);
        places += Math.min(10, holding.size);
        held += (await search(literal)).filter((id) => holding.has(id)).length;
      }
      row.identifiers = held / places;
      row.empty = (await results(search, questions.map((query) => [query]))).filter((list) => list.length === 0).length;
    }
    if (complete) row.complete = await time(complete, typed, typingRounds);
    if (nearest) {
      row.nearest = await time(nearest, vectors, rounds);
      const found = (await results(nearest, vectors)).map((list) => list.join());
      exact ??= found;
      row.same_as_first = found.filter((list, i) => list === exact[i]).length;
    }
    measured.push(row);
  }
  return { chunks, queries: asked.length, vectors: vectors.length, measured };
};
