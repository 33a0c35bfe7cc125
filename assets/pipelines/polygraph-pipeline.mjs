#!/usr/bin/env node
// Runs a pipeline written in JavaScript under Polygraph, over its protocol (JSON Lines on stdin and stdout).
//
//   polygraph run --pipeline my-pipeline.mjs --dataset golden.json
//
// The module exports one of
//
//   export const pipeline = ...                 // an object with retrieve(query) and generate(query, chunks), and a name if it
//                                               // likes; or a LangChain or LlamaIndex retriever, chain or query engine
//   export function retrieve(query, k) {...}    // functions; generate may be missing: then only retrieval is measured
//   export function generate(query, chunks) {...}
//
// or one of these as its default export. `polygraph.wrap(retriever, generator, name)`, a global here, makes a pipeline of two.
//
// A chunk is {id, text, score, metadata}, a LangChain Document, a LlamaIndex node with its score, or a pair [chunk, score]. An
// answer is a string, a message, a response, or {answer, refused, citations, usage}. Functions may be async; `generate` gets the
// very objects that `retrieve` gave. What the code prints through console or process.stdout goes to stderr. Node.js 20 or newer.

import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inspect } from "node:util";

const version = 1;
const maxDepth = 24; // of metadata; the protocol allows a reply 64 levels
const remembered = 256; // retrievals whose own objects are kept for generate

/** The pipeline gave something of another shape than was expected; the message names the field. */
class ShapeError extends TypeError {
  name = "ShapeError";
}

const isObject = (value) => typeof value === "object" && value !== null;
const method = (value, name) => (isObject(value) || typeof value === "function") && typeof value[name] === "function";

function shown(value) {
  if (value === null || value === undefined) return String(value);
  const text = inspect(value, { depth: 1, breakLength: Infinity });
  const kind = Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : `a ${typeof value}`;
  return `${kind} (${text.length <= 80 ? text : `${text.slice(0, 80)}…`})`;
}

/** A value that JSON can hold: numbers that are none are null, and there are no cycles. */
function plain(value, depth = 0) {
  if (value === null || value === undefined || typeof value === "function" || typeof value === "symbol") return null;
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "bigint") return String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (depth >= maxDepth) return String(value);
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item, depth + 1)]));
}

/** The first of `names` that is there and no function. */
function field(value, names) {
  if (!isObject(value)) return undefined;
  for (const name of names) {
    const found = value[name];
    if (found !== undefined && found !== null && typeof found !== "function") return found;
  }
  return undefined;
}

function chunkToJson(given, where) {
  let value = given;
  let score;
  if (Array.isArray(value) && value.length === 2) [value, score] = value; // similaritySearchWithScore
  if (!isObject(value)) throw new ShapeError(`${where}: expected a chunk with an id and a text, got ${shown(value)}`);
  score = field(value, ["score"]) ?? score;
  if (isObject(value.node)) value = value.node; // LlamaIndex's NodeWithScore
  const metadata = field(value, ["metadata"]);
  if (metadata !== undefined && (!isObject(metadata) || Array.isArray(metadata))) throw new ShapeError(`${where}.metadata: expected an object, got ${shown(metadata)}`);
  const id = field(value, ["id", "chunk_id", "chunkId", "id_", "_id"]) ?? field(metadata, ["chunk_id", "chunkId", "id", "_id", "doc_id", "source"]);
  if (id === undefined) throw new ShapeError(`${where}.id is missing: expected a string, in the chunk or in its metadata; got ${shown(value)}`);
  if (typeof id !== "string" && !Number.isInteger(id)) throw new ShapeError(`${where}.id: expected a string, got ${shown(id)}`);
  const text = field(value, ["text", "pageContent", "page_content", "content"]) ?? (method(value, "getContent") ? value.getContent() : undefined);
  if (text === undefined) throw new ShapeError(`${where}.text is missing: expected a string; got ${shown(value)}`);
  if (typeof text !== "string") throw new ShapeError(`${where}.text: expected a string, got ${shown(text)}`);
  if (score !== undefined && score !== null && typeof score !== "number") throw new ShapeError(`${where}.score: expected a number, got ${shown(score)}`);
  return { id: String(id), text, score: Number.isFinite(score) ? score : null, metadata: metadata === undefined ? null : plain(metadata) };
}

function chunkList(value) {
  if (Array.isArray(value)) return value;
  for (const name of ["chunks", "documents", "results", "context", "sourceDocuments", "sourceNodes"]) if (isObject(value) && Array.isArray(value[name])) return value[name];
  throw new ShapeError(`retrieve: expected an array of chunks, got ${shown(value)}`);
}

function textOf(value) {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const parts = value.map((part) => (typeof part === "string" ? part : part?.text)); // a message's content in parts
  return parts.every((part) => typeof part === "string" || part === undefined) ? parts.join("") : undefined;
}

async function answerToJson(given) {
  let value = given;
  if (isObject(value) && typeof value[Symbol.asyncIterator] === "function") {
    let whole = ""; // streamed
    for await (const part of value) whole += textOf(part) ?? textOf(field(part, ["content", "response", "delta"])) ?? "";
    value = whole;
  }
  if (typeof value === "string") return { answer: value };
  const names = ["answer", "response", "content", "result", "output", "text"];
  const nested = field(value, ["answer", "result", "output", "message"]);
  const answer = textOf(field(value, names)) ?? textOf(field(nested, ["content", "text"]));
  if (answer === undefined) throw new ShapeError(`answer: expected a string, or something that holds one; got ${shown(value)}`);
  const reply = { answer };
  if (value.refused !== undefined && value.refused !== null) {
    if (typeof value.refused !== "boolean") throw new ShapeError(`refused: expected true or false, got ${shown(value.refused)}`);
    reply.refused = value.refused;
  }
  if (Array.isArray(value.citations)) {
    reply.citations = value.citations.map((citation, i) => {
      const id = typeof citation === "string" || Number.isInteger(citation) ? citation : field(citation, ["chunk_id", "chunkId", "id"]);
      if (id === undefined) throw new ShapeError(`citations[${i}]: expected a chunk's id, got ${shown(citation)}`);
      return String(id);
    });
  }
  const usage = field(value, ["usage", "usage_metadata"]);
  if (isObject(usage) && !Array.isArray(usage)) reply.usage = plain(usage);
  return reply;
}

/** Retrieval and generation of something that does both in one call: the retrieval's time is then that of both. */
function once(call) {
  const results = new Map();
  return {
    async retrieve(query) {
      const result = await call(query);
      results.delete(query);
      results.set(query, result);
      if (results.size > remembered) results.delete(results.keys().next().value);
      return chunkList(result);
    },
    generate: (query) => results.get(query) ?? call(query),
  };
}

const isLangChainRetriever = (value) => method(value, "invoke") && (method(value, "_getRelevantDocuments") || method(value, "getRelevantDocuments"));
const isLlamaIndex = (value) => method(value, "retrieve") && (method(value, "query") || method(value, "synthesize") || "callbackManager" in value || "serviceContext" in value);

function retrieverOf(value) {
  if (method(value, "invoke")) return (query) => value.invoke(query);
  if (method(value, "retrieve")) return isLlamaIndex(value) ? (query) => value.retrieve({ query }) : (query, k) => value.retrieve(query, k);
  if (typeof value === "function") return value;
  throw new ShapeError(`no retriever: expected invoke, retrieve or a function; got ${shown(value)}`);
}

function generatorOf(value) {
  if (method(value, "generate") && !method(value, "invoke")) return (query, chunks) => value.generate(query, chunks);
  if (method(value, "synthesize")) return (query, nodes) => value.synthesize({ query, nodes });
  if (method(value, "invoke")) {
    return (query, chunks) => {
      const context = chunks.map((chunk, i) => chunkToJson(chunk, `chunks[${i}]`).text).join("\n\n");
      return value.invoke({ question: query, query, input: query, context, documents: chunks, chunks });
    };
  }
  if (typeof value === "function") return value;
  throw new ShapeError(`no generator: expected generate, invoke, synthesize or a function; got ${shown(value)}`);
}

/** A pipeline of a retriever and, if there is one, a generator: objects of LangChain or LlamaIndex, or functions. */
export function wrap(retriever, generator, name) {
  const title = name ?? (typeof retriever?.name === "string" && typeof retriever !== "function" ? retriever.name : undefined);
  if (generator !== undefined && generator !== null) return { name: title, retrieve: retrieverOf(retriever), generate: generatorOf(generator) };
  if (method(retriever, "retrieve") && method(retriever, "generate")) {
    return { name: title, retrieve: (query, k) => retriever.retrieve(query, k), generate: (query, chunks) => retriever.generate(query, chunks) };
  }
  if (method(retriever, "query")) {
    const whole = once((query) => retriever.query({ query }));
    return { name: title, ...whole };
  }
  if (method(retriever, "invoke") && !isLangChainRetriever(retriever) && !method(retriever, "retrieve")) {
    return { name: title, ...once((query) => retriever.invoke({ input: query, question: query, query })) };
  }
  return { name: title, retrieve: retrieverOf(retriever) };
}

function pipelineOf(module, file) {
  const title = path.basename(file).replace(/\.[cm]?js$/, "");
  let found = module.pipeline;
  if (found === undefined && typeof module.retrieve === "function") found = { name: module.name, retrieve: module.retrieve, ...(typeof module.generate === "function" && { generate: module.generate }) };
  found ??= module.default;
  if (found === undefined) throw new ShapeError("the module exports neither `pipeline` nor a function `retrieve(query)`");
  const wrapped = wrap(found);
  return { ...wrapped, name: wrapped.name || title };
}

class Host {
  #recent = new Map(); // query -> Map of id and text -> the pipeline's own object

  constructor(pipeline) {
    this.pipeline = pipeline;
  }

  async answer({ op, query, k, chunks }) {
    if (op !== "retrieve" && op !== "generate") throw new ShapeError(`op: expected retrieve or generate, got ${shown(op)}`);
    if (op === "retrieve") {
      const own = chunkList(await this.pipeline.retrieve(query, k));
      const list = own.map((chunk, i) => chunkToJson(chunk, `chunks[${i}]`));
      this.#recent.delete(query);
      this.#recent.set(query, new Map(list.map((chunk, i) => [JSON.stringify([chunk.id, chunk.text]), own[i]])));
      if (this.#recent.size > remembered) this.#recent.delete(this.#recent.keys().next().value);
      return { chunks: list };
    }
    if (this.pipeline.generate === undefined) throw new Error("this pipeline only retrieves");
    const known = this.#recent.get(query);
    // One that is not known has the names of LangChain's as well.
    const own = chunks.map((chunk) => known?.get(JSON.stringify([chunk.id, chunk.text])) ?? { ...chunk, metadata: chunk.metadata ?? {}, pageContent: chunk.text });
    return answerToJson(await this.pipeline.generate(query, own));
  }
}

/** An error as the protocol reports it, with the place in the user's own code where it arose. */
function report(error, file) {
  if (!(error instanceof Error)) return { type: "Error", message: String(error) };
  if (error instanceof ShapeError) return { type: "WrongShape", message: error.message };
  const told = { type: error.name, message: error.message };
  const here = realpathSync(fileURLToPath(import.meta.url));
  const stack = String(error.stack ?? "");
  const places = [...stack.matchAll(/(?:^|\(|at (?:async )?)(?:file:\/\/)?(\/[^\n]*?):(\d+)(?::\d+)?\)?$/gm)].map(([, name, line]) => ({ file: decodeURI(name), line: Number(line) }));
  const own = places.find((place) => place.file === file) ?? places.find((place) => place.file !== here && !place.file.includes("node:"));
  if (own) return { ...told, ...own };
  if (error instanceof SyntaxError) {
    // Of a module that can't be parsed the stack doesn't say where; Node's own check does.
    const checked = spawnSync(process.execPath, ["--check", file], { encoding: "utf8" });
    const place = /^(?:file:\/\/)?(\/.*?):(\d+)$/m.exec(checked.stderr ?? "");
    if (place) return { ...told, file: decodeURI(place[1]), line: Number(place[2]) };
  }
  return told;
}

/** Lines end with LF alone: node:readline also ends them at U+2028, which JSON may hold. */
async function* linesOf(stream) {
  let parts = [];
  for await (const chunk of stream) {
    let begin = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, begin)) {
      yield Buffer.concat([...parts, chunk.subarray(begin, end)]).toString("utf8");
      parts = [];
      begin = end + 1;
    }
    if (begin < chunk.length) parts.push(chunk.subarray(begin));
  }
}

async function main(given) {
  const file = realpathSync(given);
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  globalThis.polygraph = { wrap };
  process.argv = [process.argv[0], file];

  // A lone surrogate is no Unicode, and JSON that holds one is refused.
  const reply = (id, body) => write(`${JSON.stringify({ id, ...body }, (_, value) => (typeof value === "string" ? value.toWellFormed() : value))}\n`);
  const broken = (id, error) => {
    if (!(error instanceof ShapeError)) console.error(error);
    reply(id, { error: report(error, file) });
  };
  let host;
  const underWay = new Set();
  for await (const line of linesOf(process.stdin)) {
    if (line.trim() === "") continue;
    const request = JSON.parse(line);
    const { id } = request;
    if (request.op !== "hello") {
      const answering = host.answer(request).then((body) => reply(id, body)).catch((error) => broken(id, error)).finally(() => underWay.delete(answering));
      underWay.add(answering);
      continue;
    }
    if (request.version !== version) {
      reply(id, { error: { type: "UnsupportedVersion", message: `this shim speaks version ${version} of the protocol` } });
      continue;
    }
    try {
      host = new Host(pipelineOf(await import(pathToFileURL(file).href), file));
    } catch (error) {
      broken(id, error);
      process.exitCode = 1;
      return;
    }
    reply(id, { name: host.pipeline.name, ops: host.pipeline.generate === undefined ? ["retrieve"] : ["retrieve", "generate"] });
  }
  await Promise.all(underWay);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  if (process.argv.length !== 3) {
    console.error("usage: polygraph-pipeline.mjs FILE");
    process.exit(2);
  }
  process.stdout.on("error", () => process.exit(0)); // nobody reads the replies any more
  await main(process.argv[2]);
  process.exit();
}
