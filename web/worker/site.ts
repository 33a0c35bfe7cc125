// What the build wrote about the site it made: every file that the page loads later, by its hashed name. It stands in the
// page itself (<meta name="polygraph-site">), so a page never meets files of another version.

export interface ModelFile {
  role: "embedder" | "reranker";
  name: string;
  url: string;
  sha256: string;
  bytes: number;
}

export interface IndexFile {
  url: string;
  /** 0: not known beforehand; the file's own header says it. */
  bytes: number;
}

/** What the workers load. */
export interface WorkerFiles {
  engine: string;
  engine_wasm: string;
  /** Built without SIMD, for browsers that have none. */
  engine_baseline: string;
  engine_baseline_wasm: string;
  model_worker: string;
  /** onnxruntime-web's loader and WebAssembly. */
  ort: { mjs: string; wasm: string };
  index: IndexFile;
  models: ModelFile[];
}

export interface Site extends WorkerFiles {
  /** Digest over all files of the shell; the service worker's version. */
  version: string;
  engine_worker: string;
  /** `identity`: its digest as the engine and every trace name it. */
  index: IndexFile & { digest: string; identity: string; built_at: string };
  examples: string;
  /** Prompts and prices, for providers that the page itself sends a prompt to. */
  tasks: string;
  /** The shipped evaluation (cli/runs/site_document.hpp); empty: none, and nothing of the following either. */
  evaluation: string;
  /** The evaluation module, and the report page's worker that holds it. */
  evaluation_engine: string;
  evaluation_engine_wasm: string;
  evaluation_worker: string;
  /** On a site that no server of ours serves: the list of its recorded runs. */
  recordings?: string;
}

/** What the build wrote into this page; null: a page of one file. */
export function siteOfPage(): Site | null {
  const given = document.querySelector<HTMLMetaElement>('meta[name="polygraph-site"]')?.content;
  return given ? resolveSite(JSON.parse(given) as Site, document.baseURI) : null;
}

/** The same with absolute URLs: a worker resolves against its own address otherwise. */
export function at(files: WorkerFiles, base: string): WorkerFiles {
  const url = (relative: string): string => new URL(relative, base).href;
  return {
    engine: url(files.engine),
    engine_wasm: url(files.engine_wasm),
    engine_baseline: url(files.engine_baseline),
    engine_baseline_wasm: url(files.engine_baseline_wasm),
    model_worker: url(files.model_worker),
    ort: { mjs: url(files.ort.mjs), wasm: url(files.ort.wasm) },
    index: { url: url(files.index.url), bytes: files.index.bytes },
    models: files.models.map((model) => ({ ...model, url: url(model.url) })),
  };
}

export function resolveSite(site: Site, base: string): Site {
  const url = (relative: string): string => new URL(relative, base).href;
  const files = at(site, base);
  return {
    ...site,
    ...files,
    engine_worker: url(site.engine_worker),
    index: { ...site.index, ...files.index },
    examples: url(site.examples),
    tasks: url(site.tasks),
    evaluation: site.evaluation && url(site.evaluation),
    evaluation_engine: site.evaluation && url(site.evaluation_engine),
    evaluation_engine_wasm: site.evaluation && url(site.evaluation_engine_wasm),
    evaluation_worker: site.evaluation && url(site.evaluation_worker),
    ...(site.recordings ? { recordings: url(site.recordings) } : {}),
  };
}
