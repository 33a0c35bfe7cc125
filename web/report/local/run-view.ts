// "Run it here": the choice, the progress and what came out, beside the shipped figures. One element for the life of the page,
// so that a run goes on while somebody reads another part of the report.

import { append, fill, h, type Child } from "../../ask/dom.ts";
import { redraw } from "../../ask/redraw.ts";
import { megabytes, plural } from "../../ask/words.ts";
import { cutOffs } from "../cutoffs.ts";
import { currentParams } from "../route.ts";
import { entries, number, object, objects, retrievalK, text, texts, type Json } from "../shapes.ts";
import { breakable, data, decimal, metricValue, none, visible } from "../words.ts";
import { LocalRun, type Outcome } from "./local-run.ts";

/** Two metrics are the same number: what is summed in another order differs by no more. */
const sameWithin = 1e-9;
/** A run of so few questions to begin with. */
const firstChoice = 10;

export interface RunActions {
  /** Shows a document (JSON text) as a report. */
  open(document: string, name: string): void;
}

export class RunView {
  readonly root = h("section", { id: "run-here", "aria-labelledby": "run-here-title" });
  readonly #document: Json;
  readonly #run: LocalRun;
  readonly #actions: RunActions;
  readonly #choice: HTMLFormElement;
  readonly #status = h("div", { class: "run-status" });
  readonly #live = h("p", { class: "sr-only", role: "status" });
  readonly #outcome = h("div", { class: "run-outcome" });
  #shown = "";
  #said = "";

  constructor(document: Json, run: LocalRun, actions: RunActions) {
    this.#document = document;
    this.#run = run;
    this.#actions = actions;
    this.#choice = this.#form();
    append(this.root, [
      h("h2", { id: "run-here-title" }, "Run it here"),
      h("p", { class: "quiet" }, "The same configurations over the same questions, in this browser: its engine and models answer, and what comes out stands beside the shipped figures. Nothing is sent anywhere."),
      this.#choice, this.#status, this.#live, this.#outcome,
    ]);
    this.update();
    void run.restore().then(() => this.#outcomes());
  }

  #form(): HTMLFormElement {
    const subsets = objects(this.#document["subsets"]);
    const all = this.#run.items.length;
    const select = h("select", { id: "run-items", name: "items" },
      subsets.map((subset, i) => h("option", { value: String(i), selected: texts(subset["ids"]).length === firstChoice }, visible(text(subset["name"])))),
      h("option", { value: "" }, `all ${all} items`));
    return h("form", { class: "run-choice", on: { submit: (event) => { event.preventDefault(); void this.#start(); } } },
      h("fieldset", null, h("legend", null, "Configurations"),
        this.#run.configs.map((name) => h("label", null, h("input", { type: "checkbox", name: "config", value: name, checked: true }), " ", data(name)))),
      h("div", { class: "filter" }, h("label", { for: "run-items" }, "Questions"), select),
      h("button", { type: "submit", class: "primary" }, "Run"),
      h("p", { class: "note run-cost" }, `Loads the models once (${megabytes(this.#run.modelBytes)} MB) if this browser does not hold them.`));
  }

  async #start(): Promise<void> {
    const given = new FormData(this.#choice);
    const configs = given.getAll("config").map(String);
    if (configs.length === 0) {
      fill(this.#status, h("p", { class: "problem" }, "Choose at least one configuration."));
      return;
    }
    const subset = objects(this.#document["subsets"])[Number(given.get("items") || Number.NaN)];
    fill(this.#outcome);
    await this.#run.start({ configs, items: subset ? texts(subset["ids"]) : null, subset: subset ? text(subset["name"]) : "all" });
    await this.#outcomes();
  }

  async #resume(): Promise<void> {
    await this.#run.resume();
    await this.#outcomes();
  }

  async #pause(): Promise<void> {
    await this.#run.pause();
    this.#status.querySelector<HTMLElement>("button")?.focus();
  }

  async #cancel(): Promise<void> {
    await this.#run.cancel();
    fill(this.#outcome);
    this.#choice.querySelector<HTMLElement>('button[type="submit"]')?.focus();
  }

  /** Shows how far the run is. */
  update(): void {
    const { state, done, total, config, item, leftMs, models, message, kept } = this.#run.progress;
    this.root.dataset["state"] = state;
    this.#choice.hidden = state !== "idle";
    const key = state === "loading" ? "" : JSON.stringify([state, done, total, config, item, message]);
    if (key !== "" && key === this.#shown) return;
    this.#shown = key;
    const button = (name: string, words: string, act: () => void, kind = ""): HTMLElement => h("button", { type: "button", class: kind || null, "data-key": name, on: { click: act } }, words);
    const busy = state === "running" || state === "loading";
    const left = leftMs === null ? (state === "running" ? "estimating …" : "") : `about ${timeLeft(leftMs)} left`;
    redraw(this.#status, () => fill(this.#status, state !== "idle" && [
      message !== "" && h("p", { class: "problem", role: "alert" }, visible(message)),
      h("p", { class: "run-progress" },
        h("progress", { max: Math.max(1, total), value: done, "aria-label": "Questions answered" }),
        h("span", { class: "numbers" }, ` ${done} of ${total} answered`),
        state === "running" && h("span", { class: "quiet" }, " · ", data(config), " · ", data(item), left && ` · ${left}`),
        state === "paused" && h("span", { class: "quiet" }, " · paused"),
        state === "loading" && h("span", { class: "quiet" }, ` · ${loading(models)}`),
        state === "finished" && h("span", { class: "quiet" }, " · finished")),
      h("p", { class: "run-actions" },
        busy && button("pause", "Pause", () => void this.#pause()),
        (state === "paused" || state === "failed") && button("resume", "Resume", () => void this.#resume(), "primary"),
        button("cancel", state === "finished" ? "Run another" : "Cancel", () => void this.#cancel()),
        done > 0 && !busy && [
          button("open", "Open as a report", () => void this.#open()),
          button("download", "Download the runs", () => void this.#download())]),
      !kept && h("p", { class: "note" }, "This browser keeps nothing for this page: after a reload the run begins anew."),
    ]));
    const said = state === "running" ? "" : state === "loading" ? "Loading" : state === "idle" ? "" : `Run ${state}, ${done} of ${total} answered`;
    if (said !== this.#said) this.#live.textContent = this.#said = said;
  }

  async #open(): Promise<void> {
    this.#actions.open(await this.#run.document(), "Run in this browser");
  }

  async #download(): Promise<void> {
    for (const config of this.#run.plan?.configs ?? []) {
      const url = URL.createObjectURL(new Blob([await this.#run.runText(config)], { type: "application/x-ndjson" }));
      h("a", { href: url, download: `${config.replace(/[^\w-]+/g, "_")}.jsonl` }).click();
      URL.revokeObjectURL(url);
    }
  }

  async #outcomes(): Promise<void> {
    if (this.#run.progress.done === 0) return;
    fill(this.#outcome, h("p", { class: "quiet" }, "Working out the figures …"));
    try {
      const outcomes = await this.#run.outcomes();
      fill(this.#outcome, outcomes.length > 0 && outcomeTable(outcomes, this.#document));
    } catch (error) {
      fill(this.#outcome, h("p", { class: "problem", role: "alert" }, error instanceof Error ? error.message : String(error)));
    }
  }
}

function loading(models: LocalRun["progress"]["models"]): string {
  const total = models.reduce((sum, model) => sum + model.total, 0);
  const received = models.reduce((sum, model) => sum + (model.state === "ready" || model.state === "starting" ? model.total : model.received), 0);
  if (total === 0 || models.every(({ state }) => state === "ready")) return "opening the index";
  return models.some(({ state }) => state === "starting") ? "starting the models" : `loading the models, ${megabytes(received)} of ${megabytes(total)} MB`;
}

const timeLeft = (ms: number): string => {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
};

/** Metrics as rows; of each configuration what came out here and in the shipped run over the same items. */
function outcomeTable(outcomes: readonly Outcome[], document: Json): Child[] {
  const reports = objects(document["reports"]);
  const names = [...new Set(outcomes.flatMap(({ here }) => entries(object(here).metrics).map(([name]) => name)))];
  const ranks = cutOffs(names, reports, currentParams());
  const value = (report: unknown, name: string): number | null => number(object(object(object(report)["metrics"])[name])["value"]);
  const measured = names.filter((name) => ranks.shows(name) && outcomes.some(({ here, shipped }) => value(here, name) !== null || value(shipped, name) !== null));
  const timed = (name: string): boolean => name.endsWith("_ms");
  const differs = (outcome: Outcome, name: string): boolean => {
    const [a, b] = [value(outcome.here, name), value(outcome.shipped, name)];
    return a === null || b === null ? a !== b : Math.abs(a - b) > sameWithin;
  };
  const differing = measured.filter((name) => !timed(name) && outcomes.some((outcome) => differs(outcome, name)));
  const decisions = outcomes.flatMap(({ config, differing: items }) => items.map((item) => `${item} (${config})`));
  const k = retrievalK(reports[0] ?? {});
  return [
    h("p", { class: "run-verdict" },
      differing.length === 0 && decisions.length === 0
        ? "Every decision and every metric is the shipped one; only times differ."
        : [decisions.length === 0 ? "Every decision is the shipped one" : ["Decisions differ at ", data(decisions.slice(0, 8).join(", ")), decisions.length > 8 && ` and ${decisions.length - 8} more`],
           differing.length === 0 ? "; every metric is the shipped one." : ["; metrics that differ: ", data(differing.join(", ")), "."],
           " The models' int8 arithmetic may round otherwise on another processor."]),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "In this browser and shipped" }, h("table", { class: "figures-table side-by-side run-table", "data-k": String(k) },
      h("thead", null,
        h("tr", null, h("td", null), outcomes.map(({ config, items }) => h("th", { scope: "colgroup", colspan: 2, class: "number" }, data(config), h("span", { class: "quiet of" }, ` ${plural(items, "item")}`)))),
        h("tr", null, h("th", { scope: "col" }, "Metric"), outcomes.map(() => [h("th", { scope: "col", class: "number" }, "here"), h("th", { scope: "col", class: "number" }, "shipped")]))),
      h("tbody", null, measured.map((name) => h("tr", { "data-metric": name },
        h("th", { scope: "row" }, h("bdi", null, breakable(name))),
        outcomes.map((outcome) => {
          const other = !timed(name) && differs(outcome, name);
          return [h("td", { class: other ? "number sure" : "number" }, shownValue(name, value(outcome.here, name))), h("td", { class: "number" }, shownValue(name, value(outcome.shipped, name)))];
        })))),
      h("caption", { class: "note" }, h("span", null, "Both over the same items, worked out by the same module. Bold: differs from the shipped figure.")))),
  ];
}

const shownValue = (name: string, value: number | null): string => (value === null ? none : metricValue(name, value) || decimal(value));
