// How the evaluation that a site ships was made, and whether it is the site's.

import { h, type Child } from "../ask/dom.ts";
import { object, text, type Json } from "./shapes.ts";
import { data, visible } from "./words.ts";

const fact = (name: string, value: Child): Child => [h("dt", null, name), h("dd", null, value)];
const day = (time: string): string => time.slice(0, 16).replace("T", " ");

/** @param identity of the index that this page has; empty: none */
export function madeView(document: Json, reports: readonly Json[], identity: string): Child {
  const made = object(document["made"]);
  const of = text(made["index_digest"]);
  if (!of) return null;
  const golden = object(made["golden"]);
  const [from, to] = [text(made["begun_at"]), text(made["last_item_at"])];
  return h("section", { "aria-labelledby": "made-title" },
    h("h2", { id: "made-title" }, "How it was made"),
    h("dl", { class: "facts made" },
      fact("Made", [data(day(from)), to && [" to ", data(from.slice(0, 10) === to.slice(0, 10) ? to.slice(11, 16) : day(to))], " UTC, natively, by Polygraph ", data(text(made["program"])), text(made["program_digest"]) && [" (build ", h("code", null, visible(text(made["program_digest"]))), ")"]]),
      fact("Command", h("code", null, visible(text(made["command"])))),
      fact("Index", [h("code", null, visible(of)), text(made["corpus_revision"]) && [" of the revision ", data(text(made["corpus_revision"]))], identity && (of === identity ? ", this site's own" : ", not this site's")]),
      fact("Golden set", [data(text(golden["name"])), " · ", data(text(golden["source"])), " · ", h("code", null, visible(text(golden["digest"])))]),
      fact("Passages and answers", "Not part of the file: when an item is opened, this browser's engine makes its run again from what the models answered then, over the site's index.")),
    configurations(reports));
}

/** What the configurations differ in, side by side. */
function configurations(reports: readonly Json[]): Child {
  const all = reports.map((report) => object(report["config"]));
  const names = [...new Set(all.flatMap((config) => Object.keys(config)))];
  if (names.length === 0) return null;
  return h("details", null, h("summary", null, "Configurations"),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Configurations" }, h("table", { class: "figures-table side-by-side" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Setting"), reports.map((report) => h("th", { scope: "col", class: "number" }, data(text(report["pipeline_name"])))))),
      h("tbody", null, names.map((name) => h("tr", null, h("th", { scope: "row" }, h("code", null, visible(name))), all.map((config) => h("td", { class: "number" }, data(String(config[name] ?? ""))))))))));
}

/** The sentence at the head of a report over another index; null: it is the site's own. */
export function otherIndexNotice(document: Json, identity: string): Child {
  const of = text(object(document["made"])["index_digest"]);
  if (!of || !identity || of === identity) return null;
  return h("p", { class: "notice warn" }, "These figures belong to another index than this site's: ", h("code", null, visible(of)), " instead of ", h("code", null, visible(identity)), ". Passages, answers and traces of its items are not shown.");
}

