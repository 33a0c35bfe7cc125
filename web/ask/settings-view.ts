// The settings in a dialog: for every question from now on, or for asking one again from a step. Who answers is chosen in the
// first case alone: its part is made by answerers-view.ts.

import type { Presets, RunConfig } from "../engine/boundary.ts";
import { fill, h, type Child } from "./dom.ts";
import { redraw } from "./redraw.ts";
import { isDefault, offered, valueOf, withOption, type Settings } from "./settings-store.ts";

const presetNotes: Record<string, string> = {
  baseline: "dense retrieval alone",
  hybrid: "BM25 and dense, fused by rank",
  hybrid_rerank: "hybrid, then the cross-encoder",
  full: "hybrid, cross-encoder and reflection",
  tuned: "full, with the design that measured best",
};

export interface SettingsDialog {
  title: string;
  note: string;
  settings: Settings;
  /** What “Reset” leads back to, and “changed” is measured by; without it the product's default. */
  initial?: Settings;
  presets: Presets | null;
  /** The part about who answers, made anew with the settings that hold now. */
  answerers?: (settings: Settings, change: (settings: Settings) => void) => Child;
  /** Words of the button that applies; without it every change applies at once. */
  confirm?: { label: string; run(config: RunConfig): void };
  change?(settings: Settings): void;
}

export class SettingsView {
  readonly #dialog: HTMLDialogElement;
  #show: () => void = () => undefined;

  constructor(dialog: HTMLDialogElement) {
    this.#dialog = dialog;
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
  }

  open(options: SettingsDialog): void {
    let settings = options.settings;
    const show = (): void => {
      redraw(this.#dialog, () => fill(this.#dialog, this.#form(options, settings, (next) => {
        settings = next;
        options.change?.(next);
        show();
      }, () => settings)), () => this.#dialog.querySelector<HTMLElement>("select, input, button"));
    };
    this.#show = show;
    show();
    this.#dialog.showModal();
  }

  /** Shows what has become known meanwhile. A field that somebody types in is left alone. */
  refresh(): void {
    const active = document.activeElement;
    if (!this.#dialog.open || (active instanceof HTMLInputElement && active.type !== "checkbox" && this.#dialog.contains(active))) return;
    this.#show();
  }

  #form(options: SettingsDialog, settings: Settings, change: (settings: Settings) => void, latest: () => Settings): Child[] {
    const { presets, confirm } = options;
    const names = presets?.presets ?? [settings.preset];
    const form = h("form", { method: "dialog" },
      h("h2", { id: "settings-title" }, options.title),
      h("p", { class: "quiet" }, options.note),
      options.answerers?.(settings, change),
      h("label", { class: "setting" }, h("span", null, "Preset"),
        h("select", { name: "preset", on: { change: (event) => change({ ...settings, preset: (event.target as HTMLSelectElement).value, set: {} }) } },
          names.map((name) => h("option", { value: name, selected: name === settings.preset }, name)))),
      h("p", { class: "setting-note quiet" }, presetNotes[settings.preset] ?? ""),
      offered.map((option) => this.#option(option, options, settings, change)),
      h("p", { class: "dialog-actions" },
        !isReset(settings, options.initial) &&
          h("button", { type: "button", class: "plain", on: { click: () => change({ ...settings, ...(options.initial ?? { preset: "tuned", set: {} }) }) } }, "Reset"),
        confirm && h("button", { type: "submit", value: "cancel", class: "plain" }, "Cancel"),
        h("button", { type: "submit", class: "primary", value: "done" }, confirm?.label ?? "Done")));
    form.addEventListener("submit", (event) => {
      if (confirm && (event.submitter as HTMLButtonElement | null)?.value === "done") confirm.run(latest());
    });
    return [form];
  }

  #option(option: (typeof offered)[number], { presets, initial }: SettingsDialog, settings: Settings, change: (settings: Settings) => void): HTMLElement {
    const value = valueOf(presets, settings, option.name);
    const set = (next: string): void => change(withOption(presets, settings, option.name, next));
    const changed = settings.set[option.name] !== undefined && settings.set[option.name] !== initial?.set[option.name];
    const label = h("span", null, option.label, h("code", null, option.name), changed && h("span", { class: "tag" }, "changed"));
    switch (option.kind) {
      case "choice":
        return h("label", { class: "setting" }, label,
          h("select", { name: option.name, on: { change: (event) => set((event.target as HTMLSelectElement).value) } },
            option.choices.map((choice) => h("option", { value: choice, selected: choice === value }, choice))));
      case "switch":
        return h("label", { class: "setting" }, label,
          h("input", { type: "checkbox", name: option.name, checked: value === "true", on: { change: (event) => set(String((event.target as HTMLInputElement).checked)) } }));
      case "number":
        return h("label", { class: "setting" }, label,
          h("input", {
            type: "number", name: option.name, value, min: option.min, max: option.max, step: option.step, required: true, inputmode: "numeric",
            on: { change: (event) => {
              const input = event.target as HTMLInputElement;
              if (input.checkValidity()) set(String(input.valueAsNumber));
              else input.reportValidity();
            } },
          }));
    }
  }
}

function isReset(settings: Settings, initial: Settings | undefined): boolean {
  if (!initial) return isDefault(settings);
  const names = new Set([...Object.keys(settings.set), ...Object.keys(initial.set)]);
  return settings.preset === initial.preset && [...names].every((name) => settings.set[name] === initial.set[name]);
}
