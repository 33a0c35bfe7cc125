// Builds the sites of the tests, each by following its page in assets/sites to the letter: files that the page shows are written, its
// commands are run, in its order. What was built is kept in $POLYGRAPH_DIR/sites under a digest of what went into it, and so are the
// packages that a site needs. Of the element only the command counts: its files are copied into the site as they are, and the
// tests copy those of now over those of then.
//
//   node tests/sites/build.mjs [NAME …]     prints, as JSON, the folder that each site is published from

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");
const checkout = process.env.POLYGRAPH_TEST_CHECKOUT ?? root;
const store = path.join(process.env.POLYGRAPH_DIR ?? path.join(homedir(), ".cache/polygraph"), "sites");

/** The documentation that the sites publish: pages of Fastify's, which is MIT-licensed, from its npm package. */
const corpus = { name: "fastify", version: "5.12.8", sha256: "459048aabd9311309f4f95b36e8ca065e3a4613ded292bcf50442926931e4748" };
const pages = [
  "index.md", "Guides/Getting-Started.md", "Guides/Plugins-Guide.md", "Guides/Testing.md", "Reference/ContentTypeParser.md", "Reference/Decorators.md",
  "Reference/Errors.md", "Reference/Hooks.md", "Reference/Logging.md", "Reference/Reply.md", "Reference/Request.md", "Reference/Routes.md",
];
/** Packages are those of this day, whatever came out since. */
const packagesOf = "2026-11-30";

/** Where each site's build leaves what is published, and the path that it is published under. */
export const sites = {
  "html": { out: "public", under: "some/path" },
  "mkdocs-material": { out: "site", under: "manual" },
  "docusaurus": { out: "build", under: "manual" },
  "vitepress": { out: "docs/.vitepress/dist", under: "manual" },
};

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex");
const filesIn = (folder) => readdirSync(folder, { recursive: true }).filter((file) => statSync(path.join(folder, file)).isFile()).sort();
const digestOf = (folder) => sha256(...filesIn(folder).flatMap((file) => [file, "\0", readFileSync(path.join(folder, file)), "\0"]));

const run = (command, args, cwd, env = {}) => {
  try {
    return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env }, maxBuffer: 1 << 28 });
  } catch (error) {
    throw new Error(`${command} ${args.join(" ")}: ${error.stderr || error.stdout || error.message}`);
  }
};

/** Whether there is such a process. */
function runs(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Makes `folder` with `fill`, whole or not at all, and removes what stood there under other digests. */
function kept(name, digest, fill) {
  const folder = path.join(store, `${name}-${digest.slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(store, { recursive: true });
  for (const left of readdirSync(store).filter((entry) => /\.new-\d+$/.test(entry) && !runs(Number(entry.split("-").at(-1))))) rmSync(path.join(store, left), { recursive: true, force: true });
  const staging = `${folder}.new-${process.pid}`;
  mkdirSync(staging);
  fill(staging);
  renameSync(staging, folder);
  const old = new RegExp(`^${name}-[0-9a-f]{16}$`);
  for (const other of readdirSync(store)) if (old.test(other) && other !== path.basename(folder)) rmSync(path.join(store, other), { recursive: true, force: true });
  return folder;
}

function documentation() {
  return kept("documentation", sha256(corpus.sha256, ...pages), (folder) => {
    run("npm", ["pack", `${corpus.name}@${corpus.version}`, "--silent"], folder);
    const file = path.join(folder, `${corpus.name}-${corpus.version}.tgz`);
    const found = sha256(readFileSync(file));
    if (found !== corpus.sha256) throw new Error(`${corpus.name} ${corpus.version} has the digest ${found}, expected ${corpus.sha256}`);
    run("tar", ["xzf", file], folder);
    for (const page of pages) cpSync(path.join(folder, "package/docs", page), path.join(folder, "docs", page));
    rmSync(path.join(folder, "package"), { recursive: true });
    rmSync(file);
  });
}

/** The site's generator: node_modules, or a Python environment. Null: it needs none. */
function packages(name) {
  const own = path.join(here, name);
  const npm = path.join(own, "package.json");
  const python = path.join(own, "requirements.txt");
  if (existsSync(npm)) {
    return kept(`packages-${name}`, sha256(readFileSync(npm), packagesOf, process.version), (folder) => {
      cpSync(npm, path.join(folder, "package.json"));
      run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", `--before=${packagesOf}`], folder);
    });
  }
  return kept(`packages-${name}`, sha256(readFileSync(python), run("python3", ["--version"])), (folder) => {
    run("python3", ["-m", "venv", "venv"], folder);
    // An environment knows its own place: it is used where it was made, by its interpreter, from wherever it is moved to.
    run(path.join(folder, "venv/bin/python"), ["-m", "pip", "install", "-q", "--no-deps", "-r", python], folder);
  });
}

/** The blocks of a page: `sh` is run, "LANGUAGE FILE" is written. */
export function steps(markdown) {
  return [...markdown.matchAll(/^```(\S+)(?: (\S+))?\n(.*?)^```$/gms)].map(([, language, file, text]) => {
    if (language === "sh") return { command: text };
    if (!file) throw new Error(`a block of ${language} says neither a file nor a command`);
    return { file, text };
  });
}

/** The folder that the site is published from. */
export function site(name) {
  const own = path.join(here, name);
  const instructions = readFileSync(path.join(root, "assets/sites", `${name}.md`), "utf8");
  const needed = packages(name);
  const docs = path.join(documentation(), "docs");
  const made = [readFileSync(path.join(root, "dist/element/command.mjs")), ...["index", "wasm/index", "wasm/text"].map((folder) => digestOf(path.join(root, folder)))];
  const digest = sha256(instructions, JSON.stringify(sites[name]), digestOf(own), path.basename(needed), digestOf(docs), ...made);
  const published = kept(name, digest, (folder) => {
    const parent = path.join(store, `work-${name}.new-${process.pid}`);
    try {
      const work = path.join(parent, "site");
      cpSync(own, work, { recursive: true });
      cpSync(docs, path.join(work, "docs"), { recursive: true });
      symlinkSync(checkout, path.join(parent, "polygraph"));
      let bin = process.env.PATH;
      if (existsSync(path.join(needed, "node_modules"))) {
        run("cp", ["-al", path.join(needed, "node_modules"), work]); // as links: there are tens of thousands of files
        cpSync(path.join(needed, "package-lock.json"), path.join(work, "package-lock.json"));
      } else {
        // The environment's scripts name the folder that it was made in; its modules do not.
        mkdirSync(path.join(parent, "bin"));
        writeFileSync(path.join(parent, "bin/mkdocs"), `#!/bin/sh\nexec "${needed}/venv/bin/python" -m mkdocs "$@"\n`, { mode: 0o755 });
        bin = `${path.join(parent, "bin")}:${bin}`;
      }
      for (const { file, text, command } of steps(instructions)) {
        if (file) {
          mkdirSync(path.dirname(path.join(work, file)), { recursive: true });
          writeFileSync(path.join(work, file), text);
        } else {
          run("bash", ["-euc", command], work, { PATH: bin, NO_UPDATE_NOTIFIER: "1", npm_config_ignore_scripts: "true" });
        }
      }
      cpSync(path.join(work, sites[name].out), folder, { recursive: true });
    } finally {
      rmSync(parent, { recursive: true, force: true });
    }
  });
  return published;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  const built = {};
  for (const name of names.length > 0 ? names : Object.keys(sites)) {
    if (!sites[name]) throw new Error(`there is no site ${name}; there are: ${Object.keys(sites).join(" ")}`);
    const begun = Date.now();
    built[name] = site(name);
    console.error(`${name}: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  }
  console.log(JSON.stringify(built, null, 2));
}
