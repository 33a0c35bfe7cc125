// The strip under the field: who answers, which stages can be used, how far the models are, and whether the page is ready
// for offline. What is missing says why and what comes with it.

import type { ModelProgress } from "../worker/messages.ts";
import { fill, h, type Child } from "./dom.ts";
import type { State } from "./state.ts";
import { whoView } from "./who.ts";
import { megabytes, plural, stageExtent, stageNames, stageUsed, type StageName } from "./words.ts";

export interface StripActions {
  load(): void;
  cancel(): void;
  /** Loads the page anew, in its newer version where there is one. */
  update(): void;
}

export function stripView(root: HTMLElement, state: Readonly<State>, actions: StripActions): void {
  fill(root, h("ul", null,
    item("who", whoView(state)),
    stages(state),
    models(state, actions),
    offline(state, actions)));
}

const item = (name: string, ...children: Child[]): HTMLElement => h("li", { class: `strip-${name}`, "data-item": name }, children);

/** What can be used now; once a run is shown, what that run used. */
function stages(state: Readonly<State>): HTMLElement {
  const ran = state.run?.state === "finished" ? state.run.trace?.stages : undefined;
  const now: Record<StageName, string> = ran ?? {
    lexical: lexical(state),
    dense: state.index.part === "all" ? model(state, "embedder") : state.index.error ? "the index could not be loaded" : "the index is loading",
    rerank: model(state, "reranker"),
  };
  const entries = Object.keys(stageNames) as StageName[];
  const lacking = entries.filter((stage) => !stageUsed(now[stage]));
  return item("stages",
    h("span", null, ran ? "Stages used: " : "Stages: "),
    entries.map((stage, i) => [i > 0 && " ", stageTag(stage, now[stage])]),
    lacking.length > 0 && h("span", { class: "quiet reason" }, ` ${[...new Set(lacking.map((stage) => now[stage]))].join("; ")}`));
}

function stageTag(stage: StageName, entry: string): HTMLElement {
  const used = stageUsed(entry);
  const extent = stageExtent(entry);
  return h("span", { class: used ? "stage used" : "stage" }, h("span", { "aria-hidden": "true" }, used ? "● " : "○ "), stageNames[stage], extent && h("span", { class: "quiet numbers" }, ` ${extent}`), h("span", { class: "sr-only" }, used ? " ready" : " missing"));
}

function lexical(state: Readonly<State>): string {
  if (state.index.part !== "none") return "used";
  return state.index.error ? "the index could not be loaded" : "the index is loading";
}

function model(state: Readonly<State>, role: ModelProgress["role"]): string {
  const progress = state.models.find((m) => m.role === role);
  switch (progress?.state) {
    case "ready":
      return "used";
    case "loading":
    case "starting":
      return "coming with the models";
    case "failed":
    case "unsupported":
      return `no ${role}: ${progress.message}`;
    default:
      return "once the models are loaded";
  }
}

function models(state: Readonly<State>, actions: StripActions): Child {
  const { models } = state;
  if (models.length === 0) return null;
  const received = models.reduce((sum, m) => sum + (m.state === "ready" || m.state === "starting" ? m.total : m.received), 0);
  const total = models.reduce((sum, m) => sum + m.total, 0);
  const ready = models.every((m) => m.state === "ready");
  const busy = models.some((m) => m.state === "loading" || m.state === "starting");
  const unsupported = models.every((m) => m.state === "unsupported");
  const size = `${megabytes(received)} of ${megabytes(total)} MB`;
  if (unsupported) return item("models", "No models: ", h("span", { class: "quiet" }, models[0]?.message ?? ""));
  const button = (label: string, click: () => void): HTMLElement => h("button", { type: "button", class: "plain", "data-key": "models", on: { click } }, label);
  if (ready) {
    const words = `Models ready, ${megabytes(total)} MB, ${plural(state.threads, "thread")}`;
    return item("models", words, state.offline.threads && state.threads === 1 && [". More after a reload. ", button("Reload", actions.update)]);
  }
  const failed = models.find((m) => m.state === "failed");
  if (busy) {
    return item("models", h("label", null, "Models ", h("span", { class: "numbers" }, size), " ", h("progress", { max: total, value: received })), button("Cancel", actions.cancel));
  }
  if (failed) return item("models", `Models: ${failed.message}. `, button("Try again", actions.load));
  return item("models", `Models not loaded (${received > 0 ? size : `${megabytes(total)} MB`}). `, button("Load", actions.load));
}

function offline({ offline }: Readonly<State>, actions: StripActions): HTMLElement {
  const words: Record<typeof offline.state, string> = {
    unsupported: `Not kept for offline: ${offline.message}`,
    working: "Being kept for offline",
    ready: offline.models ? "Ready for offline" : "Ready for offline, without models",
    failed: `Not kept for offline: ${offline.message}`,
  };
  return item("offline", words[offline.state], offline.update && [". A newer version of this page is ready. ", h("button", { type: "button", class: "plain", on: { click: () => actions.update() } }, "Use it now")]);
}
