// The Ask page: one field, passages while typing, an answer or a refusal, and the trace beside it.

import { EngineError } from "../engine/engine.ts";
import type { Chunk } from "../engine/boundary.ts";
import type { Trace } from "../engine/trace.ts";
import { downloadBuiltIn, hasBuiltIn, noBuiltIn, readBuiltIn } from "../providers/built-in.ts";
import { choose, chooseAfter, type Choice, type Wish } from "../providers/choice.ts";
import { readConnectPolicy } from "../providers/connect-policy.ts";
import { loadEndpoint, saveEndpoint } from "../providers/endpoint.ts";
import type { ProviderFailure } from "../providers/provider.ts";
import { recordingFor } from "../providers/recordings.ts";
import { noService, readRecording, readService, serviceAddress, type Service } from "../providers/service.ts";
import { toFragment } from "../trace/fragment.ts";
import { canStore, capabilities } from "../worker/capabilities.ts";
import { WorkerClient } from "../worker/client.ts";
import type { Finished, WorkerEvent } from "../worker/messages.ts";
import { resolveSite, type Site } from "../worker/site.ts";
import { aborted } from "../worker/waiting.ts";
import { announcement, showAnswer, showDraft } from "./answer.ts";
import { answerersView } from "./answerers-view.ts";
import { Completions } from "./completions.ts";
import { fill, h } from "./dom.ts";
import { wasReplaced } from "./edition.ts";
import { examplesView } from "./examples.ts";
import { footView } from "./foot.ts";
import { OfflineKeeper } from "./offline.ts";
import { passagesView } from "./passages.ts";
import { Popover } from "./popover.ts";
import { playSteps, sameTextOnly } from "./recorded-run.ts";
import { addressOf, questionOf } from "./route.ts";
import { loadSettings, runConfig, saveSettings, type Settings } from "./settings-store.ts";
import { SettingsView } from "./settings-view.ts";
import type { Problem, Run, State } from "./state.ts";
import { Store } from "./store.ts";
import { stripView } from "./strip.ts";
import { TracePanel, type ReplayVerdict } from "./trace-panel.ts";
import { situationOf } from "./who.ts";

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
const completions = new Completions({
  api,
  tasks: site.tasks,
  indexDigest: () => store.state.info?.digest ?? "",
  endpoint: () => store.state.endpoint,
  chunks: (ids) => worker?.call("chunks", { ids: [...ids] }) ?? Promise.resolve([]),
  onDraft: showSoon,
});

/** The draft as far as it has come: pieces come faster than frames. */
let draftText = "";

function showSoon(text: string): void {
  const scheduled = draftText !== store.state.draft;
  draftText = text;
  if (text === "") store.update({ draft: "" });
  else if (!scheduled) window.requestAnimationFrame(() => {
    if (store.state.run?.state === "running") store.update({ draft: draftText });
  });
}

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
    case "run": {
      const { run } = store.state;
      if (run?.state !== "running" || event.turn !== turn) return;
      store.update({ run: { ...run, trace: event.trace } });
      void fetchChunks(event.trace);
      break;
    }
    case "complete": {
      const { ticket, task } = event;
      if (event.turn !== turn) break; // of a run that was given up; nobody waits for it
      void completions.perform(task).then((result) => worker?.call("completed", { ticket, result })).catch(() => undefined);
      break;
    }
  }
}

/** What could not be loaded may be gone because the site was updated: then a reload helps, and nothing else. */
async function lookForUpdate(): Promise<void> {
  if (!(await wasReplaced(site.version, document.baseURI))) return;
  store.update({ problem: { code: "replaced", message: "This site was updated while this page was open, and a file that the page needs is gone." } });
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
  store.update({ run: { ...now, chunks: now.otherIndex ? sameTextOnly(trace, all) : all } });
}

// ---------------------------------------------------------------- asking

let turn = 0;

function ask(question: string, history: "push" | "replace" | "none" = "push"): void {
  const asked = question.trim();
  if (!asked) return;
  const address = addressOf(asked);
  if (history === "push" && asked !== store.state.asked) window.history.pushState({ depth: depth() + 1 }, "", address);
  if (history === "replace") window.history.replaceState(window.history.state, "", address);
  void perform(asked, (client, who, turn) => client.call("ask", { question: asked, config: runConfig(store.state.settings, who), turn }));
}

/** The same question once more, by the engine in this browser alone. */
function askHere(): void {
  const { run, settings } = store.state;
  if (!run) return;
  const { question } = run;
  void perform(question, (client, who, turn) => client.call("ask", { question, config: runConfig(settings, who), turn }), { wish: "browser" });
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
      run: (config) => void perform(question, (client, who, turn) => client.call("fork", { trace: json, step, config: runConfig(config, who), turn }), { forkedAt: step }),
    },
  });
}

type Start = (client: WorkerClient, who: Choice["who"], turn: number) => Promise<Finished>;

/** What the run under way waits for elsewhere than in the worker. */
let asking = new AbortController();

/** Runs a question to its end with whoever answers it, and with the next one where they fail. */
async function perform(question: string, start: Start, { wish, forkedAt }: { wish?: Wish; forkedAt?: number } = {}): Promise<void> {
  const mine = ++turn;
  cancelRun();
  asking = new AbortController();
  const { signal } = asking;
  wanted = null;
  draftText = "";
  const run: Run = { question, state: "running", by: null, otherIndex: false, trace: null, json: "", problem: null, forked: null, chunks: store.state.run?.otherIndex ? new Map() : (store.state.run?.chunks ?? new Map()) };
  field.value = question;
  store.update({ asked: question, typed: question, hits: null, run, replay: null, draft: "" });
  document.title = `${question} – Polygraph`;
  try {
    await Promise.race([opened, aborted(signal)]);
    if (mine !== turn) return;
    if (signal.aborted) throw cancelled();
    if (!worker) throw new EngineError(store.state.problem ?? { code: "io", message: "The engine could not be loaded." });
    await Promise.race([Promise.all([serviceForAsking(), answerersKnown]), aborted(signal)]);
    if (mine !== turn) return;
    if (signal.aborted) throw cancelled();
    const situation = { ...situationOf(store.state), ...(wish ? { wish } : {}) };
    let choice = choose(question, situation);
    // A recorded run has its steps already: what is forked is worked out here.
    if (choice.who === "recorded" && forkedAt !== undefined) choice = { who: "browser", why: "", until: null };
    for (;;) {
      store.update({ run: { ...(store.state.run ?? run), by: choice, trace: null, otherIndex: false }, draft: "" });
      if (choice.who === "recorded") {
        if (await play(question, choice, signal, mine)) break;
        if (mine !== turn) return;
        if (signal.aborted) throw cancelled();
        choice = { who: "browser", why: `${choice.why} The recorded run could not be loaded.`.trim(), until: choice.until };
        continue;
      }
      completions.begin(choice.who, signal);
      const { trace, json, served } = await start(worker, choice.who, mine);
      if (mine !== turn) return;
      if (choice.who === "live" && trace.status === "failed") {
        const { failure } = completions;
        if (failure) learnFrom(failure);
        const why = failure?.message ?? `The live answer failed: ${trace.error?.message ?? "no reason was given"}.`;
        choice = forkedAt === undefined ? await instead(question, failure, why, signal) : { who: "browser", why, until: failure?.until ?? null };
        if (mine !== turn) return;
        if (signal.aborted) throw cancelled();
        continue;
      }
      await fetchChunks(trace);
      if (mine !== turn) return;
      const now = store.state.run ?? run;
      store.update({ run: { ...now, state: "finished", trace, json, forked: forkedAt === undefined ? null : { step: forkedAt, served } }, draft: "" });
      break;
    }
  } catch (error) {
    if (mine !== turn) return;
    store.update({ run: { ...(store.state.run ?? run), state: "failed", problem: problemOf(error) }, draft: "" });
  }
  if (mine !== turn) return;
  const { run: ended } = store.state;
  if (ended) say(announcement(ended));
}

const cancelled = (): EngineError => new EngineError({ code: "cancelled", message: "The question was cancelled." });

/** Who goes on when the live answer failed. The server may name a recorded run that only it knows to fit. */
async function instead(question: string, failure: ProviderFailure | null, why: string, signal: AbortSignal): Promise<Choice> {
  const next = chooseAfter(question, situationOf(store.state), why, failure?.until ?? null);
  if (next.who === "recorded" || !failure?.recording || !/^[a-z0-9-]{1,64}$/.test(failure.recording)) return next;
  const offered = await readRecording(api, { id: failure.recording }, signal);
  const fits = offered && recordingFor(question, [offered.recording], "");
  return fits ? { who: "recorded", recording: fits, why, until: failure.until } : next;
}

/** Plays a recorded run; false when it could not be had. */
async function play(question: string, choice: Extract<Choice, { who: "recorded" }>, signal: AbortSignal, mine: number): Promise<boolean> {
  const recorded = await readRecording(api, choice.recording, signal);
  // No recording answers another question, whatever a server sends.
  if (!recorded || mine !== turn || signal.aborted || !recordingFor(question, [recorded.recording], "")) return false;
  const { trace, json, recording } = recorded;
  const otherIndex = trace.index_digest !== store.state.info?.digest;
  const show = (change: Partial<Run>): void => {
    const { run } = store.state;
    if (run && mine === turn) store.update({ run: { ...run, ...change } });
  };
  show({ by: { ...choice, recording }, otherIndex, trace: { ...trace, status: "running", steps: trace.steps.slice(0, 1) } });
  await fetchChunks(trace);
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  await playSteps(trace, (soFar) => show({ trace: soFar }), signal, still);
  if (signal.aborted) return false;
  show({ state: "finished", trace, json });
  return true;
}

function cancelRun(): void {
  asking.abort();
  void worker?.call("cancel", null);
}

// ---------------------------------------------------------------- the server that may answer live

/** A status that says "not now" is asked for again after this long, when somebody asks a question. */
const staleMs = 15_000;
/** Longest timer that browsers count down correctly. */
const longestTimerMs = 2 ** 31 - 1;
const servedBefore = "polygraph.service";

let serviceRead: Promise<void> | null = null;
let serviceAt = 0;
let serviceTimer = 0;

function refreshService(): Promise<void> {
  serviceRead ??= readService(serviceAddress(site, api), store.state.service).then((service) => {
    serviceRead = null;
    serviceAt = performance.now();
    setService(service);
  });
  return serviceRead;
}

function setService(service: Service): void {
  try {
    if (service.state !== "unreachable") storage?.setItem(servedBefore, service.state === "none" ? "none" : "yes");
    // Without a network nobody knows whether this site has such a server; one that never answered is not missed.
    else if (!navigator.onLine && storage?.getItem(servedBefore) !== "yes") service = { ...service, state: "none" };
  } catch {
    // Nothing is remembered, so a visit without a network says that the server cannot be reached.
  }
  store.update({ service });
  window.clearTimeout(serviceTimer);
  if (!service.until) return;
  const wait = Date.parse(service.until) - Date.now() + 1000;
  if (wait > 0 && wait < longestTimerMs) serviceTimer = window.setTimeout(() => void refreshService(), wait);
}

/** Before a question is asked: the status, where it is unknown or may have changed. It ends by itself within seconds. */
async function serviceForAsking(): Promise<void> {
  const { state } = store.state.service;
  const { answers } = store.state.settings;
  if (answers !== "automatic" && answers !== "live" && answers !== "recorded") return;
  const stale = state !== "live" && state !== "none" && performance.now() - serviceAt > staleMs;
  if (state === "unknown" || stale) await refreshService();
}

/** A failed task tells more than the status did when it was read. */
function learnFrom(failure: ProviderFailure): void {
  const { service } = store.state;
  serviceAt = performance.now();
  if (failure.kind === "busy") setService({ ...service, state: "busy", until: failure.until });
  else if (failure.kind === "unreachable" || failure.kind === "timeout") setService({ ...service, state: "unreachable", until: null });
  else if (failure.kind === "index_mismatch") void refreshService();
  else if (failure.kind === "absent") setService({ ...service, state: "none", until: null });
}

window.addEventListener("online", () => void refreshService());

function problemOf(error: unknown): Problem {
  if (error instanceof EngineError) return { code: error.code, message: error.message };
  return { code: "internal", message: error instanceof Error ? error.message : String(error) };
}

function goHome(history: "push" | "none"): void {
  ++turn;
  wanted = null;
  cancelRun();
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
  if (store.state.service.state === "unreachable") void refreshService();
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
      cancel: cancelRun,
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
  () => stripView(byId("strip"), store.state, { load: loadModels, cancel: cancelModels, update: () => void offline.update() }),
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
  void refreshService();
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
    void look(field.value);
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
