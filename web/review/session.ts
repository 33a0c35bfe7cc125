// A review under way: the items, what has been decided, what was changed but not decided yet, and every step so far, so that
// each can be undone. It is a plain value that can be written down and read back: a reload loses no step.

import { flag, isObject, list, object, objects, text, texts, type Json } from "../report/shapes.ts";

export interface Passage {
  id: string;
  title: string;
  text: string;
  url: string;
  /** The label proposed for it. */
  relevant: boolean;
}

export interface ReviewItem {
  id: string;
  type: string;
  question: string;
  reference: string;
  notes: string;
  passages: Passage[];
  /** Calibration: the answer to be judged. The judge's own verdict is never read. */
  answer: string;
  /** What a reviewing model proposed: shown, never taken over. */
  proposal: { decision: string; reason: string } | null;
}

export type Mode = "review" | "calibration";

/** What is decided about an item, as the file of decisions holds it. */
export interface Decision {
  decision?: "accept" | "edit" | "reject";
  /** What the reviewer changed, and only that. */
  edit?: { question?: string; reference_answer?: string; relevant_chunk_ids?: string[] };
  reason?: string;
  correct?: boolean;
  grounded?: boolean;
  reviewer?: string;
  reviewed_at?: string;
}

export interface Draft {
  question: string;
  reference: string;
  relevant: string[];
  reason: string;
  correct: boolean | null;
  grounded: boolean | null;
}

interface Step {
  id: string;
  draft: Draft | null;
  decision: Decision | null;
}

export interface ReviewSet {
  name: string;
  mode: Mode;
  items: ReviewItem[];
  decisions: Record<string, Decision>;
}

/** Steps that can be undone; older ones are forgotten. */
const mostSteps = 1000;

export class ReviewProblem extends Error {}

/** The document of `GET api/review`, a file of the same form, or a golden set as JSON Lines. */
export function readReviewSet(source: string, name: string): ReviewSet {
  let value: unknown;
  try {
    value = JSON.parse(source.replace(/^\uFEFF/, ""));
  } catch {
    value = null;
  }
  if (!isObject(value) || !Array.isArray(value["items"])) value = { name, items: isObject(value) && Array.isArray(value["samples"]) ? value["samples"] : isObject(value) ? [value] : Array.isArray(value) ? value : lines(source) };
  const set = value as Json;
  const items = objects(set["items"]).map(readReviewItem);
  if (items.length === 0) throw new ReviewProblem("The file holds no golden items.");
  const known = new Set<string>();
  for (const [i, item] of items.entries()) {
    if (!item.id) throw new ReviewProblem(`Item ${i + 1} has no id.`);
    if (!item.question) throw new ReviewProblem(`Item ${item.id} has no question.`);
    if (known.has(item.id)) throw new ReviewProblem(`Two items have the id ${item.id}.`);
    known.add(item.id);
  }
  const decisions: Record<string, Decision> = Object.create(null);
  for (const [id, decision] of Object.entries(object(set["decisions"]))) if (known.has(id) && isObject(decision)) decisions[id] = readDecision(decision);
  return { name: text(set["name"]) || name, mode: set["mode"] === "calibration" ? "calibration" : "review", items, decisions };
}

function lines(source: string): unknown[] {
  return source.split("\n").flatMap((line, i) => {
    const content = line.replace(/^\uFEFF/, "").trim();
    if (!content) return [];
    try {
      return [JSON.parse(content) as unknown];
    } catch (error) {
      throw new ReviewProblem(`Line ${i + 1} is not JSON: ${(error as Error).message}`);
    }
  });
}

function readReviewItem(item: Json): ReviewItem {
  const gold = texts(item["relevant_chunk_ids"]);
  const passages = objects(item["passages"]).map((passage): Passage => {
    const id = text(passage["id"]);
    return { id, title: text(passage["title"]), text: text(passage["text"]), url: text(passage["url"]), relevant: flag(passage["relevant"]) ?? gold.includes(id) };
  });
  const held = new Set(passages.map((passage) => passage.id));
  for (const id of new Set([...gold, ...texts(item["pool_ids"])])) if (!held.has(id)) passages.push({ id, title: "", text: "", url: "", relevant: gold.includes(id) });
  const proposal = object(item["proposal"]);
  return {
    id: text(item["id"]), type: text(item["type"]) || text(item["query_type"]), question: text(item["question"]) || text(item["query"]),
    reference: text(item["reference"]) || text(item["reference_answer"]) || text(item["expected_answer"]), notes: text(item["notes"]), passages,
    answer: text(item["answer"]) || text(item["generated_answer"]),
    proposal: text(proposal["decision"]) ? { decision: text(proposal["decision"]), reason: text(proposal["reason"]) } : null,
  };
}

function readDecision(value: Json): Decision {
  const decision: Decision = {};
  const made = value["decision"];
  if (made === "accept" || made === "edit" || made === "reject") decision.decision = made;
  if (isObject(value["edit"])) {
    const given = value["edit"];
    decision.edit = {};
    if (typeof given["question"] === "string") decision.edit.question = given["question"];
    if (typeof given["reference_answer"] === "string") decision.edit.reference_answer = given["reference_answer"];
    if (Array.isArray(given["relevant_chunk_ids"])) decision.edit.relevant_chunk_ids = texts(given["relevant_chunk_ids"]);
  }
  for (const key of ["reason", "reviewer", "reviewed_at"] as const) if (typeof value[key] === "string") decision[key] = value[key];
  for (const key of ["correct", "grounded"] as const) if (typeof value[key] === "boolean") decision[key] = value[key];
  return decision;
}

export class Session {
  readonly set: ReviewSet;
  readonly #decisions = new Map<string, Decision>();
  readonly #drafts = new Map<string, Draft>();
  #steps: Step[] = [];
  /** Decided, undone or changed here and not yet written by whoever keeps the file. */
  readonly unsaved = new Set<string>();
  at = 0;

  constructor(set: ReviewSet) {
    this.set = set;
    for (const [id, decision] of Object.entries(set.decisions)) this.#decisions.set(id, decision);
    this.at = Math.max(0, this.#nextOpen(0));
  }

  get item(): ReviewItem {
    return this.set.items[this.at]!;
  }

  decision(id = this.item.id): Decision | null {
    return this.#decisions.get(id) ?? null;
  }

  get decided(): number {
    return this.#decisions.size;
  }

  /** How many were decided in which way. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const decision of this.#decisions.values()) {
      const name = this.set.mode === "calibration" ? (decision.correct ? "correct" : "incorrect") : (decision.decision ?? "");
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return counts;
  }

  /** The item as it stands now: as proposed, with an earlier decision's edits, with the changes under way. */
  draft(id = this.item.id): Draft {
    const own = this.#drafts.get(id);
    if (own) return own;
    const item = this.set.items.find((each) => each.id === id)!;
    const decision = this.#decisions.get(id);
    const edit = decision?.edit;
    return {
      question: edit?.question ?? item.question, reference: edit?.reference_answer ?? item.reference, relevant: edit?.relevant_chunk_ids ?? proposed(item),
      reason: decision?.reason ?? "", correct: decision?.correct ?? null, grounded: decision?.grounded ?? null,
    };
  }

  get undoable(): boolean {
    return this.#steps.length > 0;
  }

  change(change: Partial<Draft>): void {
    const draft = { ...this.draft(), ...change };
    if (JSON.stringify(draft) === JSON.stringify(this.draft())) return;
    this.#remember();
    this.#drafts.set(this.item.id, draft);
  }

  /** Toggles the passage that stands at `place`, counted from 0. */
  toggle(place: number): boolean {
    const passage = this.item.passages[place];
    if (!passage || this.set.mode === "calibration") return false;
    const { relevant } = this.draft();
    const on = new Set(relevant);
    if (!on.delete(passage.id)) on.add(passage.id);
    this.change({ relevant: this.item.passages.map(({ id }) => id).filter((id) => on.has(id)) });
    return true;
  }

  /** Accepts, edits or rejects the item and goes on to the next undecided one. Accepting what was changed is an edit. */
  decide(decision: "accept" | "reject"): void {
    const draft = this.draft();
    const edit = editOf(this.item, draft);
    const made: Decision = decision === "reject" ? { decision } : edit ? { decision: "edit", edit } : { decision: "accept" };
    if (draft.reason.trim()) made.reason = draft.reason.trim();
    this.#settle(made);
  }

  /** Calibration: one label; with both the item is done. */
  label(label: { correct: boolean } | { grounded: boolean }): void {
    const draft = { ...this.draft(), ...label };
    if (draft.correct === null || draft.grounded === null) {
      this.change(label);
      return;
    }
    const made: Decision = { correct: draft.correct, grounded: draft.grounded };
    if (draft.reason.trim()) made.reason = draft.reason.trim();
    this.#settle(made);
  }

  /** Takes back the last step, wherever it was, and shows its item. */
  undo(): boolean {
    const step = this.#steps.pop();
    if (!step) return false;
    const put = <T>(map: Map<string, T>, value: T | null): void => void (value === null ? map.delete(step.id) : map.set(step.id, value));
    const changed = JSON.stringify(this.#decisions.get(step.id) ?? null) !== JSON.stringify(step.decision);
    put(this.#drafts, step.draft);
    put(this.#decisions, step.decision);
    if (changed) this.unsaved.add(step.id);
    this.at = Math.max(0, this.set.items.findIndex((item) => item.id === step.id));
    return true;
  }

  go(to: number): void {
    this.at = Math.max(0, Math.min(this.set.items.length - 1, to));
  }

  #settle(made: Decision): void {
    const { id } = this.item;
    this.#remember();
    this.#drafts.delete(id);
    this.#decisions.set(id, made);
    this.unsaved.add(id);
    const next = this.#nextOpen(this.at + 1);
    if (next >= 0) this.at = next;
  }

  #nextOpen(from: number): number {
    const { items } = this.set;
    for (let i = 0; i < items.length; ++i) {
      const at = (from + i) % items.length;
      if (!this.#decisions.has(items[at]!.id)) return at;
    }
    return -1;
  }

  #remember(): void {
    const { id } = this.item;
    this.#steps.push({ id, draft: this.#drafts.get(id) ?? null, decision: this.#decisions.get(id) ?? null });
    if (this.#steps.length > mostSteps) this.#steps = this.#steps.slice(-mostSteps);
  }

  /** The file of decisions. */
  file(reviewer: string, now: string): string {
    const items: Record<string, Decision> = {};
    for (const { id } of this.set.items) {
      const decision = this.#decisions.get(id);
      if (decision) Object.defineProperty(items, id, { value: { ...decision, reviewer: decision.reviewer ?? reviewer, reviewed_at: decision.reviewed_at ?? now }, enumerable: true });
    }
    return `${JSON.stringify({ kind: this.set.mode === "calibration" ? "calibration_labels" : "review_decisions", schema: 1, name: this.set.name, items }, null, 2)}\n`;
  }

  /** Everything that is not in the set itself. */
  write(): string {
    return JSON.stringify({ at: this.item.id, decisions: [...this.#decisions], drafts: [...this.#drafts], steps: this.#steps, unsaved: [...this.unsaved] });
  }

  /** Takes up what `write` wrote. Of decisions that the set brings, only those that were not saved then are overruled. */
  resume(written: string): void {
    const state = object(parse(written));
    const ids = new Set(this.set.items.map((item) => item.id));
    const pairs = (value: unknown): [string, Json][] => list(value).flatMap((pair) => (Array.isArray(pair) && ids.has(text(pair[0])) && isObject(pair[1]) ? [[text(pair[0]), pair[1]] as [string, Json]] : []));
    const unsaved = texts(state["unsaved"]).filter((id) => ids.has(id));
    const kept = new Map(pairs(state["decisions"]));
    const keptElsewhere = Object.keys(this.set.decisions).length > 0;
    for (const id of keptElsewhere ? unsaved : kept.keys()) {
      const decision = kept.get(id);
      if (decision) this.#decisions.set(id, readDecision(decision));
      else this.#decisions.delete(id);
    }
    for (const id of unsaved) {
      if (!kept.has(id)) this.#decisions.delete(id);
      this.unsaved.add(id);
    }
    for (const [id, draft] of pairs(state["drafts"])) this.#drafts.set(id, readDraft(draft));
    this.#steps = objects(state["steps"]).filter((step) => ids.has(text(step["id"]))).map((step) => ({
      id: text(step["id"]), draft: isObject(step["draft"]) ? readDraft(step["draft"]) : null, decision: isObject(step["decision"]) ? readDecision(step["decision"]) : null,
    }));
    const at = this.set.items.findIndex((item) => item.id === state["at"]);
    if (at >= 0) this.at = at;
  }
}

const parse = (written: string): unknown => {
  try {
    return JSON.parse(written);
  } catch {
    return null;
  }
};

const readDraft = (value: Json): Draft => ({
  question: text(value["question"]), reference: text(value["reference"]), relevant: texts(value["relevant"]), reason: text(value["reason"]),
  correct: flag(value["correct"]), grounded: flag(value["grounded"]),
});

const proposed = (item: ReviewItem): string[] => item.passages.filter((passage) => passage.relevant).map((passage) => passage.id);

/** What a draft changes of its item; null: nothing. */
export function editOf(item: ReviewItem, draft: Draft): NonNullable<Decision["edit"]> | null {
  const edit: NonNullable<Decision["edit"]> = {};
  if (draft.question.trim() && draft.question !== item.question) edit.question = draft.question;
  if (draft.reference !== item.reference) edit.reference_answer = draft.reference;
  if (JSON.stringify([...draft.relevant].sort()) !== JSON.stringify(proposed(item).sort())) edit.relevant_chunk_ids = draft.relevant;
  return Object.keys(edit).length > 0 ? edit : null;
}
