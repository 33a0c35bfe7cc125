// A list with its filters: a field for text, a choice for each property that the rows differ in, and the table. Filters and
// order come from the address and go back into it.

import { fill, h } from "../ask/dom.ts";
import { count, plural } from "../ask/words.ts";
import { Grid, type Column } from "./grid.ts";
import { go, sortingOf, viewOf, type Params } from "./route.ts";
import { visible } from "./words.ts";

export interface Filter<T> {
  key: string;
  name: string;
  /** What a row has of it; null: nothing. A choice offers the values that occur. */
  value?(row: T): string | null;
  /** A filter that only links set; its value is shown as this says. */
  test?(row: T, value: string): boolean;
  said?(value: string): string;
}

export interface ListOptions<T> {
  title: string;
  unit: [one: string, many: string];
  rows: readonly T[];
  columns: readonly Column<T>[];
  filters: readonly Filter<T>[];
  /** What the text field looks in. */
  text(row: T): string;
  open(row: T): void;
}

const typingPauseMs = 120;

export class ListSection<T> {
  readonly root: HTMLElement;
  readonly grid: Grid<T>;
  readonly #options: ListOptions<T>;
  readonly #field: HTMLInputElement;
  readonly #selects = new Map<string, HTMLSelectElement>();
  readonly #count = h("p", { class: "list-count numbers", role: "status" });
  readonly #chips = h("p", { class: "chips" });
  #params: Params = {};
  #shown = "";
  #timer = 0;

  constructor(options: ListOptions<T>) {
    this.#options = options;
    this.grid = new Grid<T>(options.title, options.columns, options.open, (sorting) => this.#go({ ...this.#params, sort: sorting ? `${sorting.down ? "-" : ""}${sorting.key}` : "" }));
    this.#field = h("input", { type: "search", id: "list-text", autocomplete: "off", spellcheck: "false", placeholder: "id or question", on: { input: () => this.#typed() } });
    const choices = options.filters.filter((filter) => filter.value).flatMap((filter) => {
      const values = valuesOf(options.rows, filter);
      if (values.length < 2) return [];
      const id = `filter-${filter.key}`;
      const select = h("select", { id, on: { change: () => this.#go({ ...this.#params, [filter.key]: select.value }) } },
        h("option", { value: "" }, "all"),
        values.map(([value, rows]) => h("option", { value }, `${visible(value)} (${count(rows)})`)));
      this.#selects.set(filter.key, select);
      return [h("div", { class: "filter" }, h("label", { for: id }, filter.name), select)];
    });
    this.root = h("section", { class: "list", id: "list", "aria-labelledby": "list-title" },
      h("div", { class: "section-head" }, h("h2", { id: "list-title", tabindex: -1 }, options.title), this.#count),
      h("form", { class: "filters", role: "search", on: { submit: (event) => event.preventDefault() } },
        h("div", { class: "filter text" }, h("label", { for: "list-text" }, "Text"), this.#field), choices),
      this.#chips, this.grid.root);
  }

  /** Shows what the address asks for. */
  apply(params: Params): void {
    this.#params = Object.fromEntries(Object.entries(params).filter(([key]) => key !== "item" && key !== "list"));
    const key = JSON.stringify(this.#params);
    if (key === this.#shown) return;
    this.#shown = key;
    if (document.activeElement !== this.#field) this.#field.value = params["q"] ?? "";
    for (const [name, select] of this.#selects) select.value = params[name] ?? "";
    const words = (params["q"] ?? "").toLowerCase();
    const active = this.#options.filters.filter((filter) => params[filter.key]);
    const rows = this.#options.rows.filter((row) => active.every((filter) => fits(filter, row, params[filter.key]!)) && (words === "" || this.#options.text(row).toLowerCase().includes(words)));
    this.grid.show(rows, sortingOf(params));
    const [one, many] = this.#options.unit;
    const all = this.#options.rows.length;
    this.#count.textContent = rows.length === all ? plural(all, one, many) : `${count(rows.length)} of ${plural(all, one, many)}`;
    const chips = active.filter((filter) => !this.#selects.has(filter.key) || this.#selects.get(filter.key)!.value !== params[filter.key]);
    fill(this.#chips,
      chips.map((filter) => h("button", { type: "button", on: { click: () => this.#go({ ...this.#params, [filter.key]: "" }) } },
        visible(filter.said?.(params[filter.key]!) ?? `${filter.name}: ${params[filter.key]!.replace(/^!/, "not ")}`), h("span", { "aria-hidden": "true" }, " ×"), h("span", { class: "sr-only" }, ", take this filter away"))),
      (active.length > 0 || words !== "") && h("button", { type: "button", class: "plain", on: { click: () => this.#clear() } }, "Show all"));
  }

  #clear(): void {
    this.#field.value = "";
    this.#go({ ...viewOf(this.#params), sort: this.#params["sort"] ?? "" });
  }

  #go(params: Params): void {
    go(params, true);
  }

  #typed(): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#go({ ...this.#params, q: this.#field.value }), typingPauseMs);
  }
}

function fits<T>(filter: Filter<T>, row: T, value: string): boolean {
  if (filter.test) return filter.test(row, value);
  const own = filter.value?.(row) ?? null;
  return value.startsWith("!") ? own !== value.slice(1) : own === value;
}

/** The values that occur, the most frequent first. */
function valuesOf<T>(rows: readonly T[], filter: Filter<T>): [string, number][] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = filter.value!(row);
    if (value !== null && value !== "") counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 100);
}
