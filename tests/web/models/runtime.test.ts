// The model runtime and the frames of the native programs' worker, over a scripted onnxruntime.
import assert from "node:assert/strict";
import { test } from "node:test";

import { encode, FrameReader } from "../../../web/models/frames.ts";
import { ModelError, ModelRuntime, normalised, type Ort, type Role } from "../../../web/models/runtime.ts";
import { threadsHere } from "../../../web/models/web.ts";

interface Feed {
  readonly ids: number[];
  readonly types: number[];
  readonly mask: number[];
  readonly dims: number[];
}

/** Stands for onnxruntime: gives the sum of the ids as logit, and [sum, 1, …] as hidden state. */
function scripted(inputs = ["input_ids", "attention_mask", "token_type_ids"], runMs = 0) {
  const feeds: Feed[] = [];
  let loads = 0;
  let running = 0;
  class Tensor {
    constructor(readonly type: string, readonly data: BigInt64Array | Float32Array, readonly dims: number[]) {}
    dispose(): void {}
  }
  const ort = {
    Tensor,
    InferenceSession: {
      create: async (model: Uint8Array | string) => {
        ++loads;
        const reranker = model === "reranker";
        return {
          inputNames: inputs,
          outputNames: [reranker ? "logits" : "last_hidden_state"],
          release: async () => undefined,
          run: async (feed: Record<string, { data: BigInt64Array; dims: number[] }>) => {
            assert.equal(++running, 1, "one request at a time");
            await new Promise((resolve) => setTimeout(resolve, runMs));
            --running;
            const numbers = (name: string): number[] => Array.from(feed[name]?.data ?? [], Number);
            const ids = numbers("input_ids");
            feeds.push({ ids, types: numbers("token_type_ids"), mask: numbers("attention_mask"), dims: feed["input_ids"]?.dims ?? [] });
            const sum = ids.reduce((a, b) => a + b, 0);
            if (reranker) return { logits: new Tensor("float32", Float32Array.of(sum), [1, 1]) };
            const hidden = new Float32Array(ids.length * 2).fill(9);
            hidden.set([3, 4]);
            return { last_hidden_state: new Tensor("float32", hidden, [1, ids.length, 2]) };
          },
        };
      },
    },
  };
  return { ort: ort as unknown as Ort, feeds, loads: () => loads };
}

const byRole = async (role: Role): Promise<string> => role;

test("a vector is the first token's row, divided by its length", async () => {
  const { ort, feeds } = scripted();
  const runtime = new ModelRuntime(ort, byRole, 1);
  assert.deepEqual(await runtime.embed([Int32Array.of(101, 7, 102)]), [Float32Array.of(0.6, 0.8)]);
  assert.deepEqual(feeds, [{ ids: [101, 7, 102], types: [0, 0, 0], mask: [1, 1, 1], dims: [1, 3] }]);
});

test("tokens from the split on are the passage", async () => {
  const { ort, feeds } = scripted();
  const runtime = new ModelRuntime(ort, byRole, 1);
  assert.deepEqual(await runtime.score([{ ids: Int32Array.of(1, 2, 3, 4), split: 3 }]), Float32Array.of(10));
  assert.deepEqual(feeds[0]?.types, [0, 0, 0, 1]);
});

test("every input runs alone, one after the other, also when requests overlap", async () => {
  const { ort, feeds, loads } = scripted(undefined, 2);
  const runtime = new ModelRuntime(ort, byRole, 1);
  const texts = [Int32Array.of(1, 2), Int32Array.of(3), Int32Array.of(4, 5, 6)];
  await Promise.all([runtime.embed(texts), runtime.score([{ ids: Int32Array.of(7), split: 1 }]), runtime.embed(texts)]);
  assert.deepEqual(feeds.map(({ dims }) => dims[0]), [1, 1, 1, 1, 1, 1, 1]);
  assert.equal(loads(), 2, "each model is loaded once");
});

test("a budget stops before the next pair, with at least one scored", async () => {
  const { ort } = scripted(undefined, 20);
  const runtime = new ModelRuntime(ort, byRole, 1);
  const pairs = Array.from({ length: 10 }, (_, i) => ({ ids: Int32Array.of(i + 1), split: 1 }));
  assert.deepEqual(await runtime.score(pairs, { budgetMs: 1 }), Float32Array.of(1));
  assert.equal((await runtime.score(pairs)).length, 10);
});

test("a signal stops before the next text", async () => {
  const { ort, feeds } = scripted();
  const runtime = new ModelRuntime(ort, byRole, 1);
  const controller = new AbortController();
  const stopped = new Error("the question changed");
  const texts = [Int32Array.of(1), Int32Array.of(2), Int32Array.of(3)];
  await assert.rejects(runtime.embed(texts, { signal: controller.signal, onProgress: () => controller.abort(stopped) }), stopped);
  assert.equal(feeds.length, 1);
  assert.equal((await runtime.embed(texts)).length, 3, "and later requests are answered");
});

test("a model with other inputs is refused", async () => {
  const { ort } = scripted(["pixel_values"]);
  const runtime = new ModelRuntime(ort, byRole, 1);
  await assert.rejects(runtime.embed([Int32Array.of(1)]), (error: unknown) => error instanceof ModelError && /another model.*pixel_values/.test(error.message));
});

test("a model that could not be loaded is asked for again", async () => {
  const { ort } = scripted();
  let there = false;
  const runtime = new ModelRuntime(ort, (role) => (there ? byRole(role) : Promise.reject(new Error("not yet"))), 1);
  await assert.rejects(runtime.embed([Int32Array.of(1)]), /not yet/);
  there = true;
  assert.equal((await runtime.embed([Int32Array.of(1)])).length, 1);
});

test("inputs that no model takes are refused", async () => {
  const { ort } = scripted();
  const runtime = new ModelRuntime(ort, byRole, 1);
  await assert.rejects(runtime.embed([new Int32Array(0)]), RangeError);
  await assert.rejects(runtime.embed([new Int32Array(513)]), RangeError);
  await assert.rejects(runtime.score([{ ids: Int32Array.of(1), split: 2 }]), RangeError);
});

test("a vector of zeros stays zeros", () => {
  assert.deepEqual(normalised(new Float32Array(3)), new Float32Array(3));
});

test("threads need an isolated page, and four suffice", () => {
  assert.equal(threadsHere(false, 16), 1);
  assert.equal(threadsHere(true, 16), 4);
  assert.equal(threadsHere(true, 2), 2);
  assert.equal(threadsHere(true, 0), 1);
});

test("frames survive any cut of the bytes", () => {
  const frames = [encode({ op: "a", text: "ü" }, Uint8Array.of(1, 2, 3)), encode({ op: "b" }), encode({ op: "c" }, new Uint8Array(1000).fill(7))];
  const bytes = Buffer.concat(frames);
  for (const step of [1, 2, 7, 64, bytes.length]) {
    const reader = new FrameReader();
    const read = [];
    for (let at = 0; at < bytes.length; at += step) read.push(...reader.push(bytes.subarray(at, at + step)));
    assert.deepEqual(read.map(({ head }) => head), [{ op: "a", text: "ü" }, { op: "b" }, { op: "c" }]);
    assert.deepEqual(read.map(({ payload }) => payload.length), [3, 0, 1000]);
  }
});

test("bytes that are no frame are refused", () => {
  assert.throws(() => new FrameReader().push(Buffer.from("Debugger attached.")), /a frame of/);
  assert.throws(() => new FrameReader().push(Uint8Array.of(8, 0, 0, 0, 200, 0, 0, 0, 1, 2, 3, 4)), /a head of 200 bytes/);
});
