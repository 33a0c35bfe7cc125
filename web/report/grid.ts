// A table of any length: only the rows in sight are in the page. Arrow keys, Page Up and Down, Home and End move, Enter opens;
// a click on a column's name sorts by it. In print the first rows stand there as they are, with a line that says how many more.

import { fill, h, type Child } from "../ask/dom.ts";
import { count } from "../ask/words.ts";

export interface Column<T> {
  key: string;
  name: string;
  /** As wide as CSS grid says. */
  width: string;
  numeric?: boolean;
  /** Left out: no row has anything to show in it. */
  absent?: boolean;
  /** Left out on screens narrower than this many pixels. */
  from?: number;
  cell(row: T): Child;
  /** What sorts; null comes last either way. Without it the column does not sort. */
  value?(row: T): string | number | boolean | null;
}

export interface Sorting {
  key: string;
  down: boolean;
}

const rowHeight = 34;
/** Rows kept ready above and below the ones in sight. */
const spare = 8;
/** Browsers lay nothing out beyond some 17 million pixels. */
const tallest = 15_000_000;
const printed = 1000;

let grids = 0;

export class Grid<T> {
  readonly root: HTMLElement;
  readonly #columns: readonly Column<T>[];
  readonly #open: (row: T) => void;
  readonly #sorted: (sorting: Sorting | null) => void;
  readonly #head = h("div", { class: "grid-head", role: "row", "aria-rowindex": 1 });
  readonly #body = h("div", { class: "grid-body", role: "rowgroup" });
  readonly #more = h("p", { class: "grid-more quiet" });
  readonly #box: HTMLElement;
  readonly #id = `grid-${++grids}`;
  #all: readonly T[] = [];
  #rows: readonly T[] = [];
  #sorting: Sorting | null = null;
  #shown: Column<T>[] = [];
  #active = 0;
  #from = -1;
  #to = -1;
  #printing = false;

  constructor(label: string, columns: readonly Column<T>[], open: (row: T) => void, sorted: (sorting: Sorting | null) => void) {
    this.#columns = columns.filter((column) => !column.absent);
    this.#open = open;
    this.#sorted = sorted;
    this.#box = h("div", { class: "grid", role: "grid", tabindex: 0, "aria-label": label, "data-grid": this.#id, on: { keydown: (event) => this.#key(event), click: (event) => this.#click(event) } },
      h("div", { role: "rowgroup", class: "grid-top" }, this.#head), this.#body);
    this.root = h("div", { class: "grid-frame" }, this.#box, this.#more);
    this.#box.addEventListener("scroll", () => this.#draw(), { passive: true });
    new ResizeObserver(() => this.#layout()).observe(this.#box);
    window.addEventListener("beforeprint", () => this.#print(true));
    window.addEventListener("afterprint", () => this.#print(false));
  }

  /** The rows in view order. */
  get rows(): readonly T[] {
    return this.#rows;
  }

  show(rows: readonly T[], sorting: Sorting | null): void {
    this.#all = rows;
    this.#sorting = sorting;
    this.#rows = this.#inOrder();
    this.#active = 0;
    this.#box.scrollTop = 0;
    this.#layout();
  }

  /** Makes a row the active one and brings it in sight. */
  activate(row: T): void {
    const at = this.#rows.indexOf(row);
    if (at >= 0) this.#move(at);
  }

  focus(): void {
    this.#box.focus({ preventScroll: true });
  }

  #inOrder(): readonly T[] {
    const { key, down } = this.#sorting ?? { key: "", down: false };
    const value = this.#columns.find((column) => column.key === key)?.value;
    if (!value) return this.#all;
    const keyed = this.#all.map((row, i) => ({ row, i, value: value(row) }));
    const sign = down ? -1 : 1;
    keyed.sort((a, b) => {
      if (a.value === null || b.value === null) return (a.value === null ? 1 : 0) - (b.value === null ? 1 : 0) || a.i - b.i;
      return (a.value < b.value ? -sign : a.value > b.value ? sign : 0) || a.i - b.i;
    });
    return keyed.map((entry) => entry.row);
  }

  #layout(): void {
    const width = this.#box.clientWidth;
    this.#shown = this.#columns.filter((column) => width === 0 || width >= (column.from ?? 0));
    this.#box.style.setProperty("--columns", this.#shown.map((column) => column.width).join(" "));
    this.#box.setAttribute("aria-rowcount", String(this.#rows.length + 1));
    this.#box.setAttribute("aria-colcount", String(this.#shown.length));
    fill(this.#head, this.#shown.map((column) => {
      const by = this.#sorting?.key === column.key ? (this.#sorting.down ? "descending" : "ascending") : column.value ? "none" : null;
      const arrow = by === "descending" ? " ↓" : by === "ascending" ? " ↑" : "";
      return h("span", { role: "columnheader", "aria-sort": by, class: column.numeric ? "number" : null },
        column.value ? h("button", { type: "button", class: "sort", "data-sort": column.key }, column.name, h("span", { "aria-hidden": "true" }, arrow)) : column.name);
    }));
    this.#body.style.height = this.#printing ? "auto" : `${Math.min(tallest, this.#rows.length * rowHeight)}px`;
    this.#from = this.#to = -1;
    this.#draw();
  }

  /** Where row `at` stands; lists taller than a browser can lay out are squeezed, and scroll faster. */
  #squeeze(): number {
    return Math.max(1, (this.#rows.length * rowHeight) / tallest);
  }

  #draw(): void {
    const total = this.#rows.length;
    const visible = Math.ceil(this.#box.clientHeight / rowHeight);
    const first = Math.floor((this.#box.scrollTop * this.#squeeze()) / rowHeight);
    const from = this.#printing ? 0 : Math.max(0, first - spare);
    const to = this.#printing ? Math.min(total, printed) : Math.min(total, first + visible + spare);
    if (from === this.#from && to === this.#to) return;
    this.#from = from;
    this.#to = to;
    const shift = this.#squeeze() === 1 ? 0 : this.#box.scrollTop - first * rowHeight;
    const rows: HTMLElement[] = [];
    for (let i = from; i < to; ++i) {
      const row = h("div", {
        role: "row", id: `${this.#id}-${i}`, class: i === this.#active ? "grid-row active" : "grid-row", "aria-rowindex": i + 2, "aria-selected": i === this.#active ? "true" : "false", "data-row": i,
      }, this.#shown.map((column) => h("span", { role: "gridcell", class: column.numeric ? "number" : null }, column.cell(this.#rows[i]!))));
      if (!this.#printing) row.style.transform = `translateY(${i * rowHeight + shift}px)`;
      rows.push(row);
    }
    fill(this.#body, total === 0 ? h("div", { role: "row", class: "grid-none" }, h("span", { role: "gridcell" }, "No item fits these filters.")) : rows);
    this.#more.textContent = this.#printing && total > printed ? `and ${count(total - printed)} more` : "";
    this.#mark();
  }

  #mark(): void {
    for (const row of this.#body.querySelectorAll(".active")) {
      row.classList.remove("active");
      row.setAttribute("aria-selected", "false");
    }
    const row = this.#body.querySelector(`[data-row="${this.#active}"]`);
    row?.classList.add("active");
    row?.setAttribute("aria-selected", "true");
    if (row) this.#box.setAttribute("aria-activedescendant", row.id);
    else this.#box.removeAttribute("aria-activedescendant");
  }

  #move(to: number): void {
    if (this.#rows.length === 0) return;
    this.#active = Math.max(0, Math.min(this.#rows.length - 1, to));
    const top = (this.#active * rowHeight) / this.#squeeze();
    const room = this.#box.clientHeight - this.#head.offsetHeight - rowHeight;
    if (top < this.#box.scrollTop) this.#box.scrollTop = top;
    else if (top > this.#box.scrollTop + room) this.#box.scrollTop = top - room;
    this.#draw();
    this.#mark();
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.#box) return;
    const page = Math.max(1, Math.floor(this.#box.clientHeight / rowHeight) - 2);
    const to: Record<string, number> = {
      ArrowDown: this.#active + 1, ArrowUp: this.#active - 1, PageDown: this.#active + page, PageUp: this.#active - page, Home: 0, End: this.#rows.length - 1,
    };
    const row = this.#rows[this.#active];
    if (event.key in to) this.#move(to[event.key]!);
    else if (event.key === "Enter" && row !== undefined) this.#open(row);
    else return;
    event.preventDefault();
  }

  #click(event: MouseEvent): void {
    const target = event.target as Element;
    const sort = target.closest<HTMLElement>("[data-sort]")?.dataset["sort"];
    if (sort !== undefined) {
      const now = this.#sorting?.key === sort ? this.#sorting : null;
      this.#sorted(!now ? { key: sort, down: false } : now.down ? null : { key: sort, down: true });
      this.#head.querySelector<HTMLElement>(`[data-sort="${CSS.escape(sort)}"]`)?.focus();
      return;
    }
    const at = target.closest<HTMLElement>("[data-row]")?.dataset["row"];
    const row = at === undefined ? undefined : this.#rows[Number(at)];
    if (row === undefined) return;
    this.#move(Number(at));
    this.#open(row);
  }

  #print(printing: boolean): void {
    this.#printing = printing;
    this.#layout();
  }
}
