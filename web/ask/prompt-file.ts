// The site's prompts and prices: loaded once, when they are first needed.

import { Deadline } from "../providers/deadline.ts";
import { Prompts, type TaskFile } from "../providers/prompts.ts";
import { ProviderFailure } from "../providers/provider.ts";

/** The server does not name the endpoint that it pays; this is the one it is made for, and its model names are its own. */
const pricedEndpoint = "api.groq.com";
const promptsWithinMs = 15_000;

export class PromptFile {
  readonly #address: string;
  #prompts: Promise<Prompts> | undefined;

  constructor(address: string) {
    this.#address = address;
  }

  /** Cost of a live call in USD. A price list that comes late, or never, costs a figure and not the answer. */
  priceList(): (model: string, tokens: { in: number; out: number }) => number | null {
    let prices: Prompts | null = null;
    this.load().then((loaded) => (prices = loaded), () => undefined);
    return (model, tokens) => prices?.cost(pricedEndpoint, model, tokens) ?? null;
  }

  /** Rejects with a ProviderFailure. */
  load(): Promise<Prompts> {
    this.#prompts ??= (async () => {
      const deadline = new Deadline(promptsWithinMs);
      try {
        const response = await fetch(this.#address, { signal: deadline.signal });
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
