// Two runs side by side: what holds for the whole, then step by step, aligned by node. What differs is marked and said.

import { fill, h, type Child } from "../ask/dom.ts";
import { wordDiff } from "../ask/word-diff.ts";
import { duration, nodeNames, plural } from "../ask/words.ts";
import { totals } from "../ask/answer.ts";
import type { Step, Trace } from "../engine/trace.ts";
import { alignSteps, compareRuns, compareSteps, type Line, type Value } from "./compare.ts";

export interface Side {
  trace: Trace;
  /** Who this is: “this trace”, “fork from step 2” … */
  label: string;
  note: string;
}

/** Longer texts are shown as they are: a word-by-word difference of them says little and takes long. */
const mostWords = 1200;

export class CompareView {
  readonly #root: HTMLElement;
  #onlyDifferences = true;
  #sides: readonly [Side, Side] | null = null;
  readonly #actions: { close(): void; open(side: 0 | 1): void };

  constructor(root: HTMLElement, actions: { close(): void; open(side: 0 | 1): void }) {
    this.#root = root;
    this.#actions = actions;
  }

  /** Says in one sentence what differs. */
  show(a: Side, b: Side): string {
    this.#sides = [a, b];
    return this.#draw();
  }

  #draw(): string {
    if (!this.#sides) return "";
    const [a, b] = this.#sides;
    const runs = compareRuns(a.trace, b.trace);
    const pairs = alignSteps(a.trace.steps, b.trace.steps).map((pair) => ({ pair, lines: compareSteps(pair) }));
    const differing = pairs.filter(({ pair: [x, y], lines }) => !x || !y || lines.some((line) => line.differs)).length;
    const said = differing === 0 && !runs.some((line) => line.differs)
      ? "Both runs decided the same at every step."
      : `${plural(differing, "step")} of ${pairs.length} ${differing === 1 ? "differs" : "differ"}; ${a.trace.status === b.trace.status ? `both ended ${a.trace.status}` : `${a.label} ended ${a.trace.status}, ${b.label} ${b.trace.status}`}.`;
    const box = h("input", { type: "checkbox", checked: this.#onlyDifferences, "data-key": "only" });
    box.addEventListener("change", () => {
      this.#onlyDifferences = box.checked;
      this.#draw();
      this.#root.querySelector<HTMLElement>('[data-key="only"]')?.focus();
    });
    fill(this.#root,
      h("div", { class: "compare-head" },
        h("h2", { tabindex: -1, id: "compare-title" }, "Side by side"),
        h("p", { class: "compare-said" }, said),
        h("p", { class: "compare-actions" },
          h("label", null, box, " Only differences"),
          h("button", { type: "button", on: { click: () => this.#actions.close() } }, "Back"))),
      a.trace.question !== b.trace.question && h("p", { class: "notice" }, "These runs answer different questions."),
      this.#table("The whole run", runs, [a.trace, b.trace], h("tr", { class: "sides", role: "row" },
        h("td", { role: "cell", class: "line-name" }, ""),
        this.#sides.map((side, i) => h("th", { scope: "col", role: "columnheader", class: "side" },
          h("button", { type: "button", class: "plain", on: { click: () => this.#actions.open(i as 0 | 1) } }, side.label),
          h("span", { class: "quiet numbers" }, totals(side.trace)),
          side.note && h("span", { class: "quiet" }, side.note))))),
      pairs.map(({ pair, lines }) => this.#table(titleOf(pair), lines, pair)));
    return said;
  }

  #table(title: string, lines: readonly Line[], sides: readonly [Trace | Step | null, Trace | Step | null], head?: HTMLElement): HTMLElement {
    const differs = lines.some((line) => line.differs);
    const shown = this.#onlyDifferences ? lines.filter((line) => line.differs) : lines;
    const [a, b] = sides;
    const alone = !a || !b;
    const steps = [a, b].some((side) => side && "node" in side);
    return h("table", { class: alone || differs ? "compare differs" : "compare", role: "table" },
      h("caption", null, h("span", { class: "compare-title" }, title), " ",
        h("span", { class: "tag" }, alone ? "in one run only" : differs ? "differs" : ""), !alone && !differs && h("span", { class: "quiet" }, "the same")),
      h("colgroup", null, h("col", { class: "col-name" }), h("col"), h("col")),
      h("thead", { role: "rowgroup" }, head ?? h("tr", { class: "sr-only", role: "row" }, ["Field", this.#sides![0].label, this.#sides![1].label].map((name) => h("th", { scope: "col", role: "columnheader" }, name)))),
      h("tbody", { role: "rowgroup" },
        steps && !this.#onlyDifferences && h("tr", { role: "row" }, h("th", { scope: "row", role: "rowheader", class: "line-name" }, "Time"), [a, b].map((side) => h("td", { role: "cell", class: "numbers" }, side && "ms" in side ? duration(side.ms) : "–"))),
        shown.map((line) => lineRow(line, alone))));
  }
}

function titleOf([a, b]: readonly [Step | null, Step | null]): string {
  const name = nodeNames[(a ?? b)!.node];
  const of = (step: Step | null): string => (step ? String(step.n) : "–");
  return a && b && a.n === b.n ? `Step ${a.n}: ${name}` : `Steps ${of(a)} and ${of(b)}: ${name}`;
}

/** @param alone a step that only one run made: there is nothing to mark in it. */
function lineRow(line: Line, alone: boolean): HTMLElement {
  const differs = line.differs && !alone;
  const [a, b] = cells({ ...line, differs });
  return h("tr", { class: differs ? "differs" : null, role: "row" },
    h("th", { scope: "row", role: "rowheader", class: "line-name" }, line.name, differs && h("span", { class: "sr-only" }, " (differs)")),
    h("td", { role: "cell" }, a),
    h("td", { role: "cell" }, b));
}

const none = (): Child => [h("span", { "aria-hidden": "true", class: "quiet" }, "–"), h("span", { class: "sr-only" }, "none")];
const isEmpty = (value: Value | null): boolean => value === null || value.length === 0;

function cells({ a, b, as, differs }: Line): [Child, Child] {
  const plain = (value: Value | null): Child => (isEmpty(value) ? none() : typeof value === "string" ? value : h("ol", { class: "ids" }, value!.map((each) => h("li", null, each))));
  if (!differs) return [plain(a), plain(b)];
  if (as === "words" && typeof a === "string" && typeof b === "string" && a && b && a.split(/\s+/).length <= mostWords && b.split(/\s+/).length <= mostWords) {
    const changes = wordDiff(a, b);
    const side = (other: "removed" | "added", tag: "ins" | "del"): Child => changes.filter(({ kind }) => kind === "same" || kind === other).map(({ kind, text }) => [kind === "same" ? text : h(tag, null, text), " "]);
    return [h("span", { class: "diff" }, side("removed", "del")), h("span", { class: "diff" }, side("added", "ins"))];
  }
  if (as === "items" && (Array.isArray(a) || a === null) && (Array.isArray(b) || b === null)) return [items(a, b, "del"), items(b, a, "ins")];
  return [isEmpty(a) ? none() : h("span", { class: "diff" }, h("del", null, plain(a))), isEmpty(b) ? none() : h("span", { class: "diff" }, h("ins", null, plain(b)))];
}

/** Items that the other side lacks are marked; those that stand elsewhere there say where. */
function items(list: readonly string[] | null, other: readonly string[] | null, tag: "ins" | "del"): Child {
  if (!list || list.length === 0) return none();
  return h("ol", { class: "ids diff" }, list.map((each, i) => {
    const there = other?.indexOf(each) ?? -1;
    if (there < 0) return h("li", null, h(tag, null, each));
    return h("li", null, each, there !== i && h("span", { class: "move" }, ` ${tag === "ins" ? "was" : "then"} ${there + 1}`));
  }));
}
