// The report page with the gaps of a documentation: list, filters, one gap, and text from outside that stays text.

import path from "node:path";
import { inspect } from "./accessibility.ts";
import { reportFile, temporary } from "./pages.ts";
import { expect, test } from "./site.ts";

const folder = temporary();
const hostile = "<img src=x onerror=alert(1)> \u202e</script>";
const gap = (label: string, count: number, kind: string, more: object = {}): object => ({
  label, count, first_seen: "2026-11-01", last_seen: "2026-12-01", kind, nearness: { value: kind === "near_miss" ? 0.74 : 0.51, measure: "meaning", near_from: 0.67 },
  questions: [{ question: label, count }], reasons: [{ reason: "no passage answers it", count }], detail: null,
  closest: [{ title: "Logging", url: "https://docs.example/logging", count }], ...more,
});
const report = {
  kind: "gaps", schema: 1, corpus: "Example documentation", index_digest: "xxh128:00", grouped_by: { measure: "meaning", threshold: 0.8, why: null },
  asked: 40, refused: 14, failed: 0, distinct_questions: 6,
  gaps: [
    gap("How do I ship logs to Loki?", 9, "near_miss", { questions: [{ question: "How do I ship logs to Loki?", count: 6 }, { question: "Loki as log target", count: 3 }] }),
    gap("How do I refund a ticket?", 3, "out_of_scope"),
    gap(hostile, 2, "near_miss", { detail: hostile, closest: [{ title: hostile, url: "javascript:alert(1)", count: 2 }] }),
  ],
};

test.beforeEach(async ({ page }) => {
  await page.goto(await reportFile(path.join(folder, "gaps.html"), [JSON.stringify(report)]));
  await expect(page.locator("#report h1")).toHaveText("Documentation gaps");
});

test("gaps are listed with their totals, and filtered by kind and by any question of a group", async ({ page }) => {
  await expect(page.locator(".totals")).toContainText("Refused14");
  await expect(page.locator(".totals")).toContainText("Near misses2");
  await expect(page.locator(".list-count")).toHaveText("3 gaps");
  await page.getByLabel("Kind", { exact: true }).selectOption("out of scope");
  await expect(page.locator(".list-count")).toHaveText("1 of 3 gaps");
  await page.getByLabel("Kind", { exact: true }).selectOption("");
  await page.getByRole("searchbox").fill("log target");
  await expect(page.locator(".grid-row")).toHaveText([/Loki/]);
});

test("a gap opens by keyboard with its questions, reasons and pages, and the next one with an arrow key", async ({ page }) => {
  await page.locator(".grid").focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog#item");
  await expect(dialog.locator("#item-title")).toHaveText("How do I ship logs to Loki?");
  await expect(dialog).toContainText("Loki as log target × 3");
  await expect(dialog).toContainText("no passage answers it");
  await expect(dialog.getByRole("link", { name: "Logging" })).toHaveAttribute("href", "https://docs.example/logging");
  await page.keyboard.press("ArrowRight");
  await expect(dialog.locator("#item-title")).toHaveText("How do I refund a ticket?");
  await expect(dialog).toContainText("Nothing near it was found.");
});

test("text from outside stays text, and no address but a web address is a link", async ({ page }) => {
  await page.locator(".grid-row").nth(2).click();
  const dialog = page.locator("dialog#item");
  await expect(dialog).toContainText("<img src=x onerror=alert(1)>");
  expect(await page.locator("#report img, dialog img").count()).toBe(0);
  expect(await dialog.getByRole("link").count()).toBe(0);
});

test("it can be used at 360 pixels and by a screen reader, in both themes", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await inspect(page, "gaps", { widths: [360] });
  await page.locator(".grid-row").first().click();
  await inspect(page, "gap", { widths: [360] });
});
