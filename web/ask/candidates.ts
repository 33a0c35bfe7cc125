// The candidates of one retrieve step: a table whose ranks run from BM25 and dense over fused to reranked.

import type { Chunk } from "../engine/boundary.ts";
import type { Candidate, RetrieveData, StageValues } from "../engine/trace.ts";
import { chunkNumber, h, heading, pageLink, type Child } from "./dom.ts";
import type { Popover } from "./popover.ts";
import { preview } from "./answer.ts";
import { nameAndPlace, score } from "./words.ts";

type Stage = keyof StageValues<number>;
const stages: { name: Stage; label: string; unit: string }[] = [
  { name: "bm25", label: "BM25", unit: "BM25F score" },
  { name: "dense", label: "Dense", unit: "cosine similarity" },
  { name: "fused", label: "Fused", unit: "fused score" },
  { name: "rerank", label: "Rerank", unit: "cross-encoder logit" },
];

/** Rows shown before the rest is asked for. */
const firstRows = 8;

export interface CandidateTable {
  data: RetrieveData;
  kept: ReadonlySet<string>;
  chunks: ReadonlyMap<string, Chunk | null>;
  popover: Popover;
  all: boolean;
  showAll(): void;
}

export function candidateTable({ data, kept, chunks, popover, all, showAll }: CandidateTable): Child[] {
  const shown = all ? data.candidates : data.candidates.slice(0, firstRows);
  const handedOn = new Set(data.retrieved_ids);
  // Roles are spelled out since narrow screens lay the rows out as grids, which takes a table's own roles away.
  return [
    h("table", { class: "candidates", role: "table" },
      h("caption", { class: "sr-only" }, `Candidates for “${data.query}”, best first, with their rank and score at each stage`),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
        h("th", { scope: "col", role: "columnheader", class: "rank" }, h("span", { class: "sr-only" }, "Rank")),
        h("th", { scope: "col", role: "columnheader", class: "what" }, "Passage"),
        stages.map(({ name, label, unit }) => h("th", { scope: "col", role: "columnheader", class: `number ${name}`, title: `rank and ${unit}` }, label)))),
      h("tbody", { role: "rowgroup" }, shown.map((candidate) => row(candidate, handedOn.has(candidate.id), kept.has(candidate.id), chunks.get(candidate.id) ?? null, popover)))),
    data.candidates.length > shown.length &&
      h("button", { type: "button", class: "plain", on: { click: showAll } }, `Show all ${data.candidates.length}`),
  ];
}

function row(candidate: Candidate, handedOn: boolean, kept: boolean, chunk: Chunk | null, popover: Popover): HTMLElement {
  const { name, place } = chunk ? nameAndPlace(chunk.title, chunk.heading_path) : { name: candidate.id, place: "" };
  const link = pageLink(chunk?.url ?? "", { class: "candidate" }, heading(name));
  if (link.tagName !== "A") link.tabIndex = 0;
  popover.attach(link, () => preview(chunk, undefined, candidate.id));
  const status = kept ? h("span", { class: "mark-kept" }, "kept") : handedOn && h("span", { class: "sr-only" }, " handed on");
  return h("tr", { role: "row", "data-id": candidate.id, class: kept ? "kept" : handedOn ? "handed-on" : null },
    h("td", { role: "cell", class: "rank" }, String(candidate.rank)),
    h("td", { role: "cell", class: "what" }, link, status,
      // Without its passage a candidate is its id, number and all.
      chunk && h("span", { class: "where" }, place && [heading(place), " · "], h("span", { class: "numbers" }, chunkNumber(candidate.id)))),
    stages.map((stage) => cell(candidate, stage.name)));
}

function cell(candidate: Candidate, stage: Stage): HTMLElement {
  const rank = candidate.ranks[stage];
  const value = candidate.scores[stage];
  if (rank === null && value === null) {
    return h("td", { role: "cell", class: `number none ${stage}` }, h("span", { "aria-hidden": "true" }, "–"), h("span", { class: "sr-only" }, "not ranked"));
  }
  return h("td", { role: "cell", class: `number ${stage}` },
    h("span", { class: "place" }, movement(candidate, stage), h("span", { class: "at" }, rank === null ? "–" : String(rank))),
    value !== null && h("span", { class: "score" }, score(value)));
}

/** How far the passage moved against the list that this stage reordered: fused against BM25, reranked against fused. */
function movement(candidate: Candidate, stage: Stage): Child {
  if (stage !== "fused" && stage !== "rerank") return null;
  const now = candidate.ranks[stage];
  const before = stage === "rerank" ? candidate.ranks.fused : (candidate.ranks.bm25 ?? candidate.ranks.dense);
  if (now === null || before === null || now === before) return null;
  const up = now < before;
  return h("span", { class: "move" },
    h("span", { "aria-hidden": "true" }, `${up ? "↑" : "↓"}${Math.abs(now - before)}`),
    h("span", { class: "sr-only" }, ` ${up ? "up" : "down"} ${Math.abs(now - before)}`));
}
