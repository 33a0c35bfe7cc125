// Performs the LLM tasks of the run that is shown, with whoever answers it, and remembers what went wrong: the engine is
// told that the task failed, the page goes on with the failure itself.

import type { Chunk, EffectResult } from "../engine/boundary.ts";
import type { Choice } from "../providers/choice.ts";
import { ProviderFailure, type Provider, type Task } from "../providers/provider.ts";

/** Those of a choice that complete tasks. */
export type Answerer = Exclude<Choice["who"], "browser" | "recorded">;

export interface Surroundings {
  provider(who: Answerer): Promise<Provider>;
  indexDigest(): string;
  chunks(ids: readonly string[]): Promise<(Chunk | null)[]>;
  onDraft(text: string): void;
}

export class Completions {
  readonly #around: Surroundings;
  #provider: Promise<Provider> | undefined;
  #signal: AbortSignal = new AbortController().signal;
  failure: ProviderFailure | null = null;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** From now on tasks go to this provider; those still under way are the former signal's affair. */
  begin(who: Choice["who"], signal: AbortSignal): void {
    this.failure = null;
    this.#signal = signal;
    this.#provider = who === "browser" || who === "recorded" ? undefined : this.#around.provider(who);
    this.#provider?.catch(() => undefined); // told where it is used
  }

  async perform(task: Task): Promise<EffectResult> {
    const signal = this.#signal;
    try {
      const provider = await this.#provider;
      if (!provider) throw new ProviderFailure("absent", "Nobody was chosen to complete tasks.");
      this.#around.onDraft("");
      return await provider.complete(task, {
        indexDigest: this.#around.indexDigest(),
        chunks: (ids) => this.#around.chunks(ids),
        onDraft: (text) => {
          if (!signal.aborted) this.#around.onDraft(text);
        },
        signal,
      });
    } catch (error) {
      const failure = error instanceof ProviderFailure ? error : new ProviderFailure("invalid", error instanceof Error ? error.message : String(error));
      if (signal === this.#signal) {
        this.failure = failure;
        this.#around.onDraft("");
      }
      return failure.result;
    }
  }
}
