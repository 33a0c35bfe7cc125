// The npm package: dist/library, ready for `npm pack`.

import { spawnSync } from "node:child_process";
import { copyFile, mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { licencesName } from "../licences.mjs";

/** Bundles the library with both modules' JavaScript; types beside it as the compiler writes them. `tasks`: prompts and prices. */
export async function library({ root, out, engine, bundle, licences, tasks, version }) {
  const staging = `${out}.new`;
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging, { recursive: true });
  const put = (name, content) => writeFile(path.join(staging, name), content);

  await put("index.mjs", await bundle("web/library/index.ts", {
    define: { POLYGRAPH_TASKS: JSON.stringify(tasks) },
    target: ["es2022", "node20", "chrome109", "firefox115", "safari16.4"],
    alias: { "polygraph-modules": engine },
    minify: false,
  }));
  for (const name of ["polygraph-engine.wasm", "polygraph-evaluation.wasm"]) await copyFile(path.join(engine, name), path.join(staging, name));

  const types = spawnSync(process.execPath, [path.join(root, "node_modules/typescript/bin/tsc"), "-p", path.join(root, "web/library/tsconfig.json"), "--outDir", path.join(staging, "types")], { encoding: "utf8" });
  if (types.status !== 0) throw new Error(`the types could not be written:\n${types.stdout}${types.stderr}`);
  for (const name of await readdir(path.join(staging, "types"), { recursive: true })) {
    if (!name.endsWith(".d.ts")) continue;
    const file = path.join(staging, "types", name);
    await writeFile(file, (await readFile(file, "utf8")).replace(/((?:from|import\() ?"\.[^"]+)\.ts"/g, '$1.js"'));
  }
  await put("index.d.ts", 'export * from "./types/library/index.js";\n');

  await put("package.json", `${JSON.stringify({ ...JSON.parse(await readFile(path.join(root, "web/library/package.json"), "utf8")), version }, null, 2)}\n`);
  await copyFile(path.join(root, "web/library/README.md"), path.join(staging, "README.md"));
  await copyFile(path.join(root, "LICENSE"), path.join(staging, "LICENSE"));
  licences.addEngine();
  await put(licencesName, await licences.text());
  await rm(out, { recursive: true, force: true });
  await rename(staging, out);
}
