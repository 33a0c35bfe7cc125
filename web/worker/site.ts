// What the build wrote about the site it made: every file that the page loads later, by its hashed name. It stands in the
// page itself (<meta name="polygraph-site">), so a page never meets files of another version.

export interface ModelFile {
  role: "embedder" | "reranker";
  name: string;
  url: string;
  sha256: string;
  bytes: number;
}

export interface Site {
  /** Digest over all files of the shell; the service worker's version. */
  version: string;
  engine: string;
  engine_wasm: string;
  /** Built without SIMD, for browsers that have none. */
  engine_baseline: string;
  engine_baseline_wasm: string;
  engine_worker: string;
  model_worker: string;
  /** onnxruntime-web's loader and WebAssembly. */
  ort: { mjs: string; wasm: string };
  /** `identity`: its digest as the engine and every trace name it. */
  index: { url: string; bytes: number; digest: string; identity: string; built_at: string };
  models: ModelFile[];
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
export function resolveSite(site: Site, base: string): Site {
  const at = (url: string): string => new URL(url, base).href;
  return {
    ...site,
    engine: at(site.engine),
    engine_wasm: at(site.engine_wasm),
    engine_baseline: at(site.engine_baseline),
    engine_baseline_wasm: at(site.engine_baseline_wasm),
    engine_worker: at(site.engine_worker),
    model_worker: at(site.model_worker),
    ort: { mjs: at(site.ort.mjs), wasm: at(site.ort.wasm) },
    index: { ...site.index, url: at(site.index.url) },
    models: site.models.map((model) => ({ ...model, url: at(model.url) })),
    examples: at(site.examples),
    tasks: at(site.tasks),
    evaluation: site.evaluation && at(site.evaluation),
    evaluation_engine: site.evaluation && at(site.evaluation_engine),
    evaluation_engine_wasm: site.evaluation && at(site.evaluation_engine_wasm),
    evaluation_worker: site.evaluation && at(site.evaluation_worker),
    ...(site.recordings ? { recordings: at(site.recordings) } : {}),
  };
}
