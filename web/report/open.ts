// Opens a report: finds out what a file holds and reads it. Five kinds are told apart by their content:
//
//   evaluation   an EvaluationReport with or without `results`, a printed Diagnosis (its `report`), or JSON Lines whose one
//                line with `total_queries` is the report and whose other lines are its results
//   comparison   a ComparisonReport, with or without the results of both sides
//   matrix       {kind: "matrix", schema: 1, …}: see matrix.ts
//   gaps         {kind: "gaps", schema: 1, …}: see gaps.ts
//   results      results alone, as array or JSON Lines: shown as they are, since only the engine makes a report of them
//
// A page that carries its report has it in <script type="application/json" class="report-data">, every "<" written as \u003c.
// There may be several of them, in order, none longer than a browser's longest string; together they are one file.

import { JsonProblem, readJson } from "./json-stream.ts";
import { isObject, list, number, object, readItem, type Item, type Json } from "./shapes.ts";

export type Kind = "evaluation" | "comparison" | "matrix" | "gaps" | "results";

export interface Opened {
  kind: Kind;
  name: string;
  head: Json;
  /** Results by where they stood: "" for the report's own, `pipeline_a_report`, `reports.0`, … */
  items: ReadonlyMap<string, Item[]>;
  file: Blob;
  /** The site's own evaluation. */
  shipped: boolean;
}

const owner = (path: string): string => path.replace(/\.?results$/, "").replace(/^report$/, "");

export async function open(file: Blob, name: string, progress: (share: number) => void, signal?: AbortSignal): Promise<Opened> {
  const items = new Map<string, Item[]>();
  let head: Json | null = null;
  let strangers = 0;
  const add = (key: string, value: unknown, start: number, end: number): boolean => {
    const all = items.get(key) ?? [];
    const item = readItem(value, all.length, start, end);
    if (!item) return false;
    all.push(item);
    items.set(key, all);
    return true;
  };
  await readJson(file, ({ path, value, start, end }) => {
    if (path === "" && isObject(value) && kindOf(value)) {
      if (head) throw new JsonProblem("The file holds two reports; open them one by one, or compare them first.");
      head = value;
    } else if (!add(owner(path), value, start, end)) {
      ++strangers;
      if (path !== "") throw new JsonProblem(`${path}: result ${(items.get(owner(path))?.length ?? 0) + 1} has no query_id.`);
    }
  }, progress, signal);
  if (head) {
    if (strangers > 0) throw new JsonProblem(`The file holds a report and ${strangers} lines that are no results.`);
    const whole: Json = head;
    const kind = kindOf(whole)!;
    const inner = isObject(whole["report"]) && number(whole["report"]["total_queries"]) !== null ? whole["report"] : whole;
    return { kind, name, head: kind === "evaluation" ? inner : whole, items, file, shipped: false };
  }
  if (items.size === 0 || strangers > 0) throw new JsonProblem("This is neither an evaluation, a comparison or a matrix, nor a list of results with a query_id each.");
  return { kind: "results", name, head: {}, items, file, shipped: false };
}

function kindOf(value: Json): Kind | null {
  if (isObject(value["pipeline_a_report"]) && isObject(value["pipeline_b_report"])) return "comparison";
  if (value["kind"] === "gaps") return "gaps";
  if (value["kind"] === "matrix" || (Array.isArray(value["reports"]) && Array.isArray(value["names"]))) return "matrix";
  if (number(value["total_queries"]) !== null || isObject(object(value["report"])["retrieval"])) return "evaluation";
  // {dataset_name, …, k, results}: a file of results with a head.
  if (Array.isArray(value["results"]) && list(value["results"]).length === 0 && typeof value["query_id"] !== "string") return "results";
  return null;
}

/** An item's own record, read again from the file. */
export async function readWhole(file: Blob, item: Item): Promise<Json> {
  const value: unknown = JSON.parse(await file.slice(item.start, item.end).text());
  return object(value);
}

/** The report that the page itself carries. */
export function embedded(): Blob | null {
  const parts = [...document.querySelectorAll<HTMLScriptElement>('script.report-data[type="application/json"], script#report-data')].map((element) => element.text);
  return parts.some((part) => part.trim() !== "") ? new Blob(parts, { type: "application/json" }) : null;
}

/** A report of the page's own site; another site's address is refused. */
export async function fetchReport(src: string, base: string, signal: AbortSignal): Promise<{ file: Blob; name: string }> {
  const url = new URL(src, base);
  if (url.origin !== new URL(base).origin || url.origin === "null") throw new Error("Only reports of this site open by address. Save the file and open it from disk.");
  const response = await fetch(url, { signal, credentials: "same-origin", redirect: "error" });
  if (!response.ok) throw new Error(`${url.pathname} was answered with ${response.status}.`);
  return { file: await response.blob(), name: decodeURIComponent(url.pathname.split("/").at(-1) ?? "") || src };
}
