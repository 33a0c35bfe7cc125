// `polygraph-ask`: puts the element's files into a site, and the element into its pages.

import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { ElementFiles } from "./files.ts";

const usage = `polygraph-ask: puts <polygraph-ask> into a documentation site

usage: polygraph-ask copy FOLDER [--models STORE]
       polygraph-ask embed SITE [--index FILE] [--models STORE] [--isolation] [--set NAME=VALUE …]

  copy FOLDER    copies the element's files into a folder of the site that is served as it is
  embed SITE     after the site was built: copies the files to SITE/polygraph and puts the element into every page

  --index FILE      the index, made by \`polygraph index\`; it is copied to SITE/docs.polygraph. Without it, that file is used
  --models STORE    copies the models, too (68 MB), from where \`polygraph models fetch\` keeps them: ~/.cache/polygraph/models
  --isolation       puts a service worker at the site's root that gives the models several threads
  --set NAME=VALUE  an attribute of the element, for example --set lang=de; by default position=corner and, with models, models=ask

Examples:
  polygraph-ask copy static/polygraph
  polygraph-ask embed site --index docs.polygraph --set shortcuts=mod+k

Exit status: 0 done, 2 wrong use, 3 a file that is missing or is not what it should be.`;

class Failure extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const here = path.dirname(fileURLToPath(import.meta.url));
const shipped = path.join(here, "files");
const listName = "polygraph-ask.json";
const indexName = "docs.polygraph";
const isolationName = "polygraph-isolation.js";

interface FileList {
  files: string[];
  /** Only for sites that offer models. */
  runtime: string[];
  models: ElementFiles["models"];
}

const readList = async (file: string): Promise<FileList> => JSON.parse(await readFile(file, "utf8")) as FileList;

async function isFile(file: string): Promise<boolean> {
  return stat(file).then((found) => found.isFile(), () => false);
}

/** Copies what the site needs; what an earlier version put there and this one does not have goes. */
async function copy(folder: string, store: string | undefined): Promise<void> {
  const list = await readList(path.join(shipped, listName));
  const models: { from: string; to: string }[] = [];
  if (store !== undefined) {
    for (const { role, url, sha256 } of list.models) {
      const from = path.join(store, role, sha256, "model.onnx");
      if (!(await isFile(from))) throw new Failure(3, `the ${role} is missing: ${from}; \`polygraph models fetch\` brings it`);
      const found = createHash("sha256").update(await readFile(from)).digest("hex");
      if (found !== sha256) throw new Failure(3, `${from} is another file: its SHA-256 is ${found}, expected ${sha256}; \`polygraph models fetch\` brings it anew`);
      models.push({ from, to: url });
    }
  }
  const files = [...list.files, ...(store === undefined ? [] : list.runtime)];
  const kept = new Set([...files, ...models.map(({ to }) => to)]);
  await mkdir(folder, { recursive: true });
  const before = await readList(path.join(folder, listName)).catch(() => null);
  for (const old of before?.files ?? []) {
    if (!kept.has(old) && path.basename(old) === old) await rm(path.join(folder, old), { force: true });
  }
  let bytes = 0;
  const put = async (from: string, to: string): Promise<void> => {
    await copyFile(from, path.join(folder, to));
    bytes += (await stat(from)).size;
  };
  for (const file of files) await put(path.join(shipped, file), file);
  for (const { from, to } of models) await put(from, to);
  await writeFile(path.join(folder, listName), `${JSON.stringify({ files: [...kept] }, null, 2)}\n`);
  console.log(`${kept.size} files, ${(bytes / 1e6).toFixed(1)} MB, in ${folder}`);
}

const opening = "<!-- polygraph-ask -->";
const closing = "<!-- /polygraph-ask -->";
const escaped = (text: string): string => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");

/** The page with the element before the end of its body, in place of the one that an earlier call put there. Null: no page. */
export function embedded(html: string, toRoot: string, attributes: ReadonlyMap<string, string>): string | null {
  const written = [...attributes].map(([name, value]) => (value === "" ? ` ${name}` : ` ${name}="${escaped(value)}"`)).join("");
  const tags = `${opening}<script type="module" src="${toRoot}polygraph/polygraph-ask.js"></script><polygraph-ask${written}></polygraph-ask>${closing}`;
  const start = html.indexOf(opening);
  const end = html.indexOf(closing, start);
  if (start >= 0 && end >= 0) return html.slice(0, start) + tags + html.slice(end + closing.length);
  const body = html.toLowerCase().lastIndexOf("</body>");
  return body < 0 ? null : html.slice(0, body) + tags + html.slice(body);
}

async function embed(site: string, { index, models, isolation, set = [] }: { index?: string | undefined; models?: string | undefined; isolation?: boolean | undefined; set?: string[] | undefined }): Promise<void> {
  const own = new Map(set.map((each): [string, string] => {
    const [name, ...value] = each.split("=");
    if (!name || !/^[a-z][a-z0-9-]*$/.test(name)) throw new Failure(2, `--set ${each}: expected NAME=VALUE, as in --set lang=de`);
    return [name, value.join("=")];
  }));
  const target = path.join(site, indexName);
  if (index !== undefined) {
    if (!(await isFile(index))) throw new Failure(3, `the index is missing: ${index}`);
    if (path.resolve(index) !== path.resolve(target)) await copyFile(index, target);
  } else if (!own.has("src") && !(await isFile(target))) {
    throw new Failure(3, `${target} is missing; make it with \`polygraph index … --out ${target}\`, or name yours with --index FILE`);
  }
  const pages = (await readdir(site, { recursive: true })).filter((file) => file.endsWith(".html"));
  if (pages.length === 0) throw new Failure(3, `${site} holds no .html file; name the folder that the site was built into`);
  await copy(path.join(site, "polygraph"), models);
  if (isolation) await copyFile(path.join(shipped, isolationName), path.join(site, isolationName));
  let changed = 0;
  for (const page of pages.sort()) {
    // A page for addresses that do not exist is shown at any depth, where no relative address holds.
    if (path.basename(page) === "404.html") continue;
    const toRoot = "../".repeat(page.split(path.sep).length - 1) || "./";
    const attributes = new Map([
      ["src", `${toRoot}${indexName}`], ["position", "corner"],
      ...(models === undefined ? [] : [["models", "ask"] as const]),
      ...(isolation ? [["isolation", `${toRoot}${isolationName}`] as const] : []),
      ...own,
    ]);
    const file = path.join(site, page);
    const html = embedded(await readFile(file, "utf8"), toRoot, attributes);
    if (html === null) continue;
    await writeFile(file, html);
    ++changed;
  }
  console.log(`the element is in ${changed} of ${pages.length} pages of ${site}`);
}

async function main(): Promise<void> {
  let parsed;
  try {
    parsed = parseArgs({
      allowPositionals: true,
      options: {
        index: { type: "string" }, models: { type: "string" }, isolation: { type: "boolean" }, set: { type: "string", multiple: true },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new Failure(2, `${error instanceof Error ? error.message : String(error)}; polygraph-ask --help explains`);
  }
  const { values, positionals: [command, folder, ...rest] } = parsed;
  if (values.help) {
    console.log(usage);
    return;
  }
  if ((command !== "copy" && command !== "embed") || folder === undefined || rest.length > 0) throw new Failure(2, usage);
  if (command === "copy") {
    if (values.index !== undefined || values.set || values.isolation) throw new Failure(2, "copy takes a folder and --models; the other options belong to embed");
    await copy(folder, values.models);
    return;
  }
  if (!(await stat(folder).then((found) => found.isDirectory(), () => false))) throw new Failure(3, `there is no folder ${folder}; build the site first`);
  await embed(folder, values);
}

main().catch((error: unknown) => {
  console.error(error instanceof Failure ? error.message : `polygraph-ask: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = error instanceof Failure ? error.code : 3;
});
