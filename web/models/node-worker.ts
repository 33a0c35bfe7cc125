// The model worker of native programs: a Node process that does nothing but embed texts and score pairs.
//
// It reads frames (frames.ts) from stdin and answers on stdout, one request after the other; stderr is for people. It ends
// when stdin ends, so it never outlives the program that started it. Its model code is the page's own (runtime.ts).
import { existsSync } from "node:fs";

import { encode, FrameReader, PROTOCOL, type Frame } from "./frames.ts";
import { ModelError, ModelRuntime, type Ort, type Role, type TokenPair } from "./runtime.ts";

class BadRequest extends Error {}

function send(head: object, payload?: Uint8Array): void {
  process.stdout.write(encode(head, payload));
}

async function onnxruntime(): Promise<{ ort: Ort; version: string }> {
  const module = (await import("onnxruntime-node")) as unknown as Record<string, unknown>;
  const ort = (module["default"] ?? module) as Ort & { env: { versions: Record<string, string | undefined> } };
  return { ort, version: ort.env.versions["node"] ?? ort.env.versions["common"] ?? "unknown" };
}

function integers(frame: Frame, field: string): number[] {
  const value = frame.head[field];
  if (!Array.isArray(value) || !value.every((item): item is number => Number.isSafeInteger(item) && (item as number) >= 0))
    throw new BadRequest(`${field} must be a list of non-negative integers`);
  return value;
}

/** The token ids of a request, one array a text. */
function tokens(frame: Frame, lengths: readonly number[]): Int32Array[] {
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (frame.payload.byteLength !== total * Int32Array.BYTES_PER_ELEMENT)
    throw new BadRequest(`the payload has ${frame.payload.byteLength} bytes, the lengths ask for ${total} int32`);
  const ids = new Int32Array(frame.payload.buffer, frame.payload.byteOffset, total);
  let offset = 0;
  return lengths.map((length) => ids.subarray(offset, (offset += length)));
}

function bytes(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/** Answers one request; throws what cannot be answered. */
async function answer(runtime: ModelRuntime, frame: Frame, id: number): Promise<void> {
  const onProgress = (done: number): void => send({ op: "progress", id, done });
  switch (frame.head["op"]) {
    case "embed": {
      const texts = tokens(frame, integers(frame, "lengths"));
      await runtime.warm("embedder");
      const began = performance.now();
      const vectors = await runtime.embed(texts, { onProgress });
      const ms = performance.now() - began;
      const width = vectors[0]?.length ?? 0;
      const values = new Float32Array(vectors.length * width);
      vectors.forEach((vector, i) => values.set(vector, i * width));
      send({ op: "done", id, count: vectors.length, width, ms }, bytes(values));
      return;
    }
    case "score": {
      const splits = integers(frame, "splits");
      const texts = tokens(frame, integers(frame, "lengths"));
      if (splits.length !== texts.length) throw new BadRequest(`${splits.length} splits for ${texts.length} pairs`);
      const pairs = texts.map((ids, i): TokenPair => ({ ids, split: splits[i] as number }));
      const budgetMs = Number(frame.head["budget_ms"] ?? 0);
      await runtime.warm("reranker");
      const began = performance.now();
      const logits = await runtime.score(pairs, { budgetMs, onProgress });
      send({ op: "done", id, count: logits.length, width: 1, ms: performance.now() - began }, bytes(logits));
      return;
    }
    default:
      throw new BadRequest(`unknown op ${JSON.stringify(frame.head["op"])}`);
  }
}

async function main(): Promise<void> {
  // The parent is gone when its end of the pipe is: nobody is left to tell.
  process.stdout.on("error", () => process.exit(0));

  let loaded: { ort: Ort; version: string };
  try {
    loaded = await onnxruntime();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stdout.write(encode({ op: "error", code: "runtime_missing", message }), () => process.exit(1));
    return;
  }

  const reader = new FrameReader();
  let runtime: ModelRuntime | undefined;
  let last: Promise<void> = Promise.resolve();

  const take = (frame: Frame): void => {
    if (runtime === undefined) {
      if (frame.head["op"] !== "models") throw new BadRequest("the first frame must name the models");
      const paths = frame.head;
      const load = async (role: Role): Promise<string> => {
        const path = paths[role];
        if (typeof path !== "string" || path === "") throw new ModelError(role, `no ${role} is configured`);
        if (!existsSync(path)) throw new ModelError(role, `the ${role}'s file ${path} does not exist`);
        return path;
      };
      runtime = new ModelRuntime(loaded.ort, load, Number(paths["threads"] ?? 0));
      send({ op: "ready", runtime: `onnxruntime-node ${loaded.version}`, node: process.versions.node, protocol: PROTOCOL });
      return;
    }
    const id = frame.head["id"];
    if (typeof id !== "number") throw new BadRequest("a request without an id");
    const models = runtime;
    last = last.then(() => answer(models, frame, id)).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      const wrongUse = error instanceof BadRequest || error instanceof RangeError;
      const code = error instanceof ModelError ? "model_unavailable" : wrongUse ? "invalid_argument" : "internal";
      send({ op: "error", id, code, message });
    });
  };

  process.stdin.on("data", (chunk: Buffer) => {
    try {
      reader.push(chunk).forEach(take);
    } catch (error) {
      process.stderr.write(`model worker: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(2);
    }
  });
  process.stdin.on("end", () => process.exit(0));
  process.stdin.on("error", () => process.exit(0));
}

void main();
