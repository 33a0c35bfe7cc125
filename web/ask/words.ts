// How figures and names of the field read on the page.

import type { Node, Trace } from "../engine/trace.ts";

const whole = new Intl.NumberFormat("en");
const fixed2 = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const fixed3 = new Intl.NumberFormat("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });

export const count = (n: number): string => whole.format(n);
export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

/** Milliseconds; from ten seconds on in seconds. */
export function duration(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 || ms === 0 ? `${whole.format(Math.round(ms))} ms` : `${ms.toFixed(1)} ms`;
}

export const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(bytes < 10e6 ? 1 : 0);
export const score = (value: number): string => (Math.abs(value) >= 10 ? fixed2 : fixed3).format(value).replace("-", "\u2212");
export const percent = (share: number): string => `${Math.round(share * 100)} %`;

export const nodeNames: Record<Node, string> = {
  retrieve: "Retrieve",
  grade_context: "Grade",
  rewrite_query: "Rewrite",
  generate: "Generate",
  refuse: "Refuse",
};

/** What the extractive grader looks at, for people. */
export const featureNames: Record<string, string> = {
  s1: "cross-encoder logit of the best passage",
  covp: "share of the question's words, by rarity, on its page",
  cosz: "similarity of the best passage, in standard deviations over all",
  namemissp: "rarest name in the question missing from that page",
};

export type StageName = keyof Trace["stages"];
export const stageNames: Record<StageName, string> = { lexical: "lexical", dense: "dense", rerank: "rerank" };

/** A stage's entry is "used", "used: 7 of 10 scored" and the like, or the reason why it was not used. */
export const stageUsed = (entry: string): boolean => /^used\b/.test(entry);

/** How far a stage got where it stopped early: "3 of 10"; empty otherwise. */
export const stageExtent = (entry: string): string => /^used: (\d+ of \d+)\b/.exec(entry)?.[1] ?? "";

/** Dollars, with as many places as a small amount needs. */
export const dollars = (usd: number): string => `${usd >= 0.01 ? usd.toFixed(4) : usd.toFixed(6)} USD`;

const hour = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const dayAndHour = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** A time to come, by the visitor's clock; empty where it is past or none. */
export function comingTime(iso: string | null, now = new Date()): string {
  const time = new Date(iso ?? Number.NaN);
  if (Number.isNaN(time.getTime()) || time <= now) return "";
  return time.toDateString() === now.toDateString() ? `at ${hour.format(time)}` : `on ${dayAndHour.format(time)}`;
}

export function date(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? "" : time.toISOString().slice(0, 10);
}

function headings(title: string, heading: string): string[] {
  if (!heading || heading === title) return [title];
  const parts = heading.split(" > ");
  return parts[0] === title ? parts : [title, ...parts];
}

/** Title and headings as one path, without a heading that repeats the title. */
export const path = (title: string, heading: string): string => headings(title, heading).join(" › ");

/** The same in two: the innermost heading, and where it stands. */
export function nameAndPlace(title: string, heading: string): { name: string; place: string } {
  const parts = headings(title, heading);
  return { name: parts.at(-1) ?? title, place: parts.slice(0, -1).join(" › ") };
}
