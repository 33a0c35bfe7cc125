// The Ask page as a visitor meets it: passages while typing, an answer, a refusal, the trace, by mouse and by keyboard.

import { AxeBuilder } from "./axe.ts";
import { answerable, ask, expect, lexicalReady, modelsReady, test, unanswerable } from "./site.ts";

test("passages appear while typing, before any model has arrived", async ({ page, site }) => {
  await page.addInitScript(() => localStorage.setItem("polygraph.settings", '{"preset":"tuned","set":{},"models":"off"}'));
  await page.goto(site);
  await lexicalReady(page);
  await page.keyboard.press("/");
  await page.keyboard.type("limit memory", { delay: 20 });
  const passages = page.locator("#passages .passage");
  await expect(passages.first()).toBeVisible();
  await expect(page.locator("#passages mark").first()).toBeVisible();
  await expect(page.locator('[data-item="models"]')).toContainText("not loaded");
});

test("without models a question is answered from the words alone, and the answer says what is missing", async ({ page, site }) => {
  await page.addInitScript(() => localStorage.setItem("polygraph.settings", '{"preset":"tuned","set":{},"models":"off"}'));
  await page.goto(site);
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/);
  await expect(page.locator(".stages-missing")).toContainText("dense");
  await expect(page.locator('[data-item="stages"]')).toContainText("embedder");
});

test("a question is answered with citations that show and open their passage", async ({ page, site }) => {
  await page.goto(site);
  await modelsReady(page);
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", "answered");
  await expect(page).toHaveURL(/\?q=How\+do\+I\+limit/);
  const citation = page.locator(".cite").first();
  await citation.hover();
  const popover = page.locator(".popover");
  await expect(popover).toBeVisible();
  await expect(popover.locator("mark").first()).toBeVisible();
  await page.mouse.move(0, 0);
  await expect(popover).toBeHidden();
  await citation.focus();
  await expect(popover).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(popover).toBeHidden();
  const href = await citation.getAttribute("href");
  expect(href).toMatch(/^(https?:|[^:]+$)/);
  await expect(page.locator("#live")).toContainText("Answer, ");
});

test("a question that the documents do not answer is refused, with what was looked for, what was found and why", async ({ page, site }) => {
  await page.goto(site);
  await modelsReady(page);
  await ask(page, unanswerable);
  const answer = page.locator("#answer");
  await expect(answer).toHaveAttribute("data-status", "refused");
  for (const part of ["Looked for", "Why no answer", "Found instead", "Closest page"]) await expect(answer).toContainText(part);
  await expect(page.locator("#live")).toContainText("Refused");
});

test("the trace shows each step, moves ranks through the stages, and replays identically", async ({ page, site }) => {
  await page.goto(site);
  await modelsReady(page);
  await ask(page, answerable);
  const trace = page.locator("#trace");
  await expect(trace.locator(".step.retrieve")).toHaveCount(1);
  await expect(trace.locator(".step.grade_context")).toHaveCount(1);
  await expect(trace.locator(".step.generate")).toHaveCount(1);
  const first = trace.locator(".candidates tbody tr").first();
  await expect(first.locator("td.number .place")).toHaveCount(4);
  await trace.getByRole("button", { name: "Replay" }).click();
  await expect(trace.locator(".replay")).toHaveClass(/identical/);
});

test("a downloaded trace is the run's own record", async ({ page, site }) => {
  await page.goto(site);
  await modelsReady(page);
  await ask(page, answerable);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  const trace = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { kind: string; question: string; status: string };
  expect(trace).toMatchObject({ kind: "trace", question: answerable, status: "answered" });
});

test("asking again from a step takes what the trace holds and works out only the rest", async ({ page, site }) => {
  await page.goto(site);
  await modelsReady(page);
  await ask(page, answerable);
  await page.locator('[data-key="fork-1"]').click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/Passages/).fill("2");
  await dialog.getByLabel(/Passages/).press("Tab");
  await dialog.getByRole("button", { name: "Ask again" }).click();
  await expect(page.locator("#trace")).toContainText("taken from the earlier trace", { timeout: 60_000 });
});

test("everything works by keyboard alone", async ({ page, site, context }) => {
  await page.goto(site);
  await modelsReady(page);
  const field = page.getByRole("textbox", { name: "Question" });
  await page.keyboard.press("Control+k");
  await expect(field).toBeFocused();
  await page.keyboard.type("restart policy");
  await expect(page.locator("#passages .passage").nth(1)).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("#passages .passage").first()).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("#passages .passage").nth(1)).toBeFocused();
  if (await page.locator("#passages a.passage").count()) {
    const [opened] = await Promise.all([context.waitForEvent("page"), page.keyboard.press("Enter")]);
    await opened.close();
  }
  await page.keyboard.press("Escape");
  await expect(field).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/, { timeout: 60_000 });
  await page.keyboard.press("Escape");
  await expect(page.locator("#start")).toBeVisible();
  await expect(field).toHaveValue("");
});

test("back and forward walk through the questions", async ({ page, site }) => {
  await page.goto(site);
  await lexicalReady(page);
  await ask(page, answerable);
  await ask(page, unanswerable);
  await page.goBack();
  await expect(page.locator("h2.question")).toHaveText(answerable);
  await page.goBack();
  await expect(page.locator("#start")).toBeVisible();
  await page.goForward();
  await expect(page.locator("h2.question")).toHaveText(answerable);
  await page.goto(`${site}?q=${encodeURIComponent(unanswerable)}`);
  await expect(page.locator("h2.question")).toHaveText(unanswerable);
});

test("settings hold for the next question and after a reload", async ({ page, site }) => {
  await page.goto(site);
  await lexicalReady(page);
  await page.getByRole("button", { name: "Settings" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/Retrieval/).selectOption("bm25");
  await dialog.getByLabel(/Reflection/).uncheck();
  await dialog.getByRole("button", { name: "Done" }).click();
  await ask(page, answerable);
  await expect(page.locator(".step.grade_context")).toHaveCount(0);
  await page.reload();
  await lexicalReady(page);
  await page.getByRole("button", { name: "Settings" }).click();
  await expect(dialog.getByLabel(/Retrieval/)).toHaveValue("bm25");
  await expect(dialog.getByLabel(/Reflection/)).not.toBeChecked();
});

test("an empty question asks nothing, and one of 100 KB is refused with the reason", async ({ page, site }) => {
  await page.goto(site);
  await lexicalReady(page);
  await page.getByRole("textbox", { name: "Question" }).fill("   ");
  await page.keyboard.press("Enter");
  await expect(page.locator("#result")).toBeHidden();
  await page.getByRole("textbox", { name: "Question" }).fill("memory ".repeat(14_000));
  await page.keyboard.press("Enter");
  await expect(page.locator("#answer")).toHaveAttribute("data-status", "failed");
  await expect(page.locator("#answer")).toContainText(/long|bytes/);
});

test("a second visit works without a network", async ({ page, site, context }) => {
  await page.goto(site);
  await modelsReady(page);
  await expect(page.locator('[data-item="offline"]')).toHaveText("Ready for offline", { timeout: 60_000 });
  await context.setOffline(true);
  await page.goto(site);
  await modelsReady(page);
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", "answered");
  await expect(page.locator('[data-item="stages"]')).not.toContainText("○");
});

for (const colorScheme of ["light", "dark"] as const) {
  for (const width of [1280, 360]) {
    test(`nothing is wrong for assistive technology, and nothing overflows: ${colorScheme}, ${width} px`, async ({ page, site }) => {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 800 });
      const inspect = async (state: string): Promise<void> => {
        const { violations } = await new AxeBuilder(page).analyse();
        expect(violations.map(({ id, nodes }) => `${state}: ${id} ${nodes.map((node) => node.target.join(" ")).join(", ")}`)).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth), state).toBeLessThanOrEqual(width);
      };
      await page.goto(site);
      await lexicalReady(page);
      await inspect("start");
      await page.getByRole("textbox", { name: "Question" }).fill("memory lim");
      await expect(page.locator("#passages .passage").first()).toBeVisible();
      await inspect("typing");
      await modelsReady(page);
      await ask(page, answerable);
      await inspect("answer");
      await ask(page, unanswerable);
      await inspect("refusal");
      await page.getByRole("button", { name: "Settings" }).click();
      await inspect("settings");
    });
  }
}
