// <polygraph-ask> on somebody else's site: plain files on a sub-path, under a strict policy, without headers that isolate.

import { cpSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "@playwright/test";
import { inspect } from "./accessibility.ts";
import { answer, answered, askElement, command, dialog, element, elementSite, field, listen, openDialog, packageFolder, refused, under, type SiteOptions } from "./element_site.ts";
import { ScriptedService } from "./scripted_service.ts";
import { answerable, expect, modelsReadyMs, root, StaticServer, test } from "./site.ts";

let server: StaticServer | ScriptedService | undefined;
test.afterEach(async () => {
  await server?.stop();
  server = undefined;
});

/** Serves the site and opens its first page. */
async function visit(page: Page, options: SiteOptions = {}, { isolated = false, at = "" } = {}): Promise<StaticServer> {
  const files = new StaticServer(await elementSite(options), { isolated });
  server = files;
  await page.goto(`${await files.start()}${under}/${at}`);
  return files;
}

const asked = (files: StaticServer): string[] => files.requests.map((request) => request.replace(`/${under}/`, "").replace(/-[0-9a-f]{16}/, ""));
const index = 'src="ROOTdocs.polygraph"';

test("until it is opened the loader alone is fetched, then engine and index, and without models nothing more for a question", async ({ page, context }) => {
  const hosts = new Set<string>();
  context.on("request", (request) => hosts.add(new URL(request.url()).host));
  const files = await visit(page);
  await expect(page.getByRole("button", { name: "Ask", exact: true })).toBeVisible();
  await page.waitForTimeout(300);
  expect(asked(files)).toEqual(["index.html", "assets/ask/polygraph-ask.js"]);
  await openDialog(page);
  await field(page).pressSequentially("memory");
  await expect(dialog(page).locator(".passage").first()).toBeVisible();
  const opened = asked(files).slice(2).sort();
  expect(opened).toEqual(["assets/ask/dialog.js", "assets/ask/engine-worker.js", "assets/ask/engine.mjs", "assets/ask/engine.wasm", "docs.polygraph"]);
  await askElement(page, answered);
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  expect(asked(files)).toHaveLength(2 + opened.length);
  hosts.delete("");
  expect([...hosts]).toHaveLength(1);
});

test("an answer cites pages of the site, wherever the site stands, and a choice leads there; what they do not hold is refused", async ({ page }) => {
  await visit(page, {}, { at: "install/" });
  await openDialog(page);
  await askElement(page, answered);
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  await expect(answer(page)).toContainText("127.0.0.1:8000");
  await expect(answer(page).locator(".stages-missing")).toHaveCount(0);
  await expect(dialog(page).getByRole("status")).toContainText("Answer, 1 source");
  const citation = answer(page).locator("a.cite").first();
  const address = new URL(`/${under}/configure/#change-the-listening-port`, page.url()).href;
  expect(await citation.evaluate((link: HTMLAnchorElement) => link.href)).toBe(address);
  await citation.hover();
  await expect(dialog(page).locator(".popover mark").first()).toBeVisible();

  await askElement(page, refused);
  await expect(answer(page)).toHaveAttribute("data-status", "refused");
  for (const part of ["Looked for", "Why no answer"]) await expect(answer(page)).toContainText(part);
  await expect(dialog(page).getByRole("status")).toContainText("Refused");

  await askElement(page, answered);
  await answer(page).locator(".sources a").first().click();
  await expect(page).toHaveURL(address);
});

test("the page hears of answers, refusals and choices, and may go to the chosen page itself", async ({ page }) => {
  await visit(page);
  const told = await listen(page);
  await page.evaluate(() => document.addEventListener("polygraph-select", (event) => event.preventDefault()));
  await openDialog(page);
  await askElement(page, answered);
  await askElement(page, refused);
  await field(page).fill("backup");
  await dialog(page).locator(".typed a.passage").first().click();
  await expect(dialog(page)).toBeHidden();
  const [first, second, third] = await told();
  expect(first).toMatchObject({ name: "polygraph-answer", detail: { question: answered, trace: { kind: "trace", status: "answered" } } });
  const citations = first?.detail["citations"] as { chunkId: string; url: string }[];
  expect(citations).toContainEqual(expect.objectContaining({ chunkId: "configure#001", url: new URL(`/${under}/configure/#change-the-listening-port`, page.url()).href }));
  expect(second).toMatchObject({ name: "polygraph-refusal", detail: { question: refused, reason: expect.stringContaining("passage") } });
  expect(third).toMatchObject({ name: "polygraph-select", detail: { question: "backup", url: expect.stringContaining(`/${under}/backup/`) } });
  await expect(page).toHaveURL(new RegExp(`/${under}/$`)); // the browser did not follow
});

test("everything works by keyboard alone, and the focus stays in the dialog and returns", async ({ page }) => {
  await visit(page);
  const button = page.getByRole("button", { name: "Ask", exact: true });
  await button.focus();
  await page.keyboard.press("/");
  await expect(field(page)).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(dialog(page)).toBeHidden();
  await expect(button).toBeFocused();
  await page.keyboard.press("Control+k");
  await expect(field(page)).toBeFocused();
  await page.keyboard.type("back up / restore"); // the slash is text here
  await expect(field(page)).toHaveValue("back up / restore");
  const passages = dialog(page).locator(".typed a.passage");
  await expect(passages.nth(1)).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await expect(passages.first()).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(passages.nth(1)).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await expect(field(page)).toBeFocused();
  for (let i = 0; i < 20; ++i) {
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => [document.querySelector("polygraph-ask"), document.body].includes(document.activeElement as HTMLElement))).toBe(true);
  }
  await field(page).focus();
  await page.keyboard.press("Enter");
  await expect(answer(page)).toHaveAttribute("data-status", /answered|refused/, { timeout: 60_000 });
  await field(page).pressSequentially(" more");
  await page.keyboard.press("Escape"); // what was typed
  await expect(field(page)).toHaveValue("back up / restore");
  await page.keyboard.press("Escape"); // the answer
  await expect(field(page)).toHaveValue("");
  await expect(answer(page)).toBeHidden();
  await page.keyboard.press("Escape"); // the dialog
  await expect(dialog(page)).toBeHidden();
  await expect(button).toBeFocused();
});

test("Enter on a passage opens its page at its anchor", async ({ page }) => {
  await visit(page);
  await openDialog(page);
  await page.keyboard.type("memory limit");
  await expect(dialog(page).locator(".typed a.passage").first()).toContainText("Limit memory");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/${under}/configure/#limit-memory$`));
});

test("a site brings its own trigger, field, words before and after, and questions to begin with", async ({ page }) => {
  await visit(page, {
    element: `<p id="help">Lost? <a href="#none">Ask</a></p>
      <polygraph-ask ${index} trigger="#help a" shortcuts="mod+j"><input slot="trigger" aria-label="Search"><h2 slot="header">Ask Heron</h2>
      <ul slot="start"><li><a href="#none" data-question="${answered}">The port</a></li></ul><p slot="footer">Heron 2</p></polygraph-ask>`,
  });
  await page.locator("#help a").click();
  await expect(field(page)).toBeFocused();
  await expect(page.getByRole("heading", { name: "Ask Heron" })).toBeVisible();
  await expect(page.getByText("Heron 2")).toBeVisible();
  await page.getByRole("link", { name: "The port" }).click();
  await expect(answer(page)).toHaveAttribute("data-status", "answered", { timeout: 60_000 });
  await expect(field(page)).toBeFocused(); // the link is gone
  await page.mouse.move(0, 0);
  await expect(dialog(page).locator(".popover")).toBeHidden();
  await page.keyboard.press("Escape");
  await expect(answer(page)).toBeHidden();
  await page.keyboard.press("Escape");
  await expect(dialog(page)).toBeHidden();
  await page.getByRole("textbox", { name: "Search", exact: true }).focus();
  await expect(field(page)).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("textbox", { name: "Search", exact: true })).toBeFocused();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+k");
  await expect(dialog(page)).toBeHidden();
  await page.keyboard.press("Control+j");
  await expect(dialog(page)).toBeVisible();
});

test("an element without a button opens by other means, and one in a part that is folded away does not", async ({ page }) => {
  await visit(page, {
    element: `<div id="menu"><polygraph-ask ${index} shortcuts="mod+j"></polygraph-ask></div><polygraph-ask id="bare" hidden ${index} shortcuts="mod+k"></polygraph-ask>`,
    files: { "site.css": "#menu { display: none }" },
  });
  await page.addStyleTag({ url: "site.css" });
  await expect(page.getByRole("button")).toHaveCount(0);
  await page.keyboard.press("Control+j");
  await expect(page.locator("#menu polygraph-ask")).not.toHaveAttribute("open");
  await page.keyboard.press("Control+k");
  await expect(field(page)).toBeFocused();
  await expect(page.locator("#bare")).toHaveAttribute("open");
});

test("it speaks the page's language, and the site's own words by attribute or file", async ({ page }) => {
  await visit(page, {
    element: `<div lang="de"><polygraph-ask ${index} strings='{"frame.button": "Frag Heron"}'></polygraph-ask></div>
      <polygraph-ask id="other" ${index} lang="nl" strings="ROOTnl.json" shortcuts=""></polygraph-ask>`,
    files: { "nl.json": JSON.stringify({ "frame.submit": "Vraag", "refused": "Dit staat niet in deze documenten." }) },
  });
  await page.getByRole("button", { name: "Frag Heron" }).click();
  const german = page.locator("polygraph-ask:not(#other) dialog");
  await expect(german).toHaveAttribute("lang", "de");
  await german.getByRole("textbox", { name: "Frage an die Dokumentation" }).fill(refused);
  await german.getByRole("button", { name: "Fragen" }).click();
  await expect(german.locator(".answer")).toContainText("Das war in diesen Dokumenten nicht zu finden.", { timeout: 60_000 });
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.evaluate((question) => (document.querySelector("#other") as HTMLElement & { ask(question: string): void }).ask(question), refused);
  const other = page.locator("#other dialog");
  await expect(other.getByRole("button", { name: "Vraag" })).toBeVisible();
  await expect(other.locator(".answer")).toContainText("Dit staat niet in deze documenten.", { timeout: 60_000 });
  await expect(other.locator(".answer")).toContainText("Looked for"); // a word that the file lacks stays English
});

test("a site that makes the element anew on every page of its own loads engine and index once", async ({ page }) => {
  const files = await visit(page);
  await openDialog(page);
  await askElement(page, answered);
  const before = files.requests.length;
  await page.evaluate(() => {
    const old = document.querySelector("polygraph-ask")!;
    const anew = document.createElement("polygraph-ask");
    anew.setAttribute("src", new URL("docs.polygraph", document.baseURI).href);
    history.pushState({}, "", "install/deeper/");
    old.replaceWith(anew);
  });
  await openDialog(page);
  await askElement(page, answered);
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  expect(asked(files).slice(before)).toEqual([]);
});

test("a loader that a bundler moved finds its files by the attribute, and two copies of it make one element", async ({ page }) => {
  const loader = readFileSync(path.join(packageFolder, "files/polygraph-ask.js"), "utf8");
  const files = await visit(page, {
    element: `<script type="module" src="ROOTbundle.js"></script><polygraph-ask ${index} assets="ROOTassets/ask"></polygraph-ask>`,
    files: { "bundle.js": loader },
  }, { at: "install/" });
  await openDialog(page);
  await askElement(page, answered);
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  expect(asked(files).filter((request) => request.includes("engine-worker"))).toEqual(["assets/ask/engine-worker.js"]);
});

test("files on another site are no place for workers, and the dialog says so", async ({ page }) => {
  await visit(page, { element: `<polygraph-ask ${index} assets="https://elsewhere.invalid/ask/"></polygraph-ask>` });
  await openDialog(page);
  await expect(dialog(page)).toContainText("browsers run workers from a page’s own site only");
});

test("the attribute opens and closes it", async ({ page }) => {
  await visit(page, { element: `<polygraph-ask ${index} open></polygraph-ask>` });
  await expect(field(page)).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(dialog(page)).toBeHidden();
  await expect(element(page)).not.toHaveAttribute("open");
  await element(page).evaluate((each) => each.setAttribute("open", ""));
  await expect(dialog(page)).toBeVisible();
  await element(page).evaluate((each) => each.removeAttribute("open"));
  await expect(dialog(page)).toBeHidden();
});

test("models come after a question and the visitor's consent, which holds for the next page", async ({ page }) => {
  test.setTimeout(300_000);
  const files = await visit(page, { models: true, isolation: true, element: `<polygraph-ask ${index} models="ask" isolation="ROOTpolygraph-isolation.js"></polygraph-ask>` });
  await openDialog(page);
  await askElement(page, answerable);
  const offer = dialog(page).locator(".offer");
  await expect(offer).toContainText("68 MB");
  const models = (): string[] => asked(files).filter((request) => /onnx|ort\.wasm|model-worker/.test(request));
  expect(models()).toEqual([]);
  await offer.getByRole("button", { name: "Not now" }).click();
  await expect(offer).toBeEmpty();
  await expect(field(page)).toBeFocused();
  await page.reload();
  await openDialog(page);
  await askElement(page, answerable);
  await expect(answer(page).locator(".stages-missing")).toContainText("dense");
  expect(models()).toEqual([]);
  await offer.getByRole("button", { name: "Load them and ask again" }).click();
  await expect(offer.getByRole("progressbar")).toBeVisible();
  await expect(answer(page).locator(".stages-missing")).toHaveCount(0, { timeout: modelsReadyMs });
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(false); // one thread so far
  expect(models().filter((request) => request.includes("onnx"))).toHaveLength(2);

  await page.reload();
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true); // by the site's service worker
  await openDialog(page);
  expect(models().filter((request) => request.includes("onnx"))).toHaveLength(2);
  await askElement(page, answerable);
  await expect(offer).toBeEmpty({ timeout: modelsReadyMs });
  const again = answer(page).getByRole("button", { name: "Ask again with all stages" });
  if (await again.isVisible()) await again.click();
  await expect(answer(page).locator(".stages-missing")).toHaveCount(0, { timeout: 60_000 });
  expect(models().filter((request) => request.includes("onnx"))).toHaveLength(2); // kept in the browser
});

test("where the site names a server that answers live, it answers, and the dialog says where the question goes", async ({ page, faults }) => {
  const service = new ScriptedService({ isolated: false }, await elementSite({ element: `<polygraph-ask ${index} endpoint="/api"></polygraph-ask>` }));
  server = service;
  const address = await service.start();
  await page.goto(`${address}${under}/`);
  await page.waitForTimeout(200);
  expect(service.files.requests.filter((request) => request.includes("/api/"))).toEqual([]);
  await openDialog(page);
  await expect(dialog(page).locator(".strip")).toContainText(`sent to ${new URL(address).host}`);
  await askElement(page, answered);
  await expect(answer(page)).toContainText("Sentence 1 of the live answer.");
  service.script = (_body, response) => void response.writeHead(503).end();
  await askElement(page, "How do I restore a backup?");
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  await expect(answer(page).locator(".notice")).toContainText("in your browser instead");
  faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("503")));
});

test("what cannot be loaded is said, and tried again", async ({ page, faults }) => {
  const files = await visit(page);
  files.faults = [{ path: /dialog-/, status: 500, times: 1 }];
  await openDialog(page);
  await expect(dialog(page)).toContainText("The search could not be loaded");
  files.faults = [{ path: /docs\.polygraph$/, status: 404 }];
  await page.reload(); // browsers keep a module that failed for as long as the page is open
  await openDialog(page);
  await expect(dialog(page).getByRole("alert")).toContainText("The index could not be loaded: the server answered 404", { timeout: 30_000 });
  files.faults = [];
  await page.reload();
  await openDialog(page);
  await askElement(page, answered);
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  faults.splice(0, faults.length, ...faults.filter((fault) => !/Failed to load resource/.test(fault)));
});

test("a page in the index's place is no index, and an index that breaks off goes on where it stopped", async ({ page, faults }) => {
  const files = await visit(page, { large: true, files: { "docs.txt": "<!doctype html><p>Not found" }, element: '<polygraph-ask src="docs.txt"></polygraph-ask>' });
  await openDialog(page);
  await expect(dialog(page).getByRole("alert")).toContainText("this is not a Polygraph index");
  files.faults = [{ path: /docs\.polygraph$/, cutAfter: 400_000, times: 1 }];
  await element(page).evaluate((each) => each.setAttribute("src", "docs.polygraph"));
  await askElement(page, answerable);
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  expect(asked(files).filter((request) => /^docs\.polygraph bytes=[1-9]/.test(request))).toHaveLength(1);
  faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("net::ERR")));
});

test("the policy that the README names is enough, and the watch for violations can see one", async ({ page, faults }) => {
  const line = /^script-src .*$/m.exec(readFileSync(path.join(root, "web/element/package/README.md"), "utf8"))?.[0] ?? "";
  const folder = await elementSite();
  const files = new StaticServer(folder, { isolated: false, policy: `default-src 'none'; img-src data:; ${line}` });
  server = files;
  await page.goto(`${await files.start()}${under}/`);
  await openDialog(page);
  await askElement(page, answered);
  await expect(answer(page)).toHaveAttribute("data-status", "answered");
  expect(faults).toEqual([]);
  await page.evaluate(() => {
    const style = document.createElement("style");
    style.textContent = "p { color: red }";
    document.head.append(style);
  });
  await expect.poll(() => faults.length).toBe(1);
  expect(faults.splice(0)[0]).toContain("Content Security Policy");
});

test("nothing is wrong for assistive technology, and nothing overflows, in both themes and on narrow screens", async ({ page }) => {
  test.setTimeout(300_000);
  await visit(page);
  const look = (state: string): Promise<void> => inspect(page, `element-${state}`, {
    also: async (colorScheme, where) => {
      if (!(await dialog(page).isVisible())) return;
      expect.soft(await dialog(page).locator(".body").evaluate((body) => body.scrollWidth - body.clientWidth), where).toBe(0);
      expect.soft(await dialog(page).getAttribute("data-theme"), where).toBe(colorScheme);
    },
  });
  await look("closed");
  await openDialog(page);
  await look("opened");
  await field(page).fill("memory lim");
  await expect(dialog(page).locator(".passage").first()).toBeVisible();
  await look("typing");
  await askElement(page, answered);
  await answer(page).locator(".cite").first().focus();
  await expect(dialog(page).locator(".popover")).toBeVisible();
  await look("answer");
  await page.keyboard.press("Escape");
  await askElement(page, refused);
  await look("refusal");
});

test("it is dark where the site is, whatever the system says", async ({ page }) => {
  await visit(page, { files: { "site.css": "html.night { color-scheme: dark; background: #111; color: #eee } html { color-scheme: light; font-size: 30px; letter-spacing: 4px }" } });
  await page.addStyleTag({ url: "site.css" });
  await openDialog(page);
  const size = (): Promise<string> => field(page).evaluate((input) => getComputedStyle(input).fontSize);
  expect(await size()).toBe("17px"); // 1.0625 of the visitor's own size, not of the site's root
  await expect(dialog(page)).toHaveAttribute("data-theme", "light");
  await page.evaluate(() => document.documentElement.classList.add("night"));
  await expect(dialog(page)).toHaveAttribute("data-theme", "dark");
  await page.addStyleTag({ url: "site.css" });
  await element(page).evaluate((each) => each.style.setProperty("--polygraph-accent", "rgb(1, 2, 3)"));
  expect(await dialog(page).locator("button.primary").evaluate((button) => getComputedStyle(button).backgroundColor)).toBe("rgb(1, 2, 3)");
});

test("the command puts the element into built pages, once, and says what is wrong", async () => {
  const built = path.join(await elementSite({ element: "" }), under);
  const site = mkdtempSync(path.join(tmpdir(), "polygraph-embed-"));
  cpSync(built, site, { recursive: true });
  writeFileSync(path.join(site, "404.html"), "<body></body>");
  expect(command("embed", site, "--set", "lang=de")).toContain("in 4 of 5 pages");
  const once = readFileSync(path.join(site, "install/index.html"), "utf8");
  expect(once).toContain('src="../polygraph/polygraph-ask.js"');
  expect(once).toContain('<polygraph-ask src="../docs.polygraph" position="corner" lang="de"></polygraph-ask>');
  command("embed", site, "--set", "lang=de");
  expect(readFileSync(path.join(site, "install/index.html"), "utf8")).toBe(once);
  expect(existsSync(path.join(site, "polygraph/polygraph-ask.js"))).toBe(true);
  const fails = (...args: string[]): { status: number | null; stderr: string } => {
    try {
      command(...args);
    } catch (error) {
      return error as { status: number; stderr: string };
    }
    return { status: 0, stderr: "" };
  };
  expect(fails("embed", path.join(site, "nowhere"))).toMatchObject({ status: 3, stderr: expect.stringContaining("build the site first") });
  expect(fails("embed", site, "--index", "missing.polygraph")).toMatchObject({ status: 3, stderr: expect.stringContaining("missing.polygraph") });
  expect(fails("copy", path.join(site, "polygraph"), "--models", site)).toMatchObject({ status: 3, stderr: expect.stringContaining("polygraph models fetch") });
  expect(fails("embed", site, "--set", "=x")).toMatchObject({ status: 2 });
  expect(fails("remove")).toMatchObject({ status: 2, stderr: expect.stringContaining("usage") });
});
