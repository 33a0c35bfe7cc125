// Embeds texts and scores (question, passage) pairs with onnxruntime, in the page and in the native programs' worker alike.
//
// It knows only the interface that onnxruntime-web and onnxruntime-node share. Promises:
// - every text and every pair runs alone, as a batch of one: the int8 models derive one activation scale from a whole
//   batch, so company would change the bits of a result (by up to 0.01);
// - a model is loaded at the first request that needs it, and only once;
// - requests run one after the other, in the order they were made (onnxruntime-web's sessions cannot run two at a time).
import type { InferenceSession, TensorConstructor, InferenceSessionFactory } from "onnxruntime-common";

export type Role = "embedder" | "reranker";

/** What this module needs of onnxruntime-web or onnxruntime-node. */
export interface Ort {
  readonly InferenceSession: InferenceSessionFactory;
  readonly Tensor: TensorConstructor;
}

/** A (question, passage) pair as token ids; tokens from `split` on have type 1. */
export interface TokenPair {
  readonly ids: Int32Array;
  readonly split: number;
}

export type Progress = (done: number, total: number) => void;

export interface EmbedOptions {
  /** Called after every text. */
  readonly onProgress?: Progress | undefined;
  /** Stops before the next text; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface ScoreOptions extends EmbedOptions {
  /** Milliseconds after which no further pair is begun; 0: no limit. Loading the model does not count. */
  readonly budgetMs?: number | undefined;
}

/** Why a model cannot be used: its file is absent or broken, or it is not the model that its role needs. */
export class ModelError extends Error {
  readonly role: Role;
  constructor(role: Role, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ModelError";
    this.role = role;
  }
}

/** Positions that both BERT models were trained with; a longer input has no position embedding. */
export const MAX_TOKENS = 512;

const INPUTS = ["input_ids", "attention_mask", "token_type_ids"] as const;
const OUTPUTS: Readonly<Record<Role, string>> = { embedder: "last_hidden_state", reranker: "logits" };

export class ModelRuntime {
  readonly #ort: Ort;
  readonly #load: (role: Role) => Promise<Uint8Array | string>;
  readonly #threads: number;
  readonly #sessions = new Map<Role, Promise<InferenceSession>>();
  #last: Promise<unknown> = Promise.resolve();
  #disposed = false;

  /**
   * @param load gives a model's bytes, or (Node only) the path of its file
   * @param threads for one operator (intra-op), 0: as onnxruntime chooses. In the page it must also be set on
   *        `ort.env.wasm.numThreads` before the first session (see `web.ts`).
   */
  constructor(ort: Ort, load: (role: Role) => Promise<Uint8Array | string>, threads: number) {
    this.#ort = ort;
    this.#load = load;
    this.#threads = threads;
  }

  /** Loads a model now, so that the first question does not wait for it. */
  async warm(role: Role): Promise<void> {
    await this.#serially(() => this.#session(role));
  }

  /** One L2-normalised vector per text, in the order given. Ids include [CLS] and [SEP]. */
  embed(texts: readonly Int32Array[], options: EmbedOptions = {}): Promise<Float32Array[]> {
    return this.#serially(async () => {
      const vectors: Float32Array[] = [];
      if (texts.length === 0) return vectors;
      const session = await this.#session("embedder");
      for (const ids of texts) {
        options.signal?.throwIfAborted();
        const { data, dims } = await this.#run(session, "embedder", ids, ids.length);
        const width = dims[2];
        if (dims.length !== 3 || width === undefined)
          throw new ModelError("embedder", `the embedder's output has the shape [${dims.join(", ")}], expected [1, tokens, dimensions]`);
        vectors.push(normalised(data.subarray(0, width)));
        options.onProgress?.(vectors.length, texts.length);
      }
      return vectors;
    });
  }

  /**
   * One logit per pair, in the order given. With a budget the result may be shorter than `pairs`: it holds the logits
   * of the first ones, at least one.
   */
  score(pairs: readonly TokenPair[], options: ScoreOptions = {}): Promise<Float32Array> {
    return this.#serially(async () => {
      const logits = new Float32Array(pairs.length);
      if (pairs.length === 0) return logits;
      const session = await this.#session("reranker");
      const budgetMs = options.budgetMs ?? 0;
      const began = performance.now();
      let done = 0;
      for (const { ids, split } of pairs) {
        options.signal?.throwIfAborted();
        if (done > 0 && budgetMs > 0 && performance.now() - began >= budgetMs) break;
        const { data } = await this.#run(session, "reranker", ids, split);
        const logit = data[0];
        if (data.length !== 1 || logit === undefined)
          throw new ModelError("reranker", `the reranker gave ${data.length} values for one pair, expected one logit`);
        logits[done++] = logit;
        options.onProgress?.(done, pairs.length);
      }
      return logits.subarray(0, done);
    });
  }

  /** Frees the models. Requests under way end first; later ones fail. */
  async dispose(): Promise<void> {
    await this.#serially(async () => {
      this.#disposed = true;
      for (const loading of this.#sessions.values()) await loading.then((session) => session.release()).catch(() => undefined);
      this.#sessions.clear();
    });
  }

  #serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  #session(role: Role): Promise<InferenceSession> {
    if (this.#disposed) return Promise.reject(new ModelError(role, "the models were released"));
    let session = this.#sessions.get(role);
    if (session === undefined) {
      session = this.#create(role);
      this.#sessions.set(role, session);
      // A model that could not be loaded may be there at the next request: do not keep the failure.
      session.catch(() => this.#sessions.delete(role));
    }
    return session;
  }

  async #create(role: Role): Promise<InferenceSession> {
    const model = await this.#load(role);
    const options: InferenceSession.SessionOptions = { graphOptimizationLevel: "all", executionMode: "sequential" };
    if (this.#threads > 0) Object.assign(options, { intraOpNumThreads: this.#threads, interOpNumThreads: 1 });
    let session: InferenceSession;
    try {
      session = typeof model === "string"
        ? await this.#ort.InferenceSession.create(model, options)
        : await this.#ort.InferenceSession.create(model, options);
    } catch (cause) {
      const from = typeof model === "string" ? ` from ${model}` : "";
      throw new ModelError(role, `the ${role} could not be loaded${from}: ${text(cause)}`, { cause });
    }
    const lacking = INPUTS.filter((name) => !session.inputNames.includes(name));
    if (lacking.length > 0 || session.inputNames.length !== INPUTS.length || !session.outputNames.includes(OUTPUTS[role])) {
      const met = `inputs ${session.inputNames.join(", ")}; outputs ${session.outputNames.join(", ")}`;
      await session.release().catch(() => undefined);
      throw new ModelError(role, `the ${role}'s file is another model: expected the inputs ${INPUTS.join(", ")} and the output ${OUTPUTS[role]}, found ${met}`);
    }
    return session;
  }

  async #run(session: InferenceSession, role: Role, ids: Int32Array, split: number): Promise<{ data: Float32Array; dims: readonly number[] }> {
    const length = ids.length;
    if (length === 0 || length > MAX_TOKENS)
      throw new RangeError(`an input of ${length} tokens: the ${role} takes 1 to ${MAX_TOKENS}`);
    if (!Number.isInteger(split) || split < 0 || split > length)
      throw new RangeError(`a pair of ${length} tokens is split at ${split}`);
    const inputIds = new BigInt64Array(length);
    const typeIds = new BigInt64Array(length);
    for (let i = 0; i < length; ++i) {
      inputIds[i] = BigInt(ids[i] as number);
      if (i >= split) typeIds[i] = 1n;
    }
    const dims = [1, length];
    const results = await session.run({
      input_ids: new this.#ort.Tensor("int64", inputIds, dims),
      attention_mask: new this.#ort.Tensor("int64", new BigInt64Array(length).fill(1n), dims),
      token_type_ids: new this.#ort.Tensor("int64", typeIds, dims),
    });
    const output = results[OUTPUTS[role]];
    if (output === undefined || !(output.data instanceof Float32Array))
      throw new ModelError(role, `the ${role} gave no float32 output named ${OUTPUTS[role]}`);
    const result = { data: output.data.slice(), dims: output.dims };
    for (const tensor of Object.values(results)) tensor.dispose();
    return result;
  }
}

/** v / |v|. Sums in doubles from the first component to the last, so that every host gives the same bits. */
export function normalised(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const component of vector) sum += component * component;
  const length = Math.sqrt(sum);
  const unit = new Float32Array(vector.length);
  if (length > 0) for (let i = 0; i < vector.length; ++i) unit[i] = (vector[i] as number) / length;
  return unit;
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
