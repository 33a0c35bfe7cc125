// The files of the element beside its loader, as the build named them: relative to the folder that they stand in.

import type { ModelFile } from "../worker/site.ts";
import type { Source } from "./source.ts";

export interface ElementFiles {
  version: string;
  dialog: string;
  engine: string;
  engine_wasm: string;
  engine_baseline: string;
  engine_baseline_wasm: string;
  engine_worker: string;
  model_worker: string;
  ort: { mjs: string; wasm: string };
  /** Copied into a site only where it wants them. */
  models: ModelFile[];
  /** Translations that come with the element, by language; the frame's own words stand in the loader. */
  languages: Record<string, { file: string; frame: Record<string, string> }>;
}

/** What the loader has made by the time the dialog's code arrives. */
export interface Frame {
  host: HTMLElement;
  shadow: ShadowRoot;
  dialog: HTMLDialogElement;
  form: HTMLFormElement;
  field: HTMLInputElement;
  /** Filled by the dialog. */
  body: HTMLElement;
  live: HTMLElement;
  /** The engine, which loads while the dialog's code does; null: this browser runs no WebAssembly. */
  source: Source | null;
  /** Address of the index. */
  src: string;
  /** Address of /api/ of the server that may answer live; empty: there is none. */
  endpoint: string;
  models: "none" | "ask" | "auto";
  /** Address of the service worker that isolates the site's pages; empty: none. */
  isolation: string;
  language: string;
  /** Translated words by name. */
  words: Record<string, string>;
  /** Fires when the element leaves its page. */
  signal: AbortSignal;
  close(): void;
}

/** What the loader asks of the dialog. */
export interface Panel {
  ask(question: string): void;
  /** Esc: true when there was something to leave before the dialog itself. */
  back(): boolean;
}

export interface DialogModule {
  attach(frame: Frame): Panel;
}
