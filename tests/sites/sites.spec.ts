// <polygraph-ask> in sites of real generators, built by their pages in assets/sites: on a sub-path of a plain file server, without
// headers that isolate, under a policy that allows the site's own inline parts by digest and the element what its README asks for.

import { cpSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "@playwright/test";
import { findings } from "../browser/accessibility.ts";
import { answer, askElement, command, dialog, element, field } from "../browser/element_site.ts";
import { expect, root, StaticServer, test } from "../browser/site.ts";
import { site, sites, steps } from "./build.mjs";
import { policyFor } from "./policy.ts";

const question = "How do I respond to a request from a hook?";
const trick = "How do I set up an ingress controller on GKE?";

test("the commands of the README are those that the MkDocs site was built by", () => {
  const commands = steps(readFileSync(path.join(root, "assets/sites/mkdocs-material.md"), "utf8")).map(({ command }) => command);
  expect(commands).toHaveLength(1);
  expect(commands[0]!.trim().split("\n")).toHaveLength(3);
  expect(readFileSync(path.join(root, "README.md"), "utf8")).toContain(`\`\`\`sh\n${commands[0]}\`\`\``);
});

for (const [name, { under }] of Object.entries(sites)) {
  test.describe(name, () => {
    const docs = name === "docusaurus" ? "docs/" : ""; // its pages stand under this
    let server: StaticServer;
    let address: string;

    test.beforeAll(async () => {
      const published = site(name); // built before the tests begin (tests/groups.sh)
      const served = mkdtempSync(path.join(tmpdir(), "polygraph-sites-"));
      cpSync(published, path.join(served, under), { recursive: true });
      command("copy", path.join(served, under, "polygraph")); // the element's files as they are now
      server = new StaticServer(served, { isolated: false, policy: policyFor(published) });
      address = `${await server.start()}${under}/`;
    });
    test.afterAll(() => server.stop());

    const visit = async (page: Page, at: string): Promise<void> => {
      await page.goto(address + at);
      await expect(element(page).first()).toBeAttached();
      await page.waitForLoadState("networkidle");
    };
    /** A fault names the file that it comes from; what the site's own scripts are told off for is not the element's affair. */
    const keepOwn = (faults: string[]): void => {
      const ofTheSite = (fault: string): boolean => {
        const from = fault.slice(fault.lastIndexOf(", ") + 2);
        return from.startsWith(new URL(address).origin) && !from.startsWith(`${address}polygraph/`) && !from.includes("docs.polygraph");
      };
      faults.splice(0, faults.length, ...faults.filter((fault) => !ofTheSite(fault)));
    };
    const open = async (page: Page): Promise<void> => {
      await element(page).locator("button.trigger").filter({ visible: true }).click();
      await expect(field(page)).toBeFocused();
    };

    test("a question is answered with citations that point to pages of the site, another is refused, and a source opens", async ({ page, context, faults }) => {
      const elsewhere: string[] = [];
      context.on("request", (request) => {
        if (new URL(request.url()).host !== new URL(address).host && /^https?:/.test(request.url())) elsewhere.push(request.url());
      });
      await visit(page, name === "vitepress" ? "Reference/Reply.html" : `${docs}Reference/Reply/`);
      expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
      await open(page);
      await field(page).pressSequentially("decorators");
      await expect(dialog(page).locator(".typed a.passage").first()).toBeVisible();
      await askElement(page, question);
      await expect(answer(page)).toHaveAttribute("data-status", "answered");
      const links = await answer(page).locator("a.cite, .sources a").evaluateAll((found) => found.map((link) => (link as HTMLAnchorElement).href));
      expect(links.length).toBeGreaterThan(1);
      for (const link of new Set(links)) {
        expect(link.startsWith(address), link).toBe(true);
        const response = await page.request.get(link);
        expect(response.status(), link).toBe(200);
        const id = decodeURIComponent(new URL(link).hash.slice(1));
        expect(new RegExp(`\\bid="?${id}["\\s>]`).test(await response.text()), link).toBe(true);
      }
      await askElement(page, trick);
      await expect(answer(page)).toHaveAttribute("data-status", "refused");
      await expect(answer(page)).toContainText("Why no answer");

      await askElement(page, question);
      const source = answer(page).locator(".sources a").first();
      const target = await source.evaluate((link) => (link as HTMLAnchorElement).href);
      await source.click();
      await expect(page).toHaveURL(target);
      await expect(page.locator(":target")).toBeInViewport();
      expect(elsewhere).toEqual([]);
      keepOwn(faults);
    });

    test("nothing serious is wrong for assistive technology, in both themes and on narrow screens", async ({ page, faults }) => {
      const folder = process.env["POLYGRAPH_TEST_PICTURES"]; // to be looked at
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 740 });
        await visit(page, docs);
        // On narrow screens its navigation is a menu behind that of the pages, and the button a part of it.
        if (name === "docusaurus" && width === 360) {
          await page.locator(".navbar__toggle").click();
          await page.locator(".navbar-sidebar__back").click();
        }
        await open(page);
        for (const [state, asked] of [["answer", question], ["refusal", trick]] as const) {
          await askElement(page, asked);
          for (const colorScheme of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
            const where = `${state}, ${colorScheme}, ${width} px`;
            expect.soft(await findings(page, "polygraph-ask[open]"), where).toEqual([]);
            expect.soft(await dialog(page).locator(".body").evaluate((body) => body.scrollWidth - body.clientWidth), where).toBe(0);
            if (folder) await page.screenshot({ path: `${folder}/${name}-${state}-${colorScheme}-${width}.png` });
          }
        }
      }
      keepOwn(faults);
    });
  });
}
