// The npm package in a page without a bundler, under the strict policy of the real server: the page is the README's own example.

import { expect, test } from "@playwright/test";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { contentSecurityPolicy, StaticServer } from "./static_server.ts";
import { root } from "./site.ts";

const cache = process.env["POLYGRAPH_DIR"] ?? path.join(homedir(), ".cache/polygraph");
const index = process.env["POLYGRAPH_TEST_INDEX"] ?? path.join(cache, "index/docker-doc.polygraph");
const readme = readFileSync(path.join(root, "web/library/README.md"), "utf8");
const [, example] = /^```html\n([\s\S]*?)^```$/m.exec(readme)!;
const [, script] = /<script type="module">([\s\S]*?)<\/script>/.exec(example!)!;

test("the README's page answers from an index, and evaluates", async ({ page }) => {
  const folder = mkdtempSync(path.join(tmpdir(), "polygraph-library-page-"));
  cpSync(path.join(root, "dist/library"), path.join(folder, "polygraph"), { recursive: true });
  cpSync(index, path.join(folder, "docs.polygraph"));
  const server = new StaticServer(folder);
  const policy = contentSecurityPolicy.replace("script-src", `script-src 'sha256-${createHash("sha256").update(script!).digest("base64")}'`);
  server.route = (request, response) => {
    if (request.url === "/") response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy }).end(example);
    else if (request.url === "/favicon.ico") response.writeHead(204).end();
    else return false;
    return true;
  };
  const problems: string[] = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(await server.start());
  await expect(page.locator("#answer")).toContainText("--memory");

  const report = await page.evaluate(async () => {
    const polygraph = (await import("/polygraph/index.mjs" as string)) as typeof import("../../web/library/index.ts");
    const refused = await polygraph.diagnose("{").then(() => "", (error: InstanceType<typeof polygraph.PolygraphError>) => `${error.name} ${error.code} ${error.line}`);
    const { failure_modes } = await polygraph.diagnose([{ query_id: "a", query: "?", expected_chunk_ids: ["x"], retrieved_chunks: [] }]);
    return { refused, failure_modes: failure_modes.map((mode) => mode.category) };
  });
  expect(report).toEqual({ refused: "PolygraphError invalid_json 1", failure_modes: ["WRONG_CHUNK_RETRIEVED"] });
  expect(server.requests.filter((each) => each.endsWith(".wasm"))).toEqual(["/polygraph/polygraph-engine.wasm", "/polygraph/polygraph-evaluation.wasm"]);
  expect(problems).toEqual([]);
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});
