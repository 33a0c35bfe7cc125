// The report page: opens what it is given and shows the view that the address names.

import { append, fill, h, type Child } from "../ask/dom.ts";
import { Popover } from "../ask/popover.ts";
import { toFragment } from "../trace/fragment.ts";
import { siteOfPage } from "../worker/site.ts";
import { comparisonView, outcomesSection, readOutcomes, type Outcome } from "./comparison.ts";
import { evaluationView, resultsView } from "./evaluation.ts";
import { gapsSection, gapsView, gapView, readGaps, type Gap } from "./gaps.ts";
import { itemView, type ItemActions, type Side } from "./item-view.ts";
import { itemsSection } from "./items.ts";
import { JsonProblem } from "./json-stream.ts";
import type { ListSection } from "./list-section.ts";
import { matrixView, readMatrix, type Matrix } from "./matrix.ts";
import { embedded, fetchReport, open, readWhole, type Opened } from "./open.ts";
import { madeView, otherIndexNotice } from "./made.ts";
import { LocalRun } from "./local/local-run.ts";
import { RunView } from "./local/run-view.ts";
import { completed, SiteIndex } from "./site-index.ts";
import { address, behind, currentParams, go, viewOf, type Params } from "./route.ts";
import { isObject, object, pipelineName, retrievalK, takeValues, text, type Item, type Json } from "./shapes.ts";
import { visible } from "./words.ts";

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const root = element("report");
const problem = element("problem");
const progress = element("progress");
const dialog = element<HTMLDialogElement>("item");
const back = element<HTMLAnchorElement>("back");

const itemTitle = h("h2", { id: "item-title", tabindex: -1 });
const itemBody = h("div", { class: "item-body" });
const previous = h("button", { type: "button", "aria-keyshortcuts": "ArrowLeft", on: { click: () => step(-1) } }, "Previous");
const next = h("button", { type: "button", "aria-keyshortcuts": "ArrowRight", on: { click: () => step(1) } }, "Next");
append(dialog, [
  h("div", { class: "item-head" }, itemTitle, h("span", { class: "item-actions" }, previous, next, h("button", { type: "button", on: { click: () => dialog.close() } }, "Close"))),
  itemBody,
]);
const popover = new Popover(dialog);

const site = siteOfPage();
const index = site ? new SiteIndex(site) : null;
/** A trace goes to the inspector in the address, behind the #: no server sees it. */
const actions: ItemActions = {
  inspect: site && (async (json) => {
    const fragment = await toFragment(json);
    if (fragment) window.open(new URL(`trace.html${fragment}`, document.baseURI).href, "_blank", "noopener");
    else say("This trace is too long for a link: download it and open its file in the inspector.");
  }),
};

/** What stands on the page: its list, and how an item of it opens. */
interface Shown {
  view: string;
  list: Row[] | null;
  section: ListSection<Row> | null;
  sides(id: string): Promise<Side[]>;
  /** Of items that are more than their records: what heads the dialog, and what stands in it. */
  detail?(id: string): { title: string; body: Child };
}
type Row = Item | Outcome | Gap;

let opened: Opened | null = null;
let matrix: Matrix | null = null;
let shown: Shown | null = null;
let loading: AbortController | null = null;
/** Of the shipped evaluation: one for the life of the page. */
let runHere: RunView | null = null;
let itemShown = "";

function say(message: string): void {
  problem.textContent = message;
  problem.hidden = message === "";
}

async function load(given: (signal: AbortSignal) => Promise<{ file: Blob; name: string }>, shipped = false): Promise<void> {
  loading?.abort();
  const mine = (loading = new AbortController());
  say("");
  progress.hidden = false;
  progress.textContent = "Opening …";
  let said = 0;
  try {
    const { file, name } = await given(mine.signal);
    const report = await open(file, name, (share) => {
      const percent = Math.floor(share * 100);
      if (percent !== said) progress.textContent = `Reading … ${(said = percent)} %`;
    }, mine.signal);
    if (mine.signal.aborted) return;
    if (opened && location.hash) history.replaceState(null, "", `${location.pathname}${location.search}`);
    opened = { ...report, shipped };
    element("shipped").hidden = shipped || !site?.evaluation;
    matrix = report.kind === "matrix" ? readMatrix(report.head) : null;
    shown = null;
    element("start").hidden = true;
    root.hidden = false;
    route();
  } catch (error) {
    if (!mine.signal.aborted) say(explain(error));
  } finally {
    if (loading === mine) progress.hidden = true;
  }
}

function explain(error: unknown): string {
  if (error instanceof JsonProblem) return `This file cannot be shown. ${error.message}`;
  return `The report could not be opened: ${error instanceof Error ? error.message : String(error)}`;
}

// ---- views

function route(): void {
  if (!opened) return;
  const params = currentParams();
  const view = JSON.stringify([opened.name, viewOf(params)]);
  if (!shown || shown.view !== view) {
    shown = { view, ...build(opened, params) };
    window.scrollTo(0, 0);
  }
  shown.section?.apply(params);
  if (params["list"]) {
    const title = document.getElementById("list-title");
    title?.scrollIntoView({ block: "start" });
    title?.focus({ preventScroll: true });
  }
  void showItem(params["item"] ?? "");
}

function build(report: Opened, params: Params): Omit<Shown, "view"> {
  back.hidden = !matrix || !(params["report"] || params["pair"]);
  const k = params["k"] ?? "";
  element("file").textContent = visible(report.name);
  const pair = matrix?.pairs.find(({ a, b }) => params["pair"] === `${a}-${b}`);
  const at = Number(params["report"] ?? Number.NaN);
  if (matrix && pair) {
    return comparison(pair.comparison, report, [`reports.${pair.a}`, `reports.${pair.b}`], { pair: params["pair"]!, k }, [{ report: String(pair.a) }, { report: String(pair.b) }], params);
  }
  if (matrix && matrix.reports[at]) return evaluation({ ...matrix.reports[at], pipeline_name: matrix.names[at] }, report, `reports.${at}`, { report: String(at), k }, params);
  if (matrix) {
    const itemsOf = (i: number): Item[] => valued(report, `reports.${i}`, matrix?.reports[i] ?? {});
    fill(root, otherIndexNotice(report.head, index?.identity ?? ""), matrixView(report.head, matrix, itemsOf, params), report.shipped && runHereOf(report), madeView(report.head, matrix.reports, index?.identity ?? ""));
    title(`${matrix.names.length} pipelines`);
    return { list: null, section: null, sides: async () => [] };
  }
  if (report.kind === "gaps") return gaps(report.head);
  if (report.kind === "comparison") {
    const side = params["report"];
    if (side === "a" || side === "b") return evaluation({ ...object(report.head[`pipeline_${side}_report`]), pipeline_name: report.head[`pipeline_${side}_name`] }, report, `pipeline_${side}_report`, { report: side, k }, params);
    return comparison(report.head, report, ["pipeline_a_report", "pipeline_b_report"], { k }, [{ report: "a" }, { report: "b" }], params);
  }
  return evaluation(report.head, report, "", { k }, params);
}

/** Only where the site's index is the evaluation's: other passages are another evaluation. */
function runHereOf(report: Opened): HTMLElement | null {
  if (!index || text(object(report.head["made"])["index_digest"]) !== index.identity) return null;
  if (!runHere) {
    const places = new Map<string, Item>();
    for (const [key, items] of report.items) for (const item of items) places.set(`${key}\n${item.id}`, item);
    const shipped = async (at: number, id: string): Promise<Json | null> => {
      const item = places.get(`reports.${at}\n${id}`);
      return item ? readWhole(report.file, item) : null;
    };
    const run = new LocalRun(index, report.head, shipped, () => runHere?.update());
    runHere = new RunView(report.head, run, { open: (document, name) => void load(async () => ({ file: new Blob([document], { type: "application/json" }), name })) });
  }
  return runHere.root;
}

/** The items of a report with what it says of each under each metric. */
function valued(report: Opened, key: string, head: Json): Item[] {
  const items = report.items.get(key) ?? [];
  takeValues(items, head);
  return items;
}

/** One side of an item. What the report leaves to the site's index is made here. */
async function side(name: string, item: Item | undefined, head: Json, report: Opened): Promise<Side> {
  if (!item) return { name, record: null };
  const record = await readWhole(report.file, item);
  if (!isObject(record["run"])) return { name, record };
  if (!index) return { name, record, note: "This report leaves passages, answer and trace to the index of its site." };
  try {
    return { name, ...(await completed(record, head, report.head, index)) };
  } catch (error) {
    return { name, record, note: `Passages, answer and trace cannot be shown: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function evaluation(head: Json, report: Opened, key: string, view: Params, params: Params): Omit<Shown, "view"> {
  const items = valued(report, key, head);
  const link = behind(view, items.length > 0);
  const section = items.length > 0 ? itemsSection(items, retrievalK(report.kind === "results" ? { retrieval: { k: head["k"] } } : head), (item) => go({ ...currentParams(), list: "", item: item.id })) : null;
  const whole = report.kind === "comparison" && h("p", null, h("a", { href: address({}) }, "Back to the comparison"));
  fill(root, whole, report.kind === "results" ? resultsView(head, items, link) : evaluationView(head, items, link, params),
    section?.root ?? h("section", null, h("h2", null, "Items"), h("p", { class: "quiet" }, "The report was written without its results, so there are no items to show.")));
  title(report.kind === "results" ? report.name : pipelineName(head));
  const byId = new Map(items.map((item) => [item.id, item]));
  return {
    list: items, section: section as ListSection<Row> | null,
    sides: async (id) => [await side("", byId.get(id), head, report)],
  };
}

function gaps(head: Json): Omit<Shown, "view"> {
  const all = readGaps(head);
  const section = all.length > 0 ? gapsSection(all, (gap) => go({ ...currentParams(), list: "", item: gap.id })) : null;
  fill(root, gapsView(head, all), section?.root);
  title("Documentation gaps");
  const byId = new Map(all.map((gap) => [gap.id, gap]));
  return {
    list: all, section: section as ListSection<Row> | null,
    sides: async () => [],
    detail: (id) => ({ title: byId.get(id)?.label ?? "", body: byId.has(id) ? gapView(byId.get(id)!) : null }),
  };
}

function comparison(head: Json, report: Opened, keys: [string, string], view: Params, sidesAt: [Params, Params], params: Params): Omit<Shown, "view"> {
  const sides = keys.map((key) => new Map((report.items.get(key) ?? []).map((item) => [item.id, item])));
  const queries = new Map(sides.flatMap((side) => [...side.values()].map((item): [string, string] => [item.id, item.query])));
  const outcomes = readOutcomes(head, queries);
  const names = [text(head["pipeline_a_name"]) || "Pipeline A", text(head["pipeline_b_name"]) || "Pipeline B"];
  const section = outcomes.length > 0 ? outcomesSection(outcomes, (outcome) => go({ ...currentParams(), list: "", item: outcome.id })) : null;
  const evaluations = [" Evaluations: ", h("a", { href: address(sidesAt[0]) }, "A"), ", ", h("a", { href: address(sidesAt[1]) }, "B"), "."];
  fill(root, comparisonView(head, outcomes, behind(view, outcomes.length > 0), evaluations, params), section?.root);
  title(`${names[1]} against ${names[0]}`);
  return {
    list: outcomes, section: section as ListSection<Row> | null,
    sides: (id) => Promise.all(sides.map((each, i) => side(names[i]!, each.get(id), object(head[i === 0 ? "pipeline_a_report" : "pipeline_b_report"]), report))),
  };
}

function title(of: string): void {
  document.title = `${visible(of)} · Report · Polygraph`;
}

// ---- one item

async function showItem(id: string): Promise<void> {
  itemShown = id;
  if (!id || !shown?.list?.some((row) => row.id === id)) {
    if (dialog.open) dialog.close();
    return;
  }
  const of = shown;
  if (!dialog.open) fill(itemBody, h("p", { class: "quiet" }, "Opening …"));
  let sides: Side[];
  try {
    sides = await of.sides(id);
  } catch {
    // The file was changed, moved or deleted since it was opened.
    sides = [];
    say("The file cannot be read any more. Open it again.");
  }
  if (itemShown !== id || shown !== of) return;
  const detail = of.detail?.(id);
  fill(itemTitle, h("bdi", null, visible(detail?.title ?? id)));
  dialog.classList.toggle("wide", sides.length > 1);
  fill(itemBody, detail ? detail.body : itemView(sides, popover, actions));
  itemBody.scrollTop = 0;
  const rows = of.section?.grid.rows ?? [];
  const at = rows.findIndex((row) => row.id === id);
  previous.disabled = at <= 0;
  next.disabled = at < 0 || at >= rows.length - 1;
  if (!dialog.open) dialog.showModal();
  itemTitle.focus();
}

function step(by: 1 | -1): void {
  const rows = shown?.section?.grid.rows ?? [];
  const at = rows.findIndex((row) => row.id === itemShown);
  const row = at < 0 ? undefined : rows[at + by];
  if (!row) return;
  shown?.section?.grid.activate(row);
  go({ ...currentParams(), item: row.id }, true);
}

dialog.addEventListener("close", () => {
  popover.hide();
  if (currentParams()["item"]) go({ ...currentParams(), item: "" });
  shown?.section?.grid.focus();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close(); // outside its content
});
dialog.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || (event.target as Element).closest("input, select, .scroll")) return;
  if (event.key === "ArrowLeft") step(-1);
  else if (event.key === "ArrowRight") step(1);
});

// ---- opening

const fromFile = (file: File): Promise<void> => load(async () => ({ file, name: file.name }));

const picker = element<HTMLInputElement>("picker");
picker.addEventListener("change", () => {
  const file = picker.files?.[0];
  if (file) void fromFile(file);
  picker.value = "";
});
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) document.body.classList.remove("dropping");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const file = event.dataTransfer?.files[0];
  if (file) void fromFile(file);
});
window.addEventListener("hashchange", route);
window.addEventListener("popstate", route);

const openShipped = (): Promise<void> => load(async (signal) => ({ ...(await fetchReport(site?.evaluation ?? "", document.baseURI, signal)), name: "" }), true);
element("shipped").addEventListener("click", () => void openShipped());

const carried = embedded();
const src = new URLSearchParams(location.search).get("src");
if (carried) void load(async () => ({ file: carried, name: document.querySelector<HTMLMetaElement>('meta[name="report-name"]')?.content ?? "" }));
else if (src) void load((signal) => fetchReport(src, document.baseURI, signal));
else if (site?.evaluation) void openShipped();
