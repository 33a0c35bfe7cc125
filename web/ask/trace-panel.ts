// The trace beside the answer, filled while the run goes on: each step with its decision and its time as a bar on one scale.

import type { RecordedEffect, Step, Trace } from "../engine/trace.ts";
import { summary, totals } from "./answer.ts";
import { candidateTable } from "./candidates.ts";
import { chunkNumber, fill, h, heading, type Child } from "./dom.ts";
import type { Popover } from "./popover.ts";
import { redraw } from "./redraw.ts";
import type { Run } from "./state.ts";
import { count, date, dollars, duration, featureNames, nameAndPlace, nodeNames, percent, plural, score } from "./words.ts";
import { wordDiff } from "./word-diff.ts";

export interface TraceActions {
  replay(): void;
  download(): void;
  copyLink(): void;
  /** Opens the trace in the inspector, a page of its own. */
  inspect(): void;
  /** Opens the settings to ask again from this step on. */
  forkFrom(step: number): void;
}

export interface ReplayVerdict {
  state: "running" | "identical" | "different" | "failed";
  message: string;
}

/** The shortest bar that can be seen, as a share of the scale. */
const leastBar = 0.006;

/** A search or verdict that was followed by another one is history: it opens on request. */
function openAtFirst(step: Step, trace: Trace): boolean {
  const repeated = step.node === "retrieve" || step.node === "grade_context";
  return !repeated || !trace.steps.some((later) => later.n > step.n && later.node === step.node);
}

export class TracePanel {
  readonly #root: HTMLElement;
  readonly #popover: Popover;
  readonly #actions: TraceActions;
  readonly #toggled = new Map<number, boolean>();
  readonly #full = new Set<number>();
  #shown: { question: string; startedAt: string } | null = null;

  constructor(root: HTMLElement, popover: Popover, actions: TraceActions) {
    this.#root = root;
    this.#popover = popover;
    this.#actions = actions;
  }

  show(run: Run | null, verdict: ReplayVerdict | null): void {
    redraw(this.#root, () => this.#draw(run, verdict));
  }

  #draw(run: Run | null, verdict: ReplayVerdict | null): void {
    const trace = run?.trace;
    this.#root.hidden = !trace;
    if (!run || !trace) return;
    if (this.#shown?.question !== trace.question || this.#shown.startedAt !== trace.started_at) {
      this.#toggled.clear();
      this.#full.clear();
      this.#shown = { question: trace.question, startedAt: trace.started_at };
    }
    const before = this.#positions();
    const finished = run.state === "finished";
    fill(this.#root,
      h("div", { class: "trace-head" },
        h("h2", null, "Trace"),
        h("span", { class: "quiet numbers" }, finished ? totals(trace) : run.state === "running" ? "running …" : "stopped"),
        run.by?.who === "recorded" && h("span", { class: "tag" }, `recorded on ${date(run.by.recording.recordedAt)}`),
        finished && h("span", { class: "trace-actions" },
          h("button", { type: "button", class: "plain", "data-key": "replay", on: { click: () => this.#actions.replay() } }, "Replay"),
          h("button", { type: "button", class: "plain", "data-key": "download", on: { click: () => this.#actions.download() } }, "Download"),
          h("button", { type: "button", class: "plain", "data-key": "link", on: { click: () => this.#actions.copyLink() } }, "Copy link"),
          h("button", { type: "button", class: "plain", "data-key": "inspect", on: { click: () => this.#actions.inspect() } }, "Open in the inspector"))),
      verdict && h("p", { class: `replay ${verdict.state}`, role: "status" }, verdict.message),
      run.forked && h("p", { class: "quiet" }, `Asked again from step ${run.forked.step}; ${plural(run.forked.served, "result")} taken from the earlier trace.`),
      h("ol", { class: "steps" }, trace.steps.map((step) => this.#step(step, run, trace))),
      finished && h("dl", { class: "about" }, about(trace)));
    this.#moveRows(before);
  }

  #step(step: Step, run: Run, trace: Trace): HTMLElement {
    const end = Math.max(trace.totals.ms, ...trace.steps.map((s) => s.started_ms + s.ms), 1);
    const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("span"));
    const inner = bar.firstElementChild as HTMLElement;
    const width = Math.max(leastBar, step.ms / end);
    inner.style.left = `${100 * Math.min(step.started_ms / end, 1 - width)}%`;
    inner.style.width = `${100 * width}%`;
    const details = h("details", { open: this.#toggled.get(step.n) ?? openAtFirst(step, trace) },
      h("summary", { "data-key": `step-${step.n}` },
        h("span", { class: "step-n" }, String(step.n)),
        h("span", { class: "step-name" }, nodeNames[step.node] ?? step.node),
        h("span", { class: "step-summary" }, summary(step)),
        h("span", { class: "step-ms numbers" }, duration(step.ms)),
        bar),
      h("div", { class: "step-body" }, this.#body(step, run), this.#foot(step, run)));
    details.addEventListener("toggle", () => {
      if (details.open !== openAtFirst(step, trace) || this.#toggled.has(step.n)) this.#toggled.set(step.n, details.open);
    });
    return h("li", { class: `step ${step.node}` }, details);
  }

  #body(step: Step, run: Run): Child {
    const named = (id: string): Child => {
      const chunk = run.chunks.get(id);
      if (!chunk) return id;
      const { name, place } = nameAndPlace(chunk.title, chunk.heading_path);
      return [heading(name), " ", h("span", { class: "where" }, place && [heading(place), " · "], chunkNumber(id))];
    };
    switch (step.node) {
      case "retrieve": {
        const grade = run.trace?.steps.find((s) => s.n > step.n && s.node === "grade_context");
        const kept = new Set(grade?.node === "grade_context" ? grade.data.relevant_chunk_ids : []);
        return [
          h("p", { class: "query" }, h("span", { class: "label" }, "Query"), step.data.query),
          candidateTable({
            data: step.data,
            kept,
            chunks: run.chunks,
            popover: this.#popover,
            all: this.#full.has(step.n),
            showAll: () => {
              this.#full.add(step.n);
              this.show(run, null);
            },
          }),
          scoredInTime(step, run.trace),
        ];
      }
      case "grade_context": {
        const { relevant, unsure, probability, reason, relevant_chunk_ids, dropped_ids } = step.data;
        const values = evidence(step.data.features ?? {});
        return [
          h("p", null,
            h("strong", null, relevant ? (unsure ? "Perhaps relevant" : "Relevant") : "Not relevant"),
            probability != null && h("span", { class: "numbers quiet" }, ` p = ${percent(probability)}`)),
          reason && h("p", null, reason),
          relevant_chunk_ids.length > 0 && h("ul", { class: "kept-list" }, relevant_chunk_ids.map((id) => h("li", null, named(id)))),
          dropped_ids.length > 0 && h("p", { class: "quiet" }, `Named by the grader but not among the passages, dropped: ${dropped_ids.join(", ")}`),
          values.length > 0 && h("table", { class: "features" },
            h("caption", { class: "label" }, "What the verdict rests on"),
            h("tbody", null, values.map(([key, value]) =>
              h("tr", null,
                h("th", { scope: "row" }, featureNames[key] ?? key, featureNames[key] && h("code", null, key)),
                value === undefined ? h("td", { class: "quiet" }, "absent") : h("td", { class: "number" }, score(value)))))),
        ];
      }
      case "rewrite_query":
        return h("p", { class: "diff" }, wordDiff(step.data.from, step.data.to).map(({ kind, text }) => [
          kind === "same" ? text : h(kind === "added" ? "ins" : "del", null, text), " ",
        ]));
      case "generate":
        return [
          h("p", null, `From ${plural(step.data.context_ids.length, "passage")}; ${step.data.declined ? "declined to answer" : `cited ${plural(step.data.cited_ids.length, "passage")}`}.`),
          step.data.declined && step.data.draft && h("blockquote", null, step.data.draft),
        ];
      case "refuse":
        return [
          h("p", null, step.data.reason),
          step.data.last_grader_reason && step.data.last_grader_reason !== step.data.reason && h("p", { class: "quiet" }, step.data.last_grader_reason),
        ];
    }
  }

  #foot(step: Step, run: Run): Child {
    const calls = step.effects.filter((effect) => effect.kind !== "time");
    return h("div", { class: "step-foot" },
      calls.length > 0 && h("ul", { class: "effects" }, calls.map((effect) => effectLine(effect, run))),
      run.state === "finished" && !run.otherIndex &&
        h("button", { type: "button", class: "plain", "data-key": `fork-${step.n}`, on: { click: () => this.#actions.forkFrom(step.n) } }, "Ask again from here …"));
  }

  #rows(): HTMLElement[] {
    return [...this.#root.querySelectorAll<HTMLElement>("tr[data-id]")];
  }

  #positions(): Map<string, number> {
    return new Map(this.#rows().map((row) => [rowKey(row), row.offsetTop]));
  }

  /** Rows glide from where they stood to where the next stage put them. */
  #moveRows(before: ReadonlyMap<string, number>): void {
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const row of this.#rows()) {
      const from = before.get(rowKey(row));
      const by = from === undefined ? 0 : from - row.offsetTop;
      if (by !== 0) row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: 320, easing: "ease-out" });
    }
  }
}

/** A verdict's features; one that the page knows and the verdict had to do without (no model) is there as undefined. */
function evidence(features: Readonly<Record<string, number>>): [string, number | undefined][] {
  const given = Object.entries(features);
  if (given.length === 0) return [];
  const absent = Object.keys(featureNames).filter((name) => !(name in features));
  return [...given, ...absent.map((name): [string, undefined] => [name, undefined])];
}

/** A reranker with a time budget scores the best fused candidates and leaves the rest in their order. */
function scoredInTime(step: Step, trace: Trace | null): Child {
  const budget = Number(trace?.config["rerank_budget_ms"] ?? 0);
  const most = Number(trace?.config["rerank_candidates"] ?? 0);
  const call = step.effects.find((effect) => effect.kind === "score");
  const logits = (call?.result as { logits?: unknown } | null | undefined)?.logits;
  if (typeof logits !== "string" || !(budget > 0)) return null;
  const bytesOfALogit = 4;
  const scored = Math.floor((logits.replace(/=+$/, "").length * 3) / 4 / bytesOfALogit);
  if (scored >= most) return null;
  return h("p", { class: "quiet" }, `The reranker scored ${plural(scored, "passage")} in its ${duration(budget)}, best fused first; the others keep their fused order.`);
}

function rowKey(row: HTMLElement): string {
  return `${row.closest(".step")?.querySelector(".step-n")?.textContent ?? ""} ${row.dataset["id"] ?? ""}`;
}

/** Where the reply of a language model came from; models of this browser need no such word. */
function origin(effect: RecordedEffect, run: Run): string {
  if (run.by?.who === "recorded") return "recorded";
  if (effect.cached) return "cached";
  return effect.kind === "complete" && run.by?.who === "live" ? "live" : "";
}

function effectLine(effect: RecordedEffect, run: Run): HTMLElement {
  const tokens = effect.tokens.in + effect.tokens.out;
  const from = origin(effect, run);
  return h("li", { class: "numbers" },
    h("span", { class: "effect-kind" }, effect.kind), " ", duration(effect.ms),
    tokens > 0 && (effect.kind === "complete" ? ` · ${count(effect.tokens.in)} tokens in, ${count(effect.tokens.out)} out` : ` · ${count(tokens)} tokens`),
    effect.cost_usd !== null && effect.cost_usd > 0 && ` · ${dollars(effect.cost_usd)}`,
    effect.model && ` · ${effect.model}`,
    effect.finish === "length" && " · cut at its token limit",
    from && [" · ", h("span", { class: "tag" }, from)]);
}

function about(trace: Trace): Child[] {
  const entry = (name: string, value: string | null | undefined): Child => value && [h("dt", null, name), h("dd", null, value)];
  const models = Object.entries(trace.models).filter(([, model]) => model).map(([role, model]) => `${role} ${model}`).join(", ");
  return [
    entry("Run", `${date(trace.started_at)} · ${trace.id}`),
    entry("Engine", `${trace.engine.version} (${trace.engine.target})`),
    entry("Models", models),
    entry("Index", `${trace.index_digest.slice(0, 16)} · ${trace.corpus_revision}`),
  ];
}
