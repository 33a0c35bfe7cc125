// Building an index again after one page changed, beside building it from nothing; both with the real embedder. The vector
// cache is another, empty one each time, so that only the index before saves work.

import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { atLeast, plain } from "./figures.mjs";
import { must, output } from "./setting.mjs";

export function run(setting) {
  const program = must(setting.program, "the native program");
  const models = must(path.join(setting.cache, "models"), "the folder of models");
  const corpus = ["corpus/docker-docs", "/usr/share/doc/docker-doc"].map((each) => path.resolve(setting.shared, each)).find(existsSync);
  if (!corpus) throw new Error("neither corpus/docker-docs beside the project nor the package docker-doc is there");
  const folder = mkdtempSync(path.join(tmpdir(), "polygraph-rebuild-"));
  try {
    const docs = path.join(folder, "docs");
    cpSync(corpus, docs, { recursive: true, dereference: true });
    const build = (cache, out, more = []) => {
      const home = path.join(folder, cache);
      mkdirSync(home, { recursive: true });
      if (!existsSync(path.join(home, "models"))) symlinkSync(models, path.join(home, "models"));
      const start = performance.now();
      const report = JSON.parse(output(program, ["index", "--json", "--corpus", `dir:${docs}`, "--out", path.join(folder, out), ...more], { env: { POLYGRAPH_DIR: home } }));
      return { ...report, seconds: (performance.now() - start) / 1000 };
    };
    const previous = ["--previous", path.join(folder, "first.polygraph")];

    const first = build("a", "first.polygraph");
    const unchanged = build("b", "unchanged.polygraph", previous);
    // Of a Hugo checkout only this folder holds pages.
    const pages = existsSync(path.join(docs, "content/manuals")) ? path.join(docs, "content/manuals") : docs;
    const page = readdirSync(pages, { recursive: true }).filter((each) => each.endsWith(".md") && !path.basename(each).startsWith("_")).sort()[0];
    if (!page) throw new Error(`${corpus} holds no page that could be changed`);
    appendFileSync(path.join(pages, page), "\n\n## Changed\n\nThis page has got another section since the index was built.\n");
    const changed = build("c", "changed.polygraph", previous);
    if (changed.embedded === 0) throw new Error(`the change of ${page} did not reach the index`);
    const afresh = build("a", "afresh.polygraph");  // with the first build's own vectors, as a build from nothing would make them
    const same = readFileSync(path.join(folder, "changed.polygraph")).equals(readFileSync(path.join(folder, "afresh.polygraph")));

    return {
      figures: [
        plain("from nothing", first.seconds, "s", `${first.documents} pages, ${first.chunks} passages`),
        plain("nothing changed", unchanged.seconds, "s", `${unchanged.embedded} passages embedded`),
        plain("one page changed", changed.seconds, "s", `${changed.embedded} passages embedded`),
        atLeast("one page changed: faster by", first.seconds / changed.seconds, "times", 20),
        atLeast("the bytes are those of a build without the index before", same ? 1 : 0, "", 1),
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
