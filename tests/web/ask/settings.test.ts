import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults, isDefault, loadSettings, runConfig, saveSettings, valueOf, withOption } from "../../../web/ask/settings-store.ts";

const presets = {
  presets: ["baseline", "tuned"],
  values: { baseline: { TOP_K: "4", USE_RERANKER: "false", RERANK_BUDGET_MS: "0" }, tuned: { TOP_K: "4", USE_RERANKER: "true", RERANK_BUDGET_MS: "0" } },
};

class MemoryStorage {
  readonly items = new Map<string, string>();
  getItem = (key: string): string | null => this.items.get(key) ?? null;
  setItem = (key: string, value: string): void => void this.items.set(key, value);
}

test("an option set back to its preset's value is no longer a difference", () => {
  const changed = withOption(presets, defaults, "TOP_K", "8");
  assert.equal(valueOf(presets, changed, "TOP_K"), "8");
  assert.ok(!isDefault(changed));
  assert.ok(isDefault(withOption(presets, changed, "TOP_K", "4")));
});

test("the page reranks within 1.5 seconds unless the visitor says otherwise", () => {
  assert.equal(runConfig(defaults).set["RERANK_BUDGET_MS"], "1500");
  assert.equal(runConfig(withOption(presets, defaults, "RERANK_BUDGET_MS", "0")).set["RERANK_BUDGET_MS"], "0");
});

test("settings come back after a reload", () => {
  const storage = new MemoryStorage() as unknown as Storage;
  const settings = withOption(presets, { ...defaults, models: "off" }, "USE_RERANKER", "false");
  saveSettings(storage, settings);
  assert.deepEqual(loadSettings(storage), settings);
});

test("a store that holds rubbish, or none at all, gives the defaults", () => {
  const storage = new MemoryStorage();
  storage.setItem("polygraph.settings", '{"preset": 7, "set": {"TOP_K": {}}, "models": "maybe"}');
  assert.deepEqual(loadSettings(storage as unknown as Storage), defaults);
  storage.setItem("polygraph.settings", "{");
  assert.deepEqual(loadSettings(storage as unknown as Storage), defaults);
  assert.deepEqual(loadSettings(null), defaults);
});
