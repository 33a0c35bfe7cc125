// Follows a question to its end with whoever answers it, and with the next one where they fail: live through the server, the
// recorded run of this question, the engine in this browser. The page and the element on other sites ask with it.

import type { Chunk } from "../engine/boundary.ts";
import { EngineError } from "../engine/engine.ts";
import type { Trace } from "../engine/trace.ts";
import { choose, chooseAfter, type Choice, type Situation } from "../providers/choice.ts";
import type { ProviderFailure } from "../providers/provider.ts";
import { recordingFor } from "../providers/recordings.ts";
import { readRecording } from "../providers/service.ts";
import type { WorkerClient } from "../worker/client.ts";
import type { Finished, WorkerEvent } from "../worker/messages.ts";
import { aborted } from "../worker/waiting.ts";
import type { Completions } from "./completions.ts";
import { playSteps, sameTextOnly } from "./recorded-run.ts";
import type { Problem, Run, State } from "./state.ts";

/** What asking reads and changes of the page's state. */
export type AskingState = Pick<State, "info" | "problem" | "run" | "draft">;

export interface Surroundings {
  readonly store: { readonly state: Readonly<AskingState>; update(change: Partial<AskingState>): void };
  /** Address of /api/. */
  readonly api: string;
  readonly completions: Completions;
  /** The worker, once its index can be searched; rejects with the reason where it cannot. */
  worker(): Promise<WorkerClient>;
  /** Settles once it is known who can answer. */
  answerersKnown(): Promise<unknown>;
  situation(): Situation;
  learnFrom(failure: ProviderFailure): void;
  /** A question begins; `run` is shown next. */
  begun(question: string, run: Run): void;
  ended(run: Run): void;
}

export type Start = (client: WorkerClient, who: Choice["who"], turn: number) => Promise<Finished>;

export function problemOf(error: unknown): Problem {
  if (error instanceof EngineError) return { code: error.code, message: error.message };
  return { code: "internal", message: error instanceof Error ? error.message : String(error) };
}

const cancelled = (): EngineError => new EngineError({ code: "cancelled", message: "The question was cancelled." });

export class Asking {
  readonly #around: Surroundings;
  #client: WorkerClient | null = null;
  #turn = 0;
  /** What the run under way waits for elsewhere than in the worker. */
  #asking = new AbortController();
  /** The draft as far as it has come: pieces come faster than frames. */
  #draft = "";

  constructor(around: Surroundings) {
    this.#around = around;
  }

  showDraft(text: string): void {
    const { store } = this.#around;
    const scheduled = this.#draft !== store.state.draft;
    this.#draft = text;
    if (text === "") store.update({ draft: "" });
    else if (!scheduled) window.requestAnimationFrame(() => {
      if (store.state.run?.state === "running") store.update({ draft: this.#draft });
    });
  }

  /** What the worker tells of a run; anything else is somebody else's. */
  onEvent(event: WorkerEvent): void {
    const { store, completions } = this.#around;
    if (event.event === "run") {
      const { run } = store.state;
      if (run?.state !== "running" || event.turn !== this.#turn) return;
      store.update({ run: { ...run, trace: event.trace } });
      void this.#fetchChunks(event.trace);
    } else if (event.event === "complete") {
      const { ticket, task } = event;
      if (event.turn !== this.#turn) return; // of a run that was given up; nobody waits for it
      void completions.perform(task).then((result) => this.#client?.call("completed", { ticket, result })).catch(() => undefined);
    }
  }

  /** Ends the run under way, which then says that it was cancelled. */
  cancel(): void {
    this.#asking.abort();
    void this.#client?.call("cancel", null);
  }

  /** Ends the run under way; nobody wants to know what came of it. */
  leave(): void {
    ++this.#turn;
    this.cancel();
  }

  /**
   * Runs a question to its end.
   * @param wish what this question wants other than the settings @param forkedAt the step of an earlier run that it goes on from
   */
  async perform(question: string, start: Start, { wish, forkedAt }: { wish?: Situation["wish"]; forkedAt?: number } = {}): Promise<void> {
    const { store, completions } = this.#around;
    const mine = ++this.#turn;
    this.cancel();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    this.#draft = "";
    const before = store.state.run;
    const run: Run = { question, state: "running", by: null, otherIndex: false, trace: null, json: "", problem: null, forked: null, chunks: before?.otherIndex ? new Map() : (before?.chunks ?? new Map()) };
    this.#around.begun(question, run);
    store.update({ run, draft: "" });
    try {
      const client = await Promise.race([this.#around.worker(), aborted(signal)]);
      if (mine !== this.#turn) return;
      if (!client || signal.aborted) throw cancelled();
      this.#client = client;
      await Promise.race([this.#around.answerersKnown(), aborted(signal)]);
      if (mine !== this.#turn) return;
      if (signal.aborted) throw cancelled();
      const situation = { ...this.#around.situation(), ...(wish ? { wish } : {}) };
      let choice = choose(question, situation);
      // A recorded run has its steps already: what is forked is worked out here.
      if (choice.who === "recorded" && forkedAt !== undefined) choice = { who: "browser", why: "", until: null };
      for (;;) {
        store.update({ run: { ...(store.state.run ?? run), by: choice, trace: null, otherIndex: false }, draft: "" });
        if (choice.who === "recorded") {
          if (await this.#play(question, choice, signal, mine)) break;
          if (mine !== this.#turn) return;
          if (signal.aborted) throw cancelled();
          choice = { who: "browser", why: `${choice.why} The recorded run could not be loaded.`.trim(), until: choice.until };
          continue;
        }
        completions.begin(choice.who, signal);
        const { trace, json, served } = await start(client, choice.who, mine);
        if (mine !== this.#turn) return;
        if (choice.who === "live" && trace.status === "failed") {
          const { failure } = completions;
          if (failure) this.#around.learnFrom(failure);
          const why = failure?.message ?? `The live answer failed: ${trace.error?.message ?? "no reason was given"}.`;
          choice = forkedAt === undefined ? await this.#instead(question, failure, why, signal) : { who: "browser", why, until: failure?.until ?? null };
          if (mine !== this.#turn) return;
          if (signal.aborted) throw cancelled();
          continue;
        }
        await this.#fetchChunks(trace);
        if (mine !== this.#turn) return;
        const now = store.state.run ?? run;
        store.update({ run: { ...now, state: "finished", trace, json, forked: forkedAt === undefined ? null : { step: forkedAt, served } }, draft: "" });
        break;
      }
    } catch (error) {
      if (mine !== this.#turn) return;
      store.update({ run: { ...(store.state.run ?? run), state: "failed", problem: problemOf(error) }, draft: "" });
    }
    if (mine !== this.#turn) return;
    const { run: ended } = store.state;
    if (ended) this.#around.ended(ended);
  }

  /** Who goes on when the live answer failed. The server may name a recorded run that only it knows to fit. */
  async #instead(question: string, failure: ProviderFailure | null, why: string, signal: AbortSignal): Promise<Choice> {
    const next = chooseAfter(question, this.#around.situation(), why, failure?.until ?? null);
    if (next.who === "recorded" || !failure?.recording || !/^[a-z0-9-]{1,64}$/.test(failure.recording)) return next;
    const offered = await readRecording(this.#around.api, { id: failure.recording }, signal);
    const fits = offered && recordingFor(question, [offered.recording], "");
    return fits ? { who: "recorded", recording: fits, why, until: failure.until } : next;
  }

  /** Plays a recorded run; false when it could not be had. */
  async #play(question: string, choice: Extract<Choice, { who: "recorded" }>, signal: AbortSignal, mine: number): Promise<boolean> {
    const { store, api } = this.#around;
    const recorded = await readRecording(api, choice.recording, signal);
    // No recording answers another question, whatever a server sends.
    if (!recorded || mine !== this.#turn || signal.aborted || !recordingFor(question, [recorded.recording], "")) return false;
    const { trace, json, recording } = recorded;
    const otherIndex = trace.index_digest !== store.state.info?.digest;
    const show = (change: Partial<Run>): void => {
      const { run } = store.state;
      if (run && mine === this.#turn) store.update({ run: { ...run, ...change } });
    };
    show({ by: { ...choice, recording }, otherIndex, trace: { ...trace, status: "running", steps: trace.steps.slice(0, 1) } });
    await this.#fetchChunks(trace);
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    await playSteps(trace, (soFar) => show({ trace: soFar }), signal, still);
    if (signal.aborted) return false;
    show({ state: "finished", trace, json });
    return true;
  }

  /** Passages that a trace names and this page does not hold yet. */
  async #fetchChunks(trace: Trace): Promise<void> {
    const { store } = this.#around;
    const { run } = store.state;
    if (!run || !this.#client) return;
    const named = new Set([
      ...trace.steps.flatMap((step) => (step.node === "retrieve" ? step.data.candidates.map((c) => c.id) : [])),
      ...trace.citations.map((citation) => citation.chunk_id),
    ]);
    const ids = [...named].filter((id) => !run.chunks.has(id));
    if (ids.length === 0) return;
    const chunks = await this.#client.call("chunks", { ids });
    const now = store.state.run;
    if (!now || now.question !== run.question) return;
    const all = new Map<string, Chunk | null>(now.chunks);
    ids.forEach((id, i) => all.set(id, chunks[i] ?? null));
    store.update({ run: { ...now, chunks: now.otherIndex ? sameTextOnly(trace, all) : all } });
  }
}
