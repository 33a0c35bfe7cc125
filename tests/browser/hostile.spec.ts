// A corpus that tries to run scripts: every text of it must stay text. The index is made here, by the program itself.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ask, engineFolder, expect, lexicalReady, program, root, StaticServer, test } from "./site.ts";

const attack = `<img src=x onerror="globalThis.attacked=true"><script>globalThis.attacked=true</script>`;
/** Turns the writing direction round; what follows it on the page must not turn with it. */
const turned = "\u202Egnp.exe";
const page1 = `---
title: 'Frobnicating ${turned} ${attack}'
---
# Frobnicating ${attack}

## Limits "><svg onload=globalThis.attacked=true>

The frobnicator accepts at most 17 widgets per minute ${turned} ${attack}. See [the limit](javascript:globalThis.attacked=true) and
[a page](https://example.invalid/"onmouseover="globalThis.attacked=true).

\`\`\`html
<script>globalThis.attacked = true</script> </pre></code>
\`\`\`
`;

/** Elements whose text turns the writing direction and whose style does not end that with the text. */
const unbounded = (): string[] =>
  [...document.querySelectorAll("main *")].filter((element) => {
    const { unicodeBidi, display } = getComputedStyle(element);
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.includes("\u202E"));
    return own && unicodeBidi === "normal" && (display.startsWith("inline") || element.childNodes.length > 1);
  }).map((element) => element.outerHTML.slice(0, 160));

test("text of a hostile corpus stays text in passages, answer, trace and title", async ({ page }) => {
  const folder = mkdtempSync(path.join(tmpdir(), "polygraph-hostile-"));
  mkdirSync(path.join(folder, "docs"));
  writeFileSync(path.join(folder, "docs/frobnicator.md"), page1);
  writeFileSync(path.join(folder, "docs/other.md"), "# Another page\n\nWidgets are painted blue before they are shipped to customers.\n");
  const index = path.join(folder, "hostile.polygraph");
  execFileSync(program, ["index", "--corpus", `dir:${path.join(folder, "docs")}`, "--out", index], { stdio: "pipe" });
  execFileSync(process.execPath, [path.join(root, "web/build.mjs"), "site", "--engine", engineFolder, "--index", index, "--out", path.join(folder, "site")], { stdio: "pipe" });
  const server = new StaticServer(path.join(folder, "site"));
  await page.goto(await server.start());
  await lexicalReady(page);
  await page.getByRole("textbox", { name: "Question" }).fill("frobnicator widgets");
  await expect(page.locator("#passages")).toContainText("<img src=x");
  expect(await page.evaluate(unbounded)).toEqual([]);
  await ask(page, "How many widgets does the frobnicator accept per minute?");
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
