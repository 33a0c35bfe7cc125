// `polygraph export` as a visitor meets it: the folder behind a host that sends no header of ours, at its root and below a path.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "@playwright/test";
import { inspect } from "./accessibility.ts";
import { answerable, ask, expect, lexicalReady, modelsReady, program, root, siteFolder, StaticServer, test as base, withoutModels } from "./site.ts";

const notAnExample = "What does the --memory-swap option do?";
const handbookQuestion = "At what temperature is the soup kept?";

interface Exports {
  /** Of the built site. */
  first: string;
  /** The same site over another index: another deployment of the same address. */
  second: string;
}

const exported = (folder: string, name: string, ...more: string[]): string => {
  const out = path.join(folder, name);
  execFileSync(program, ["export", "--site", siteFolder, "--out", out, ...more], { cwd: folder, stdio: "pipe", env: { ...process.env, POLYGRAPH_DIST: path.join(root, "dist") } });
  return out;
};

const test = base.extend<{ server: StaticServer; address: string }, { exports: Exports }>({
  exports: [
    async ({}, use) => {
      const folder = mkdtempSync(path.join(tmpdir(), "polygraph-export-"));
      mkdirSync(path.join(folder, "handbook"));
      writeFileSync(path.join(folder, "handbook/galley.md"), "# Galley\n\nThe galley serves fish soup at noon. The soup is kept at a temperature of 65 degrees.\n");
      const index = path.join(folder, "handbook.polygraph");
      execFileSync(program, ["index", "--lexical", "--corpus", `dir:${path.join(folder, "handbook")}`, "--out", index], { cwd: folder, stdio: "pipe" });
      await use({ first: exported(folder, "first", "--base", "/docs/ask/"), second: exported(folder, "second", "--index", index) });
    },
    { scope: "worker" },
  ],
  server: async ({ exports }, use) => {
    const server = new StaticServer(exports.first, { plain: true, prefix: "/docs/ask/" });
    await use(server);
    await server.stop();
  },
  address: async ({ server }, use) => use(await server.start()),
});

const version = (page: Page): Promise<string> => page.evaluate(() => (JSON.parse(document.querySelector<HTMLMetaElement>('meta[name="polygraph-site"]')!.content) as { version: string }).version);
const versionOf = (folder: string): string => (JSON.parse(readFileSync(path.join(folder, "export.json"), "utf8")) as { version: string }).version;
const isolated = (page: Page): Promise<boolean> => page.evaluate(() => crossOriginIsolated);
const offline = (page: Page) => page.locator('[data-item="offline"]');
const modelsItem = (page: Page) => page.locator('[data-item="models"]');

test("below a path a question is answered from words at once, with models, isolated after a reload, and without a network", async ({ page, server, address: site }) => {
  server.faults = [{ path: /\.onnx$/, rate: 20_000_000 }];
  await page.goto(site);
  await lexicalReady(page);
  await page.getByRole("textbox", { name: "Question" }).fill("memory swap");
  await expect(page.locator("#passages .passage").first()).toBeVisible();
  await expect(page.locator('[data-item="stages"]')).toContainText("○"); // the models are still on their way
  await ask(page, notAnExample);
  await expect(page.locator("#answer")).toHaveAttribute("data-by", "browser");

  await modelsReady(page);
  expect(await isolated(page)).toBe(false);
  await expect(modelsItem(page)).toContainText("1 thread. More after a reload.");
  await expect(offline(page)).toHaveText("Ready for offline", { timeout: 60_000 });
  await modelsItem(page).getByRole("button", { name: "Reload" }).click();
  await expect.poll(() => isolated(page).catch(() => false)).toBe(true);
  await modelsReady(page);
  await expect(modelsItem(page)).toContainText(/[2-9] threads$/);
  expect(server.requests.filter((request) => request.includes(".onnx"))).toHaveLength(2);

  await server.stop();
  await page.goto(site);
  await modelsReady(page);
  expect(await isolated(page)).toBe(true);
  await ask(page, notAnExample);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/);
  await expect(page.locator('[data-item="stages"]')).not.toContainText("○");
  expect(server.missed).toEqual([]);
});

test("an example plays its recorded run, labelled, from the files alone, also without a network; no page asks for what is not there", async ({ page, server, address: site }) => {
  await withoutModels(page);
  await page.goto(site);
  await lexicalReady(page);
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-by", "recorded");
  await expect(page.locator(".notice")).toContainText(/Recorded on 20\d\d-\d\d-\d\d by polygraph record/);
  for (const [file, name] of [["report.html", /Report/], ["review.html", /Review/], ["trace.html", /Trace/]] as const) {
    await page.goto(new URL(file, site).href);
    await expect(page).toHaveTitle(name);
    await expect(page.locator('input[type="file"]').first()).toBeAttached();
    await page.waitForLoadState("networkidle");
  }
  expect(server.missed).toEqual([]);
  await page.goto(site);
  await expect(offline(page)).toContainText("Ready for offline");
  await server.stop();
  await page.goto(`${site}index.html`);
  await lexicalReady(page);
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-by", "recorded");
});

test("two sites on one host keep a copy each, and neither drops the other's", async ({ page, exports }) => {
  const server = new StaticServer(path.dirname(exports.first), { plain: true });
  const host = await server.start();
  await withoutModels(page);
  for (const name of ["first", "second", "first"]) {
    await page.goto(`${host}${name}/index.html`);
    await expect(offline(page)).toContainText("Ready for offline");
  }
  await server.stop();
  for (const [name, folder] of [["second", exports.second], ["first", exports.first]] as const) {
    await page.goto(`${host}${name}/index.html`);
    await expect(page.locator("#foot")).toContainText("passage");
    expect(await version(page)).toBe(versionOf(folder));
  }
});

test("at the root of a host it works the same, from one address alone", async ({ page, exports }) => {
  const server = new StaticServer(exports.first, { plain: true });
  const requests: string[] = [];
  page.context().on("request", (request) => requests.push(request.url()));
  await withoutModels(page);
  const site = await server.start();
  await page.goto(site);
  await lexicalReady(page);
  await ask(page, notAnExample);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/);
  await expect(offline(page)).toContainText("Ready for offline");
  await page.reload();
  expect(await isolated(page)).toBe(true);
  await server.stop();
  await page.goto(site);
  await lexicalReady(page);
  await ask(page, notAnExample);
  expect(requests.filter((url) => !url.startsWith(site) && !url.startsWith("blob:"))).toEqual([]);
  expect(server.missed).toEqual([]);
});

test("an update under an open page changes nothing on it, is offered, and comes whole", async ({ page, server, address: site, exports }) => {
  await withoutModels(page);
  await page.goto(site);
  await lexicalReady(page);
  await expect(offline(page)).toContainText("Ready for offline");
  const before = await version(page);
  expect(before).toBe(versionOf(exports.first));

  server.root = exports.second;
  await ask(page, notAnExample);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/);
  // The next visit still has its whole version, and is told of the new one.
  await page.reload();
  await lexicalReady(page);
  expect(await version(page)).toBe(before);
  await expect(page.locator("#foot")).toContainText("docker-doc");
  await ask(page, notAnExample);
  await offline(page).getByRole("button", { name: "Use it now" }).click();
  await expect(page.locator("#foot")).toContainText("handbook");
  expect(await version(page)).toBe(versionOf(exports.second));
  await ask(page, handbookQuestion);
  await expect(page.locator(".candidates tbody tr").first()).toContainText("Galley");
  expect(server.missed).toEqual([]);
});

test("a second tab that goes over to the new version leaves the first one with its own, and with a word about it", async ({ page, context, server, address: site, exports }) => {
  await withoutModels(page);
  await page.goto(site);
  await expect(offline(page)).toContainText("Ready for offline");
  await page.reload();
  await lexicalReady(page);
  server.root = exports.second;
  const other = await context.newPage();
  await withoutModels(other);
  await other.goto(site);
  await offline(other).getByRole("button", { name: "Use it now" }).click();
  await expect(other.locator("#foot")).toContainText("handbook");
  await expect(offline(page)).toContainText("A newer version of this page is ready.");
  await expect(page.locator("#foot")).toContainText("docker-doc");
  await ask(page, notAnExample);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/);
  await offline(page).getByRole("button", { name: "Use it now" }).click();
  await expect(page.locator("#foot")).toContainText("handbook");
});

test("a page whose files went with an update says so, and its reload brings the new version", async ({ page, server, address: site, exports, faults }) => {
  await withoutModels(page);
  // The page itself has arrived; its index is asked for when the new deployment stands.
  server.route = (request) => {
    if (request.url?.endsWith(".polygraph")) server.root = exports.second;
    return false;
  };
  await page.goto(site);
  await expect(page.locator("#problem")).toContainText("This site was updated while this page was open", { timeout: 30_000 });
  await page.locator("#problem").getByRole("button", { name: "Reload" }).click();
  await expect(page.locator("#foot")).toContainText("handbook");
  expect(await version(page)).toBe(versionOf(exports.second));
  faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("404")));
});

test("models over a slow network go on where the last visit left them", async ({ page, context, server, address: site }) => {
  server.faults = [{ path: /\.onnx$/, rate: 6_000_000, times: 1 }];
  await page.goto(site);
  await expect(modelsItem(page)).toContainText(/\b1\d of 68 MB/, { timeout: 60_000 });
  await page.close();
  const again = await context.newPage();
  await again.goto(site);
  await modelsReady(again);
  const embedder = server.requests.filter((request) => request.includes("embedder"));
  expect(embedder).toHaveLength(2);
  expect(Number(/bytes=(\d+)-$/.exec(embedder[1] ?? "")?.[1])).toBeGreaterThanOrEqual(4 * 1024 * 1024);
});

test("where the browser keeps nothing, the page answers all the same", async ({ page, address: site }) => {
  await page.addInitScript(() => {
    const refuse = (): never => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    };
    Object.defineProperty(globalThis, "localStorage", { get: refuse });
    for (const method of ["has", "open", "match", "keys", "delete"]) Object.defineProperty(CacheStorage.prototype, method, { value: async () => refuse() });
    Object.defineProperty(ServiceWorkerContainer.prototype, "register", { value: async () => refuse() });
  });
  await page.goto(site);
  await modelsReady(page);
  await expect(offline(page)).toContainText("as in a private window");
  await ask(page, notAnExample);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/);
});

test("every page carries the strict policy itself, and it holds", async ({ page, address: site, faults }) => {
  await withoutModels(page);
  for (const file of ["", "report.html", "review.html", "trace.html"]) {
    await page.goto(new URL(file, site).href);
    const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content");
    expect(policy, file).toContain("script-src 'self' 'wasm-unsafe-eval'");
    expect(policy, file).not.toMatch(/'unsafe-|\*/);
    expect(faults).toEqual([]);
    const violation = await page.evaluate(
      () =>
        new Promise<string>((resolve) => {
          document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true });
          const script = document.createElement("script");
          script.textContent = "globalThis.inlineRan = true";
          document.body.append(script);
        }),
    );
    expect(violation, file).toBe("script-src-elem");
    await expect.poll(() => faults.length).toBeGreaterThan(0);
    faults.length = 0;
  }
});

test("nothing is wrong for assistive technology where the page offers a reload, an update, or asks for one", async ({ page, server, address: site, exports, faults }) => {
  test.setTimeout(300_000);
  await page.goto(site);
  await modelsReady(page);
  await expect(modelsItem(page).getByRole("button", { name: "Reload" })).toBeVisible();
  await inspect(page, "export-reload");
  server.root = exports.second;
  await page.reload();
  await expect(offline(page).getByRole("button", { name: "Use it now" })).toBeVisible();
  await inspect(page, "export-update");
  server.root = exports.first;
  const fresh = await page.context().browser()!.newPage();
  server.route = (request) => {
    if (request.url?.endsWith(".polygraph")) server.root = exports.second;
    return false;
  };
  await fresh.goto(site);
  await expect(fresh.locator("#problem").getByRole("button", { name: "Reload" })).toBeVisible({ timeout: 30_000 });
  await inspect(fresh, "export-replaced");
  await fresh.close();
  faults.length = 0;
});
