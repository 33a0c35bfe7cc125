// One trace: its outcome, the state machine with the run's way through it, the steps on one time scale, and the chosen step.

import { summary, totals } from "../ask/answer.ts";
import { fill, h, pageLink, type Child } from "../ask/dom.ts";
import { numberCitations, renderMarkdown } from "../ask/markdown.ts";
import type { Popover } from "../ask/popover.ts";
import { redraw } from "../ask/redraw.ts";
import { date, duration, nodeNames } from "../ask/words.ts";
import type { Chunk } from "../engine/boundary.ts";
import type { Step, Trace } from "../engine/trace.ts";
import { diagram } from "./diagram.ts";
import type { TraceDocument } from "./document.ts";
import { stepView } from "./step-view.ts";
import { visible } from "./visible.ts";

export interface Verdict {
  state: "running" | "identical" | "different" | "failed";
  message: string;
  /** Where it differs; 0: nowhere, or in the run as a whole. */
  step: number;
  effect: number;
}

/** What is on the page. */
export interface Shown {
  document: TraceDocument;
  /** The trace with what would not show made visible. */
  trace: Trace;
  /** File and line it came from. */
  source: string;
  chunks: ReadonlyMap<string, Chunk | null>;
  verdict: Verdict | null;
}

export interface RunActions {
  replay(): void;
  fork(step: number): void;
  compare(): void;
  copyLink(): void;
  download(): void;
  /** Null: this trace came alone. */
  back: (() => void) | null;
  say(message: string): void;
}

/** The shortest bar that can be seen, as a share of the scale. */
const leastBar = 0.006;
const narrowScreen = "(max-width: 44rem)";

export class RunView {
  readonly #root: HTMLElement;
  readonly #popover: Popover;
  readonly #actions: RunActions;
  readonly #narrow = window.matchMedia(narrowScreen);
  #shown: Shown | null = null;
  #at = 0;
  readonly #full = new Set<number>();

  constructor(root: HTMLElement, popover: Popover, actions: RunActions) {
    this.#root = root;
    this.#popover = popover;
    this.#actions = actions;
    this.#narrow.addEventListener("change", () => this.#draw());
  }

  /** Number of the chosen step; 0 where there is none. */
  get step(): number {
    return this.#shown?.trace.steps[this.#at]?.n ?? 0;
  }

  /** @param keep stay at the step that was chosen: the same trace with more known about it */
  show(shown: Shown, keep = false): void {
    this.#shown = shown;
    if (!keep) {
      this.#at = 0;
      this.#full.clear();
      fill(this.#root);
    }
    this.#draw();
  }

  choose(n: number): void {
    const at = this.#shown?.trace.steps.findIndex((step) => step.n === n) ?? -1;
    if (at >= 0) this.#go(at);
  }

  /** Arrow keys, from anywhere on the page. True: the key was meant for this. */
  key(key: string): boolean {
    const last = (this.#shown?.trace.steps.length ?? 0) - 1;
    const to: Record<string, number> = { ArrowRight: this.#at + 1, ArrowLeft: this.#at - 1, Home: 0, End: last };
    if (!(key in to) || last < 0) return false;
    const at = Math.max(0, Math.min(to[key]!, last));
    if (at !== this.#at) this.#go(at);
    return true;
  }

  #go(at: number): void {
    this.#at = at;
    this.#popover.hide();
    this.#draw();
    const steps = this.#shown?.trace.steps ?? [];
    const step = steps[at];
    if (step) this.#actions.say(`Step ${at + 1} of ${steps.length}, ${nodeNames[step.node]}: ${summary(step)}.`);
  }

  #draw(): void {
    const shown = this.#shown;
    if (shown) redraw(this.#root, () => this.#fill(shown), () => this.#root.querySelector<HTMLElement>("#run-title"));
  }

  #fill(shown: Shown): void {
    const { trace, document: { recorded }, source, verdict } = shown;
    const { steps } = trace;
    const step = steps[this.#at];
    const actions = this.#actions;
    const button = (name: string, words: string, click: () => unknown, options: { primary?: boolean; disabled?: boolean } = {}): HTMLElement =>
      h("button", { type: "button", class: options.primary ? "primary" : null, "data-key": name, disabled: options.disabled, on: { click } }, words);
    fill(this.#root,
      h("div", { class: "run-head" },
        h("h2", { class: "question", dir: "auto", tabindex: -1, id: "run-title" }, trace.question || "(no question)"),
        h("p", { class: "run-facts" },
          h("span", { class: `status ${trace.status}` }, trace.status === "running" ? "unfinished" : trace.status),
          h("span", { class: "quiet numbers" }, totals(trace)),
          recorded && h("span", { class: "tag" }, `recorded on ${date(recorded.at) || "an unknown date"}`),
          source && h("span", { class: "quiet" }, source)),
        trace.error && h("p", { class: "notice" }, h("strong", null, trace.error.code), `: ${trace.error.message}`),
        h("p", { class: "run-actions" },
          button("replay", "Replay", () => verdict?.state !== "running" && actions.replay(), { primary: true }),
          step && button("fork", `Fork from step ${step.n} …`, () => actions.fork(step.n)),
          button("compare", "Compare …", () => actions.compare()),
          button("link", "Copy link", () => actions.copyLink()),
          button("download", "Download", () => actions.download()),
          actions.back && button("back", "Back to the list", actions.back)),
        h("p", { class: verdict ? `replay ${verdict.state}` : "replay", hidden: verdict === null },
          verdict?.message,
          verdict && verdict.step > 0 && [" ", h("button", { type: "button", class: "plain", "data-key": "go", on: { click: () => this.choose(verdict.step) } }, `Show step ${verdict.step}`)])),
      h("div", { class: "run-body" },
        h("div", { class: "run-way" },
          diagram(trace, step?.n ?? 0, this.#narrow.matches, (n) => this.choose(n)),
          this.#timeline(steps, trace),
          steps.length > 1 && h("p", { class: "quiet keys" }, h("kbd", null, "←"), " ", h("kbd", null, "→"), " step through the run")),
        h("div", { class: "run-step" },
          step && h("div", { class: "step-head" },
            h("h2", null, `Step ${step.n}: ${nodeNames[step.node]}`),
            h("span", { class: "quiet numbers" }, `${this.#at + 1} of ${steps.length} · ${duration(step.ms)}`),
            h("span", { class: "step-moves" },
              button("previous", "Previous", () => this.key("ArrowLeft"), { disabled: this.#at === 0 }),
              button("next", "Next", () => this.key("ArrowRight"), { disabled: this.#at === steps.length - 1 }))),
          stepView({
            trace, index: this.#at, chunks: shown.chunks, popover: this.#popover,
            allCandidates: this.#full.has(this.#at),
            showAllCandidates: () => {
              this.#full.add(this.#at);
              this.#draw();
            },
            differing: verdict?.state === "different" && verdict.step === step?.n ? verdict.effect : 0,
          })),
        h("div", { class: "run-rest" }, answer(trace), about(trace, recorded))));
  }

  #timeline(steps: readonly Step[], trace: Trace): HTMLElement {
    const end = Math.max(trace.totals.ms, ...steps.map((step) => step.started_ms + step.ms), 1);
    return h("ol", { class: "timeline", "aria-label": "Steps" }, steps.map((step, i) => {
      const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("span"));
      const inner = bar.firstElementChild as HTMLElement;
      const width = Math.min(1, Math.max(leastBar, step.ms / end));
      inner.style.left = `${100 * Math.max(0, Math.min(step.started_ms / end, 1 - width))}%`;
      inner.style.width = `${100 * width}%`;
      return h("li", null,
        h("button", { type: "button", class: "timeline-step", "data-key": `step-${i}`, "aria-current": i === this.#at ? "step" : null, on: { click: () => this.#go(i) } },
          h("span", { class: "step-n" }, String(step.n)),
          h("span", { class: "step-name" }, nodeNames[step.node]),
          h("span", { class: "step-summary" }, summary(step)),
          h("span", { class: "step-ms numbers" }, duration(step.ms)),
          bar));
    }));
  }
}

function answer(trace: Trace): Child {
  if (!trace.answer) return null;
  const cited = numberCitations(trace.answer, trace.citations.map((citation) => citation.chunk_id));
  return h("section", { class: "run-answer", "aria-label": "Answer" },
    h("h3", null, trace.status === "refused" ? "Refusal" : "Answer"),
    h("div", { class: "answer-text", dir: "auto" }, renderMarkdown(cited, (number) => h("span", { class: "cite", title: cited.ids[number - 1] }, String(number)))),
    cited.ids.length > 0 && h("ol", { class: "cited" }, cited.ids.map((id) => {
      const citation = trace.citations.find((each) => each.chunk_id === id);
      return h("li", null, pageLink(citation?.url ?? "", {}, citation?.title || id), " ", h("code", { class: "where" }, id));
    })));
}

function about(trace: Trace, recorded: TraceDocument["recorded"]): HTMLElement {
  const entry = (name: string, value: string | null | undefined): Child => value && [h("dt", null, name), h("dd", null, value)];
  const models = Object.entries(trace.models).filter(([, model]) => model).map(([role, model]) => `${role} ${model}`).join(", ");
  return h("details", { class: "run-about", "data-fold": "about" },
    h("summary", null, "Run, settings and index"),
    h("dl", { class: "facts" },
      recorded && entry("Recorded", visible([recorded.at, recorded.by && `by ${recorded.by}`].filter(Boolean).join(" "))),
      entry("Run", trace.id), entry("Started", trace.started_at), entry("Engine", `${trace.engine.version} (${trace.engine.target})`), entry("Models", models),
      entry("Index", trace.index_digest), entry("Corpus", trace.corpus_revision),
      Object.entries(trace.stages).map(([stage, value]) => entry(`Stage ${stage}`, value)),
      Object.entries(trace.config).map(([name, value]) => entry(name.toUpperCase(), String(value)))));
}
