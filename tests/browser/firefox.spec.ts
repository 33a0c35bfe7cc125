// Debian's Firefox over the same site. It speaks WebDriver BiDi, which Puppeteer drives; what is held here is that each page
// works at all in another engine: workers, models, service worker, storage, files.

import { existsSync } from "node:fs";
import path from "node:path";
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import { answered, elementSite, refused, under } from "./element_site.ts";
import { answerable, expect, root, siteFolder, StaticServer, test as base, unanswerable } from "./site.ts";

const firefox = process.env["POLYGRAPH_TEST_FIREFOX"] ?? ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((file) => existsSync(file)) ?? "";

// No page of Chromium's is opened: the faults of these are collected below.
const test = base.extend<object>({ faults: async ({}: object, use: (none: string[]) => Promise<void>) => use([]) });

test.skip(firefox === "", "Firefox is not installed: Debian's package firefox-esr");
test.describe.configure({ mode: "serial" });

const slowMs = 150_000;
let browser: Browser;
let page: Page;
let server: StaticServer;
let site = "";
const faults: string[] = [];

test.beforeAll(async () => {
  server = new StaticServer(siteFolder);
  site = await server.start();
  browser = await puppeteer.launch({ browser: "firefox", executablePath: firefox, headless: true, protocolTimeout: slowMs });
  page = await browser.newPage();
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("/api/")) faults.push(message.text());
  });
});
test.afterAll(async () => {
  await browser.close();
  await server.stop().catch(() => undefined);
});
test.afterEach(() => expect(faults).toEqual([]));

const until = (holds: string): Promise<unknown> => page.waitForFunction(holds, { timeout: slowMs, polling: 100 });
const textOf = (selector: string): Promise<string> => page.$eval(selector, (element) => element.textContent ?? "");

/** A locator finds its node again when the page draws a panel anew between the look and the click; a handle would be detached. */
const click = (selector: string): Promise<void> => page.locator(selector).setTimeout(slowMs).click();

async function ask(question: string): Promise<string> {
  await page.$eval("#question", (field) => ((field as HTMLInputElement).value = ""));
  await page.type("#question", question);
  await page.keyboard.press("Enter");
  await until(`document.querySelector("h2.question")?.textContent === ${JSON.stringify(question)} && document.querySelector("#answer").dataset.status !== "running"`);
  return page.$eval("#answer", (element) => (element as HTMLElement).dataset["status"] ?? "");
}

test("Firefox answers and refuses with both models, and the inspector replays a trace after the server has gone", async () => {
  await page.goto(site);
  await until(`document.querySelector('[data-item="models"]')?.textContent.includes("Models ready")`);
  expect(await ask(unanswerable)).toBe("refused");
  expect(await ask(answerable)).toBe("answered");
  expect(await textOf("#answer")).toContain("--memory");
  expect(await textOf("#trace")).not.toContain("not been loaded");
  await page.evaluate("window.open = (url) => { globalThis.inspected = url; return null; }");
  await click('#trace [data-key="inspect"]');
  await until("globalThis.inspected");
  const inspected = String(await page.evaluate("globalThis.inspected"));
  await until(`document.querySelector("#strip").textContent.includes("offline")`);
  await until(`navigator.serviceWorker.controller || navigator.serviceWorker.ready.then((r) => r.active?.state === "activated")`);
  await server.stop();
  await page.goto(inspected);
  await click('[data-key="replay"]');
  await until(`document.querySelector(".replay.identical")`);
  const port = Number(new URL(site).port);
  server = new StaticServer(siteFolder);
  await server.start(port);
});

test("Firefox shows the evaluation down to an item's trace, and the review page", async () => {
  await page.goto(`${site}report.html`);
  await page.waitForSelector("#report h1, #start h1");
  if (existsSync(path.join(root, "assets/evaluation/docker-doc.json"))) {
    await until(`document.querySelector("#report h1")`);
    await page.goto(`${site}report.html#report=0&item=dd-a003`);
    await until(`document.querySelectorAll("dialog#item .trace .step").length >= 2`);
  }
  await page.goto(`${site}review.html`);
  await page.waitForSelector("#start h1");
});

test("Firefox opens the element on a page of another site, answers and refuses, and a source leads to its page", async () => {
  const files = new StaticServer(await elementSite(), { isolated: false });
  const at = `${await files.start()}${under}/`;
  await page.goto(at);
  const shadow = `document.querySelector("polygraph-ask").shadowRoot`;
  await click("polygraph-ask >>> button.trigger");
  await until(`${shadow}.querySelector("dialog[open] input") === ${shadow}.activeElement`);
  const put = async (question: string): Promise<string> => {
    await page.evaluate(`${shadow}.querySelector("dialog input").select()`);
    await page.keyboard.type(question);
    await page.keyboard.press("Enter");
    await until(`(() => { const answer = ${shadow}.querySelector(".answer"); return answer?.querySelector("h2")?.textContent === ${JSON.stringify(question)} && answer.dataset.status !== "running"; })()`);
    return String(await page.evaluate(`${shadow}.querySelector(".answer").dataset.status`));
  };
  expect(await put(refused)).toBe("refused");
  expect(await put(answered)).toBe("answered");
  expect(await page.evaluate(`${shadow}.querySelector(".answer").textContent`)).toContain("127.0.0.1:8000");
  await click("polygraph-ask >>> .sources a");
  await until(`location.href === ${JSON.stringify(`${at}configure/#change-the-listening-port`)}`);
  await files.stop();
});
