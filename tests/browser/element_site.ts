// A documentation site of a few pages with <polygraph-ask> in it, on a sub-path, made the way a site's own build would.

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "@playwright/test";
import { expect, program, root } from "./site.ts";

export const packageFolder = process.env["POLYGRAPH_TEST_ELEMENT"] ?? path.join(root, "dist/element");
const cache = process.env["POLYGRAPH_DIR"] ?? path.join(homedir(), ".cache/polygraph");
export const modelStore = process.env["POLYGRAPH_TEST_MODELS"] ?? path.join(cache, "models");
export const dockerDoc = process.env["POLYGRAPH_TEST_INDEX"] ?? path.join(cache, "index/docker-doc.polygraph");

/** Where the pages stand on their server. */
export const under = "some/path";

const pages: Record<string, string> = {
  "install": `# Install Heron

Heron is one binary. Download the archive for your platform, unpack it, and put \`heron\` on your PATH. It needs no other
software: the store, the cache and the daemon are the same program. On Linux the archive holds a unit for systemd, which
starts the daemon under a user of its own and lets it write to its data directory alone; on macOS it holds a launch agent.

## Upgrade from version 1

Stop the daemon, replace the binary, and start the daemon again with \`heron serve --migrate\`. The migration keeps a copy of
the old store beside the new one, in \`store.v1\`. It takes about a minute for each ten million entries, during which the
daemon answers reads and turns writes away. A migration that was interrupted goes on where it stopped when it is started again.
`,
  "configure": `# Configure the daemon

Settings are read from \`heron.toml\` in the working directory. Every setting has a default, so an empty file is a valid one. A
name that the daemon does not know is an error, and the message says which line it stands on. Settings that hold a secret,
such as the token of an administrator, can be read from a file instead: give its path under the same name, ending in \`_file\`.

## Change the listening port

The daemon listens on port 7411. To change the port, set \`listen = "127.0.0.1:8000"\` in \`heron.toml\` and restart the daemon. With several addresses, write a list; the daemon listens on each. An address that
cannot be bound is an error at the start and names the program that holds it, as far as the system tells. To listen on a
socket of systemd, set \`listen = "systemd"\`; the addresses are then those of the socket unit.

## Limit memory

Set \`memory_limit = "512MiB"\` to limit how much memory the daemon's cache may take. When the limit is reached, the least recently
used entries of the cache are dropped. The limit counts the entries and their keys; the buffers of connections come on top of
it, about 64 KiB each. Without a limit the cache takes a quarter of the machine's memory, or of the control group's.
`,
  "backup": `# Back up the store

Run \`heron backup FILE\` while the daemon is running. A backup is one file and holds every bucket
as it was when the command began. Writes go on meanwhile and are not part of it. The file is written under another name first
and renamed at its end, so that a backup that exists is whole; its last line holds a checksum that \`heron check\` verifies.

## Restore a backup

Stop the daemon and run \`heron restore FILE\`. What the store held before is moved to \`store.before\`, where it
stays until you remove it. A backup of an older version is read, too, and migrated while it is; one of a newer version is
turned away with the version that it needs. To restore one bucket alone, name it: \`heron restore FILE --bucket NAME\`.
`,
};

export const answered = "How do I change the port that the daemon listens on?";
export const refused = "How do I set up an ingress controller on GKE?";

let made: Promise<string> | undefined;

/** The index of these pages, with addresses relative to the index. */
function indexFile(): Promise<string> {
  made ??= (async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "polygraph-element-"));
    mkdirSync(path.join(folder, "docs"));
    for (const [name, text] of Object.entries(pages)) writeFileSync(path.join(folder, "docs", `${name}.md`), text);
    const file = path.join(folder, "docs.polygraph");
    execFileSync(program, ["index", "--corpus", `dir:${folder}/docs`, "--base-url", "./", "--title", "Heron", "--lexical", "--out", file], { stdio: "pipe" });
    return file;
  })();
  return made;
}

export const command = (...args: string[]): string =>
  execFileSync("node", [path.join(packageFolder, "command.mjs"), ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

const slug = (heading: string): string => heading.toLowerCase().replace(/[^\w]+/g, "-");

/** Plain HTML as a site generator would write it. `more` goes before the end of the body. */
function html(title: string, text: string, more: string): string {
  const body = text.split("\n").map((line) => {
    const heading = /^(#+) (.*)/.exec(line);
    return heading ? `<h${heading[1]!.length} id="${slug(heading[2]!)}">${heading[2]}</h${heading[1]!.length}>` : line.replace(/</g, "&lt;");
  }).join("\n").replace(/\n\n(?!<h)([^\n].*?)(?=\n\n|\n?$)/gs, "\n<p>$1</p>");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><link rel="icon" href="data:,"></head>
<body><main>${body}</main>${more}
</body></html>
`;
}

export interface SiteOptions {
  /** What stands in the pages where the site's author put the element; the loader is added. */
  element?: string;
  /** Over docker-doc's index, which is larger and has vectors. */
  large?: boolean;
  /** With the models, and over that index. */
  models?: boolean;
  isolation?: boolean;
  /** Other files, by path under the site. */
  files?: Record<string, string>;
}

/** Makes the site; gives the folder that a server serves. The site itself is under `under`. */
export async function elementSite({ element = '<polygraph-ask src="ROOTdocs.polygraph"></polygraph-ask>', models = false, large = models, isolation = false, files = {} }: SiteOptions = {}): Promise<string> {
  if (!existsSync(packageFolder)) throw new Error(`${packageFolder} is missing; build it with node web/build.mjs element`);
  const served = mkdtempSync(path.join(tmpdir(), "polygraph-element-"));
  const site = path.join(served, under);
  mkdirSync(site, { recursive: true });
  copyFileSync(large ? dockerDoc : await indexFile(), path.join(site, "docs.polygraph"));
  command("copy", path.join(site, "assets/ask"), ...(models ? ["--models", modelStore] : []));
  if (isolation) copyFileSync(path.join(packageFolder, "files/polygraph-isolation.js"), path.join(site, "polygraph-isolation.js"));
  const tags = (toRoot: string): string => `${element.replaceAll("ROOT", toRoot)}\n<script type="module" src="${toRoot}assets/ask/polygraph-ask.js"></script>`;
  writeFileSync(path.join(site, "index.html"), html("Heron", "# Heron\n\nA store for small values.", tags("")));
  for (const [name, text] of Object.entries(pages)) {
    mkdirSync(path.join(site, name));
    writeFileSync(path.join(site, name, "index.html"), html(name, text, tags("../")));
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(site, name), text);
  return served;
}

/** The dialog's parts; Playwright looks into open shadow trees. */
export const element = (page: Page) => page.locator("polygraph-ask");
export const dialog = (page: Page) => page.locator("polygraph-ask dialog[open]");
export const field = (page: Page) => dialog(page).getByRole("textbox");
export const answer = (page: Page) => dialog(page).locator(".answer");

export async function openDialog(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await expect(field(page)).toBeFocused();
}

/** Types the question, presses Enter, and waits for the end of the run. */
export async function askElement(page: Page, question: string): Promise<void> {
  await field(page).fill(question);
  await page.keyboard.press("Enter");
  await expect(answer(page).locator("h2")).toHaveText(question, { timeout: 60_000 });
  await expect(answer(page)).not.toHaveAttribute("data-status", "running", { timeout: 120_000 });
}

export interface Told {
  name: string;
  detail: Record<string, unknown>;
}

/** Keeps what the element tells its page, across the page's own life only. */
export async function listen(page: Page): Promise<() => Promise<Told[]>> {
  await page.evaluate(() => {
    const told: Told[] = [];
    (globalThis as unknown as { told: Told[] }).told = told;
    for (const name of ["polygraph-answer", "polygraph-refusal", "polygraph-select"]) {
      document.addEventListener(name, (event) => told.push({ name, detail: JSON.parse(JSON.stringify((event as CustomEvent).detail)) as Record<string, unknown> }));
    }
  });
  return () => page.evaluate(() => (globalThis as unknown as { told: Told[] }).told);
}
