// Many traces as a list that holds only the rows that are in sight. One row is chosen at a time: arrow keys move, Enter opens.

import { count, duration, plural } from "../ask/words.ts";
import { fill, h } from "../ask/dom.ts";
import type { Filter, Row } from "./lines.ts";

export interface ListActions {
  filter(filter: Filter): void;
  open(row: Row): void;
}

/** Rows beyond the edges that are made in advance, so that a quick turn of the wheel shows no gap. */
const overscan = 12;
/** Browsers lay out no taller element reliably; past it a row stands for less than its height. */
const tallest = 16e6;

const statusNames: Record<Row["status"], string> = { answered: "answered", refused: "refused", failed: "failed", running: "unfinished", broken: "broken" };

export class ListView {
  readonly #root: HTMLElement;
  readonly #actions: ListActions;
  readonly #head = h("p", { class: "list-head" });
  readonly #banner = h("p", { class: "banner", hidden: true });
  readonly #scroller = h("div", { class: "rows", role: "listbox", tabindex: 0, "aria-label": "Traces" });
  readonly #spacer = h("div", { class: "rows-all", role: "presentation" });
  readonly #text = h("input", { type: "search", name: "text", placeholder: "Words in question or answer", autocomplete: "off", "aria-label": "Words in question or answer" });
  readonly #status = h("select", { name: "status" });
  readonly #steps = h("select", { name: "steps" });
  #rows: readonly Row[] = [];
  #shown: Uint32Array | null = null;
  #chosen = 0;
  #frame = 0;
  #timer = 0;
  #rowHeight = 0;
  #counted = -1;

  constructor(root: HTMLElement, actions: ListActions) {
    this.#root = root;
    this.#actions = actions;
    this.#scroller.append(this.#spacer);
    const form = h("form", { class: "filters", role: "search", "aria-label": "Filter" },
      this.#text,
      h("label", null, h("span", null, "Status "), this.#status),
      h("label", null, h("span", null, "Steps "), this.#steps));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      window.clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => actions.filter(this.filter), 120);
    });
    root.append(this.#banner, form, this.#head, this.#scroller);
    this.#scroller.addEventListener("scroll", () => this.#soon(), { passive: true });
    this.#scroller.addEventListener("keydown", (event) => this.#key(event));
    this.#scroller.addEventListener("click", (event) => {
      const at = (event.target as Element).closest<HTMLElement>("[data-at]")?.dataset["at"];
      if (at === undefined) return;
      this.#choose(Number(at));
      this.#open();
    });
    new ResizeObserver(() => {
      this.#rowHeight = 0;
      this.#soon();
    }).observe(this.#scroller);
    this.#choices();
  }

  get filter(): Filter {
    return { text: this.#text.value, status: this.#status.value, steps: Number(this.#steps.value) };
  }

  get filtering(): boolean {
    const { text, status, steps } = this.filter;
    return text.trim() !== "" || status !== "" || steps > 0;
  }

  focus(): void {
    this.#scroller.focus();
  }

  focusFilter(): void {
    this.#text.focus();
    this.#text.select();
  }

  clear(): void {
    this.#text.value = "";
    this.#status.value = this.#steps.value = "";
    this.#chosen = 0;
    this.#scroller.scrollTop = 0;
    this.show([], null, 1);
  }

  setText(text: string): void {
    this.#text.value = text;
    this.#actions.filter(this.filter);
  }

  /** Words above the list while a second trace is being chosen. */
  banner(text: string): void {
    this.#banner.textContent = text;
    this.#banner.hidden = text === "";
  }

  /** @param shown positions that the filter lets through; null: all. @param read share of the files that has been read */
  show(rows: readonly Row[], shown: Uint32Array | null, read: number): void {
    this.#rows = rows;
    this.#shown = shown;
    this.#chosen = Math.max(0, Math.min(this.#chosen, this.#length - 1));
    if (rows.length !== this.#counted) this.#choices();
    const of = shown ? `${count(shown.length)} of ${plural(rows.length, "trace")}` : plural(rows.length, "trace");
    const broken = rows.length > 0 && this.#broken > 0 ? ` · ${count(this.#broken)} broken` : "";
    this.#head.textContent = `${of}${broken}${read < 1 ? ` · reading, ${Math.floor(read * 100)} %` : ""}`;
    this.#draw();
  }

  #broken = 0;

  #choices(): void {
    const statuses = new Map<string, number>();
    const steps = new Map<number, number>();
    for (const row of this.#rows) {
      statuses.set(row.status, (statuses.get(row.status) ?? 0) + 1);
      if (row.status !== "broken") steps.set(row.steps, (steps.get(row.steps) ?? 0) + 1);
    }
    this.#broken = statuses.get("broken") ?? 0;
    this.#counted = this.#rows.length;
    const put = (select: HTMLSelectElement, entries: [value: string, label: string][]): void => {
      const { value } = select;
      fill(select, h("option", { value: "" }, "any"), entries.map(([each, label]) => h("option", { value: each }, label)));
      select.value = entries.some(([each]) => each === value) ? value : "";
    };
    put(this.#status, (Object.keys(statusNames) as Row["status"][]).filter((status) => statuses.has(status)).map((status) => [status, `${statusNames[status]} (${count(statuses.get(status)!)})`]));
    put(this.#steps, [...steps].sort(([a], [b]) => a - b).map(([n, many]) => [String(n), `${n} (${count(many)})`]));
  }

  get #length(): number {
    return this.#shown ? this.#shown.length : this.#rows.length;
  }

  #at(position: number): Row | undefined {
    return this.#rows[this.#shown ? this.#shown[position]! : position];
  }

  #soon(): void {
    this.#frame ||= window.requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw(): void {
    const height = (this.#rowHeight ||= Number.parseFloat(getComputedStyle(this.#scroller).getPropertyValue("--row")) || 48);
    const length = this.#length;
    const whole = Math.min(length * height, tallest);
    this.#spacer.style.height = `${whole}px`;
    const view = this.#scroller.clientHeight;
    // In a list that is too tall, the share scrolled decides which rows are in sight.
    const top = this.#scroller.scrollTop;
    const first = length * height <= tallest ? top / height : (top / Math.max(1, whole - view)) * Math.max(0, length - view / height);
    const from = Math.max(0, Math.floor(first) - overscan);
    const to = Math.min(length, Math.ceil(first + view / height) + overscan);
    const rows: HTMLElement[] = [];
    for (let position = from; position < to; ++position) {
      const row = this.#at(position);
      if (!row) continue;
      const element = this.#row(row, position);
      element.style.top = `${top + (position - first) * height}px`;
      rows.push(element);
    }
    fill(this.#spacer, rows, length === 0 && h("p", { class: "quiet none-fits" }, this.#rows.length > 0 ? "No trace fits the filter." : ""));
    const chosen = this.#spacer.querySelector<HTMLElement>('[aria-selected="true"]');
    if (chosen) this.#scroller.setAttribute("aria-activedescendant", chosen.id);
    else this.#scroller.removeAttribute("aria-activedescendant");
  }

  #row(row: Row, position: number): HTMLElement {
    const broken = row.status === "broken";
    return h("div", {
      class: `row ${row.status}`, role: "option", id: `row-${position}`, "data-at": position, "aria-selected": String(position === this.#chosen),
      "aria-setsize": this.#length, "aria-posinset": position + 1,
    },
      h("span", { class: "row-what", dir: "auto" }, broken ? `Line ${count(row.line)}: ${row.problem}` : row.question),
      h("span", { class: "row-facts" },
        h("span", { class: `status ${row.status}` }, statusNames[row.status]),
        h("span", { class: "numbers quiet" }, !broken && `${plural(row.steps, "step")} · ${duration(row.ms)}`)));
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / (this.#rowHeight || 48)) - 1);
    const move: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.#length, End: this.#length };
    if (event.key in move) {
      event.preventDefault();
      this.#choose(this.#chosen + move[event.key]!);
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.#open();
    }
  }

  #choose(position: number): void {
    const length = this.#length;
    this.#chosen = Math.max(0, Math.min(position, length - 1));
    const height = this.#rowHeight || 48;
    const view = this.#scroller.clientHeight;
    if (length * height <= tallest) {
      const top = this.#chosen * height;
      if (top < this.#scroller.scrollTop) this.#scroller.scrollTop = top;
      else if (top + height > this.#scroller.scrollTop + view) this.#scroller.scrollTop = top + height - view;
    } else {
      this.#scroller.scrollTop = (this.#chosen / Math.max(1, length - view / height)) * (tallest - view);
    }
    this.#draw();
  }

  #open(): void {
    const row = this.#at(this.#chosen);
    if (row) this.#actions.open(row);
  }

  set hidden(hidden: boolean) {
    this.#root.hidden = hidden;
    if (!hidden) this.#soon();
  }
}
