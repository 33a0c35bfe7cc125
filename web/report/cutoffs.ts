// Metrics at a rank (`recall@4`) stand in a report at many ranks. The page shows the one that the configuration hands on, and
// the others when somebody chooses them: the choice is part of the address (`k`).

import { h, type Child } from "../ask/dom.ts";
import { currentParams, go, type Params } from "./route.ts";
import { number, object, retrievalK, text, type Json } from "./shapes.ts";

export interface CutOffs {
  /** Whether a metric of this name is shown. */
  shows(name: string): boolean;
  /** Chooses another rank; null where there is none to choose. */
  choice: Child;
}

const cutOffOf = (name: string): number | null => {
  const found = /@(\d+)$/.exec(name);
  return found ? Number(found[1]) : null;
};

/** The rank up to which a run hands passages on, or else the one of the report. */
const configured = (report: Json): number => Number(text(object(report["config"])["TOP_K"])) || (number(object(report["config"])["TOP_K"]) ?? retrievalK(report));

export function cutOffs(names: readonly string[], reports: readonly Json[], params: Params): CutOffs {
  const known = [...new Set(names.flatMap((name) => cutOffOf(name) ?? []))].sort((a, b) => a - b);
  const own = new Set(reports.map(configured).filter((k) => known.includes(k)));
  if (own.size === 0) own.add(known.includes(retrievalK(reports[0] ?? {})) ? retrievalK(reports[0] ?? {}) : (known[0] ?? 0));
  if (known.length < 2) return { shows: () => true, choice: null };
  const given = params["k"] ?? "";
  const shown = given === "all" ? new Set(known) : known.includes(Number(given)) ? new Set([Number(given)]) : own;
  const select = h("select", { id: "cut-off", on: { change: () => go({ ...currentParams(), list: "", item: "", k: select.value }) } },
    h("option", { value: "" }, `${[...own].join(", ")} (configured)`),
    known.filter((k) => own.size > 1 || !own.has(k)).map((k) => h("option", { value: String(k) }, String(k))),
    h("option", { value: "all" }, "all"));
  select.value = given === "all" || (known.includes(Number(given)) && (own.size > 1 || !own.has(Number(given)))) ? given : "";
  return {
    shows: (name) => { const k = cutOffOf(name); return k === null || shown.has(k); },
    choice: h("div", { class: "filter cut-off" }, h("label", { for: "cut-off" }, "Retrieval metrics at rank"), select),
  };
}
