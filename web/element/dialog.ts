// The dialog of <polygraph-ask>: passages while somebody types, an answer or a refusal, and, where the site offers them, the
// models. What it shows of an answer is what the Ask page shows.

import { announcement, showAnswer, showDraft } from "../ask/answer.ts";
import { Asking, problemOf } from "../ask/asking.ts";
import { Completions } from "../ask/completions.ts";
import { fill, h, webAddress, type Child } from "../ask/dom.ts";
import { Lookup } from "../ask/lookup.ts";
import { passagesView } from "../ask/passages.ts";
import { english, Phrases } from "../ask/phrases.ts";
import { Popover } from "../ask/popover.ts";
import { redraw } from "../ask/redraw.ts";
import { ServiceWatch } from "../ask/service-watch.ts";
import { pageDefaults, defaultPreset, runConfig } from "../ask/settings-store.ts";
import type { Problem, Run } from "../ask/state.ts";
import { Store } from "../ask/store.ts";
import { megabytes } from "../ask/words.ts";
import type { Chunk, Hit, IndexInfo } from "../engine/boundary.ts";
import { lastStep, type Trace } from "../engine/trace.ts";
import { choose, type Situation } from "../providers/choice.ts";
import { ProxyProvider } from "../providers/proxy.ts";
import { noService, type Service } from "../providers/service.ts";
import type { ModelProgress, WorkerEvent } from "../worker/messages.ts";
import { Consent } from "./consent.ts";
import type { Frame, Panel } from "./files.ts";
import { dialogWords, type ElementPhrase } from "./words.ts";

/** Written by the build. */
declare const DIALOG_STYLE: string;

interface DialogState {
  info: IndexInfo | null;
  problem: Problem | null;
  models: ModelProgress[];
  service: Service;
  draft: string;
  typed: string;
  asked: string;
  hits: Hit[] | null;
  lookupMs: number;
  run: Run | null;
  consent: "none" | "ask" | "given" | "refused";
}

let style: CSSStyleSheet | undefined;

export function attach(frame: Frame): Panel {
  const { host, dialog, field, body, live, signal, src } = frame;
  const phrases = new Phrases<ElementPhrase>({ ...english, ...dialogWords }, frame.language, frame.words);
  if (!style) {
    style = new CSSStyleSheet();
    style.replaceSync(DIALOG_STYLE);
  }
  if (!frame.shadow.adoptedStyleSheets.includes(style)) frame.shadow.adoptedStyleSheets.push(style);

  const { source } = frame;
  if (!source) {
    fill(body, h("p", { class: "problem", role: "alert" }, phrases.text("unsupported")));
    return { ask: () => undefined, back: () => false };
  }

  const strip = h("div", { class: "strip" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const passagesList = h("section", { class: "typed", "aria-label": phrases.text("passages"), hidden: true });
  const answer = h("article", { class: "answer", "aria-label": phrases.text("answer") });
  const offer = h("div", { class: "offer" });
  const result = h("div", { hidden: true }, answer, offer);
  const start = h("div", { class: "start" }, h("slot", { name: "start" }, h("p", { class: "quiet" }, phrases.text("start"))));
  fill(body, strip, problem, passagesList, result, start);

  const popover = new Popover(body, signal);
  const consent = new Consent(frame.models);
  const store = new Store<DialogState>({
    info: null, problem: null, models: source.models, draft: "", typed: "", asked: "", hits: null, lookupMs: 0, run: null, consent: consent.state,
    service: frame.endpoint ? noService : { ...noService, state: "none" },
  });

  const say = (message: string): void => {
    live.textContent = message;
  };

  // ---- addresses

  /** Addresses of an index without a base are relative to the index, wherever the site stands. */
  const address = (url: string): string => {
    try {
      return url ? new URL(url, src).href : "";
    } catch {
      return url;
    }
  };
  const located = <T extends { url: string }>(each: T): T => ({ ...each, url: address(each.url) });
  let shownFrom: Run | null = null;
  let shown: Run | null = null;
  /** The run with the addresses that its links lead to. */
  const shownRun = (run: Run): Run => {
    if (run === shownFrom && shown) return shown;
    shownFrom = run;
    const { trace } = run;
    shown = {
      ...run,
      chunks: new Map([...run.chunks].map(([id, chunk]): [string, Chunk | null] => [id, chunk && located(chunk)])),
      trace: trace && {
        ...trace,
        citations: trace.citations.map(located),
        steps: trace.steps.map((step) => (step.node === "refuse" ? { ...step, data: { ...step.data, closest: step.data.closest.map(located) } } : step)),
      },
    };
    return shown;
  };

  // ---- asking

  const opened = async (): Promise<typeof source.client> => {
    await source.opened;
    return source.client;
  };
  const situation = (): Situation => ({ wish: "automatic", service: store.state.service, indexDigest: store.state.info?.digest ?? "", ownMissing: "", builtInMissing: "" });
  const service = frame.endpoint ? new ServiceWatch(frame.endpoint, noService, null, (now) => store.update({ service: now }), signal) : null;
  const completions = new Completions({
    indexDigest: () => store.state.info?.digest ?? "",
    chunks: async (ids) => (await opened()).call("chunks", { ids: [...ids] }),
    onDraft: (text) => asking.showDraft(text),
    provider: async () => new ProxyProvider(new URL("complete", frame.endpoint).href, () => null),
  });
  const asking = new Asking({
    store,
    api: frame.endpoint,
    completions,
    worker: opened,
    answerersKnown: async () => service?.forAsking(),
    situation,
    learnFrom: (failure) => service?.learnFrom(failure),
    begun(question, run) {
      lookup.forget();
      field.value = question;
      store.update({ asked: question, typed: question, hits: null, run, draft: "" });
      // What was pressed to ask is gone when the answer comes. On a phone the keyboard would cover the answer.
      if (!window.matchMedia("(hover: hover)").matches) field.blur();
      else if (frame.shadow.activeElement !== field) field.focus();
    },
    ended(run) {
      say(announcement(run, phrases));
      tell(run);
    },
  });
  const lookup = new Lookup(opened, (hits, lookupMs) => store.update(hits ? { hits: hits.map(located), lookupMs } : { hits }));

  /** Without models these are no lack but the site's choice. */
  const fromWordsAlone: Record<string, string> = { RETRIEVAL_MODE: "bm25", USE_RERANKER: "false" };
  const settings = { preset: defaultPreset, set: frame.models === "none" ? { ...pageDefaults, ...fromWordsAlone } : pageDefaults };

  function ask(question: string): void {
    const asked = question.trim();
    if (!asked) return;
    // Until the engine is there it is not known which models can run here.
    if (store.state.consent === "given") void opened().then(loadModels, () => undefined);
    void asking.perform(asked, (client, who, turn) => client.call("ask", { question: asked, config: runConfig(settings, who), turn }));
  }

  function askHere(): void {
    const { run } = store.state;
    if (!run) return;
    const { question } = run;
    void asking.perform(question, (client, who, turn) => client.call("ask", { question, config: runConfig(settings, who), turn }), { wish: "browser" });
  }

  // ---- what the site is told

  const emit = (name: string, detail: unknown, cancelable = false): boolean =>
    host.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable }));

  function tell(ended: Run): void {
    const { question, trace } = shownRun(ended);
    if (ended.state !== "finished" || !trace) return;
    if (trace.status === "answered") {
      const citations = trace.citations.map(({ chunk_id, title, url }) => ({ chunkId: chunk_id, title, url }));
      emit("polygraph-answer", { question, answer: trace.answer, citations, trace: ended.trace });
    } else if (trace.status === "refused") {
      const refuse = lastStep(trace, "refuse");
      emit("polygraph-refusal", { question, reason: refuse?.data.last_grader_reason || refuse?.data.reason || "", closest: refuse?.data.closest ?? [], trace: ended.trace });
    }
  }

  body.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const question = target?.closest<HTMLElement>("[data-question]")?.dataset["question"];
    if (question) {
      event.preventDefault();
      ask(question);
      return;
    }
    const link = target?.closest("a");
    if (!link || event.defaultPrevented || !body.contains(link) || webAddress(link.href) === null) return;
    // A site that goes from page to page in place takes the event over and moves by itself.
    const title = link.getAttribute("aria-label") ?? link.querySelector(".passage-path")?.textContent ?? link.textContent ?? "";
    const { asked, typed, hits } = store.state;
    if (!emit("polygraph-select", { url: link.href, title: title.trim(), chunkId: link.dataset["chunk"] ?? null, question: hits ? typed : asked }, true)) event.preventDefault();
    const beside = event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0 || link.target === "_blank";
    if (!beside) frame.close();
  }, { signal });

  // ---- models

  /** The question that is asked again once the models are there. */
  let again: string | null = null;

  const loadModels = (): void => {
    if (source.models.every(({ state }) => state === "ready" || state === "loading" || state === "starting" || state === "unsupported")) return;
    void source.loadModels(frame.isolation);
  };
  const cancelModels = (): void => void source.cancelModels();

  const modelsReady = (models: ModelProgress[]): boolean => models.length > 0 && models.every(({ state }) => state === "ready");

  source.listen((event: WorkerEvent) => {
    if (event.event === "index") {
      const { info, error } = event.progress;
      if (info || error) store.update({ ...(info ? { info } : {}), ...(error ? { problem: error } : {}) });
    } else if (event.event === "models") {
      const before = store.state.models;
      store.update({ models: event.models });
      if (!modelsReady(event.models) || modelsReady(before)) return;
      say(phrases.text("models.ready"));
      const { run, asked } = store.state;
      if (again !== null && again === asked && run?.state !== "running") ask(again);
      again = null;
    } else {
      asking.onEvent(event);
    }
  }, signal);

  // ---- typing and keys

  const passages = passagesView(passagesList, field, say, phrases);
  const look = (): void => {
    store.update({ typed: field.value });
    if (field.value.trim() === "" || field.value.trim() === store.state.asked) lookup.stop();
    else void lookup.look(field.value);
  };
  field.addEventListener("input", look, { signal });
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const inPassages = event.target instanceof Node && passagesList.contains(event.target);
    if ((event.target === field || inPassages) && passages.move(event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
  }, { signal });

  /** Esc, one layer at a time: the passage shown, the list's focus, what was typed, the answer, and then the dialog. */
  function back(): boolean {
    const { asked, typed, hits } = store.state;
    if (popover.shown) {
      popover.hide();
    } else if (passagesList.contains(frame.shadow.activeElement)) {
      field.focus();
    } else if (hits || typed.trim() !== asked) {
      lookup.forget();
      field.value = asked;
      store.update({ hits: null, typed: asked });
    } else if (asked) {
      asking.leave();
      field.value = "";
      store.update({ asked: "", typed: "", hits: null, run: null, draft: "" });
      field.focus();
    } else {
      return false;
    }
    return true;
  }

  // ---- views

  async function copy(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      say(phrases.text("copied"));
    } catch {
      say(phrases.text("not_copied"));
    }
  }

  const moreStages = (trace: Trace): boolean => store.state.models.some(({ role, state }) => state === "ready" && Boolean(trace.missing?.[role]));

  store.watch((s) => [s.hits], (hits) => passages.show(hits, store.state.typed, store.state.lookupMs));
  store.watch((s) => [s.run, s.hits !== null], (run, typing) => {
    result.hidden = typing || run === null;
    start.hidden = typing || run !== null;
  });
  store.watch((s) => [s.run, s.models.map(({ state }) => state).join()], (run, _modelStates) => {
    popover.hide();
    if (!run) return;
    showAnswer(answer, shownRun(run), popover, {
      phrases,
      copy: (text) => void copy(text),
      cancel: () => asking.cancel(),
      askAgain: () => ask(run.question),
      askHere,
      moreStages,
    });
  });
  store.watch((s) => [s.draft, s.run], (draft, run) => showDraft(answer, run, draft));
  store.watch((s) => [s.service, s.run?.by, s.typed], () => {
    const { who } = choose(store.state.typed, situation());
    fill(strip, who === "live" ? phrases.text("who.live", { host: new URL(frame.endpoint).host }) : phrases.text("who.browser"));
  });
  store.watch((s) => [s.run?.state, s.models, s.consent], (state, models, given) => {
    redraw(offer, () => fill(offer, state === undefined ? null : modelsView(models, given)), () => field);
  });
  store.watch((s) => [s.problem], (now) => {
    problem.hidden = now === null;
    problem.textContent = now?.message ?? "";
  });

  function modelsView(models: ModelProgress[], given: DialogState["consent"]): Child {
    if (models.length === 0 || given === "none" || models.every(({ state }) => state === "ready" || state === "unsupported")) return null;
    const size = megabytes(models.reduce((sum, { total }) => sum + total, 0));
    const button = (key: string, label: ElementPhrase, click: () => void): HTMLElement =>
      h("button", { type: "button", "data-key": key, on: { click } }, phrases.text(label));
    const load = (): void => {
      consent.give();
      again = store.state.asked;
      store.update({ consent: consent.state });
      loadModels();
    };
    if (models.some(({ state }) => state === "loading" || state === "starting")) {
      const received = models.reduce((sum, { state, received: part, total }) => sum + (state === "ready" || state === "starting" ? total : part), 0);
      const total = models.reduce((sum, model) => sum + model.total, 0);
      return h("p", null,
        h("label", null, phrases.text("models.loading", { received: megabytes(received), size }), " ", h("progress", { max: total, value: received })),
        button("cancel-models", "cancel", cancelModels));
    }
    const failed = models.find(({ state }) => state === "failed");
    if (failed) return h("p", null, `${phrases.text("models.failed", { reason: failed.message.replace(/\.$/, "") })} `, button("load", "models.load", load));
    if (given !== "ask") return null;
    return h("p", null, phrases.text("models.offer", { size }), " ",
      button("load", "models.load", load), " ",
      button("refuse", "models.refuse", () => {
        consent.refuse();
        store.update({ consent: consent.state });
        field.focus();
      }));
  }

  // ---- start

  source.opened.then((info) => store.update({ info, models: source.models }), (error: unknown) => store.update({ problem: problemOf(error) }));
  if (service) void service.refresh();
  if (field.value.trim()) look();
  return { ask, back };
}
