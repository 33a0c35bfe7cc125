// The review page: golden items one by one. Keys: a accept, e edit, r reject, 1…9 toggle a passage, u undo, ← → move. In
// calibration an answer is judged with the judge's verdict hidden: c correct, x incorrect, g grounded, n not grounded.
//
// Where the decisions go: keeper.ts. Every step is also kept in this browser's storage, so a reload loses none.

import { fill, h, webAddress, type Child } from "../ask/dom.ts";
import { renderPassage } from "../ask/markdown.ts";
import { count, plural } from "../ask/words.ts";
import { data, visible, yesNo } from "../report/words.ts";
import { fetchSet, Keeper } from "./keeper.ts";
import { editOf, readReviewSet, ReviewProblem, Session, type Decision, type Passage } from "./session.ts";

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const root = element("review");
const problem = element("problem");
const live = element("live");

const titles: Record<string, string> = { accept: "accepted", edit: "edited", reject: "rejected", correct: "correct", incorrect: "incorrect" };
const longestText = 60_000;

let session: Session | null = null;
let keeper: Keeper | null = null;
let storageKey = "";
let editing = false;
/** Kept in this browser alone: why the last step could not be. */
let notStored = "";

function say(message: string): void {
  problem.textContent = message;
  problem.hidden = message === "";
}

function storage(): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

/** FNV-1a: tells the drafts of different sets apart. */
function digest(source: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < source.length; ++i) hash = Math.imul(hash ^ source.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(16);
}

function start(source: string, name: string, kept: boolean): void {
  const set = readReviewSet(source, name);
  session = new Session(set);
  storageKey = `polygraph.review.${set.mode}.${digest(JSON.stringify(set.items.map((item) => [item.id, item.question])))}`;
  const written = storage()?.getItem(storageKey);
  if (written) session.resume(written);
  keeper = kept ? new Keeper(document.baseURI, session, (failed) => {
    say(failed && `${failed} The decisions are kept in this browser and sent again with the next step.`);
    keep();
    status();
  }) : null;
  editing = false;
  element("start").hidden = true;
  element("download").hidden = false;
  root.hidden = false;
  element("file").textContent = visible(set.name);
  say("");
  show();
  void keeper?.send();
}

function keep(): void {
  if (!session) return;
  try {
    storage()?.setItem(storageKey, session.write());
    notStored = storage() ? "" : "This browser keeps nothing for this page: download the decisions before you leave.";
  } catch {
    notStored = "This browser's storage is full: download the decisions before you leave.";
  }
}

function after(message: string): void {
  keep();
  if (notStored && !keeper) say(notStored);
  show();
  live.textContent = message;
  void keeper?.send();
}

// ---- actions

function decide(decision: "accept" | "reject"): void {
  if (!session || session.set.mode !== "review") return;
  const { id } = session.item;
  takeFields();
  session.decide(decision);
  editing = false;
  after(`${id} ${titles[session.decision(id)?.decision ?? decision]}. ${where()}`);
}

function label(given: { correct: boolean } | { grounded: boolean }): void {
  if (!session || session.set.mode !== "calibration") return;
  takeFields();
  session.label(given);
  after("correct" in given ? `Marked ${given.correct ? "correct" : "incorrect"}. ${where()}` : `Marked ${given.grounded ? "grounded" : "not grounded"}. ${where()}`);
}

function toggle(place: number): void {
  if (!session) return;
  takeFields();
  const passage = session.item.passages[place];
  if (!passage || !session.toggle(place)) return;
  const focused = (document.activeElement as HTMLElement | null)?.dataset["passage"];
  after(`Passage ${place + 1} ${session.draft().relevant.includes(passage.id) ? "relevant" : "not relevant"}`);
  if (focused !== undefined) root.querySelector<HTMLElement>(`[data-passage="${focused}"]`)?.focus();
}

function undo(): void {
  if (!session) return;
  takeFields();
  if (session.undo()) {
    editing = false;
    after(`Undone. ${where()}`);
  } else {
    live.textContent = "Nothing to undo.";
  }
}

function go(to: number): void {
  if (!session) return;
  takeFields();
  session.go(to);
  editing = false;
  after(where());
}

function edit(): void {
  if (!session || session.set.mode !== "review") return;
  editing = true;
  show();
  root.querySelector<HTMLTextAreaElement>("#edit-question")?.focus();
}

function stopEditing(): void {
  takeFields();
  editing = false;
  after("");
  root.querySelector<HTMLElement>("#item-title")?.focus();
}

/** What stands in the fields goes into the draft: with each step, and a while after each key. */
function takeFields(): void {
  if (!session) return;
  const value = (id: string): string | undefined => root.querySelector<HTMLTextAreaElement | HTMLInputElement>(`#${id}`)?.value;
  const [question, reference, reason] = [value("edit-question"), value("edit-reference"), value("reason")];
  session.change({ ...(question !== undefined ? { question } : {}), ...(reference !== undefined ? { reference } : {}), ...(reason !== undefined ? { reason } : {}) });
}

const where = (): string => (session ? `Item ${session.at + 1} of ${session.set.items.length}.` : "");

// ---- view

function show(): void {
  if (!session) return;
  const { item } = session;
  const draft = session.draft();
  const calibration = session.set.mode === "calibration";
  const scrolled = root.dataset["item"] === item.id ? window.scrollY : 0;
  root.dataset["item"] = item.id;
  document.title = `${session.at + 1} of ${session.set.items.length} · ${calibration ? "Calibration" : "Review"} · Polygraph`;
  fill(root,
    h("div", { class: "review-progress", id: "review-status" }, statusLine()),
    h("div", { class: "review-layout" },
      h("article", { class: "review-item", "aria-labelledby": "item-title" },
        h("p", { class: "review-head quiet" }, h("span", { class: "numbers" }, where().slice(0, -1)), " · ", data(item.id), item.type && [" · ", data(item.type)], decided(session.decision())),
        editing
          ? h("div", { class: "edit-fields" },
              h("h1", { id: "item-title", tabindex: -1 }, "Edit the item"),
              field("edit-question", "Question", draft.question, 2), field("edit-reference", "Reference answer", draft.reference, 6),
              h("p", null, h("button", { type: "button", on: { click: stopEditing } }, "Done"), h("span", { class: "quiet" }, " ", h("kbd", null, "Esc"), " leaves the fields; ", h("kbd", null, "a"), " then decides.")))
          : [h("h1", { id: "item-title", tabindex: -1 }, data(draft.question)),
             h("h2", null, "Reference answer"),
             draft.reference ? passageText(draft.reference) : h("p", { class: "quiet" }, "None.")],
        calibration && [h("h2", null, "Answer to be judged"), item.answer ? passageText(item.answer) : h("p", { class: "quiet" }, "None: the pipeline gave no answer.")],
        item.notes && h("p", { class: "quiet" }, data(item.notes)),
        !calibration && item.proposal && h("p", { class: "notice" }, "A reviewing model proposes: ", data(item.proposal.decision), item.proposal.reason && [" · ", data(item.proposal.reason)]),
        h("h2", null, "Passages", !calibration && h("span", { class: "quiet" }, ` · ${draft.relevant.length} of ${item.passages.length} relevant`)),
        item.passages.length === 0 ? h("p", { class: "quiet" }, "None.") : h("ol", { class: "pool" }, item.passages.map((passage, i) => pooled(passage, i, draft.relevant.includes(passage.id), calibration)))),
      h("aside", { class: "review-side", "aria-label": "Decision" }, calibration ? labels() : decisions(), reasonField(draft.reason), moves(), allItems())));
  if (scrolled === 0) window.scrollTo(0, 0);
}

function status(): void {
  const line = document.getElementById("review-status");
  if (line) fill(line, statusLine());
}

function statusLine(): Child[] {
  if (!session) return [];
  const all = session.set.items.length;
  const counts = [...session.counts()].map(([name, n]) => `${count(n)} ${titles[name] ?? name}`).join(", ");
  const left = session.unsaved.size;
  return [
    h("progress", { max: all, value: session.decided, "aria-label": "Items decided" }),
    h("span", { class: "numbers" }, `${count(session.decided)} of ${plural(all, "item")} decided`), counts && h("span", { class: "quiet" }, ` · ${counts}`),
    keeper ? h("span", { class: "quiet", id: "saved" }, left === 0 ? " · saved" : ` · ${count(left)} not saved yet`) : h("span", { class: "quiet" }, " · kept in this browser"),
  ];
}

function decided(decision: Decision | null): Child {
  if (!decision) return null;
  if (decision.correct !== undefined) return h("strong", { class: "decided" }, ` · ${decision.correct ? "correct" : "incorrect"}, grounded: ${yesNo(decision.grounded ?? null)}`);
  return h("strong", { class: "decided" }, ` · ${titles[decision.decision ?? ""] ?? ""}`, decision.reviewer && [" by ", data(decision.reviewer)]);
}

const passageText = (source: string): HTMLElement => h("div", { class: "passage-text", dir: "auto" }, renderPassage(visible(source.slice(0, longestText)), null));

function pooled(passage: Passage, i: number, relevant: boolean, calibration: boolean): HTMLElement {
  const href = passage.url ? webAddress(passage.url) : null;
  const title = passage.title || passage.id;
  const head = [h("span", { class: "pool-title" }, data(title)), passage.title && h("span", { class: "quiet pool-id" }, data(passage.id))];
  return h("li", { class: relevant && !calibration ? "relevant" : null },
    calibration
      ? h("p", { class: "pool-head" }, h("span", { class: "rank numbers" }, String(i + 1)), head)
      : h("label", { class: "pool-head" }, h("input", { type: "checkbox", checked: relevant, "data-passage": i, on: { change: () => toggle(i) } }), i < 9 ? h("kbd", null, String(i + 1)) : h("span", { class: "pool-place numbers" }, String(i + 1)), head),
    passage.text ? passageText(passage.text) : h("p", { class: "quiet" }, "The set does not hold its text."),
    href && h("p", { class: "pool-link" }, h("a", { href, target: "_blank", rel: "noopener" }, "Open the page")));
}

function field(id: string, name: string, value: string, rows: number): HTMLElement {
  const area = h("textarea", { id, rows, dir: "auto", on: { input: typed } });
  area.value = value;
  return h("div", { class: "filter" }, h("label", { for: id }, name), area);
}

let typing = 0;
const typingPauseMs = 250;
function typed(): void {
  window.clearTimeout(typing);
  typing = window.setTimeout(() => {
    takeFields();
    keep();
  }, typingPauseMs);
}

const button = (key: string, name: string, act: () => void, kind = "", pressed: boolean | null = null): HTMLElement =>
  h("button", { type: "button", class: kind || null, "aria-keyshortcuts": key, "aria-pressed": pressed === null ? null : String(pressed), on: { click: act } }, name, " ", h("kbd", { "aria-hidden": "true" }, key));

function decisions(): HTMLElement {
  const changed = session && editOf(session.item, session.draft()) !== null;
  return h("div", { class: "decisions decide" },
    button("a", changed ? "Accept with edits" : "Accept", () => decide("accept"), "primary"), button("e", "Edit", edit), button("r", "Reject", () => decide("reject")), button("u", "Undo", undo));
}

function labels(): HTMLElement {
  const draft = session!.draft();
  const group = (name: string, ...children: Child[]): HTMLElement => h("div", { class: "decisions", role: "group", "aria-label": name }, h("span", { class: "label" }, name), children);
  return h("div", { class: "decide" },
    group("Is the answer correct?", button("c", "Correct", () => label({ correct: true }), "", draft.correct === true), button("x", "Incorrect", () => label({ correct: false }), "", draft.correct === false)),
    group("Do the passages support it?", button("g", "Grounded", () => label({ grounded: true }), "", draft.grounded === true), button("n", "Not grounded", () => label({ grounded: false }), "", draft.grounded === false)),
    h("div", { class: "decisions" }, button("u", "Undo", undo)));
}

function reasonField(reason: string): HTMLElement {
  const input = h("input", { id: "reason", type: "text", autocomplete: "off", on: { input: typed } });
  input.value = reason;
  return h("div", { class: "filter" }, h("label", { for: "reason" }, "Reason (optional)"), input);
}

function moves(): HTMLElement {
  const { at, set } = session!;
  return h("p", { class: "moves" },
    h("button", { type: "button", disabled: at === 0, "aria-keyshortcuts": "ArrowLeft", on: { click: () => go(at - 1) } }, "← Previous"),
    h("button", { type: "button", disabled: at === set.items.length - 1, "aria-keyshortcuts": "ArrowRight", on: { click: () => go(at + 1) } }, "Next →"));
}

/** Closed until somebody asks: a set may hold thousands. */
let listOpen = false;
function allItems(): HTMLElement {
  const list = h("ol", { class: "all-items" });
  const details = h("details", { open: listOpen }, h("summary", null, "All items"), list);
  const draw = (): void => {
    fill(list, session!.set.items.map((item, i) => {
      const decision = session!.decision(item.id);
      const state = !decision ? "open" : decision.correct !== undefined ? (decision.correct ? "correct" : "incorrect") : (titles[decision.decision ?? ""] ?? "");
      return h("li", { "aria-current": i === session!.at ? "true" : null }, h("button", { type: "button", class: "plain", on: { click: () => go(i) } }, data(item.id)), h("span", { class: "quiet" }, ` ${state}`));
    }));
  };
  if (listOpen) draw();
  details.addEventListener("toggle", () => {
    if (details.open && !listOpen) draw();
    listOpen = details.open;
  });
  return details;
}

// ---- opening, keys

async function openFile(file: File): Promise<void> {
  try {
    start(await file.text(), file.name, false);
  } catch (error) {
    say(error instanceof ReviewProblem ? `This file cannot be reviewed. ${error.message}` : `The file could not be read: ${String(error)}`);
  }
}

element("download").addEventListener("click", () => {
  if (!session) return;
  takeFields();
  const url = URL.createObjectURL(new Blob([session.file("", new Date().toISOString().replace(/\.\d+Z$/, "Z"))], { type: "application/json" }));
  h("a", { href: url, download: session.set.mode === "calibration" ? "calibration-labels.json" : "review-decisions.json" }).click();
  URL.revokeObjectURL(url);
});

const picker = element<HTMLInputElement>("picker");
picker.addEventListener("change", () => {
  const file = picker.files?.[0];
  if (file) void openFile(file);
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
  if (file) void openFile(file);
});
window.addEventListener("pagehide", () => {
  takeFields();
  keep();
});

document.addEventListener("keydown", (event) => {
  if (!session || event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  const target = event.target as HTMLElement;
  if (target.closest('textarea, select, input:not([type="checkbox"])')) {
    if (event.key === "Escape") {
      if (editing) stopEditing();
      else target.blur();
    }
    return;
  }
  const keys: Record<string, () => void> = {
    a: () => decide("accept"), e: edit, r: () => decide("reject"), u: undo,
    c: () => label({ correct: true }), x: () => label({ correct: false }), g: () => label({ grounded: true }), n: () => label({ grounded: false }),
    ArrowLeft: () => go(session!.at - 1), ArrowRight: () => go(session!.at + 1),
  };
  const act = /^[1-9]$/.test(event.key) ? () => toggle(Number(event.key) - 1) : Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
  if (!act || event.repeat) return;
  event.preventDefault();
  act();
});

// Among the files of an exported site there is no command line to ask.
const given = document.querySelector('meta[name="site-host"][content="files"]') ? null : await fetchSet(document.baseURI);
if (given === null) {
  element("start").hidden = false;
} else {
  try {
    start(given, "Golden set", true);
  } catch (error) {
    say(`The set that the command line opened cannot be reviewed. ${error instanceof Error ? error.message : String(error)}`);
  }
}
