// Runs configurations of the shipped evaluation over its golden items in this browser: the same engine, the same settings, the
// same items, models by onnxruntime-web. Item by item, each kept when it is finished; figures come from the evaluation module,
// as the command line's do. The shipped runs are made again from what models answered then, so that both stand side by side
// over the same items.

import type { EvaluationReport } from "../../engine/documents.ts";
import type { RunIdentity } from "../../engine/evaluation.ts";
import type { Trace } from "../../engine/trace.ts";
import { canStore } from "../../worker/capabilities.ts";
import type { ModelProgress } from "../../worker/messages.ts";
import { list, number, object, objects, text, type Json } from "../shapes.ts";
import { idsOf, recordedResults, runConfig, type SiteIndex } from "../site-index.ts";
import { Evaluator } from "./evaluator.ts";
import { RunStore, type Plan } from "./run-store.ts";

export interface Choice {
  configs: string[];
  /** The ids of the items; null: all. */
  items: string[] | null;
  subset: string;
}

export type State = "idle" | "loading" | "running" | "paused" | "finished" | "failed";

export interface Progress {
  state: State;
  done: number;
  total: number;
  /** What is being asked; empty: nothing. */
  config: string;
  item: string;
  /** Remaining, worked out from how much longer the finished items took here than in the shipped run; null: not known yet. */
  leftMs: number | null;
  models: readonly ModelProgress[];
  message: string;
  kept: boolean;
}

/** One configuration: what came out here and in the shipped run, over the items that are finished here. */
export interface Outcome {
  config: string;
  items: number;
  here: EvaluationReport;
  shipped: EvaluationReport;
  /** Items whose decisions differ: verdicts, answer or refusal, what was retrieved. */
  differing: string[];
}

/** What of a run is a decision and no measured time: equal here and there when the same things happened. */
export function decisionsOf(trace: Trace): string {
  return JSON.stringify([trace.status, trace.answer, trace.steps.map((step) => {
    switch (step.node) {
      case "retrieve": return [step.node, step.data.query, step.data.retrieved_ids];
      case "grade_context": return [step.node, step.data.relevant, step.data.relevant_chunk_ids];
      case "rewrite_query": return [step.node, step.data.to];
      case "generate": return [step.node, step.data.context_ids, step.data.cited_ids];
      case "refuse": return [step.node];
    }
  })]);
}

export class LocalRun {
  readonly #index: SiteIndex;
  readonly #document: Json;
  /** The result of an item in the shipped run. */
  readonly #shipped: (report: number, item: string) => Promise<Json | null>;
  readonly #changed: () => void;
  readonly #golden: Map<string, Json>;
  #store: RunStore | null = null;
  #evaluator: Promise<Evaluator> | null = null;
  #turn = 0;
  #stop = false;
  #working: Promise<void> = Promise.resolve();
  #shippedMs = new Map<string, number>();
  #models: readonly ModelProgress[] = [];
  progress: Progress = { state: "idle", done: 0, total: 0, config: "", item: "", leftMs: null, models: [], message: "", kept: true };

  constructor(index: SiteIndex, document: Json, shipped: (report: number, item: string) => Promise<Json | null>, changed: () => void) {
    this.#index = index;
    this.#document = document;
    this.#shipped = shipped;
    this.#changed = changed;
    this.#golden = new Map(objects(document["golden"]).map((item) => [text(item["id"]), item]));
    index.listen((event) => {
      if (event.event !== "models") return;
      this.#models = event.models;
      this.#set({ models: event.models });
    });
  }

  get configs(): string[] {
    return list(this.#document["names"]).map(text);
  }
  get modelBytes(): number {
    return this.#index.site.models.reduce((sum, model) => sum + model.bytes, 0);
  }
  get items(): string[] {
    return [...this.#golden.keys()];
  }
  get plan(): Plan | null {
    return this.#store?.plan ?? null;
  }

  /** Which evaluation, over which index. */
  get #of(): string {
    return `${this.#index.site.evaluation} ${this.#index.identity}`;
  }

  /** Looks for a run that an earlier visit left. */
  async restore(): Promise<void> {
    this.#store = await RunStore.open();
    const { plan } = this.#store;
    if (plan && plan.of !== this.#of) await this.#store.clear();
    if (!this.#store.plan) {
      this.#set({ kept: this.#store.kept });
      return;
    }
    const [done, total] = this.#counts();
    this.#set({ kept: this.#store.kept, done, total, state: done === total ? "finished" : "paused" });
  }

  async start(choice: Choice): Promise<void> {
    this.#store ??= await RunStore.open();
    await this.#store.begin({ configs: choice.configs, items: choice.items ?? this.items, subset: choice.subset, createdAt: now(), of: this.#of });
    await this.resume();
  }

  async resume(): Promise<void> {
    this.#stop = false;
    this.#working = this.#work().catch((error: unknown) => {
      this.#set({ state: "failed", message: error instanceof Error ? error.message : String(error), config: "", item: "" });
    });
    await this.#working;
  }

  /** The question under way is left and asked again at the next start; what is finished stays. */
  async pause(): Promise<void> {
    this.#stop = true;
    if (this.progress.state === "running") void this.#index.open().then(({ client }) => client.call("cancel", null)).catch(() => undefined);
    await this.#working;
  }

  /** Ends the run and forgets it. */
  async cancel(): Promise<void> {
    await this.pause();
    await this.#store?.clear();
    this.#shippedMs.clear();
    this.#set({ state: "idle", done: 0, total: 0, config: "", item: "", leftMs: null, message: "" });
  }

  #counts(): [done: number, total: number] {
    const { plan } = this.#store!;
    return [this.#store!.count, plan ? plan.items.length * plan.configs.length : 0];
  }

  #set(change: Partial<Progress>): void {
    this.progress = { ...this.progress, ...change };
    this.#changed();
  }

  async #work(): Promise<void> {
    const store = this.#store!;
    const plan = store.plan!;
    const [before, total] = this.#counts();
    this.#set({ state: "loading", message: "", done: before, total, kept: store.kept });
    const { client } = await this.#index.open();
    if (!this.#stop && before < total) await this.#modelsReady();
    const evaluator = await this.#evaluation();
    this.#set({ state: "running" });
    for (const item of plan.items) {
      for (const config of plan.configs) {
        if (this.#stop) break;
        if (store.done(config, item)) continue;
        this.#set({ config, item, leftMs: this.#leftMs(plan) });
        const golden = this.#golden.get(item);
        const report = this.#reportOf(config);
        if (!golden) throw new Error(`The evaluation holds no item ${item}.`);
        let finished;
        const begun = performance.now();
        try {
          finished = await client.call("ask", { question: text(golden["question"]), config: runConfig(report["config"]), turn: ++this.#turn });
        } catch (error) {
          if (this.#stop) break;
          throw error;
        }
        const ms = performance.now() - begun;
        failedModel(finished.trace);
        const ids = idsOf(finished.trace);
        const texts = Object.fromEntries([...(await this.#index.chunks(ids))].flatMap(([id, chunk]) => (chunk ? [[id, chunk.text]] : [])));
        const line = await evaluator.call("line", { golden: JSON.stringify(golden), trace: finished.json, texts, k: this.#k, finishedAt: now() });
        await this.#learnShipped(config, item);
        await store.add({ config, item, line, ms });
        this.#set({ done: this.#counts()[0] });
      }
      if (this.#stop) break;
    }
    const [done] = this.#counts();
    this.#set({ state: done === total ? "finished" : "paused", config: "", item: "", leftMs: this.#leftMs(plan) });
  }

  /** Figures of a run without the models would be another configuration's. */
  async #modelsReady(): Promise<void> {
    const { client } = await this.#index.open();
    await client.call("models", { action: "load", storage: await canStore() });
    for (;;) {
      const stuck = this.#models.find(({ state }) => state === "failed" || state === "unsupported" || state === "cancelled");
      if (stuck) throw new Error(`The ${stuck.role} cannot be used, and without it the figures would be another configuration's: ${stuck.message || "loading it was cancelled"}.`);
      if (this.#models.length >= 2 && this.#models.every(({ state }) => state === "ready")) return;
      if (this.#index.site.models.length < 2) throw new Error("This site carries no models, and without them the figures would be another configuration's.");
      if (this.#stop) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  #evaluation(): Promise<Evaluator> {
    const { evaluation_worker, evaluation_engine, evaluation_engine_wasm } = this.#index.site;
    this.#evaluator ??= Evaluator.load(evaluation_worker, evaluation_engine, evaluation_engine_wasm).catch((error: unknown) => {
      this.#evaluator = null;
      throw error;
    });
    return this.#evaluator;
  }

  get #k(): number {
    return number(object(this.#document["made"])["k"]) ?? 5;
  }

  #place(config: string): number {
    return this.configs.indexOf(config);
  }
  #reportOf(config: string): Json {
    return objects(this.#document["reports"])[this.#place(config)] ?? {};
  }

  async #learnShipped(config: string, item: string): Promise<void> {
    const key = `${config}\n${item}`;
    if (this.#shippedMs.has(key)) return;
    const record = await this.#shipped(this.#place(config), item);
    this.#shippedMs.set(key, number(object(record?.["latency"])["total_ms"]) ?? 0);
  }

  #leftMs(plan: Plan): number | null {
    let [here, there, left] = [0, 0, 0];
    for (const config of plan.configs) {
      const mean = number(object(object(this.#reportOf(config)["metrics"])["latency_mean_ms"])["value"]) ?? 0;
      for (const item of plan.items) {
        const done = this.#store!.done(config, item);
        if (done) {
          here += done.ms;
          there += this.#shippedMs.get(`${config}\n${item}`) ?? mean;
        } else {
          left += mean;
        }
      }
    }
    return there > 0 && here > 0 ? (left * here) / there : null;
  }

  // ---- what came out

  #identity(config: string, plan: Plan): RunIdentity {
    const made = object(this.#document["made"]);
    const golden = object(made["golden"]);
    return {
      subject: { kind: "agent", name: config, config: object(this.#reportOf(config)["config"]) as Record<string, string>, version: text(made["program"]) },
      index_digest: this.#index.identity,
      golden: { name: text(golden["name"]), digest: text(golden["digest"]), source: text(golden["source"]), subset: plan.items.length < this.#golden.size ? plan.subset : null },
      k: this.#k, repeats: 1, judge: null, shard: null,
    };
  }

  /** The run of a configuration as `polygraph run` writes it, as far as it got. */
  async runText(config: string): Promise<string> {
    const plan = this.#store!.plan!;
    const lines = plan.items.flatMap((item) => this.#store!.done(config, item)?.line ?? []);
    return (await this.#evaluation()).call("run", { identity: this.#identity(config, plan), items: plan.items.length, createdAt: plan.createdAt, lines });
  }

  /** The report of everything that is finished: what the page opens like any other. */
  async document(): Promise<string> {
    const runs: string[] = [];
    for (const config of this.#store!.plan!.configs) runs.push(await this.runText(config));
    return (await this.#evaluation()).call("document", { runs });
  }

  async outcomes(): Promise<Outcome[]> {
    const store = this.#store!;
    const plan = store.plan;
    if (!plan) return [];
    const evaluator = await this.#evaluation();
    const { client } = await this.#index.open();
    const out: Outcome[] = [];
    for (const config of plan.configs) {
      const items = plan.items.filter((item) => store.done(config, item));
      if (items.length === 0) continue;
      const differing: string[] = [];
      const lines: string[] = [];
      for (const item of items) {
        const record = await this.#shipped(this.#place(config), item);
        if (!record) continue;
        const run = object(record["run"]);
        const finished = await client.call("again", {
          question: text(record["query"]), config: runConfig(this.#reportOf(config)["config"]), results: recordedResults(run, list(this.#document["effects"])),
        });
        lines.push(await evaluator.call("line", { golden: JSON.stringify(this.#golden.get(item)), trace: finished.json, texts: {}, k: this.#k, finishedAt: text(run["started_at"]) }));
        const here = object(object(JSON.parse(store.done(config, item)!.line))["result"])["trace"] as Trace;
        if (decisionsOf(here) !== decisionsOf(finished.trace)) differing.push(item);
      }
      const shippedRun = await evaluator.call("run", { identity: this.#identity(config, plan), items: items.length, createdAt: plan.createdAt, lines });
      const [here, shipped] = [await evaluator.call("report", { run: await this.runText(config) }), await evaluator.call("report", { run: shippedRun })];
      out.push({ config, items: items.length, here, shipped, differing });
    }
    return out;
  }
}

const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, "Z");

/** The agent goes on without a model that failed; its figures would be another configuration's. */
function failedModel(trace: Trace): void {
  for (const step of trace.steps) {
    for (const effect of step.effects) {
      const result = object(effect.result);
      if ((effect.kind === "embed" || effect.kind === "score") && result["error"]) throw new Error(`A model failed: ${text(object(result["error"])["message"])}`);
    }
  }
}
