// The pages beside the Ask page where a browser gives them little: no isolation, no storage of any kind, no service worker.
// (network.spec.ts does the same with the Ask page, which has more to lose.)

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "@playwright/test";
import { temporary } from "./pages.ts";
import { expect, root, siteFolder, StaticServer, test } from "./site.ts";

const folder = temporary();
const server = new StaticServer(siteFolder, { isolated: false });
let site = "";
test.beforeAll(async () => { site = await server.start(); });
test.afterAll(() => server.stop());

async function deny(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const refuse = (): never => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    };
    for (const store of ["localStorage", "sessionStorage", "indexedDB", "caches"]) Object.defineProperty(globalThis, store, { get: refuse });
    Object.defineProperty(ServiceWorkerContainer.prototype, "register", { value: async () => refuse() });
  });
}

test("without isolation and storage the report page shows a report, or the site's evaluation", async ({ page }) => {
  await deny(page);
  await page.goto(`${site}report.html`);
  await expect(page.locator("h1:visible")).toHaveText(/Report|\d pipelines/);
  expect(await page.evaluate(() => globalThis.crossOriginIsolated)).toBe(false);
  const file = path.join(folder, "results.jsonl");
  writeFileSync(file, '{"query_id":"a","query":"How?","diagnosis":{"category":"PASS"}}\n{"query_id":"b","query":"When?","status":"failed"}\n');
  await page.setInputFiles("#picker", file);
  await expect(page.locator(".list-count")).toHaveText("2 items");
});

test("without isolation and storage the review page reviews a set, and says that a reload would lose it", async ({ page }) => {
  await deny(page);
  await page.goto(`${site}review.html`);
  await expect(page.locator("#start")).toContainText("Open a golden set");
  await page.setInputFiles("#picker", path.join(root, "assets/golden/fastify.jsonl"));
  await expect(page.locator("#item-title")).toBeVisible();
  await page.keyboard.press("a");
  await expect(page.locator("#review-status")).toContainText("1 of");
  await expect(page.locator("#problem")).toContainText("download the decisions before you leave");
});

test("without isolation and storage the trace inspector opens a recorded run", async ({ page }) => {
  await deny(page);
  const recording = JSON.parse(readFileSync(path.join(root, "assets/recordings/keep-my-data.json"), "utf8")) as { trace: unknown };
  const file = path.join(folder, "trace.json");
  writeFileSync(file, JSON.stringify(recording.trace));
  await page.goto(`${site}trace.html`);
  await page.setInputFiles('input[type="file"]', file);
  await expect(page.locator('[data-key="replay"]')).toBeVisible();
});
