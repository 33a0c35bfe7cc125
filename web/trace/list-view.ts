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

/** A row's element and its parts; `y` is where it stands. */
interface RowElement {
  root: HTMLElement;
  what: HTMLElement;
  status: HTMLElement;
  numbers: HTMLElement;
  y: number;
}

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
  #view = 0;
  #whole = -1;
  #counted = -1;
  readonly #none = h("p", { class: "quiet none-fits", hidden: true });
  /** The rows that are made, by their position. */
  readonly #made = new Map<number, RowElement>();
  #marked: HTMLElement | null = null;

  constructor(root: HTMLElement, actions: ListActions) {
    this.#root = root;
    this.#actions = actions;
    this.#scroller.append(this.#spacer);
    this.#spacer.append(this.#none);
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
      this.#rowHeight = this.#view = 0;
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
    this.#draw(true);
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

  /** @param anew the rows in sight may have changed, not only which of them are */
  #draw(anew = false): void {
    // What is asked of the layout comes first: after a change it would have to be worked out on the spot.
    const height = (this.#rowHeight ||= Number.parseFloat(getComputedStyle(this.#scroller).getPropertyValue("--row")) || 48);
    const view = (this.#view ||= this.#scroller.clientHeight);
    const top = this.#scroller.scrollTop;
    const length = this.#length;
    const fits = length * height <= tallest;
    const whole = fits ? length * height : tallest;
    // In a list that is too tall, the share scrolled decides which rows are in sight.
    const first = fits ? top / height : (top / Math.max(1, whole - view)) * Math.max(0, length - view / height);
    const from = Math.max(0, Math.floor(first) - overscan);
    const to = Math.min(length, Math.ceil(first + view / height) + overscan);
    if (whole !== this.#whole) this.#spacer.style.height = `${(this.#whole = whole)}px`;
    // A frame touches the rows that come into sight alone, and they take the elements of those that went.
    const free: RowElement[] = [];
    for (const [position, element] of this.#made) {
      if (!anew && position >= from && position < to) continue;
      this.#made.delete(position);
      free.push(element);
    }
    for (let position = from; position < to; ++position) {
      const row = this.#at(position);
      if (!row) continue;
      let element = this.#made.get(position);
      if (!element) {
        element = free.pop() ?? this.#element();
        this.#made.set(position, element);
        this.#write(element, row, position);
      }
      const y = fits ? position * height : top + (position - first) * height;
      if (element.y !== y) element.root.style.top = `${(element.y = y)}px`;
    }
    for (const { root } of free) root.remove();
    this.#none.textContent = length === 0 && this.#rows.length > 0 ? "No trace fits the filter." : "";
    this.#none.hidden = length > 0;
    this.#spacer.classList.toggle("empty", length === 0);
    this.#mark();
  }

  #element(): RowElement {
    const what = h("span", { class: "row-what", dir: "auto" });
    const status = h("span");
    const numbers = h("span", { class: "numbers quiet" });
    const root = h("div", { role: "option" }, what, h("span", { class: "row-facts" }, status, numbers));
    this.#spacer.append(root);
    return { root, what, status, numbers, y: Number.NaN };
  }

  #write({ root, what, status, numbers }: RowElement, row: Row, position: number): void {
    const broken = row.status === "broken";
    root.className = `row ${row.status}`;
    root.id = `row-${position}`;
    root.dataset["at"] = String(position);
    root.ariaSelected = String(position === this.#chosen);
    root.ariaSetSize = String(this.#length);
    root.ariaPosInSet = String(position + 1);
    what.textContent = broken ? `Line ${count(row.line)}: ${row.problem}` : row.question;
    status.className = `status ${row.status}`;
    status.textContent = statusNames[row.status];
    numbers.textContent = broken ? "" : `${plural(row.steps, "step")} · ${duration(row.ms)}`;
  }

  /** Tells which row is chosen, if it is among those made. */
  #mark(): void {
    const chosen = this.#made.get(this.#chosen);
    if (this.#marked !== chosen?.root) this.#marked?.setAttribute("aria-selected", "false");
    this.#marked = chosen?.root ?? null;
    chosen?.root.setAttribute("aria-selected", "true");
    const id = chosen?.root.id ?? "";
    if (id === (this.#scroller.getAttribute("aria-activedescendant") ?? "")) return;
    if (id) this.#scroller.setAttribute("aria-activedescendant", id);
    else this.#scroller.removeAttribute("aria-activedescendant");
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
    this.#view = 0;
    if (!hidden) this.#soon();
  }
}
