// The candidates of one retrieve step: a table whose ranks run from BM25 and dense over fused to reranked.

import type { Chunk } from "../engine/boundary.ts";
import type { Candidate, RetrieveData, StageValues } from "../engine/trace.ts";
import { h, pageLink, type Child } from "./dom.ts";
import type { Popover } from "./popover.ts";
import { preview } from "./answer.ts";
import { path, score } from "./words.ts";

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
  return [
    h("table", { class: "candidates" },
      h("caption", { class: "sr-only" }, `Candidates for “${data.query}”, best first, with their rank and score at each stage`),
      h("thead", null, h("tr", null,
        h("th", { scope: "col", class: "rank" }, h("span", { class: "sr-only" }, "Rank")),
        h("th", { scope: "col" }, "Passage"),
        stages.map(({ label, unit }) => h("th", { scope: "col", class: "number", title: `rank and ${unit}` }, label)))),
      h("tbody", null, shown.map((candidate) => row(candidate, handedOn.has(candidate.id), kept.has(candidate.id), chunks.get(candidate.id) ?? null, popover)))),
    data.candidates.length > shown.length &&
      h("button", { type: "button", class: "plain", on: { click: showAll } }, `Show all ${data.candidates.length}`),
  ];
}

function row(candidate: Candidate, handedOn: boolean, kept: boolean, chunk: Chunk | null, popover: Popover): HTMLElement {
  const title = chunk ? path(chunk.title, chunk.heading_path) : candidate.id;
  const link = pageLink(chunk?.url ?? "", { class: "candidate" }, title);
  if (link.tagName !== "A") link.tabIndex = 0;
  popover.attach(link, () => preview(chunk, undefined, candidate.id));
  const status = kept ? h("span", { class: "mark-kept" }, "kept") : handedOn && h("span", { class: "sr-only" }, " handed on");
  return h("tr", { "data-id": candidate.id, class: kept ? "kept" : handedOn ? "handed-on" : null },
    h("td", { class: "rank" }, String(candidate.rank)),
    h("td", { class: "what" }, link, status),
    stages.map(({ name }) => cell(candidate, name)));
}

function cell(candidate: Candidate, stage: Stage): HTMLElement {
  const rank = candidate.ranks[stage];
  const value = candidate.scores[stage];
  if (rank === null && value === null) return h("td", { class: "number none" }, h("span", { "aria-label": "not ranked" }, "–"));
  return h("td", { class: "number" },
    h("span", { class: "place" }, rank === null ? "–" : String(rank), movement(candidate, stage)),
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
