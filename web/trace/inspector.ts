// The trace inspector: opens traces from files, a paste or a link, shows one at a time with the state machine's way through
// it, replays it, forks it, and sets two side by side. Everything happens in this browser; viewing needs no engine.

import { Completions } from "../ask/completions.ts";
import { fill, h, type Child } from "../ask/dom.ts";
import { OfflineKeeper } from "../ask/offline.ts";
import { Popover } from "../ask/popover.ts";
import { PromptFile } from "../ask/prompt-file.ts";
import { offered, pageDefaults, valueOf, type Settings } from "../ask/settings-store.ts";
import { SettingsView } from "../ask/settings-view.ts";
import { megabytes, plural } from "../ask/words.ts";
import type { Chunk, EffectResult, Presets, RunConfig } from "../engine/boundary.ts";
import { EngineError } from "../engine/engine.ts";
import type { Trace } from "../engine/trace.ts";
import { ProxyProvider } from "../providers/proxy.ts";
import type { Task } from "../providers/provider.ts";
import { noService, readService, serviceAddress, type Service } from "../providers/service.ts";
import { canStore, capabilities } from "../worker/capabilities.ts";
import type { ModelProgress } from "../worker/messages.ts";
import { resolveSite, type Site } from "../worker/site.ts";
import { InspectorWorker } from "./client.ts";
import { CompareView } from "./compare-view.ts";
import { openDocument, type TraceDocument } from "./document.ts";
import { fromFragment, isTraceFragment, longestFragment, toFragment } from "./fragment.ts";
import { IndexStore } from "./index-store.ts";
import { Library } from "./library.ts";
import type { Row } from "./lines.ts";
import { ListView } from "./list-view.ts";
import type { WorkerEvent } from "./messages.ts";
import { RunView, type Shown, type Verdict } from "./run-view.ts";
import { visible, visibleValue } from "./visible.ts";

type View = "open" | "list" | "run" | "compare";

/** What the build adds for this page. */
type InspectorSite = Site & { trace_worker: string };

const byId = <T extends HTMLElement>(id: string): T => {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no element “${id}”.`);
  return element as T;
};

/** The site around this page; null: it is a file of its own. */
const site = ((): InspectorSite | null => {
  const content = document.querySelector<HTMLMetaElement>('meta[name="polygraph-site"]')?.content ?? "";
  if (!content) return null;
  const written = JSON.parse(content) as InspectorSite;
  return { ...resolveSite(written, document.baseURI), trace_worker: new URL(written.trace_worker, document.baseURI).href };
})();

const live = byId("live");
const say = (message: string): void => {
  live.textContent = message;
};

let toastTimer = 0;
function toast(message: string): void {
  const box = byId("toast");
  box.textContent = message;
  box.hidden = false;
  window.clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => (box.hidden = true), 4000);
}

function problem(message: string): void {
  const box = byId("problem");
  box.textContent = message;
  box.hidden = message === "";
}

const words = (error: unknown): string => visible(error instanceof Error ? error.message : String(error));

// ---------------------------------------------------------------- workers

let scriptUrl = "";

/** One-file pages carry the worker's script and the engine's bytes as text. */
function startWorker(): Worker {
  if (site) return new Worker(site.trace_worker, { type: "module" });
  scriptUrl ||= URL.createObjectURL(new Blob([byId("worker-script").textContent ?? ""], { type: "text/javascript" }));
  return new Worker(scriptUrl);
}

let reader: InspectorWorker | null = null;
const readerWorker = (): InspectorWorker => (reader ??= new InspectorWorker(startWorker, onEvent));

let presets: Presets | null = null;
let models: ModelProgress[] = [];
let engine: Promise<InspectorWorker> | null = null;

/** Loaded when it is first needed. */
function engineWorker(): Promise<InspectorWorker> {
  engine ??= (async () => {
    const found = capabilities();
    if (!found.webassembly) throw new EngineError({ code: "unsupported", message: "This browser runs no WebAssembly, which the engine is made of: traces can be viewed, not replayed." });
    const worker = new InspectorWorker(startWorker, onEvent);
    presets = await worker.call("engine", site ? { site, capabilities: found } : { wasm: await carriedEngine() });
    return worker;
  })();
  engine.catch(() => (engine = null)); // told where it was asked for; the next time tries again
  return engine;
}

async function carriedEngine(): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob((byId("engine-wasm").textContent ?? "").trim()), (character) => character.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

function onEvent(event: WorkerEvent): void {
  if (event.event === "rows") {
    library.add(event.rows, event.read);
  } else if (event.event === "models") {
    models = event.models;
    settingsView.refresh();
  } else {
    void complete(event.ticket, event.task);
  }
}

/** Of the site's server, asked when a fork is prepared. */
let service: Service = noService;
const indexes = new IndexStore(engineWorker, site !== null);

// ---------------------------------------------------------------- views

const popover = new Popover(byId("main"));
const settingsView = new SettingsView(byId<HTMLDialogElement>("settings"));
const library = new Library(readerWorker, showRowsSoon);
let view: View = "open";
/** The trace on the page. */
let shown: Shown | null = null;
/** The trace that a second one is being chosen for. */
let beside: Shown | null = null;
/** The two of the side-by-side view. */
let sides: readonly [Shown, Shown] | null = null;
let kept: Uint32Array | null = null;

const runActions = {
  replay: () => void replay(),
  fork: (step: number) => void openFork(step),
  compare: pickSecond,
  copyLink: () => void copyLink(),
  download,
  get back(): (() => void) | null {
    return library.rows.length > 1 ? () => go("list") : null;
  },
  say,
};
const runView = new RunView(byId("run"), popover, runActions);
const listView = new ListView(byId("list"), { filter: () => void filterRows().then(sayFiltered), open: (row) => void openRow(row) });
const compareView = new CompareView(byId("compare"), {
  close: () => go("run"),
  open: (side) => {
    if (sides) showTrace(sides[side]);
  },
});

function go(to: View, focus = true): void {
  view = to;
  popover.hide();
  for (const each of ["open", "run", "compare"] as const) byId(each).hidden = each !== to;
  listView.hidden = to !== "list";
  const banner = beside && (to === "open" || to === "list") ? `Choose the trace to set beside “${beside.trace.question}”. Esc leaves it.` : "";
  listView.banner(banner);
  byId("pick-banner").textContent = banner;
  byId("pick-banner").hidden = banner === "";
  document.title = `${to === "run" && shown ? shown.trace.question : to === "compare" ? "Side by side" : "Trace inspector"} – Polygraph`;
  if (!focus) return;
  if (to === "list") listView.focus();
  else if (to === "run") byId("run-title").focus({ preventScroll: true });
  else if (to === "compare") byId("compare-title").focus({ preventScroll: true });
  else byId("files").focus();
  if (to !== "list") window.scrollTo(0, 0);
}

function showTrace(next: Shown): void {
  beside = null;
  shown = next;
  problem("");
  runView.show(next);
  go("run");
  const { trace } = next;
  say(`Trace opened: ${trace.question} ${trace.status}, ${plural(trace.steps.length, "step")}. Left and right arrow keys step through.`);
  void nameChunks(next);
}

// ---------------------------------------------------------------- opening

function shownOf(document: TraceDocument, source: string): Shown {
  const trace = visibleValue(document.trace);
  return { document, trace, source: visible(source), chunks: chunksOf(trace), verdict: null };
}

/** Passages that the trace itself carries. */
function chunksOf(trace: Trace): Map<string, Chunk | null> {
  const chunks = new Map<string, Chunk | null>();
  for (const step of trace.steps) {
    if (step.node !== "retrieve") continue;
    for (const { id, title, heading_path, url, text } of step.data.passages ?? []) {
      chunks.set(id, { id, document_id: "", title: title || id, heading_path: heading_path ?? "", url: url ?? "", text, licence: "", links: [] });
    }
  }
  return chunks;
}

/** Titles and texts of the passages, where the index that the trace names is at hand. */
async function nameChunks(of: Shown): Promise<void> {
  try {
    if (!(await indexes.want(of.document.trace.index_digest))) return;
    footer();
    void warmUp(of);
    const ids = [...new Set(of.trace.steps.flatMap((step) => (step.node === "retrieve" ? step.data.candidates.map(({ id }) => id) : [])))].filter((id) => !of.chunks.get(id));
    if (ids.length === 0) return;
    const worker = await engineWorker();
    const found = await worker.call("chunks", { ids });
    const chunks = new Map(of.chunks);
    ids.forEach((id, i) => chunks.set(id, found[i] ?? null));
    update(of, { chunks });
  } catch {
    // Ids are shown instead of titles; a replay says what is wrong.
  }
}

let warm = false;

/** A browser compiles the engine on its first way through a run: that one is made ahead, so that a replay asked for is quick. */
async function warmUp(of: Shown): Promise<void> {
  if (warm || of.document.trace.status === "running") return;
  warm = true;
  const worker = await engineWorker();
  await worker.call("replay", { trace: of.document.json }).catch(() => undefined);
}

/** Puts more about a trace on the page, if it is still there. */
function update(of: Shown, change: Partial<Shown>): void {
  Object.assign(of, change);
  if (shown === of && view === "run") runView.show(of, true);
}

async function openFiles(files: readonly File[]): Promise<void> {
  if (files.length === 0) return;
  problem("");
  if (window.location.hash) window.history.replaceState(null, "", window.location.pathname + window.location.search);
  kept = null;
  say(`Opening ${files.length === 1 ? files[0]!.name : `${files.length} files`} …`);
  // A first look at long files is shown while the rest is being read.
  const opening = library.open(files);
  const result = await opening.catch((error: unknown) => {
    problem(words(error));
    return null;
  });
  if (!result) return;
  const problems = [...result.problems.map(visible)];
  for (const file of result.indexes) {
    try {
      const info = await indexes.use(file);
      const said = `Index opened: ${visible(info.metadata.title || info.metadata.corpus)}, ${plural(info.chunks, "passage")}.`;
      toast(said);
      say(said);
    } catch (error) {
      problems.push(`${visible(file.name)}: ${words(error)}`);
    }
  }
  footer();
  if (result.indexes.length > 0 && shown) void nameChunks(shown);
  const { rows } = result;
  const readable = rows.filter((row) => row.status !== "broken");
  if (rows.length === 1) {
    await openRow(rows[0]!);
  } else if (rows.length === 2 && readable.length === 2 && files.length > 1 && !beside) {
    await openPair(rows[0]!, rows[1]!);
  } else if (rows.length > 1) {
    if (view !== "list") go("list");
    say(`${plural(rows.length, "trace")} opened${rows.length > readable.length ? `, ${rows.length - readable.length} of them broken` : ""}.`);
  }
  if (problems.length > 0) problem(problems.join(" "));
}

async function openRow(row: Row): Promise<void> {
  try {
    const next = shownOf(await library.document(row), library.sourceOf(row));
    if (beside) compare(beside, next);
    else showTrace(next);
  } catch (error) {
    problem(words(error));
  }
}

async function openPair(a: Row, b: Row): Promise<void> {
  const [first, second] = await Promise.all([a, b].map(async (row) => shownOf(await library.document(row), library.sourceOf(row))));
  if (!first || !second) return;
  shown = first;
  runView.show(first);
  compare(first, second);
}

async function openFragment(): Promise<void> {
  const { hash } = window.location;
  if (!isTraceFragment(hash)) return;
  problem("");
  try {
    const next = shownOf(openDocument(await fromFragment(hash)), "from a link");
    if (beside) compare(beside, next);
    else showTrace(next);
  } catch (error) {
    problem(words(error));
  }
}

// ---------------------------------------------------------------- many traces

let rowsFrame = 0;

function showRowsSoon(): void {
  rowsFrame ||= window.requestAnimationFrame(() => {
    rowsFrame = 0;
    if (library.rows.length === 0) listView.clear();
    if (library.rows.length > 1 && view !== "list" && view !== "compare" && library.read < 1) go("list");
    if (listView.filtering && library.rows.length > 0) void filterRows();
    else listView.show(library.rows, kept, library.read);
  });
}

let filterTurn = 0;

async function filterRows(): Promise<void> {
  const turn = ++filterTurn;
  const { filtering, filter } = listView;
  const positions = filtering ? await library.filter(filter) : null;
  if (turn !== filterTurn) return;
  kept = positions;
  // Rows that the worker has read and not yet sent are not there to be shown.
  if (kept) kept = kept.filter((position) => position < library.rows.length);
  listView.show(library.rows, kept, library.read);
}

function sayFiltered(): void {
  if (view === "list") say(kept ? `${plural(kept.length, "trace")} of ${library.rows.length} fit.` : `All ${plural(library.rows.length, "trace")}.`);
}

// ---------------------------------------------------------------- replay

/** Why no replay or fork can be made; empty: the index is open. */
async function indexMissing(trace: Trace): Promise<string> {
  if (await indexes.want(trace.index_digest)) return "";
  const has = indexes.open ? ` The one that is open is ${indexes.open.digest}.` : "";
  return `This needs the index that the trace was made over: ${visible(trace.index_digest)} (${visible(trace.corpus_revision)}).${has} Drop its file on this page, or choose it under Open; viewing needs none.`;
}

async function replay(): Promise<void> {
  const of = shown;
  if (!of) return;
  const verdict = (state: Verdict["state"], message: string, step = 0, effect = 0): void => {
    update(of, { verdict: { state, message, step, effect } });
    say(message);
  };
  verdict("running", "Replaying …");
  try {
    const missing = await indexMissing(of.document.trace);
    footer();
    if (missing) {
      verdict("failed", missing);
      return;
    }
    const worker = await engineWorker();
    const { identical, difference, step, effect, ms } = await worker.call("replay", { trace: of.document.json });
    if (identical) verdict("identical", `Identical: the engine made the same run from the recorded results, in ${ms.toFixed(ms < 10 ? 1 : 0)} ms, without a model or a network.`);
    else verdict("different", `Differs. First difference: ${visible(difference)}`, step, effect);
  } catch (error) {
    verdict("failed", `${words(error)}${error instanceof EngineError && error.field ? ` (${visible(error.field)})` : ""}`);
  }
}

// ---------------------------------------------------------------- fork

const own = "the trace’s own";

/** The settings of a trace, as the presets' options are written. */
function ownValues(trace: Trace): Record<string, string> {
  return Object.fromEntries(Object.entries(trace.config).map(([name, value]) => [name.toUpperCase(), String(value)]));
}

async function openFork(step: number): Promise<void> {
  const of = shown;
  if (!of) return;
  try {
    const missing = await indexMissing(of.document.trace);
    footer();
    if (missing) {
      update(of, { verdict: { state: "failed", message: missing, step: 0, effect: 0 } });
      say(missing);
      return;
    }
    await engineWorker();
    if (site) service = await readService(serviceAddress(site, api), service);
    footer();
  } catch (error) {
    problem(words(error));
    return;
  }
  const values = ownValues(of.document.trace);
  const choices: Presets = { presets: [own, ...(presets?.presets ?? [])], values: { ...presets?.values, [own]: values } };
  // The page's own defaults are for new questions: a fork begins with what its trace had.
  const kept = Object.fromEntries(Object.keys(pageDefaults).flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])));
  const initial: Settings = { preset: own, set: kept, models: "off", answers: "automatic" };
  settingsView.open({
    title: `Fork from step ${step}`,
    note: "Everything before that step stays. Results that the trace already holds are taken from it; only what is missing is asked for.",
    settings: initial,
    initial,
    presets: choices,
    answerers: (settings, change) => [modelsNote(), providerChoice(of.document.trace, settings, change)],
    confirm: {
      label: "Fork",
      run: (config) => void fork(of, step, {
        preset: config.preset === own ? "" : config.preset,
        set: {
          ...Object.fromEntries(offered.map(({ name }) => [name, valueOf(choices, config, name)])),
          PROVIDER: config.set["PROVIDER"] ?? of.document.trace.config.provider,
        },
      }),
    },
  });
}

function modelsNote(): Child {
  const note = (...children: Child[]): Child => h("p", { class: "quiet models-note" }, children);
  if (!site || models.length === 0) return note("This page carries no models: what the trace does not hold goes unanswered, and the fork says so.");
  const waiting = models.filter(({ state }) => state === "waiting" || state === "cancelled" || state === "failed");
  const total = megabytes(models.reduce((sum, model) => sum + model.total, 0));
  if (models.every(({ state }) => state === "ready")) return note("The models are loaded: vectors and scores that the trace does not hold are worked out here.");
  const failed = models.find(({ state }) => state === "failed" || state === "unsupported");
  if (waiting.length === 0) return note(failed ? `Without models: ${failed.message}.` : `Loading the models, ${megabytes(models.reduce((sum, model) => sum + model.received, 0))} of ${total} MB …`);
  return note(failed ? `${failed.message}. ` : "The models are not loaded: vectors and scores that the trace does not hold go unanswered. ",
    h("button", { type: "button", class: "plain", on: { click: () => void loadModels() } }, `Load them (${total} MB)`));
}

async function loadModels(): Promise<void> {
  const worker = await engineWorker();
  await worker.call("models", { storage: await canStore() });
}

/** Replies of a language model are the trace's; others come from the engine here, or live from the site's server. */
function providerChoice(trace: Trace, settings: Settings, change: (settings: Settings) => void): Child {
  const recorded = trace.config.provider;
  const value = settings.set["PROVIDER"] ?? recorded;
  const words = (provider: string): string => {
    if (provider === "extractive") return "extractive, here in the browser";
    if (provider === "proxy" && service.state === "live") return "live: the question goes to this site’s server";
    return `${visible(provider)}, replies from the trace alone`;
  };
  const choices = [...new Set([recorded, "extractive", ...(service.state === "live" ? ["proxy"] : [])])];
  if (choices.length === 1) return null;
  const select = h("select", { name: "PROVIDER" }, choices.map((each) => h("option", { value: each, selected: each === value }, words(each))));
  select.addEventListener("change", () => change({ ...settings, set: { ...settings.set, PROVIDER: select.value } }));
  return h("label", { class: "setting" }, h("span", null, "Who answers", h("code", null, "PROVIDER")), select);
}

const api = new URL("api/", document.baseURI).href;
const prompts = site && new PromptFile(site.tasks);
const completions = prompts && new Completions({
  provider: async () => new ProxyProvider(new URL("complete", api).href, prompts.priceList()),
  indexDigest: () => indexes.open?.digest ?? "",
  chunks: async (ids) => (await engineWorker()).call("chunks", { ids: [...ids] }),
  onDraft: () => undefined,
});

async function complete(ticket: number, task: Task): Promise<void> {
  const result: EffectResult = completions ? await completions.perform(task) : { error: { code: "model_unavailable", message: "this page asks no language model" } };
  await (await engineWorker()).call("completed", { ticket, result });
}

async function fork(of: Shown, step: number, config: RunConfig): Promise<void> {
  say("Forking …");
  update(of, { verdict: { state: "running", message: "Forking …", step: 0, effect: 0 } });
  try {
    const worker = await engineWorker();
    const live = config.set["PROVIDER"] === "proxy" && service.state === "live";
    if (live) completions?.begin("live", new AbortController().signal);
    const made = await worker.call("fork", { trace: of.document.json, step, config, live });
    update(of, { verdict: null });
    const next = shownOf({ trace: made.trace, json: made.json, recorded: null }, `fork from step ${step} of ${of.trace.id}`);
    next.chunks = of.chunks;
    const lacking = made.missing.length > 0 ? ` Missing: ${made.missing.map(visible).join("; ")}.` : "";
    compare(of, next, `Fork from step ${step}`, `${plural(made.served, "result")} taken from the trace.${lacking}`);
  } catch (error) {
    update(of, { verdict: { state: "failed", message: words(error), step: 0, effect: 0 } });
    say(words(error));
  }
}

// ---------------------------------------------------------------- side by side

function pickSecond(): void {
  if (!shown) return;
  beside = shown;
  if (library.rows.length > 1) {
    go("list");
    listView.focusFilter();
    void offerSameQuestion(shown.document.trace.question);
  } else {
    go("open");
  }
  say("Choose the trace to set beside this one.");
}

/** Where the list holds other traces of the same question, it begins with those. */
async function offerSameQuestion(question: string): Promise<void> {
  const same = await library.filter({ text: question, status: "", steps: 0 });
  if (beside && same.length > 1 && same.length < library.rows.length) listView.setText(question);
}

function compare(a: Shown, b: Shown, label = "B", note = ""): void {
  beside = null;
  sides = [a, b];
  shown = a;
  problem("");
  const said = compareView.show(
    { trace: a.trace, label: label === "B" ? "A" : "This trace", note: a.source },
    { trace: b.trace, label, note: note || b.source },
  );
  go("compare");
  say(`Side by side. ${note} ${said}`);
}

// ---------------------------------------------------------------- links and files

async function copyLink(): Promise<void> {
  if (!shown) return;
  const fragment = await toFragment(shown.document.json);
  if (!fragment) {
    const message = `This trace makes a link of more than ${longestFragment / 1000} KB, which not every program carries. Send its file instead: Download.`;
    toast(message);
    say(message);
    return;
  }
  // The address shows it too, so that it can be copied where the page may not write to the clipboard.
  window.history.replaceState(null, "", fragment);
  try {
    await navigator.clipboard.writeText(window.location.href);
    toast("Link copied: it holds the whole trace");
    say("Link copied.");
  } catch {
    toast("The link stands in the address bar: this browser does not let the page copy it");
  }
}

function download(): void {
  if (!shown) return;
  const url = URL.createObjectURL(new Blob([shown.document.json], { type: "application/json" }));
  const name = shown.document.trace.id.replace(/[^\w.-]+/g, "-").slice(0, 80) || "trace";
  h("a", { href: url, download: `${name}.json` }).click();
  URL.revokeObjectURL(url);
}

function footer(): void {
  const { open } = indexes;
  fill(byId("foot"),
    h("p", null,
      service.state === "live" ? "Traces stay in this browser; only a fork that you ask to be answered live sends its question to this site’s server. " : "Nothing is uploaded: traces stay in this browser. ",
      open ? ["Index for replay: ", h("strong", null, visible(open.metadata.title || open.metadata.corpus)), ` · ${plural(open.chunks, "passage")} · ${open.digest}`] : site ? "Replay takes this site’s index, or one that you open." : "For replay, open the index file that a trace names."));
}

// ---------------------------------------------------------------- hands

byId<HTMLInputElement>("files").addEventListener("change", (event) => {
  const input = event.target as HTMLInputElement;
  void openFiles([...(input.files ?? [])]).finally(() => (input.value = ""));
});

const pastedFile = (text: string): File => new File([text], "pasted text", { type: "application/json" });

byId<HTMLFormElement>("paste-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = byId<HTMLTextAreaElement>("paste");
  if (field.value.trim() === "") {
    problem("There is nothing in the field. Paste the text of a trace into it.");
    return;
  }
  void openFiles([pastedFile(field.value)]);
});

document.addEventListener("paste", (event) => {
  const target = event.target as HTMLElement | null;
  if (target?.matches("input, textarea")) return;
  const files = [...(event.clipboardData?.files ?? [])];
  const text = event.clipboardData?.getData("text") ?? "";
  if (files.length > 0) void openFiles(files);
  else if (text.trim() !== "") void openFiles([pastedFile(text)]);
});

const dropBox = byId("drop");
let dragged = 0;
const carriesFiles = (event: DragEvent): boolean => [...(event.dataTransfer?.types ?? [])].some((type) => type === "Files" || type === "text/plain");
document.addEventListener("dragenter", (event) => {
  if (!carriesFiles(event)) return;
  ++dragged;
  dropBox.hidden = false;
});
document.addEventListener("dragleave", () => {
  dragged = Math.max(0, dragged - 1);
  if (dragged === 0) dropBox.hidden = true;
});
document.addEventListener("dragover", (event) => {
  if (carriesFiles(event)) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  dragged = 0;
  dropBox.hidden = true;
  if (!carriesFiles(event)) return;
  event.preventDefault();
  const files = [...(event.dataTransfer?.files ?? [])];
  const text = event.dataTransfer?.getData("text/plain") ?? "";
  if (files.length > 0) void openFiles(files);
  else if (text.trim() !== "") void openFiles([pastedFile(text)]);
});

byId("open-button").addEventListener("click", () => {
  beside = null;
  go("open");
});

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (byId<HTMLDialogElement>("settings").open) return;
  const target = event.target as HTMLElement | null;
  if (event.key === "Escape") {
    goBack();
  } else if (view === "run" && !target?.matches("input, textarea, select, pre")) {
    if (runView.key(event.key)) event.preventDefault();
  } else if (view === "list" && event.key === "/" && !target?.matches("input, textarea, select")) {
    event.preventDefault();
    listView.focusFilter();
  }
});

/** Esc, one layer at a time: the passage shown, the choice of a second trace, the view. */
function goBack(): void {
  if (popover.shown) {
    popover.hide();
  } else if (beside) {
    beside = null;
    go("run");
  } else if (view === "compare") {
    go("run");
  } else if (view === "run" && library.rows.length > 1) {
    go("list");
  } else if (view === "list" && document.activeElement?.closest(".filters")) {
    listView.focus();
  } else if (view === "open" && shown) {
    go("run");
  }
}

window.addEventListener("hashchange", () => void openFragment());

// ---------------------------------------------------------------- start

if (site) {
  void canStore().then((storage) => new OfflineKeeper(() => undefined).start(storage));
} else {
  byId("ask-link").remove();
  const home = byId("home");
  home.replaceWith(h("span", null, home.textContent ?? ""));
}
footer();
go("open", false);
void openFragment();
