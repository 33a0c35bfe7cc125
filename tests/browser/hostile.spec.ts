// A corpus that tries to run scripts: every text of it must stay text. The index is made here, by the program itself.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "@playwright/test";
import { answer, askElement, dialog, elementSite, field, openDialog, under } from "./element_site.ts";
import { answering, answerOf, openStream, ScriptedService, send } from "./scripted_service.ts";
import { ask, engineFolder, expect, lexicalReady, program, root, StaticServer, test } from "./site.ts";

const attack = `<img src=x onerror="globalThis.attacked=true"><script>globalThis.attacked=true</script>`;
/** Turns the writing direction round; what follows it on the page must not turn with it. */
const turned = "\u202Egnp.exe";
const page1 = `---
title: 'Frobnicating ${turned} ${attack}'
---
# Frobnicating ${attack}

## Limits "><svg onload=globalThis.attacked=true>

The frobnicator accepts at most 17 widgets per minute ${turned} \u0007\u001b[31m ${attack}. See [the limit](javascript:globalThis.attacked=true) and
[a page](https://example.invalid/"onmouseover="globalThis.attacked=true).

\`\`\`html
<script>globalThis.attacked = true</script> </pre></code>
\`\`\`
`;

const question = "How many widgets does the frobnicator accept per minute?";

/** Makes an index of these pages below `folder`. */
function hostileIndex(folder: string, ...options: string[]): string {
  mkdirSync(path.join(folder, "docs"), { recursive: true });
  writeFileSync(path.join(folder, "docs/frobnicator.md"), page1);
  writeFileSync(path.join(folder, "docs/other.md"), "# Another page\n\nWidgets are painted blue before they are shipped to customers.\n");
  const index = path.join(folder, "hostile.polygraph");
  execFileSync(program, ["index", "--corpus", `dir:${path.join(folder, "docs")}`, ...options, "--out", index], { stdio: "pipe" });
  return index;
}

/** Elements whose text turns the writing direction and whose style does not end that with the text. */
const unbounded = (): string[] =>
  [...document.querySelectorAll("body *"), ...(document.querySelector("polygraph-ask")?.shadowRoot?.querySelectorAll("dialog *") ?? [])].filter((element) => {
    const { unicodeBidi, display } = getComputedStyle(element);
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.includes("\u202E"));
    return own && unicodeBidi === "normal" && (display.startsWith("inline") || element.childNodes.length > 1);
  }).map((element) => element.outerHTML.slice(0, 160));

test("text of a hostile corpus stays text in passages, answer, trace and title", async ({ page }) => {
  const folder = mkdtempSync(path.join(tmpdir(), "polygraph-hostile-"));
  const index = hostileIndex(folder);
  execFileSync(process.execPath, [path.join(root, "web/build.mjs"), "site", "--engine", engineFolder, "--index", index, "--out", path.join(folder, "site")], { stdio: "pipe" });
  const server = new StaticServer(path.join(folder, "site"));
  await page.goto(await server.start());
  await lexicalReady(page);
  await page.getByRole("textbox", { name: "Question" }).fill("frobnicator widgets");
  await expect(page.locator("#passages")).toContainText("<img src=x");
  expect(await page.evaluate(unbounded)).toEqual([]);
  await ask(page, question);
  await expect(page.locator("#trace")).toContainText("<img src=x");
  for (const citation of await page.locator(".cite, .candidate").all()) await citation.hover();
  expect(await page.evaluate(unbounded)).toEqual([]);
  await ask(page, `${attack} frobnicator`);
  await expect(page.locator("h2.question")).toContainText("<img src=x");
  expect(await page.evaluate(() => "attacked" in globalThis)).toBe(false);
  expect(await page.locator("main img, main script, main svg, [onerror], [onload], [onmouseover]").count()).toBe(0);
  expect(await page.locator('a[href^="javascript:" i]').count()).toBe(0);
  await server.stop();
});

/** That nothing of what the element shows became more than text. */
async function onlyText(page: Page): Promise<void> {
  for (const citation of await answer(page).locator(".cite").all()) await citation.focus(); // opens its passage
  expect(await page.evaluate(unbounded)).toEqual([]);
  expect(await page.evaluate(() => "attacked" in globalThis)).toBe(false);
  const shown = page.locator("polygraph-ask");
  expect(await shown.locator("img, script, iframe, [onerror], [onload], [onmouseover]").count()).toBe(0);
  expect(await shown.locator("a").evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).protocol).filter((protocol) => !/^https?:$/.test(protocol)))).toEqual([]);
}

for (const base of ["./", "javascript:globalThis.attacked=true//"]) {
  test(`in the element, too, whose pages are under ${base}`, async ({ page }) => {
    const served = await elementSite();
    copyFileSync(hostileIndex(mkdtempSync(path.join(tmpdir(), "polygraph-hostile-")), "--lexical", "--base-url", base, "--title", attack), path.join(served, under, "docs.polygraph"));
    const server = new StaticServer(served, { isolated: false });
    await page.goto(`${await server.start()}${under}/`);
    await openDialog(page);
    await field(page).fill("frobnicator widgets");
    await expect(dialog(page).locator(".typed")).toContainText("<img src=x");
    await onlyText(page);
    await askElement(page, question);
    await expect(answer(page)).toHaveAttribute("data-status", "answered");
    await expect(answer(page)).toContainText("<img src=x");
    await onlyText(page);
    await askElement(page, `${attack} ${turned} ingress?`);
    await expect(answer(page).locator("h2")).toContainText("<img src=x");
    await onlyText(page);
    await server.stop();
  });
}

test("and what a hostile model says to the element", async ({ page }) => {
  const service = new ScriptedService({ isolated: false }, await elementSite({ element: '<polygraph-ask src="ROOTdocs.polygraph" endpoint="/api"></polygraph-ask>' }));
  service.script = (body, response) => {
    if (body.task === "grade") return send(response, 200, answerOf(body, { relevant: true, reason: `${attack} ${turned}`, relevant_chunk_ids: body.chunk_ids }, { model: attack }));
    if (body.task !== "generate") return answering(body, response);
    const text = `${attack} [x](javascript:globalThis.attacked=true) \u0007\u001b[31m ${turned} is said. [${body.chunk_ids?.[0]}]`;
    const event = openStream(response);
    event("delta", { text });
    event("done", answerOf(body, { text }, { model: attack }));
    response.end();
  };
  await page.goto(`${await service.start()}${under}/`);
  await openDialog(page);
  await askElement(page, "How do I restore a backup?");
  await expect(answer(page)).toContainText("<img src=x");
  await onlyText(page);
  await service.stop();
});
