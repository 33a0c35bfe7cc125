// The Ask page: one field, passages while typing, an answer or a refusal, and the trace beside it.

import { EngineError } from "../engine/engine.ts";
import type { Trace } from "../engine/trace.ts";
import { BuiltInProvider, downloadBuiltIn, hasBuiltIn, noBuiltIn, readBuiltIn } from "../providers/built-in.ts";
import { readConnectPolicy } from "../providers/connect-policy.ts";
import { EndpointProvider, loadEndpoint, saveEndpoint } from "../providers/endpoint.ts";
import { ProxyProvider } from "../providers/proxy.ts";
import { noService, serviceAddress } from "../providers/service.ts";
import { toFragment } from "../trace/fragment.ts";
import { canStore, capabilities } from "../worker/capabilities.ts";
import { WorkerClient } from "../worker/client.ts";
import type { WorkerEvent } from "../worker/messages.ts";
import { resolveSite, type Site } from "../worker/site.ts";
import { announcement, showAnswer, showDraft } from "./answer.ts";
import { answerersView } from "./answerers-view.ts";
import { Asking, problemOf, type Start } from "./asking.ts";
import { Completions } from "./completions.ts";
import { fill, h } from "./dom.ts";
import { wasReplaced } from "./edition.ts";
import { examplesView } from "./examples.ts";
import { footView } from "./foot.ts";
import { Lookup } from "./lookup.ts";
import { OfflineKeeper } from "./offline.ts";
import { passagesView } from "./passages.ts";
import { Popover } from "./popover.ts";
import { PromptFile } from "./prompt-file.ts";
import { addressOf, questionOf } from "./route.ts";
import { ServiceWatch } from "./service-watch.ts";
import { loadSettings, runConfig, saveSettings, type Settings } from "./settings-store.ts";
import { SettingsView } from "./settings-view.ts";
import type { State } from "./state.ts";
import { Store } from "./store.ts";
import { redraw } from "./redraw.ts";
import { stripView } from "./strip.ts";
import { TracePanel, type ReplayVerdict } from "./trace-panel.ts";
import { situationOf } from "./who.ts";

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
  offline: { state: "working", models: false, message: "", update: false, threads: false },
  settings: loadSettings(storage),
  service: noService,
  endpoint: loadEndpoint(storage),
  policy: null,
  builtIn: noBuiltIn,
  draft: "",
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
const api = new URL("api/", document.baseURI).href;
const prompts = new PromptFile(site.tasks);
const completions = new Completions({
  indexDigest: () => store.state.info?.digest ?? "",
  chunks: (ids) => worker?.call("chunks", { ids: [...ids] }) ?? Promise.resolve([]),
  onDraft: (text) => asking.showDraft(text),
  provider: async (who) => {
    switch (who) {
      case "live":
        return new ProxyProvider(new URL("complete", api).href, prompts.priceList());
      case "own":
        return new EndpointProvider(store.state.endpoint, await prompts.load());
      case "built-in":
        return new BuiltInProvider(await prompts.load());
    }
  },
});

// ---------------------------------------------------------------- what the worker tells

function onEvent(event: WorkerEvent): void {
  switch (event.event) {
    case "index":
      store.update({
        index: event.progress,
        ...(event.progress.info ? { info: event.progress.info } : {}),
        ...(event.progress.error ? { problem: event.progress.error } : {}),
      });
      if (event.progress.error) void lookForUpdate();
      break;
    case "models": {
      const before = store.state.models;
      store.update({ models: event.models, threads: event.threads });
      const ready = (models: typeof before): boolean => models.length > 0 && models.every((model) => model.state === "ready");
      if (ready(event.models) && !ready(before)) void offline.keepRuntime();
      if (event.models.some(({ role, state }) => state === "failed" && before.find((model) => model.role === role)?.state !== "failed")) void lookForUpdate();
      break;
    }
    default:
      asking.onEvent(event);
  }
}

/** What could not be loaded may be gone because the site was updated: then a reload helps, and nothing else. */
async function lookForUpdate(): Promise<void> {
  if (!(await wasReplaced(site.version, document.baseURI))) return;
  store.update({ problem: { code: "replaced", message: "This site was updated while this page was open, and a file that the page needs is gone." } });
}

// ---------------------------------------------------------------- asking

/** The worker, once its index can be searched. */
async function openedWorker(): Promise<WorkerClient> {
  await opened;
  if (!worker) throw new EngineError(store.state.problem ?? { code: "io", message: "The engine could not be loaded." });
  return worker;
}

const service = new ServiceWatch(serviceAddress(site, api), store.state.service, storage, (service) => store.update({ service }));

const asking = new Asking({
  store,
  api,
  completions,
  worker: openedWorker,
  answerersKnown: () => {
    const { answers } = store.state.settings;
    const asksServer = answers === "automatic" || answers === "live" || answers === "recorded";
    return Promise.all([asksServer ? service.forAsking() : null, answerersKnown]);
  },
  situation: () => situationOf(store.state),
  learnFrom: (failure) => service.learnFrom(failure),
  begun(question, run) {
    lookup.forget();
    field.value = question;
    store.update({ asked: question, typed: question, hits: null, run, replay: null, draft: "" });
    document.title = `${question} – Polygraph`;
  },
  ended: (run) => say(announcement(run)),
});

const withSettings = (question: string): Start => (client, who, turn) => client.call("ask", { question, config: runConfig(store.state.settings, who), turn });

function ask(question: string, history: "push" | "replace" | "none" = "push"): void {
  const asked = question.trim();
  if (!asked) return;
  const address = addressOf(asked);
  if (history === "push" && asked !== store.state.asked) window.history.pushState({ depth: depth() + 1 }, "", address);
  if (history === "replace") window.history.replaceState(window.history.state, "", address);
  void asking.perform(asked, withSettings(asked));
}

/** The same question once more, by the engine in this browser alone. */
function askHere(): void {
  const { run } = store.state;
  if (run) void asking.perform(run.question, withSettings(run.question), { wish: "browser" });
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
      run: (config) => void asking.perform(question, (client, who, turn) => client.call("fork", { trace: json, step, config: runConfig(config, who), turn }), { forkedAt: step }),
    },
  });
}

function goHome(history: "push" | "none"): void {
  lookup.forget();
  asking.leave();
  if (history === "push") window.history.pushState({ depth: depth() + 1 }, "", addressOf(""));
  field.value = "";
  document.title = "Polygraph";
  store.update({ asked: "", typed: "", hits: null, run: null, replay: null, draft: "" });
}

/** How many of our own entries lie behind this one. */
function depth(): number {
  return (window.history.state as { depth?: number } | null)?.depth ?? 0;
}

// ---------------------------------------------------------------- typing

const lookup = new Lookup(openedWorker, (hits, lookupMs) => store.update(hits ? { hits, lookupMs } : { hits }));

function look(query: string): void {
  store.update({ typed: query });
  if (!worker || query.trim() === "" || query.trim() === store.state.asked) lookup.stop();
  else void lookup.look(query);
}

field.addEventListener("input", () => look(field.value));
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
    lookup.forget();
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

function downloadTrace(): void {
  const { run } = store.state;
  if (!run?.trace) return;
  const url = URL.createObjectURL(new Blob([run.json], { type: "application/json" }));
  h("a", { href: url, download: `${run.trace.id || "trace"}.json` }).click();
  URL.revokeObjectURL(url);
}

/** The trace goes along in the address, behind the #: no server sees it. */
async function inspectTrace(): Promise<void> {
  const { run } = store.state;
  if (!run?.json) return;
  const fragment = await toFragment(run.json);
  if (fragment) window.open(new URL(`trace.html${fragment}`, document.baseURI).href, "_blank", "noopener");
  else toast("This trace is too long for a link: download it and open its file in the inspector");
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
    answerers,
  });
  void learnAnswerers();
});

/** Settles once it is known whether the visitor's choice can be had. */
let answerersKnown: Promise<void> = Promise.resolve();

let download = new AbortController();
const answerers = answerersView(() => store.state, {
  changeEndpoint(endpoint) {
    saveEndpoint(storage, endpoint);
    store.update({ endpoint });
  },
  downloadBuiltIn() {
    download = new AbortController();
    void downloadBuiltIn((builtIn) => store.update({ builtIn }), download.signal);
  },
  cancelDownload: () => download.abort(),
});

/** What the settings have to know of this page and this browser before they can offer somebody else to answer. */
async function learnAnswerers(): Promise<void> {
  if (store.state.service.state === "unreachable") void service.refresh();
  const known = hasBuiltIn() && store.state.builtIn.state !== "downloading" ? readBuiltIn() : null;
  const [builtIn, policy] = await Promise.all([known, readConnectPolicy(document.baseURI)]);
  store.update({ ...(builtIn ? { builtIn } : {}), ...(policy !== null ? { policy } : {}) });
}

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
  download: downloadTrace,
  inspect: () => void inspectTrace(),
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
      cancel: () => asking.cancel(),
      askAgain: () => ask(run.question, "none"),
      askHere,
      moreStages,
    });
  },
);
store.watch((s) => [s.draft, s.run], (draft, run) => showDraft(byId("answer"), run, draft));
store.watch((s) => [s.run, s.replay], (run, verdict) => panel.show(run, verdict));
store.watch(
  (s) => [s.index.part, s.index.error, s.models, s.offline, s.run?.state, s.run?.by, s.threads, s.service, s.settings.answers, s.endpoint, s.policy, s.builtIn, s.typed, s.info],
  () => redraw(byId("strip"), () => stripView(byId("strip"), store.state, { load: loadModels, cancel: cancelModels, update: () => void offline.update() }), () => field),
);
store.watch((s) => [s.info], (info) => {
  footView(byId("foot"), info, site.index.built_at);
  if (info) byId("corpus").textContent = info.metadata.title || info.metadata.corpus;
});
store.watch((s) => [s.service, s.policy, s.builtIn], () => settingsView.refresh());
store.watch((s) => [s.problem], (problem) => {
  const box = byId("problem");
  box.hidden = problem === null;
  const reload = problem?.code === "replaced" && [" ", h("button", { type: "button", on: { click: () => void offline.update() } }, "Reload")];
  fill(box, problem?.message, reload);
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
  void service.refresh();
  const { answers } = store.state.settings;
  if (answers === "own" || answers === "built-in") answerersKnown = learnAnswerers();
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
    look(field.value);
  }
  try {
    await opened;
  } catch (error) {
    store.update({ problem: problemOf(error) });
    void lookForUpdate();
    return;
  }
  if (store.state.settings.models === "auto") loadModels();
  void offline.start(await storable);
}

void begin();
