// A site generator in a few lines: `docs/a/b.md` becomes `public/a/b/index.html`, in the site's own template, as Hugo does it.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { marked } from "marked";

const slug = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replace(/\s/g, "-");
marked.use({ renderer: { heading: ({ tokens, depth, text }) => `<h${depth} id="${slug(text.replace(/<[^>]*>|`/g, ""))}">${marked.parseInline(text)}</h${depth}>\n` } });

const layout = readFileSync("layout.html", "utf8");
mkdirSync("public", { recursive: true });
writeFileSync("public/site.css", "body { max-width: 50rem; margin: auto; padding: 1rem; font: 1rem/1.5 sans-serif }\nheader { display: flex; justify-content: space-between }\npre { overflow: auto }\ntable { display: block; overflow: auto }\n");
for (const file of readdirSync("docs", { recursive: true })) {
  if (!file.endsWith(".md")) continue;
  const page = file.slice(0, -3).replace(/(^|\/)index$/, "");
  const folder = path.join("public", page);
  const values = { title: page || "Manual", root: page ? "../".repeat(page.split("/").length) : "./", content: marked.parse(readFileSync(path.join("docs", file), "utf8")) };
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "index.html"), layout.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]));
}
