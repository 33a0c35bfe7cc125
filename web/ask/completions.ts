// Performs the LLM tasks of the run that is shown, with whoever answers it, and remembers what went wrong: the engine is
// told that the task failed, the page goes on with the failure itself.

import type { Chunk, EffectResult } from "../engine/boundary.ts";
import { BuiltInProvider } from "../providers/built-in.ts";
import type { Choice } from "../providers/choice.ts";
import { Deadline } from "../providers/deadline.ts";
import { EndpointProvider, type Endpoint } from "../providers/endpoint.ts";
import { Prompts, type TaskFile } from "../providers/prompts.ts";
import { ProviderFailure, type Provider, type Task } from "../providers/provider.ts";
import { ProxyProvider } from "../providers/proxy.ts";

/** The server does not name the endpoint that it pays; this is the one it is made for, and its model names are its own. */
const pricedEndpoint = "api.groq.com";
const promptsWithinMs = 15_000;

export interface Surroundings {
  /** Address of /api/. */
  api: string;
  /** Address of the prompts and prices. */
  tasks: string;
  indexDigest(): string;
  endpoint(): Endpoint;
  chunks(ids: readonly string[]): Promise<(Chunk | null)[]>;
  onDraft(text: string): void;
}

export class Completions {
  readonly #around: Surroundings;
  #prompts: Promise<Prompts> | undefined;
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
    this.#provider = who === "live" || who === "own" || who === "built-in" ? this.#of(who) : undefined;
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

  async #of(who: "live" | "own" | "built-in"): Promise<Provider> {
    if (who === "live") {
      // A price list that comes late, or never, costs a figure and not the answer.
      let prices: Prompts | null = null;
      this.#load().then((loaded) => (prices = loaded), () => undefined);
      return new ProxyProvider(new URL("complete", this.#around.api).href, (model, tokens) => prices?.cost(pricedEndpoint, model, tokens) ?? null);
    }
    const prompts = await this.#load();
    return who === "own" ? new EndpointProvider(this.#around.endpoint(), prompts) : new BuiltInProvider(prompts);
  }

  #load(): Promise<Prompts> {
    this.#prompts ??= (async () => {
      const deadline = new Deadline(promptsWithinMs);
      try {
        const response = await fetch(this.#around.tasks, { signal: deadline.signal });
        if (!response.ok) throw new Error(`the server answered ${response.status}`);
        return new Prompts((await response.json()) as TaskFile);
      } catch (error) {
        this.#prompts = undefined;
        throw new ProviderFailure("unreachable", `The prompts of this site could not be loaded: ${error instanceof Error ? error.message : String(error)}.`);
      } finally {
        deadline.end();
      }
    })();
    return this.#prompts;
  }
}
