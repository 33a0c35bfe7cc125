// The review page in a real browser, with a small real server in the place of the command line that opens it.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "@playwright/test";
import { inspect } from "./accessibility.ts";
import { pagesSite, reviewFile, temporary } from "./pages.ts";
import { expect, StaticServer, test } from "./site.ts";

const items = Array.from({ length: 5 }, (_, i) => ({
  id: `how-${i + 1}`, type: i === 3 ? "unanswerable" : "answerable", question: `How is thing ${i + 1} set?`, reference: `Thing ${i + 1} is set with \`--thing-${i + 1}\`.`,
  passages: Array.from({ length: 4 }, (__, p) => ({ id: `page-${p}#00${i}`, title: `Page ${p}`, text: `## Things\n\n\`--thing-${i + 1}\` sets it, **always**. Passage ${p}.`, url: `https://docs.example/${p}`, relevant: p === 0 })),
}));
const set = { kind: "review_set", schema: 1, name: "docker-docs", mode: "review", items, decisions: {} as Record<string, unknown> };

/** What the command line keeps, and every request that changed it. */
class Desk {
  readonly server: StaticServer;
  kept: Record<string, unknown> = {};
  requests: string[] = [];
  failing = false;
  document: object = set;

  constructor(folder: string) {
    this.server = new StaticServer(folder);
    this.server.route = (request, response) => {
      const url = new URL(request.url ?? "/", "http://localhost");
      const id = /^\/api\/review\/(.+)$/.exec(url.pathname)?.[1];
      const reply = (status: number, body: object): true => {
        response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
        return true;
      };
      if (request.method === "GET" && url.pathname === "/api/review") return reply(200, { ...this.document, decisions: this.kept });
      if (id === undefined) return false;
      let body = "";
      request.on("data", (piece: Buffer) => (body += piece.toString()));
      request.on("end", () => {
        if (request.headers["x-polygraph-review"] !== "1") return void reply(403, {});
        if (this.failing) return void reply(500, { error: { message: "The disk is full." } });
        this.requests.push(`${request.method} ${decodeURIComponent(id)} ${body}`);
        if (request.method === "PUT") this.kept[decodeURIComponent(id)] = JSON.parse(body);
        else delete this.kept[decodeURIComponent(id)];
        reply(200, { saved: true });
      });
      return true;
    };
  }
}

let desk: Desk;
let site = "";
test.beforeAll(async () => {
  desk = new Desk(await pagesSite());
  site = await desk.server.start();
});
test.afterAll(() => desk.server.stop());
test.beforeEach(() => {
  desk.kept = {};
  desk.requests = [];
  desk.failing = false;
  desk.document = set;
});

const openReview = async (page: Page): Promise<void> => {
  await page.goto(`${site}review.html`);
  await expect(page.locator("#item-title")).toBeVisible();
};
const saved = (page: Page) => expect(page.locator("#saved")).toHaveText("· saved");
const question = (page: Page) => page.locator("#item-title");

test("items are accepted, edited, rejected and undone by key, and each step is on disk at once", async ({ page }) => {
  await openReview(page);
  await page.keyboard.press("a");
  await expect(question(page)).toHaveText("How is thing 2 set?");
  await page.keyboard.press("2");
  await expect(page.getByRole("checkbox").nth(1)).toBeChecked();
  await page.keyboard.press("1");
  await page.keyboard.press("a");
  await expect(question(page)).toHaveText("How is thing 3 set?");
  await page.getByLabel("Reason (optional)").fill("asked twice");
  await page.keyboard.press("Escape");
  await page.keyboard.press("r");
  await expect(question(page)).toHaveText("How is thing 4 set?");
  await page.keyboard.press("e");
  await page.getByLabel("Reference answer").fill("It cannot be set.");
  await page.keyboard.press("Escape");
  await page.keyboard.press("a");
  await expect(question(page)).toHaveText("How is thing 5 set?");
  await saved(page);
  expect(desk.kept).toEqual({
    "how-1": { decision: "accept", edit: null, reason: null }, "how-2": { decision: "edit", edit: { relevant_chunk_ids: ["page-1#001"] }, reason: null },
    "how-3": { decision: "reject", edit: null, reason: "asked twice" }, "how-4": { decision: "edit", edit: { reference_answer: "It cannot be set." }, reason: null },
  });
  await expect(page.locator("#review-status")).toContainText("4 of 5 items decided · 1 accepted, 2 edited, 1 rejected");
  await page.keyboard.press("u");
  await expect(page.locator("#live")).toContainText("Undone");
  await expect(question(page)).toHaveText("How is thing 4 set?");
  await saved(page);
  expect(Object.keys(desk.kept)).toEqual(["how-1", "how-2", "how-3"]);
});

test("a reload loses no step: neither a half-made edit nor what can be undone", async ({ page }) => {
  await openReview(page);
  await page.keyboard.press("a");
  await page.keyboard.press("3");
  await page.keyboard.press("e");
  await page.getByLabel("Question").fill("Half a ques");
  await page.reload();
  await expect(question(page)).toHaveText("Half a ques");
  await expect(page.getByRole("checkbox").nth(2)).toBeChecked();
  for (let i = 0; i < 3; ++i) await page.keyboard.press("u");
  await expect(question(page)).toHaveText("How is thing 1 set?");
  await saved(page);
  expect(desk.kept).toEqual({});
});

test("what could not be saved is said, kept over a reload, and sent with the next step", async ({ page, faults }) => {
  await openReview(page);
  desk.failing = true;
  await page.keyboard.press("a");
  await expect(page.locator("#problem")).toContainText("The disk is full.");
  await expect(page.locator("#saved")).toHaveText("· 1 not saved yet");
  await page.reload();
  await expect(page.locator("#saved")).toHaveText("· 1 not saved yet");
  desk.failing = false;
  await page.keyboard.press("r");
  await saved(page);
  await expect(page.locator("#problem")).toBeHidden();
  expect(desk.requests.map((each) => each.split(" ").slice(0, 2).join(" "))).toEqual(["PUT how-1", "PUT how-2"]);
  // The browser itself reports the failed requests.
  expect(faults.every((fault) => fault.includes("500"))).toBe(true);
  faults.length = 0;
});

test("calibration shows the answer without the judge's verdict, and both labels settle it", async ({ page }) => {
  desk.document = { ...set, mode: "calibration", items: items.map((item) => ({ ...item, answer: `Use --thing for ${item.id}.`, judge: { correct: true, reason: "SECRET VERDICT" } })) };
  await openReview(page);
  await expect(page.locator("#review")).toContainText("Use --thing for how-1.");
  expect(await page.content()).not.toContain("SECRET VERDICT");
  await inspect(page, "review-calibration");
  await page.keyboard.press("x");
  await expect(page.getByRole("button", { name: "Incorrect" })).toHaveAttribute("aria-pressed", "true");
  await page.keyboard.press("g");
  await expect(page.locator(".review-head")).toContainText("Item 2 of 5");
  await saved(page);
  expect(desk.kept).toEqual({ "how-1": { correct: false, grounded: true, reason: null } });
  await page.keyboard.press("a"); // no key of the other mode does anything
  await expect(page.locator(".review-head")).toContainText("Item 2 of 5");
});

test("the one-file page reviews a golden set from disk and hands the decisions back as a file", async ({ page }) => {
  const folder = temporary();
  writeFileSync(path.join(folder, "review.html"), await reviewFile());
  writeFileSync(path.join(folder, "golden.jsonl"), items.map(({ id, type, question: asked, reference }) => JSON.stringify({ id, type, question: asked, reference_answer: reference, relevant_chunk_ids: ["a#001"], pool_ids: ["a#001", "b#002"] })).join("\n"));
  await page.goto(`file://${folder}/review.html`);
  await expect(page.locator("#start")).toContainText("Open a golden set");
  await inspect(page, "review-start");
  await page.setInputFiles("#picker", path.join(folder, "golden.jsonl"));
  await expect(question(page)).toHaveText("How is thing 1 set?");
  await page.keyboard.press("2");
  await page.keyboard.press("a");
  await page.keyboard.press("r");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download decisions" }).click()]);
  const file = JSON.parse(readFileSync(await download.path(), "utf8")) as { items: Record<string, { decision: string; edit?: object; reviewed_at: string }> };
  expect(Object.entries(file.items).map(([id, { decision, edit }]) => [id, decision, edit])).toEqual([["how-1", "edit", { relevant_chunk_ids: ["a#001", "b#002"] }], ["how-2", "reject", undefined]]);
  expect(file.items["how-1"]!.reviewed_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/);
});

test("hostile text in an item does nothing but show", async ({ page }) => {
  const attack = `<img src=x onerror="globalThis.attacked=true"></script><script>globalThis.attacked=true</script>\u202E\u0007`;
  desk.document = { ...set, name: attack, items: items.map((item) => ({ ...item, id: `${item.id}/..?#${attack}`, type: attack, question: attack, reference: attack, notes: attack, proposal: { decision: attack, reason: attack }, passages: item.passages.map((passage) => ({ ...passage, title: attack, text: attack, url: "javascript:globalThis.attacked=true" })) })) };
  await openReview(page);
  await expect(question(page)).toContainText("<img src=x");
  await page.keyboard.press("e");
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
  await page.keyboard.press("a");
  await saved(page);
  expect(Object.keys(desk.kept)).toEqual([`how-1/..?#${attack}`]);
  expect(await page.evaluate(() => "attacked" in globalThis)).toBe(false);
  expect(await page.locator("main img, main script, [onerror]").count()).toBe(0);
  expect(await page.locator('a[href^="javascript:" i]').count()).toBe(0);
});

test("no axe finding and nothing wider than the screen, reading and editing, in both themes", async ({ page }) => {
  await openReview(page);
  await inspect(page, "review");
  await page.getByText("All items").click();
  await page.keyboard.press("e");
  await expect(page.getByLabel("Question")).toBeFocused();
  await inspect(page, "review-edit");
});
