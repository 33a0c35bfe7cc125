// The Ask page as a visitor meets it: passages while typing, an answer, a refusal, the trace, by mouse and by keyboard.

import { inspect } from "./accessibility.ts";
import { answerable, ask, expect, lexicalReady, modelsReady, test, unanswerable, warm, withoutModels } from "./site.ts";

test("passages appear while typing, before any model has arrived", async ({ page, site }) => {
  await withoutModels(page);
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
  await withoutModels(page);
  await page.goto(site);
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/);
  await expect(page.locator(".stages-missing")).toContainText("dense");
  await expect(page.locator('[data-item="stages"]')).toContainText("embedder");
});

warm("a question is answered with citations that show and open their passage", async ({ page }) => {
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
  expect(href).toMatch(/^https:\/\/docs\.docker\.com\/.+#/);
  await expect(page.locator("#live")).toContainText("Answer, ");
});

warm("a question that the documents do not answer is refused, with what was looked for, what was found and why", async ({ page }) => {
  await ask(page, unanswerable);
  const answer = page.locator("#answer");
  await expect(answer).toHaveAttribute("data-status", "refused");
  for (const part of ["Looked for", "Why no answer", "Found instead", "Closest page"]) await expect(answer).toContainText(part);
  await expect(page.locator("#live")).toContainText("Refused");
});

warm("examples that claim an answer are answered, and trick ones refused", async ({ page }) => {
  warm.setTimeout(300_000);
  const groups = page.locator(".examples-group");
  await expect(groups).toHaveCount(3);
  for (const [title, status] of [["Has an answer", "answered"], ["Trick", "refused"]] as const) {
    const questions = await groups.filter({ hasText: title }).locator("a").allInnerTexts();
    expect(questions).toHaveLength(4);
    for (const question of questions) {
      await page.locator("#home").click();
      await page.getByRole("link", { name: question }).click();
      await expect(page.locator("h2.question")).toHaveText(question);
      await expect(page.locator("#answer"), question).toHaveAttribute("data-status", status, { timeout: 120_000 });
    }
  }
});

warm("an answer is copied as Markdown whose citations are links", async ({ page }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await ask(page, answerable);
  await page.getByRole("button", { name: "Copy as Markdown" }).click();
  await expect(page.locator("#toast")).toHaveText("Answer copied");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain(`**${answerable}**`);
  expect(copied).toMatch(/\[\[1\]\]\(https:\/\/\S+#\S+\)/);
  expect(copied).toMatch(/^1\. \[.+\]\(https:/m);
});

warm("the trace shows each step, moves ranks through the stages, and replays identically", async ({ page }) => {
  await ask(page, answerable);
  const trace = page.locator("#trace");
  await expect(trace.locator(".step.retrieve")).toHaveCount(1);
  await expect(trace.locator(".step.grade_context")).toHaveCount(1);
  await expect(trace.locator(".step.generate")).toHaveCount(1);
  const first = trace.locator(".candidates tbody tr").first();
  await expect(first.locator("td.number .at")).toHaveText([/^[\d–]+$/, /^[\d–]+$/, /^\d+$/, /^\d+$/]);
  await expect(trace.locator(".candidates .move").first()).toContainText(/[↑↓]\d/);
  await trace.getByRole("button", { name: "Replay" }).click();
  await expect(trace.locator(".replay")).toHaveClass(/identical/);
});

warm("a downloaded trace is the run's own record", async ({ page }) => {
  await ask(page, answerable);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  const trace = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { kind: string; question: string; status: string };
  expect(trace).toMatchObject({ kind: "trace", question: answerable, status: "answered" });
});

warm("asking again from a step takes what the trace holds and works out only the rest", async ({ page }) => {
  await ask(page, answerable);
  await page.locator('[data-key="fork-1"]').click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/Passages/).fill("2");
  await dialog.getByLabel(/Passages/).press("Tab");
  await dialog.getByRole("button", { name: "Ask again" }).click();
  await expect(page.locator("#trace")).toContainText("taken from the earlier trace", { timeout: 60_000 });
});

warm("everything works by keyboard alone", async ({ page }) => {
  const field = page.getByRole("textbox", { name: "Question" });
  await page.keyboard.press("Control+k");
  await expect(field).toBeFocused();
  await page.keyboard.type("restart policy");
  await expect(page.locator("#passages .passage").nth(1)).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("#passages .passage").first()).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("#passages .passage").nth(1)).toBeFocused();
  const address = await page.locator("#passages .passage").nth(1).getAttribute("href");
  const [opened] = await Promise.all([page.context().waitForEvent("page"), page.keyboard.press("Enter")]);
  expect(address).toMatch(/^https:.+#/);
  await opened.close();
  await page.keyboard.press("Escape");
  await expect(field).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/, { timeout: 60_000 });
  await page.keyboard.press("Escape");
  await expect(page.locator("#start")).toBeVisible();
  await expect(field).toHaveValue("");
});

test("back and forward walk through the questions", async ({ page, site }) => {
  await withoutModels(page);
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
  await withoutModels(page);
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
  await withoutModels(page);
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
  // The site's evaluation is kept for those who looked at it.
  await page.goto(new URL("report.html", site).href);
  await expect(page.locator("#report h1")).toBeVisible();
  await context.setOffline(true);
  await page.goto(site);
  await modelsReady(page);
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", "answered");
  await expect(page.locator('[data-item="stages"]')).not.toContainText("○");
  for (const [file, title] of [["trace.html", /Trace/], ["report.html", /Report/], ["review.html", /Review/]] as const) {
    await page.goto(new URL(file, site).href);
    await expect(page).toHaveTitle(title);
    await expect(page.locator('input[type="file"]').first()).toBeAttached();
    if (file === "report.html") await expect(page.locator("#report h1")).toBeVisible();
  }
});

warm("on a narrow screen the trace stands below the answer, its table shows every rank, and a passage stays inside", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await ask(page, answerable);
  const answer = (await page.locator("#answer").boundingBox())!;
  const trace = (await page.locator("#trace").boundingBox())!;
  expect(trace.y).toBeGreaterThanOrEqual(answer.y + answer.height);
  const row = page.locator(".candidates tbody tr").first();
  for (const cell of await row.getByRole("cell").all()) {
    const box = (await cell.boundingBox())!;
    expect(box.width).toBeGreaterThan(8);
    expect(box.x + box.width).toBeLessThanOrEqual(360);
  }
  await expect(row.getByRole("cell")).toHaveCount(6);
  await page.locator(".cite").first().focus();
  const popover = (await page.locator(".popover").boundingBox())!;
  expect(popover.x).toBeGreaterThanOrEqual(0);
  expect(popover.x + popover.width).toBeLessThanOrEqual(360);
});

warm("nothing is wrong for assistive technology, and nothing overflows, in both themes and on narrow screens", async ({ page }) => {
  warm.setTimeout(300_000);
  await inspect(page, "ask-start");
  await page.getByRole("textbox", { name: "Question" }).fill("memory lim");
  await expect(page.locator("#passages .passage").first()).toBeVisible();
  await inspect(page, "ask-typing");
  await ask(page, answerable);
  await page.locator(".cite").first().focus();
  await expect(page.locator(".popover")).toBeVisible();
  await inspect(page, "ask-answer");
  await page.keyboard.press("Escape");
  await ask(page, unanswerable);
  await inspect(page, "ask-refusal");
  await page.getByRole("button", { name: "Settings" }).click();
  await inspect(page, "ask-settings");
  await page.getByRole("button", { name: "Done" }).click();
});
