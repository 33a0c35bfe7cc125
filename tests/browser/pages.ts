// The report and review pages: as pages of a site under the strict policy of the real server, and as one file each.

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./site.ts";

interface Pages {
  dataMarker: string;
  sitePage(root: string, name: string, debug: boolean, icon: string, put: (name: string, bytes: string) => Promise<string>): Promise<string>;
  filePage(root: string, name: string, debug: boolean): Promise<string>;
}
const pages = (await import(pathToFileURL(path.join(root, "web/pages.mjs")).href)) as Pages;

export const temporary = (): string => mkdtempSync(path.join(tmpdir(), "polygraph-pages-"));

/** A site that holds the two pages alone. */
export async function pagesSite(): Promise<string> {
  const folder = temporary();
  mkdirSync(path.join(folder, "assets"));
  const put = async (name: string, bytes: string): Promise<string> => {
    const { name: stem, ext } = path.parse(name);
    const target = `assets/${stem}-${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}${ext}`;
    writeFileSync(path.join(folder, target), bytes);
    return target;
  };
  const icon = await put("icon.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>');
  for (const name of ["report", "review"]) writeFileSync(path.join(folder, `${name}.html`), await pages.sitePage(root, name, false, icon, put));
  return folder;
}

let template: Promise<string> | null = null;

/** What the command line does: puts a report into the one-file page. Several parts make one file. */
export async function reportFile(file: string, parts: readonly string[], name = "sample.json"): Promise<string> {
  template ??= pages.filePage(root, "report", false);
  const page = await template;
  if (page.split(pages.dataMarker).length !== 2) throw new Error("the marker stands once in the page");
  const attribute = name.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const data = parts.map((part) => `<script type="application/json" class="report-data">${part.replaceAll("<", "\\u003c")}</script>`).join("\n");
  writeFileSync(file, page.replace(pages.dataMarker, () => `<meta name="report-name" content="${attribute}">\n${data}`));
  return pathToFileURL(file).href;
}

export const reviewFile = (): Promise<string> => pages.filePage(root, "review", false);
