// Runs axe-core in the page. Its source goes in through the debugger, which a Content-Security-Policy does not hold up.

import axe from "axe-core";
import type { Page } from "@playwright/test";

interface Violation {
  id: string;
  nodes: { target: string[] }[];
}

export class AxeBuilder {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** @param within only this element, with the shadow trees in it */
  async analyse(within = "html"): Promise<{ violations: Violation[] }> {
    await this.#page.evaluate(axe.source);
    return this.#page.evaluate(async (context) => {
      const run = (globalThis as unknown as { axe: { run(context: string): Promise<{ violations: Violation[] }> } }).axe;
      const { violations } = await run.run(context);
      return { violations: violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ target }) => ({ target: target.map(String) })) })) };
    }, within);
  }
}
