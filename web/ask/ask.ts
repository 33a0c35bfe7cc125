// The Ask page: one field, passages while typing, an answer or a refusal, and the trace beside it.

import { EngineError } from "../engine/engine.ts";
import type { Chunk } from "../engine/boundary.ts";
import type { Trace } from "../engine/trace.ts";
import { canStore, capabilities } from "../worker/capabilities.ts";
import { WorkerClient } from "../worker/client.ts";
import type { Finished, WorkerEvent } from "../worker/messages.ts";
import { resolveSite, type Site } from "../worker/site.ts";
import { announcement, showAnswer } from "./answer.ts";
import { h } from "./dom.ts";
import { examplesView } from "./examples.ts";
import { footView } from "./foot.ts";
import { OfflineKeeper } from "./offline.ts";
import { passagesView } from "./passages.ts";
import { Popover } from "./popover.ts";
import { addressOf, questionOf } from "./route.ts";
import { loadSettings, runConfig, saveSettings, type Settings } from "./settings-store.ts";
import { SettingsView } from "./settings-view.ts";
import type { Problem, Run, State } from "./state.ts";
import { Store } from "./store.ts";
import { stripView } from "./strip.ts";
import { TracePanel, type ReplayVerdict } from "./trace-panel.ts";

/** Passages listed while somebody types. */
const passagesShown = 8;

const byId = <T extends HTMLElement>(id: string): T => {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no element “${id}”.`);
  return element as T;
};

const storage = ((): Storage | null => {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
})();

const field = byId<HTMLInputElement>("question");
const live = byId("live");
const site = resolveSite(
  JSON.parse(document.querySelector<HTMLMetaElement>('meta[name="polygraph-site"]')?.content ?? "{}") as Site,
  document.baseURI,
);

const store = new Store<State & { replay: ReplayVerdict | null }>({
  index: { received: 0, total: site.index.bytes, part: "none", info: null, error: null },
  info: null,
  presets: null,
  models: [],
  threads: 1,
  offline: { state: "working", models: false, message: "", update: false },
  settings: loadSettings(storage),
  typed: "",
  asked: "",
  hits: null,
  lookupMs: 0,
  run: null,
  problem: null,
  replay: null,
});

const say = (message: string): void => {
  live.textContent = message;
};
const popover = new Popover(byId("main"));
const settingsView = new SettingsView(byId<HTMLDialogElement>("settings"));
const offline = new OfflineKeeper((change) => store.update({ offline: { ...store.state.offline, ...change } }));

const storable = canStore();
let worker: WorkerClient | null = null;
let opened: Promise<void> = Promise.resolve();

// ---------------------------------------------------------------- what the worker tells

function onEvent(event: WorkerEvent): void {
  switch (event.event) {
    case "index":
      store.update({
        index: event.progress,
        ...(event.progress.info ? { info: event.progress.info } : {}),
        ...(event.progress.error ? { problem: event.progress.error } : {}),
      });
      break;
    case "models": {
      const before = store.state.models;
      store.update({ models: event.models, threads: event.threads });
      const ready = (models: typeof before): boolean => models.length > 0 && models.every((model) => model.state === "ready");
      if (ready(event.models) && !ready(before)) void offline.keepRuntime();
      break;
    }
    case "run": {
      const { run } = store.state;
      if (run?.state !== "running") return;
      store.update({ run: { ...run, trace: event.trace } });
      void fetchChunks(event.trace);
      break;
    }
  }
}

/** Passages that a trace names and this page does not hold yet. */
async function fetchChunks(trace: Trace): Promise<void> {
  const { run } = store.state;
  if (!run || !worker) return;
  const named = new Set([
    ...trace.steps.flatMap((step) => (step.node === "retrieve" ? step.data.candidates.map((c) => c.id) : [])),
    ...trace.citations.map((citation) => citation.chunk_id),
  ]);
  const ids = [...named].filter((id) => !run.chunks.has(id));
  if (ids.length === 0) return;
  const chunks = await worker.call("chunks", { ids });
  const now = store.state.run;
  if (!now || now.question !== run.question) return;
  const all = new Map<string, Chunk | null>(now.chunks);
  ids.forEach((id, i) => all.set(id, chunks[i] ?? null));
  store.update({ run: { ...now, chunks: all } });
}

// ---------------------------------------------------------------- asking

let turn = 0;

function ask(question: string, history: "push" | "replace" | "none" = "push"): void {
  const asked = question.trim();
  if (!asked) return;
  const address = addressOf(asked);
  if (history === "push" && asked !== store.state.asked) window.history.pushState({ depth: depth() + 1 }, "", address);
  if (history === "replace") window.history.replaceState(window.history.state, "", address);
  void perform(asked, null, (client) => client.call("ask", { question: asked, config: runConfig(store.state.settings) }));
}

function forkFrom(step: number): void {
  const { run, settings, presets } = store.state;
  if (!run?.trace || !run.json) return;
  const { question, json } = run;
  settingsView.open({
    title: `Ask again from step ${step}`,
    note: "Results that the trace already holds are taken from it; only what differs is worked out anew.",
    settings,
    presets,
    confirm: {
      label: "Ask again",
      run: (config) => void perform(question, step, (client) => client.call("fork", { trace: json, step, config: runConfig(config) })),
    },
  });
}

async function perform(question: string, forkedAt: number | null, start: (client: WorkerClient) => Promise<Finished>): Promise<void> {
  const mine = ++turn;
  wanted = null;
  const run: Run = { question, state: "running", trace: null, json: "", problem: null, forked: null, chunks: store.state.run?.chunks ?? new Map() };
  field.value = question;
  store.update({ asked: question, typed: question, hits: null, run, replay: null });
  document.title = `${question} – Polygraph`;
  try {
    await opened;
    if (!worker) throw new EngineError(store.state.problem ?? { code: "io", message: "The engine could not be loaded." });
    const { trace, json, served } = await start(worker);
    if (mine !== turn) return;
    await fetchChunks(trace);
    if (mine !== turn) return;
    const now = store.state.run ?? run;
    const forked = forkedAt === null ? null : { step: forkedAt, served };
    store.update({ run: { ...now, state: "finished", trace, json, forked } });
  } catch (error) {
    if (mine !== turn) return;
    store.update({ run: { ...(store.state.run ?? run), state: "failed", problem: problemOf(error) } });
  }
  const { run: ended } = store.state;
  if (ended) say(announcement(ended));
}

function problemOf(error: unknown): Problem {
  if (error instanceof EngineError) return { code: error.code, message: error.message };
  return { code: "internal", message: error instanceof Error ? error.message : String(error) };
}

function goHome(history: "push" | "none"): void {
  ++turn;
  wanted = null;
  void worker?.call("cancel", null);
  if (history === "push") window.history.pushState({ depth: depth() + 1 }, "", addressOf(""));
  field.value = "";
  document.title = "Polygraph";
  store.update({ asked: "", typed: "", hits: null, run: null, replay: null });
}

/** How many of our own entries lie behind this one. */
function depth(): number {
  return (window.history.state as { depth?: number } | null)?.depth ?? 0;
}

// ---------------------------------------------------------------- typing

/** What the field asks passages for and has not got yet. */
let wanted: { query: string; since: number } | null = null;
let looking = false;

/** One look-up at a time: of what is typed while it runs, only the last is looked up next. */
async function look(query: string): Promise<void> {
  store.update({ typed: query });
  if (!worker || query.trim() === "" || query.trim() === store.state.asked) {
    stopLooking();
    return;
  }
  wanted = { query, since: performance.now() };
  if (looking) return;
  looking = true;
  try {
    await opened;
    while (wanted) {
      const now: { query: string; since: number } = wanted;
      const hits = await worker.call("typeahead", { query: now.query, limit: passagesShown });
      if (!wanted) break; // the field was left meanwhile
      if (wanted === now) wanted = null;
      store.update({ hits, lookupMs: performance.now() - now.since });
    }
  } catch {
    stopLooking();
  } finally {
    looking = false;
  }
}

function stopLooking(): void {
  wanted = null;
  store.update({ hits: null });
}

field.addEventListener("input", () => void look(field.value));
byId<HTMLFormElement>("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask(field.value);
});

const passages = passagesView(byId("passages"), field, say);

document.addEventListener("keydown", (event) => {
  const inText = event.target instanceof HTMLElement && event.target.matches("input, textarea, select, [contenteditable]");
  const focusKey = (event.key === "/" && !inText && !event.ctrlKey && !event.metaKey && !event.altKey) || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey));
  if (focusKey) {
    event.preventDefault();
    field.focus();
    field.select();
    return;
  }
  if (byId<HTMLDialogElement>("settings").open) return;
  const inPassages = byId("passages").contains(event.target as Node);
  if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (event.target === field || inPassages)) {
    if (passages.move(event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
  } else if (event.key === "Escape") {
    goBack(inPassages);
  }
});

/** Esc, one layer at a time: the passage shown, the list's focus, what was typed, the answer. */
function goBack(inPassages: boolean): void {
  const { asked, typed, hits } = store.state;
  if (popover.shown) {
    popover.hide();
  } else if (inPassages) {
    field.focus();
  } else if (hits || typed.trim() !== asked) {
    wanted = null;
    field.value = asked;
    store.update({ hits: null, typed: asked });
  } else if (asked) {
    if (depth() > 0) window.history.back();
    else goHome("push");
    field.focus();
  }
}

window.addEventListener("popstate", () => {
  const question = questionOf(window.location.search);
  if (question) ask(question, "none");
  else goHome("none");
});

// ---------------------------------------------------------------- actions

async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied.`);
    toast(`${what} copied`);
  } catch {
    toast("This browser does not let the page copy here");
  }
}

let toastTimer = 0;
function toast(message: string): void {
  const box = byId("toast");
  box.textContent = message;
  box.hidden = false;
  window.clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => (box.hidden = true), 2500);
}

async function replay(): Promise<void> {
  const { run } = store.state;
  if (!run?.json || !worker) return;
  store.update({ replay: { state: "running", message: "Replaying …" } });
  try {
    const { identical, difference, step, ms } = await worker.call("replay", { trace: run.json });
    const verdict: ReplayVerdict = identical
      ? { state: "identical", message: `Identical: the engine made the same run from the recorded results in ${ms.toFixed(0)} ms.` }
      : { state: "different", message: `Differs at step ${step}: ${difference}` };
    store.update({ replay: verdict });
  } catch (error) {
    store.update({ replay: { state: "failed", message: problemOf(error).message } });
  }
}

function download(): void {
  const { run } = store.state;
  if (!run?.trace) return;
  const url = URL.createObjectURL(new Blob([run.json], { type: "application/json" }));
  h("a", { href: url, download: `${run.trace.id || "trace"}.json` }).click();
  URL.revokeObjectURL(url);
}

function changeSettings(settings: Settings): void {
  saveSettings(storage, settings);
  store.update({ settings });
}

function loadModels(): void {
  changeSettings({ ...store.state.settings, models: "auto" });
  void storable.then((storage) => worker?.call("models", { action: "load", storage }));
}

function cancelModels(): void {
  changeSettings({ ...store.state.settings, models: "off" });
  void worker?.call("models", { action: "cancel" });
}

/** True when a model that this run had to go without answers by now. */
function moreStages(trace: Trace): boolean {
  return store.state.models.some(({ role, state }) => state === "ready" && Boolean(trace.missing?.[role]));
}

byId("settings-button").addEventListener("click", () => {
  const { settings, presets } = store.state;
  settingsView.open({
    title: "Settings",
    note: "They hold for the next question and are kept in this browser.",
    settings,
    presets,
    change: changeSettings,
  });
});

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  const target = event.target instanceof Element ? event.target : null;
  const question = target?.closest<HTMLElement>("[data-question]")?.dataset["question"];
  if (question) {
    event.preventDefault();
    ask(question);
  } else if (target?.closest("#home")) {
    event.preventDefault();
    goHome("push");
    field.focus();
  }
});

// ---------------------------------------------------------------- views

const panel = new TracePanel(byId("trace"), popover, {
  replay: () => void replay(),
  download,
  copyLink: () => void copy(new URL(addressOf(store.state.asked), document.baseURI).href, "Link"),
  forkFrom,
});

store.watch((s) => [s.hits], (hits) => passages.show(hits, store.state.typed, store.state.lookupMs));
store.watch(
  (s) => [s.run, s.hits !== null, s.asked === ""],
  (run, typing, start) => {
    byId("result").hidden = typing || run === null;
    byId("start").hidden = typing || !start;
  },
);
store.watch(
  (s) => [s.run, s.models.map((model) => model.state).join()],
  (run, _modelStates) => {
    if (!run) return;
    popover.hide();
    showAnswer(byId("answer"), run, popover, {
      copy: (text, what) => void copy(text, what),
      cancel: () => void worker?.call("cancel", null),
      askAgain: () => ask(run.question, "none"),
      moreStages,
    });
  },
);
store.watch((s) => [s.run, s.replay], (run, verdict) => panel.show(run, verdict));
store.watch(
  (s) => [s.index.part, s.index.error, s.models, s.offline, s.run?.state, s.threads],
  () => stripView(byId("strip"), store.state, { load: loadModels, cancel: cancelModels, update: () => offline.update() }),
);
store.watch((s) => [s.info], (info) => {
  footView(byId("foot"), info, site.index.built_at);
  if (info) byId("corpus").textContent = info.metadata.title || info.metadata.corpus;
});
store.watch((s) => [s.problem], (problem) => {
  const box = byId("problem");
  box.hidden = problem === null;
  box.textContent = problem ? problem.message : "";
});

// ---------------------------------------------------------------- start

async function begin(): Promise<void> {
  const found = capabilities();
  if (!found.webassembly) {
    void examplesView(byId("examples"), site.examples, addressOf);
    const message = "This browser runs no WebAssembly, which the search engine of this page is made of. A current Firefox, Chrome, Edge or Safari runs it; some have it switched off in a strict security mode.";
    store.update({ problem: { code: "unsupported", message }, offline: { ...store.state.offline, state: "unsupported", message: "the page cannot run here" } });
    field.disabled = true;
    return;
  }
  worker = new WorkerClient(site.engine_worker, onEvent);
  opened = worker.call("open", { site, capabilities: found }).then(({ info, presets }) => {
    store.update({ info, presets });
  });
  void examplesView(byId("examples"), site.examples, addressOf);
  const question = questionOf(window.location.search);
  if (question) {
    field.value = question;
    ask(question, "none");
  } else if (field.value) {
    void look(field.value);
  }
  try {
    await opened;
  } catch (error) {
    store.update({ problem: problemOf(error) });
    return;
  }
  if (store.state.settings.models === "auto") loadModels();
  void offline.start(await storable);
}

void begin();
