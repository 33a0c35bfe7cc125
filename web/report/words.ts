// How the figures and names of a report read. What is undefined is —, never 0.

import { h, type Child } from "../ask/dom.ts";
import { count, duration } from "../ask/words.ts";
import { severityOf } from "./shapes.ts";

export const none = "—";

const fixed = new Map([0, 1, 2, 3, 4].map((digits) => [digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })]));
const minus = (shown: string): string => (/^-[0.,]*$/.test(shown) ? shown.slice(1) : shown.replace("-", "\u2212"));

export const decimal = (value: number | null, digits = 3): string => (value === null ? none : minus(fixed.get(digits)!.format(value)));
export const whole = (value: number | null): string => (value === null ? none : count(value));
export const ms = (value: number | null): string => (value === null ? none : minus(duration(value)));
export const interval = (low: number | null, high: number | null, digits = 3): string => (low === null || high === null ? none : `${decimal(low, digits)} – ${decimal(high, digits)}`);
/** The interval of a metric, written as its value is. */
export const metricInterval = (name: string, low: number | null, high: number | null): string =>
  isShare(name) || low === null || high === null ? interval(low, high) : `${metricValue(name, low)} – ${metricValue(name, high)}`;
export const share = (part: number, all: number): string => (all > 0 ? `${decimal((100 * part) / all, 1)} %` : none);
export const pValue = (p: number | null): string => (p === null ? none : p < 0.001 ? "< 0.001" : decimal(p, 3));
export const yesNo = (value: boolean | null): string => (value === null ? none : value ? "yes" : "no");

export function signed(value: number | null, digits = 3): string {
  const shown = decimal(value, digits);
  return value !== null && value > 0 && !/^[0.,]*$/.test(shown) ? `+${shown}` : shown;
}

/** Milliseconds along an axis that ends at `most`: one unit for all of it. */
export function msUpTo(most: number): (value: number) => string {
  return most < 10_000 ? (value) => `${whole(Math.round(value))} ms` : (value) => `${decimal(value / 1000, most < 20_000 && value % 1000 !== 0 ? 1 : 0)} s`;
}

/** A change of milliseconds. */
export const signedMs = (value: number | null): string => (value === null ? none : `${signed(value, Math.abs(value) >= 100 ? 0 : 1)} ms`);

/** Metrics that are no share of one: how they are written. */
export function metricValue(name: string, value: number | null): string {
  if (value === null) return none;
  if (name.endsWith("_ms")) return ms(value);
  if (name.includes("cost")) return value === 0 ? "0 USD" : `${decimal(value, 4)} USD`;
  if (isShare(name)) return decimal(value);
  return name.startsWith("tokens") || name === "rewrites" ? whole(Math.round(value)) : decimal(value, 2);
}

export const isShare = (name: string): boolean => !/_ms$|cost|^tokens|^steps|^rewrites$/.test(name);

/** `WRONG_CHUNK_RANK` as it stands, breakable after its underscores, with its severity as a mark before it. */
export function category(name: string, severity = severityOf(name) as string): Child {
  if (!name) return none;
  const mark = severity === "major" ? "●" : severity === "warning" ? "◐" : "○";
  return h("span", { class: `category ${/^(info|warning|major)$/.test(severity) ? severity : "major"}` },
    h("span", { class: "severity", "aria-hidden": "true" }, mark), h("span", { class: "category-name" }, breakable(name)));
}

/** Long names in capitals or with underscores may break after each underscore. */
export const breakable = (name: string): Child[] => visible(name).split(/(?<=_)/).flatMap((part, i) => (i === 0 ? [part] : [h("wbr"), part]));

/** Control characters as pictures, so that text which holds them shows that it does; line breaks and tabs stay. */
export const visible = (value: string): string =>
  value.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, (c) => (c === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0))));

/** Text of a report on a line with text of the page: its writing direction, and marks that change it, end with it. */
export const data = (value: string): Child => (value === "" ? none : h("bdi", null, visible(value)));
