// The fixtures of the browser tests: the built site behind the program's own server, one for each worker, and a page that
// reports every console error, uncaught exception and Content-Security-Policy violation. `test` gives a page of its own,
// which loads everything anew; `warm` gives one page to all its tests, with the models loaded once, back at the start.

import { test as base, expect, type ConsoleMessage, type Page } from "@playwright/test";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { StaticServer } from "./static_server.ts";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const siteFolder = process.env["POLYGRAPH_TEST_SITE"] ?? path.join(root, "dist/site");
export const engineFolder = process.env["POLYGRAPH_TEST_ENGINE"] ?? path.join(root, "dist/engine");
export const program = process.env["POLYGRAPH_TEST_PROGRAM"] ?? path.join(root, "build/default/cli/polygraph");

const viewport = { width: 1280, height: 900 };

/** Models of this size take a while on a busy machine with two cores. */
export const modelsReadyMs = 120_000;

interface WorkerFixtures {
  /** Address of the site, served by `polygraph serve`. */
  site: string;
  /** A page whose models are loaded, and every address it asked for since it was opened. */
  loaded: { page: Page; requests: string[] };
}
interface TestFixtures {
  faults: string[];
}

export const test = base.extend<TestFixtures, WorkerFixtures>({
  site: [
    async ({}, use) => {
      if (!existsSync(program)) throw new Error(`${program} is missing; build it with ./polygraph build`);
      const state = mkdtempSync(path.join(tmpdir(), "polygraph-browser-"));
      const server = spawn(program, ["serve", "--site", siteFolder, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"], cwd: state });
      const line = await new Promise<string>((resolve, reject) => {
        createInterface({ input: server.stdout }).once("line", resolve);
        server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
      });
      await use(`${(JSON.parse(line) as { listening: string }).listening}/`);
      server.removeAllListeners("exit");
      const ended = new Promise((resolve) => server.once("exit", resolve));
      server.kill("SIGTERM");
      await ended;
    },
    { scope: "worker" },
  ],

  loaded: [
    async ({ browser, site }, use) => {
      const context = await browser.newContext({ viewport });
      const page = await context.newPage();
      const requests: string[] = [];
      // The page's own and its workers'; a page that a test opens through a link belongs to someone else.
      context.on("request", (request) => {
        if (request.serviceWorker() || (!request.isNavigationRequest() && request.frame().page() === page)) requests.push(request.url());
      });
      await page.goto(site);
      await modelsReady(page);
      await use({ page, requests });
      await context.close();
    },
    { scope: "worker", timeout: 180_000 },
  ],

  /** What went wrong on the page; every test that uses the page expects it to stay empty. */
  faults: [
    async ({ page }, use) => {
      const faults: string[] = [];
      const uncaught = (error: Error): number => faults.push(`uncaught: ${error.message}`);
      const logged = (message: ConsoleMessage): void => {
        // Pages ask whether their server answers live, or whether a command line opened the review; the browser itself reports
        // that a plain file server, or no server, knows no such address.
        const asked = /\/api\/(status|review)$/.test(message.location().url);
        if (message.type() === "error" && !asked) faults.push(`console: ${message.text()}, ${message.location().url}`);
      };
      page.on("pageerror", uncaught);
      page.on("console", logged);
      await use(faults);
      page.off("pageerror", uncaught);
      page.off("console", logged);
      expect(faults).toEqual([]);
    },
    { auto: true },
  ],
});

export const warm = test.extend({
  page: async ({ loaded: { page } }, use) => {
    await use(page);
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "no-preference" });
    await page.keyboard.press("Escape"); // a dialog that a failed test left open
    await page.locator("#home").click();
    await expect(page.locator("#start")).toBeVisible();
  },
});

export { expect, StaticServer };

/** Asks and waits until the run has ended. */
export async function ask(page: Page, question: string): Promise<void> {
  await page.getByRole("textbox", { name: "Question" }).fill(question);
  await page.keyboard.press("Enter");
  await expect(page.locator("h2.question")).toHaveText(question.trim());
  await expect(page.locator("#answer")).not.toHaveAttribute("data-status", "running", { timeout: 120_000 });
}

/** For what does not need the models: they stay away, as for a visitor who cancelled them. */
export async function withoutModels(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const key = "polygraph.settings";
    if (localStorage.getItem(key) === null) localStorage.setItem(key, '{"preset":"tuned","set":{},"models":"off"}');
  });
}

export async function modelsReady(page: Page): Promise<void> {
  await expect(page.locator('[data-item="models"]')).toContainText("Models ready", { timeout: modelsReadyMs });
}

export async function lexicalReady(page: Page): Promise<void> {
  await expect(page.locator("#foot")).toContainText("passages", { timeout: 30_000 });
}

/** A question that the default corpus answers, and one that it does not. */
export const answerable = "How do I limit a container's memory?";
export const unanswerable = "How do I set up an ingress controller on GKE?";
