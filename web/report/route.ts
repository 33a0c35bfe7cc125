// Where one is in a report stands in the address's fragment: the view (`report`, `pair`), the filters of its list, `sort`, and
// the item that is open. So every number can be a plain link to the items behind it, back and forward work, and an address
// can be sent to somebody who has the same report. It works from a file on disk, too.

import { h, type Child } from "../ask/dom.ts";
import type { Sorting } from "./grid.ts";

export type Params = Readonly<Record<string, string>>;

/** What names a view; everything else belongs to the list in it. */
export const viewKeys = ["report", "pair", "k"] as const;

export const currentParams = (): Params => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

export function address(params: Params): string {
  const given = Object.entries(params).filter(([, value]) => value !== "");
  return `#${new URLSearchParams(given).toString()}`;
}

/** The view's keys alone. */
export const viewOf = (params: Params): Params => Object.fromEntries(viewKeys.flatMap((key) => (params[key] ? [[key, params[key]]] : [])));

export function go(params: Params, replace = false): void {
  const to = address(params);
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

export const sortingOf = (params: Params): Sorting | null => {
  const sort = params["sort"];
  return sort ? { key: sort.replace(/^-/, ""), down: sort.startsWith("-") } : null;
};

/** Makes a number lead to the items behind it: filters in, link out. Where the report has no items it stays a number. */
export type Behind = (filters: Params, label: Child, what?: string) => Child;

export const behind = (view: Params, linked: boolean): Behind => (filters, label, what) =>
  linked ? h("a", { class: "behind", href: address({ ...view, list: "1", ...filters }), "aria-label": what }, label) : label;
