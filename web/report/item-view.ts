// One item, opened from a list: question and answers, verdicts, passages, trace. In a comparison both sides stand side by side.

import { h, webAddress, type Child } from "../ask/dom.ts";
import { numberCitations, renderMarkdown, renderPassage } from "../ask/markdown.ts";
import type { Popover } from "../ask/popover.ts";
import type { Run } from "../ask/state.ts";
import { TracePanel } from "../ask/trace-panel.ts";
import { plural } from "../ask/words.ts";
import type { Chunk } from "../engine/boundary.ts";
import type { Trace } from "../engine/trace.ts";
import { showsAsTrace } from "../providers/trace-shape.ts";
import { entries, flag, isObject, list, number, object, objects, text, texts, type Json } from "./shapes.ts";
import { breakable, category, data, decimal, ms, none, visible, yesNo } from "./words.ts";

/** Answers and passages longer than this are cut: a page that lays out a megabyte of text stands still. */
const longestText = 60_000;

export interface Side {
  /** Which pipeline; empty where there is one alone. */
  name: string;
  record: Json | null;
  /** Passages beyond those of the record, where the page has an index. */
  chunks?: ReadonlyMap<string, Chunk | null>;
  /** The trace's own bytes, where they are not the record's. */
  traceJson?: string;
  /** What the record lacks, and why. */
  note?: string;
}

export interface ItemActions {
  /** Opens a trace in the inspector; null: this page has none. */
  inspect: ((json: string) => void) | null;
}

export function itemView(sides: readonly Side[], popover: Popover, actions: ItemActions): Child {
  const first = sides.find((side) => side.record)?.record;
  if (!first) return h("p", { class: "quiet" }, "The report holds no result for this item.");
  const expected = text(first["expected_answer"]) || text(first["reference_answer"]);
  return [
    h("p", { class: "item-question" }, data(text(first["query"]) || text(first["question"]))),
    h("dl", { class: "facts" }, fact("Id", data(text(first["query_id"]) || text(first["id"]))), text(first["query_type"]) && fact("Type", data(text(first["query_type"])))),
    expected && h("section", null, h("h3", null, "Expected answer"), block(expected, texts(first["expected_chunk_ids"]))),
    h("div", { class: sides.length > 1 ? "sides" : null }, sides.map((side) => oneSide(side, popover, actions, sides.length > 1))),
  ];
}

const fact = (name: Child, value: Child): Child => [h("dt", null, name), h("dd", null, value)];

function oneSide(side: Side, popover: Popover, actions: ItemActions, titled: boolean): HTMLElement {
  const { name, record } = side;
  const title = titled && h("h3", { class: "side-title" }, data(name));
  if (!record) return h("article", null, title, h("p", { class: "quiet" }, "No result."));
  const diagnosis = object(record["diagnosis"]);
  const status = text(record["status"]) || "completed";
  const error = text(record["error"]);
  const judgeError = text(record["judge_error"]);
  const answer = text(record["generated_answer"]);
  const passages = objects(record["retrieved_chunks"]);
  const secondary = texts(diagnosis["secondary"]);
  return h("article", null,
    title,
    side.note && h("p", { class: "notice warn" }, side.note),
    h("section", { class: "diagnosis" },
      h("p", { class: "diagnosis-head" }, category(text(diagnosis["category"]), text(diagnosis["severity"]) || undefined), secondary.length > 0 && h("span", { class: "quiet" }, ` and ${secondary.map(visible).join(", ")}`),
        number(diagnosis["confidence"]) !== null && h("span", { class: "quiet numbers" }, ` confidence ${decimal(number(diagnosis["confidence"]), 2)}`)),
      text(diagnosis["reason"]) && h("p", null, data(text(diagnosis["reason"]))),
      texts(diagnosis["evidence"]).length > 0 && h("ul", { class: "evidence" }, texts(diagnosis["evidence"]).map((line) => h("li", null, data(line)))),
      text(diagnosis["action"]) && h("p", null, h("strong", null, "What to do "), data(text(diagnosis["action"])))),
    h("dl", { class: "facts" },
      fact("Status", data(status)),
      flag(record["refused"]) !== null && fact("Refused", [yesNo(flag(record["refused"])), text(record["refusal_outcome"]) && ` (${visible(text(record["refusal_outcome"]))} refusal)`]),
      text(record["agent_diagnosis"]) && fact("Agent diagnosis", breakable(text(record["agent_diagnosis"]))),
      error && fact("Error", data(error)),
      judgeError && fact("Judge error", data(judgeError))),
    h("section", null, h("h3", null, "Answer"), answer ? block(answer, passages.map((passage) => text(passage["id"]))) : h("p", { class: "quiet" }, none)),
    verdicts(record),
    passageList(record, passages),
    traceSection(record, passages, popover, side, actions, titled ? name : ""));
}

/** Text of a model as light Markdown. Its citations become marks; the ids that they name stand among the passages. */
function block(source: string, ids: readonly string[]): HTMLElement {
  const cut = source.length > longestText;
  const numbered = numberCitations(visible(cut ? source.slice(0, longestText) : source), ids);
  return h("div", { class: "answer-text", dir: "auto" },
    renderMarkdown(numbered, (n) => h("span", { class: "cite", title: numbered.ids[n - 1] ?? "" }, String(ids.indexOf(numbered.ids[n - 1] ?? "") + 1))),
    cut && h("p", { class: "quiet" }, `… and ${plural(source.length - longestText, "more character")}; the file has them all.`));
}

function verdicts(record: Json): Child {
  const metrics = entries(record["metrics"]).filter(([name]) => name !== "judge_reason");
  const latency = entries(record["latency"]);
  const reason = text(object(record["metrics"])["judge_reason"]);
  if (metrics.length === 0 && latency.length === 0) return null;
  const shown = (value: unknown): string => {
    if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) > 1 ? decimal(value, 0) : decimal(value);
    if (typeof value === "boolean") return yesNo(value);
    return typeof value === "string" ? visible(value) : value === null || value === undefined ? none : visible(JSON.stringify(value));
  };
  return h("section", null,
    h("h3", null, "Verdicts and measures"),
    reason && h("p", { class: "judge-reason" }, h("span", { class: "label" }, "Judge "), data(reason)),
    h("dl", { class: "facts columns numbers" },
      metrics.map(([name, value]) => fact(breakable(name), h("bdi", null, shown(value)))),
      latency.map(([name, value]) => fact(breakable(name), ms(number(value))))));
}

function passageList(record: Json, passages: readonly Json[]): Child {
  const expected = texts(record["expected_chunk_ids"]);
  const retrieved = new Set(passages.map((passage) => text(passage["id"])));
  const missing = expected.filter((id) => !retrieved.has(id));
  return h("section", null,
    h("h3", null, "Passages"),
    passages.length === 0 && h("p", { class: "quiet" }, "Nothing was retrieved."),
    h("ol", { class: "retrieved" }, passages.map((passage, i) => {
      const id = text(passage["id"]);
      const metadata = object(passage["metadata"]);
      const url = text(metadata["url"]);
      const href = url ? webAddress(url) : null;
      const body = text(passage["text"]).slice(0, longestText);
      const wanted = expected.includes(id);
      return h("li", { class: wanted ? "wanted" : null },
        h("details", null,
          h("summary", null,
            h("span", { class: "rank numbers" }, String(i + 1)),
            h("span", { class: "passage-id" }, data(id)),
            wanted && h("span", { class: "tag" }, "expected"),
            h("span", { class: "number quiet" }, decimal(number(passage["score"])))),
          h("div", { class: "passage-text", dir: "auto" }, body ? renderPassage(visible(body), null) : h("p", { class: "quiet" }, "The result does not hold its text.")),
          href && h("p", null, h("a", { href, target: "_blank", rel: "noopener" }, data(text(metadata["title"]) || url)))));
    })),
    missing.length > 0 && h("p", null, h("span", { class: "label" }, "Expected, not retrieved "), missing.map((id, i) => [i > 0 && ", ", data(id)])));
}

function traceSection(record: Json, passages: readonly Json[], popover: Popover, side: Side, { inspect }: ItemActions, name: string): Child {
  const given = record["trace"];
  if (!isObject(given)) return null;
  if (!showsAsTrace(given)) return h("section", null, h("h3", null, "Trace"), h("p", { class: "quiet" }, "This result's trace is not of a form that this page can show."));
  const trace = given as unknown as Trace;
  const chunks = new Map<string, Chunk | null>(side.chunks);
  const add = (id: string, passage: Json): void => {
    const title = text(passage["title"]) || id;
    chunks.set(id, { id, title, document_id: "", heading_path: text(passage["heading_path"]), url: text(passage["url"]), text: text(passage["text"]), licence: "", links: [] });
  };
  for (const passage of passages) if (!chunks.get(text(passage["id"]))) add(text(passage["id"]), { ...object(passage["metadata"]), text: passage["text"] });
  for (const step of trace.steps) if (step.node === "retrieve") for (const passage of list(step.data.passages)) add(text(object(passage)["id"]), object(passage));
  const root = h("section", { class: inspect ? "trace with-inspector" : "trace", "aria-label": name ? `Trace, ${visible(name)}` : "Trace" });
  // A run over an index that is not here: what needs the engine (replay, asking again) is the trace inspector's.
  const run: Run = { question: trace.question, state: "finished", by: null, otherIndex: true, trace, json: "", problem: null, forked: null, chunks };
  const json = side.traceJson || `${JSON.stringify(trace, null, 2)}\n`;
  const panel = new TracePanel(root, popover, { replay() {}, copyLink() {}, forkFrom() {}, inspect: () => inspect?.(json), download: () => download(trace.id, json) });
  panel.show(run, null);
  return root;
}

function download(id: string, json: string): void {
  const url = URL.createObjectURL(new Blob([json], { type: "application/json" }));
  h("a", { href: url, download: `trace-${id.replace(/[^\w-]+/g, "_").slice(0, 60)}.json` }).click();
  URL.revokeObjectURL(url);
}
