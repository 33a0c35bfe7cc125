// The models that the agent may ask, as functions of the caller, and the host that performs the engine's effects with them.

import { encodeFloats } from "../engine/base64.ts";
import type { Chunk, Effect, EffectResult, IndexMetadata, RunConfig, RunOptions } from "../engine/boundary.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../engine/run.ts";
import { Prompts, type Message, type TaskFile } from "../providers/prompts.ts";
import { PolygraphError } from "./error.ts";

/** The prompts of assets/prompts, put in by the build. */
declare const POLYGRAPH_TASKS: TaskFile;

type Floats = Float32Array | readonly number[];

/** A question and a passage as token ids of the index's tokenizer; tokens from `split` on are the passage's. */
export interface TokenPair {
  ids: number[];
  split: number;
}

/** What a language model is asked. */
export interface CompletionTask {
  task: "grade" | "rewrite" | "generate";
  question: string;
  /** The passages in question; empty for a rewrite. */
  passages: Chunk[];
  /** The prompt, ready to be sent. */
  messages: Message[];
  /** JSON Schema that the reply must fit; null: free text. */
  schema: unknown;
  maxTokens: number;
  signal: AbortSignal;
}

export interface Completion {
  text: string;
  model?: string;
  tokens?: { in: number; out: number };
  costUsd?: number | null;
  /** Why the model stopped, `stop` or `length`. */
  finish?: string;
}

/** Any of them may be missing: the agent goes on without that stage and says so in its trace. */
export interface Models {
  /**
   * The normalised vector of a text, given as token ids, from the embedder that the index was built with (`index.info.metadata.embedder`).
   */
  embed?(tokenIds: number[]): Floats | Promise<Floats>;
  /**
   * One logit a pair, from a cross-encoder. Where `budgetMs` is not 0 and runs out, the logits of the first pairs are enough.
   */
  score?(pairs: TokenPair[], budgetMs: number): Floats | Promise<Floats>;
  /** The reply of a language model; without it, a calibrated grader decides and the answer is quoted from the passages. */
  complete?(task: CompletionTask): string | Completion | Promise<string | Completion>;
}

const floats = (values: Floats): Float32Array => (values instanceof Float32Array ? values : Float32Array.from(values));

/** Settings of a run over these models: who completes follows from what is there. */
export function runOptions(preset: string, set: Readonly<Record<string, string | number | boolean>>, models: Models): RunOptions {
  const provider: Record<string, string> = models.complete ? { PROVIDER: "openai-compatible" } : {};
  const config: RunConfig = { preset, set: { ...provider, ...Object.fromEntries(Object.entries(set).map(([name, value]) => [name, String(value)])) } };
  return {
    config,
    embedder_missing: models.embed ? "" : "no embedder was given",
    reranker_missing: models.score ? "" : "no reranker was given",
  };
}

export function hostOf(engine: Engine, metadata: IndexMetadata, models: Models, signal: AbortSignal): Host {
  const prompts = new Prompts(POLYGRAPH_TASKS);
  const timed = async <T>(work: () => T | Promise<T>): Promise<{ value: T; ms: number }> => {
    const begun = performance.now();
    const value = await work();
    return { value, ms: performance.now() - begun };
  };
  const complete = async (task: Extract<Effect, { kind: "complete" }>): Promise<EffectResult> => {
    const passages = task.chunk_ids.map((id) => engine.chunk(id));
    try {
      const prompt = prompts.of(task, passages);
      const { value, ms } = await timed(() => models.complete!({ task: task.task, question: task.question, passages, ...prompt, signal }));
      const completion: Completion = typeof value === "string" ? { text: value } : value;
      const { text, model = "unnamed", tokens, costUsd = null, finish = "stop" } = completion;
      return { text, ms, model, ...(tokens ? { tokens } : {}), cost_usd: costUsd, finish };
    } catch (error) {
      // The agent can't go on without its language model; a PolygraphError says why itself (quota_spent, provider_failed).
      const code = error instanceof PolygraphError ? error.code : "provider_failed";
      return { error: { code, message: error instanceof Error ? error.message : String(error) } };
    }
  };
  return {
    perform: async (effect: Effect): Promise<EffectResult> => {
      switch (effect.kind) {
        case "time":
          return { time: { utc: new Date().toISOString(), ms: performance.now() } };
        case "embed": {
          const { value, ms } = await timed(() => models.embed!(effect.token_ids));
          return { embedding: encodeFloats(floats(value)), ms, model: metadata.embedder.name, tokens: { in: effect.token_ids.length, out: 0 } };
        }
        case "score": {
          const { value, ms } = await timed(() => models.score!(effect.pairs, effect.budget_ms));
          const scored = effect.pairs.slice(0, value.length).reduce((sum, pair) => sum + pair.ids.length, 0);
          return { logits: encodeFloats(floats(value)), ms, model: metadata.reranker.name, tokens: { in: scored, out: 0 } };
        }
        case "complete":
          return complete(effect);
      }
    },
  };
}
