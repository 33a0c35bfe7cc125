// What a documentation lacks (`polygraph gaps`, assets/schemas/gaps.schema.json): a list with its filters, and each gap with the
// questions that make it, why they were refused and what was found instead.

import { h, webAddress, type Child } from "../ask/dom.ts";
import { plural } from "../ask/words.ts";
import type { Column } from "./grid.ts";
import { ListSection, type Filter } from "./list-section.ts";
import { number, object, objects, text, type Json } from "./shapes.ts";
import { data, decimal, none, visible, whole } from "./words.ts";

export interface Gap {
  /** Its place in the file, from 1: what the address names. */
  id: string;
  label: string;
  count: number;
  firstSeen: string;
  lastSeen: string;
  kind: string;
  nearness: number | null;
  measure: string;
  questions: { text: string; count: number }[];
  reasons: { text: string; count: number }[];
  detail: string;
  closest: { title: string; url: string; count: number }[];
}

const counted = (value: unknown, key: string): { text: string; count: number }[] => objects(value).map((each) => ({ text: text(each[key]), count: number(each["count"]) ?? 0 }));

export function readGaps(head: Json): Gap[] {
  return objects(head["gaps"]).map((gap, i) => ({
    id: String(i + 1),
    label: text(gap["label"]),
    count: number(gap["count"]) ?? 0,
    firstSeen: text(gap["first_seen"]),
    lastSeen: text(gap["last_seen"]),
    kind: text(gap["kind"]) || "unknown",
    nearness: number(object(gap["nearness"])["value"]),
    measure: text(object(gap["nearness"])["measure"]),
    questions: counted(gap["questions"], "question"),
    reasons: counted(gap["reasons"], "reason"),
    detail: text(gap["detail"]),
    closest: objects(gap["closest"]).map((page) => ({ title: text(page["title"]), url: text(page["url"]), count: number(page["count"]) ?? 0 })),
  }));
}

const kindNames: Record<string, string> = { near_miss: "near miss", out_of_scope: "out of scope", unknown: "not looked up" };
const kindName = (kind: string): string => kindNames[kind] ?? kind;

const columns: Column<Gap>[] = [
  { key: "count", name: "Refused", width: "4.8rem", numeric: true, cell: (gap) => whole(gap.count), value: (gap) => gap.count },
  { key: "label", name: "Question", width: "minmax(10rem, 4fr)", cell: (gap) => data(gap.label), value: (gap) => gap.label.toLowerCase() },
  { key: "questions", name: "Asked as", width: "5.2rem", numeric: true, from: 760, cell: (gap) => whole(gap.questions.length), value: (gap) => gap.questions.length },
  { key: "kind", name: "Kind", width: "7.5rem", from: 560, cell: (gap) => kindName(gap.kind), value: (gap) => gap.kind },
  { key: "near", name: "Nearest", width: "5rem", numeric: true, from: 900, cell: (gap) => decimal(gap.nearness, 2), value: (gap) => gap.nearness },
  { key: "page", name: "Closest page", width: "minmax(8rem, 2fr)", from: 900, cell: (gap) => data(gap.closest[0]?.title ?? ""), value: (gap) => gap.closest[0]?.title.toLowerCase() ?? null },
  { key: "seen", name: "Last seen", width: "6.5rem", from: 640, cell: (gap) => data(gap.lastSeen), value: (gap) => gap.lastSeen || null },
];

const filters: Filter<Gap>[] = [
  { key: "kind", name: "Kind", value: (gap) => kindName(gap.kind) },
  { key: "page", name: "Closest page", value: (gap) => gap.closest[0]?.title ?? null },
  { key: "reason", name: "Refused because", value: (gap) => gap.reasons[0]?.text ?? null },
];

export function gapsSection(gaps: readonly Gap[], open: (gap: Gap) => void): ListSection<Gap> {
  return new ListSection<Gap>({ title: "Gaps", unit: ["gap", "gaps"], rows: gaps, columns, filters, text: (gap) => gap.questions.map((question) => question.text).join("\n"), open });
}

const total = (name: string, value: Child): Child => h("div", null, h("dt", null, name), h("dd", { class: "numbers" }, value));

export function gapsView(head: Json, gaps: readonly Gap[]): Child[] {
  const grouped = object(head["grouped_by"]);
  const why = text(grouped["why"]);
  return [
    h("h1", null, "Documentation gaps"),
    h("p", { class: "about-report quiet" }, "Refused questions", text(head["corpus"]) && [" about ", data(text(head["corpus"]))], `, grouped by ${visible(text(grouped["measure"])) || "meaning"} at ${decimal(number(grouped["threshold"]), 2)}`),
    why && h("p", { class: "notice" }, "Grouped by words, not by meaning: ", data(why)),
    h("dl", { class: "totals" },
      total("Asked", whole(number(head["asked"]))), total("Refused", whole(number(head["refused"]))), total("Distinct questions", whole(number(head["distinct_questions"]))),
      total("Gaps", whole(gaps.length)), total("Near misses", whole(gaps.filter((gap) => gap.kind === "near_miss").length)),
      total("Out of scope", whole(gaps.filter((gap) => gap.kind === "out_of_scope").length))),
  ];
}

export function gapView(gap: Gap): Child[] {
  const list = (heading: string, entries: Child[]): Child => entries.length > 0 && h("section", null, h("h3", null, heading), h("ul", { class: "counted" }, entries));
  const times = (n: number): Child => n > 1 && h("span", { class: "quiet numbers" }, ` × ${whole(n)}`);
  const seen = gap.firstSeen === gap.lastSeen ? gap.lastSeen : `${gap.firstSeen} to ${gap.lastSeen}`;
  const why = gap.kind === "near_miss" ? "There are passages about it; they do not say it." : gap.kind === "out_of_scope" ? "Nothing near it was found." : "It was looked up in no index.";
  return [
    h("p", null, plural(gap.count, "refusal"), seen && [", ", data(seen)], `. ${why} Nearest by ${visible(gap.measure) || none}: ${decimal(gap.nearness, 2)}.`),
    list("Asked as", gap.questions.map((question) => h("li", null, data(question.text), times(question.count)))),
    list("Refused because", gap.reasons.map((reason) => h("li", null, data(reason.text), times(reason.count)))),
    gap.detail && h("section", null, h("h3", null, "What the grader said"), h("p", null, data(gap.detail))),
    list("Found instead", gap.closest.map((page) => {
      const href = webAddress(page.url);
      return h("li", null, href ? h("a", { href, rel: "noreferrer" }, data(page.title || page.url)) : data(page.title), times(page.count));
    })),
  ];
}
