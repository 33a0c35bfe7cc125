// The page over a network and in browsers that do not do what they should: each case is a clear message or a smaller mode
// that works.

import { answerable, ask, expect, lexicalReady, modelsReady, siteFolder, StaticServer, test, warm, withoutModels } from "./site.ts";

let server: StaticServer;
let site: string;

test.beforeEach(async () => {
  server = new StaticServer(siteFolder);
  site = await server.start();
});
test.afterEach(async () => {
  await server.stop();
});

const models = (page: import("@playwright/test").Page) => page.locator('[data-item="models"]');

test("loading the models can be cancelled, and taken up again", async ({ page }) => {
  server.faults = [{ path: /\.onnx$/, rate: 4_000_000, times: 1 }];
  await page.goto(site);
  await expect(models(page).getByRole("progressbar")).toBeVisible();
  await expect(models(page)).toContainText(/[1-9]\d* of 68 MB/);
  // The strip is drawn anew with every piece that arrives, under the finger on the button too.
  const cancel = models(page).getByRole("button", { name: "Cancel" });
  await cancel.focus();
  await expect(models(page)).toContainText(/[2-5]\d of 68 MB/);
  await expect(cancel).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(models(page)).toContainText("not loaded");
  await expect(models(page).getByRole("button", { name: "Load" })).toBeFocused();
  await ask(page, answerable);
  await expect(page.locator(".stages-missing")).toContainText("cancelled");
  await models(page).getByRole("button", { name: "Load" }).click();
  await modelsReady(page);
});

test("a model that breaks off half-way goes on where it stopped", async ({ page }) => {
  server.faults = [{ path: /embedder.*\.onnx$/, cutAfter: 15_000_000, times: 1 }];
  await page.goto(site);
  await modelsReady(page);
  const embedder = server.requests.filter((request) => request.includes("embedder"));
  expect(embedder).toHaveLength(2);
  // A browser may drop what it received but had not handed over yet when the connection broke.
  const from = Number(/bytes=(\d+)-$/.exec(embedder[1] ?? "")?.[1]);
  expect(from).toBeGreaterThan(1_000_000);
  expect(from).toBeLessThan(16_000_000);
});

test("an index that breaks off half-way goes on where it stopped", async ({ page, faults }) => {
  await withoutModels(page);
  server.faults = [{ path: /\.polygraph$/, cutAfter: 400_000, times: 1 }];
  await page.goto(site);
  await lexicalReady(page);
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/);
  expect(server.requests.filter((request) => /polygraph bytes=[1-9]/.test(request))).toHaveLength(1);
  // Chromium itself reports the connection that was cut.
  faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("net::ERR")));
});

test("models that the server does not have leave a page that answers from words, and says why", async ({ page, faults }) => {
  server.faults = [{ path: /\.onnx$/, status: 404 }];
  await page.goto(site);
  await expect(models(page)).toContainText("404");
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/);
  faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("404")));
});

test("an index that cannot be loaded is said, with the address", async ({ page, faults }) => {
  server.faults = [{ path: /\.polygraph$/, status: 404 }];
  await page.goto(site);
  await expect(page.locator("#problem")).toContainText("The index could not be loaded: the server answered 404", { timeout: 30_000 });
  faults.length = 0;
});

test("an index with one flipped bit is refused with the reason, and no passage of it is shown", async ({ page }) => {
  await withoutModels(page);
  server.faults = [{ path: /\.polygraph$/, flipAt: 500_000 }];
  await page.goto(site);
  await expect(page.locator("#problem")).toContainText("The index of this site cannot be used: the section does not match its checksum");
  await page.getByRole("textbox", { name: "Question" }).fill("memory limit");
  await expect(page.locator("#passages .passage")).toHaveCount(0);
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", "failed");
  await expect(page.locator("#answer")).toContainText("does not match its checksum");
});

test("without WebAssembly the page says what it needs", async ({ page }) => {
  await page.addInitScript(() => Reflect.deleteProperty(globalThis, "WebAssembly"));
  await page.goto(site);
  await expect(page.locator("#problem")).toContainText("WebAssembly");
  await expect(page.getByRole("textbox", { name: "Question" })).toBeDisabled();
});

test("without SIMD the page answers from words with the baseline engine", async ({ page }) => {
  await page.addInitScript(() => {
    WebAssembly.validate = () => false;
  });
  await page.goto(site);
  await lexicalReady(page);
  await expect(models(page)).toContainText("no WebAssembly SIMD");
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", /answered|refused/);
  expect(server.requests.some((request) => request.includes("engine-baseline"))).toBe(true);
});

test("without Cache Storage everything works, and the page says that nothing is kept", async ({ page }) => {
  await page.addInitScript(() => Reflect.deleteProperty(globalThis, "caches"));
  await page.goto(site);
  await modelsReady(page);
  await expect(page.locator('[data-item="offline"]')).toContainText("keeps no files");
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", "answered");
});

test("a server that does not isolate the page leaves it one thread, and it answers", async ({ page }) => {
  await server.stop();
  server = new StaticServer(siteFolder, { isolated: false });
  await page.goto(await server.start());
  await modelsReady(page);
  await expect(models(page)).toContainText("1 thread");
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", "answered");
});

test("a private window that refuses every store leaves a page that answers, and says that nothing is kept", async ({ page }) => {
  await page.addInitScript(() => {
    const refuse = (): never => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    };
    Object.defineProperty(globalThis, "localStorage", { get: refuse });
    for (const method of ["has", "open", "match", "keys", "delete"]) Object.defineProperty(CacheStorage.prototype, method, { value: async () => refuse() });
    Object.defineProperty(ServiceWorkerContainer.prototype, "register", { value: async () => refuse() });
  });
  server.faults = [{ path: /\.onnx$/, status: 503 }];
  await page.goto(site);
  await lexicalReady(page);
  await expect(page.locator('[data-item="offline"]')).toContainText("as in a private window");
  await ask(page, answerable);
  await expect(page.locator("#answer")).toHaveAttribute("data-status", "answered");
});

warm("the page, its workers and its models come from one host, under a policy that nothing violates", async ({ page, loaded, site: address, faults }) => {
  await ask(page, answerable);
  expect(loaded.requests.filter((url) => url.includes(".onnx"))).toHaveLength(2);
  expect(loaded.requests.filter((url) => !url.startsWith(address) && !url.startsWith("blob:"))).toEqual([]);

  const policy = (await page.request.get(address)).headers()["content-security-policy"] ?? "";
  expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval'");
  expect(policy).not.toMatch(/'unsafe-(inline|eval)'/);
  // The watch for violations can see one.
  const violation = await page.evaluate(
    () =>
      new Promise<string>((resolve) => {
        document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true });
        const script = document.createElement("script");
        script.textContent = "globalThis.inlineRan = true";
        document.body.append(script);
        script.remove();
      }),
  );
  expect(violation).toBe("script-src-elem");
  expect(faults.filter((fault) => !fault.includes("Content Security Policy"))).toEqual([]);
  expect(faults).toHaveLength(1);
  faults.length = 0;
});
