// The visitor's settings: who answers, a preset, what differs from it, and whether models are loaded. Kept in this browser.

import type { Presets, RunConfig } from "../engine/boundary.ts";
import { wishes, type Choice, type Wish } from "../providers/choice.ts";

export interface Settings extends RunConfig {
  /** `auto`: models load by themselves; `off`: after the visitor cancelled, only on request. */
  models: "auto" | "off";
  answers: Wish;
}

const key = "polygraph.settings";
export const defaultPreset = "tuned";

/** In the page the reranker has a budget: 1.5 s, so that an answer never waits longer for it. */
export const pageDefaults: Record<string, string> = { RERANK_BUDGET_MS: "1500" };

export const defaults: Settings = { preset: defaultPreset, set: {}, models: "auto", answers: "automatic" };

/** The options that the page offers, with their words. The names are those of the command line and the environment. */
export const offered = [
  { name: "RETRIEVAL_MODE", label: "Retrieval", kind: "choice", choices: ["hybrid", "dense", "bm25"] },
  { name: "USE_RERANKER", label: "Reranker", kind: "switch" },
  { name: "USE_REFLECTION", label: "Reflection", kind: "switch" },
  { name: "MAX_REWRITES", label: "Rewrites", kind: "number", min: 0, max: 5, step: 1 },
  { name: "TOP_K", label: "Passages (top k)", kind: "number", min: 1, max: 20, step: 1 },
  { name: "RERANK_BUDGET_MS", label: "Rerank budget (ms)", kind: "number", min: 0, max: 60000, step: 100 },
] as const;

export function loadSettings(storage: Storage | null): Settings {
  try {
    const stored = JSON.parse(storage?.getItem(key) ?? "null") as Partial<Settings> | null;
    if (!stored || typeof stored !== "object") return defaults;
    const set = Object.entries(stored.set ?? {}).filter(([, value]) => typeof value === "string");
    return {
      preset: typeof stored.preset === "string" ? stored.preset : defaultPreset,
      set: Object.fromEntries(set),
      models: stored.models === "off" ? "off" : "auto",
      answers: wishes.find((wish) => wish === stored.answers) ?? "automatic",
    };
  } catch {
    return defaults;
  }
}

export function saveSettings(storage: Storage | null, settings: Settings): void {
  try {
    storage?.setItem(key, JSON.stringify(settings));
  } catch {
    // A full or forbidden store: the settings hold until the page is closed.
  }
}

/** The value an option has now: set by hand, the page's own, or the preset's. */
export function valueOf(presets: Presets | null, settings: RunConfig, name: string): string {
  return (
    settings.set[name] ??
    pageDefaults[name] ??
    presets?.values[settings.preset]?.[name] ??
    ""
  );
}

/** What the engine is given: the preset, the page's own defaults, what was set by hand, and who completes its LLM tasks. */
export function runConfig(settings: RunConfig, who: Choice["who"] = "browser"): RunConfig {
  const provider = who === "live" ? "proxy" : who === "own" || who === "built-in" ? "openai-compatible" : "extractive";
  return { preset: settings.preset, set: { ...pageDefaults, ...settings.set, PROVIDER: provider } };
}

/** True when nothing differs from the product's default. */
export function isDefault(settings: RunConfig): boolean {
  return settings.preset === defaultPreset && Object.keys(settings.set).length === 0;
}

/** Removes what equals the preset anyway, so that only real differences are shown and stored. */
export function withOption(presets: Presets | null, settings: Settings, name: string, value: string): Settings {
  const set = { ...settings.set };
  delete set[name];
  const rest = { ...settings, set };
  return valueOf(presets, rest, name) === value ? rest : { ...rest, set: { ...set, [name]: value } };
}
