// The copyright notices and licence texts that go with what is built: of the npm packages in a bundle, as esbuild says which these
// are, and of what the WebAssembly contains, whose texts stand in assets/licences.

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

/** The file of a site, an export and the packages. */
export const licencesName = "licences.txt";

/** What a WebAssembly file contains of others. `texts`: files below assets/licences; what is shared is printed once. */
const contained = {
  engine: [
    { name: "nlohmann/json", licence: "MIT", texts: ["nlohmann-json"] },
    { name: "tl::expected", licence: "CC0-1.0", texts: ["expected"] },
    { name: "xxHash", licence: "BSD-2-Clause", texts: ["xxhash"] },
    { name: "Unicode Character Database 14.0.0 (tables made from it)", licence: "Unicode-DFS-2016", texts: ["unicode"] },
    { name: "Hugging Face tokenizers 0.23.3 (tables of its BERT normaliser), © Hugging Face and its contributors", licence: "Apache-2.0", texts: ["apache-2.0"] },
    { name: "Emscripten", licence: "MIT", texts: ["emscripten"] },
    { name: "musl", licence: "MIT", texts: ["musl"] },
    { name: "LLVM's libc++, libc++abi, libunwind and compiler-rt, © the LLVM authors", licence: "Apache-2.0 WITH LLVM-exception", texts: ["apache-2.0", "llvm-exception"] },
  ],
  runtime: [{ name: "onnxruntime-web's WebAssembly", licence: "several", texts: ["onnxruntime-parts"] }],
};

/** Packages that are published without the text of their licence. */
const withoutText = { "onnxruntime-web": "onnxruntime", "onnxruntime-common": "onnxruntime" };

/** Folders of the npm packages that have a part in a bundle, from esbuild's metafile; files are relative to the working directory. */
export function packagesOf(metafile) {
  const folders = new Set();
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
      const found = /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file.replaceAll("\\", "/"));
      if (found && bytesInOutput > 0) folders.add(path.resolve(found[1]));
    }
  }
  return folders;
}

async function textOf(root, folder, name) {
  const file = (await readdir(folder)).sort().find((each) => /^(licen[cs]e|copying)(\.|-|$)/i.test(each));
  if (file) return readFile(path.join(folder, file), "utf8");
  if (name in withoutText) return readFile(path.join(root, `assets/licences/${withoutText[name]}.txt`), "utf8");
  throw new Error(`${folder} has no licence text: add it to assets/licences and name it in web/licences.mjs`);
}

export class Licences {
  #root;
  #packages = new Set();
  #contained = new Set();

  constructor(root) {
    this.#root = root;
  }

  /** The packages of one bundle. */
  addBundle(metafile) {
    for (const folder of packagesOf(metafile)) this.#packages.add(folder);
  }

  /** The engine's modules, which all contain the same. */
  addEngine() {
    this.#contained.add("engine");
  }

  /** onnxruntime-web's files, which are copied as they are. */
  addRuntime() {
    this.#packages.add(path.join(this.#root, "node_modules/onnxruntime-web"));
    this.#contained.add("runtime");
  }

  /** All names, licences and texts; parts with the same text stand together. */
  async text() {
    const parts = [];
    for (const folder of this.#packages) {
      const { name, version, license: licence } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
      parts.push({ name: `${name} ${version}`, licence, texts: [await textOf(this.#root, folder, name)] });
    }
    for (const what of this.#contained) {
      for (const { texts, ...part } of contained[what]) {
        parts.push({ ...part, texts: await Promise.all(texts.map((each) => readFile(path.join(this.#root, `assets/licences/${each}.txt`), "utf8"))) });
      }
    }
    parts.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    const named = new Map();
    for (const { name, licence, texts } of parts) {
      for (const text of texts.map((each) => each.replace(/\r/g, "").trim())) named.set(text, (named.get(text) ?? new Set()).add(`${name} (${licence})`));
    }
    const rule = "=".repeat(36);
    return [
      "Polygraph is under the MIT licence. What it contains of others, with their copyright notices and licences:\n",
      ...[...named].map(([text, names]) => `${rule}\n${[...names].join("\n")}\n${rule}\n\n${text}\n`),
    ].join("\n");
  }

  /** For the foot of a page that is one file: the texts themselves, folded. */
  async element() {
    const escaped = (await this.text()).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    return `<details class="licences"><summary>Licences</summary><pre>${escaped}</pre></details>`;
  }
}

/** For the foot of a site's page. */
export const licencesLink = `<p><a href="${licencesName}">Licences</a></p>`;
