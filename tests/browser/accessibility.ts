// What every page is held to in both themes, on wide and narrow screens: axe-core finds nothing, nothing is wider than the screen.

import axe from "axe-core";
import { expect, type Page } from "@playwright/test";

/**
 * What axe-core finds, as "rule element, element". Its source goes in through the debugger, which a Content-Security-Policy does
 * not hold up.
 * @param within only this element, with the shadow trees in it
 */
export async function findings(page: Page, within = "html"): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  return page.evaluate(async (context) => {
    type Run = (context: string, options: object) => Promise<{ violations: { id: string; nodes: { target: string[] }[] }[] }>;
    const { run } = (globalThis as unknown as { axe: { run: Run } }).axe;
    const { violations } = await run(context, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id} ${nodes.map(({ target }) => target.map(String).join(" ")).join(", ")}`);
  }, within);
}

export interface Inspection {
  within?: string;
  widths?: readonly number[];
  height?: number;
  /** What else has to hold in each theme, at each width. */
  also?(colorScheme: "light" | "dark", where: string): Promise<void>;
}

/**
 * Looks at the page as it stands in both themes at each width; the window's size is put back. With POLYGRAPH_TEST_PICTURES a
 * picture of each is left in that folder, to be looked at.
 */
export async function inspect(page: Page, state: string, { within, widths = [1280, 360], height = 740, also }: Inspection = {}): Promise<void> {
  const before = page.viewportSize();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const width of widths) {
      await page.setViewportSize({ width, height });
      const where = `${state}, ${colorScheme}, ${width} px`;
      expect.soft(await findings(page, within), where).toEqual([]);
      expect.soft(await page.evaluate(() => document.documentElement.scrollWidth), where).toBeLessThanOrEqual(width);
      await also?.(colorScheme, where);
      const folder = process.env["POLYGRAPH_TEST_PICTURES"];
      if (folder) await page.screenshot({ path: `${folder}/${where.replace(/\W+/g, "-")}.png` });
    }
  }
  if (before) await page.setViewportSize(before);
}
