// What came of a question: the answer with its citations, a refusal, or what went wrong. Each says which stages it used.

import type { Chunk } from "../engine/boundary.ts";
import { slice } from "../engine/codepoints.ts";
import { lastStep, type Citation, type Trace } from "../engine/trace.ts";
import { fill, h, heading as named, pageLink, webAddress, type Child } from "./dom.ts";
import { asMarkdown, numberCitations, renderMarkdown, renderPassage, type AnswerMarkdown } from "./markdown.ts";
import { excerpt } from "./excerpt.ts";
import { englishPhrases, type Phrases } from "./phrases.ts";
import type { Popover } from "./popover.ts";
import { redraw } from "./redraw.ts";
import type { Run } from "./state.ts";
import { supportingSentence } from "./support.ts";
import { comingTime, count, date, dollars, duration, nodeNames, path, percent, plural, stageNames, stageUsed, type StageName } from "./words.ts";

export interface AnswerActions {
  /** English without. */
  phrases?: Phrases;
  copy(text: string, what: string): void;
  cancel(): void;
  askAgain(): void;
  /** Leaves whoever answers, and asks the engine in this browser alone. */
  askHere(): void;
  /** True when a stage that this run went without could be used now. */
  moreStages(trace: Trace): boolean;
}

/** `closestShown`: pages that a refusal offers instead. */
const closestShown = 3;

export function showAnswer(root: HTMLElement, run: Run, popover: Popover, actions: AnswerActions): void {
  redraw(root, () => show(root, run, popover, actions), () => root.querySelector<HTMLElement>("h2.question"));
}

function show(root: HTMLElement, run: Run, popover: Popover, actions: AnswerActions): void {
  const { trace } = run;
  const { phrases = englishPhrases } = actions;
  root.dataset["by"] = run.by?.who ?? "";
  const heading = h("h2", { class: "question", tabindex: -1 }, run.question);
  root.dataset["status"] = run.state === "running" ? "running" : run.state === "failed" ? "failed" : (trace?.status ?? "failed");
  if (run.state === "running") {
    fill(root, heading, running(run, actions));
  } else if (run.state === "failed" || !trace) {
    fill(root, heading, failed(run.problem ?? { code: "internal", message: phrases.text("unrecorded") }, phrases));
  } else if (trace.status === "answered") {
    fill(root, heading, provenance(run, actions), answered(run, trace, popover, actions));
  } else if (trace.status === "refused") {
    fill(root, heading, provenance(run, actions), refused(run, trace, actions));
  } else {
    fill(root, heading, run.by && run.by.who !== "browser" && h("p", { class: "actions" }, hereButton(actions)), failed(trace.error ?? { code: "internal", message: phrases.text("unanswered") }, phrases));
  }
}

/** One sentence for screen readers, once the run has ended. */
export function announcement(run: Run, phrases: Phrases = englishPhrases): string {
  const said = verdictOf(run, phrases);
  if (run.state !== "finished" || !run.by) return said;
  const { by } = run;
  return [by.why, by.who === "recorded" && phrases.text("said.recorded", { date: date(by.recording.recordedAt) }), said].filter(Boolean).join(" ");
}

function verdictOf(run: Run, phrases: Phrases): string {
  if (run.state === "failed") return phrases.text("said.failed", { reason: run.problem?.message ?? "" });
  const { trace } = run;
  if (!trace || run.state === "running") return "";
  if (trace.status === "answered") {
    const { source, ids } = numberCitations(trace.answer, trace.citations.map((c) => c.chunk_id));
    const text = source.replace(/\uE000(\d+)\uE001/g, "");
    return phrases.text("said.answer", { sources: phrases.count("sources", ids.length), text });
  }
  if (trace.status === "refused") return phrases.text("said.refused");
  return phrases.text("said.failed", { reason: trace.error?.message ?? "" });
}

function running(run: Run, actions: AnswerActions): Child[] {
  const { phrases = englishPhrases } = actions;
  const doing = run.by?.who === "recorded" ? "recorded" : (run.trace?.steps.at(-1)?.node ?? "retrieve");
  const retrieve = run.trace && lastStep(run.trace, "retrieve");
  const elsewhere = run.by?.who === "live" || run.by?.who === "own" || run.by?.who === "built-in";
  return [
    h("p", { class: "doing" },
      run.by?.why && `${run.by.why} `,
      `${phrases.find(`doing.${doing}`) ?? phrases.text("doing.start")} …`,
      h("button", { type: "button", class: "plain", "data-key": "cancel", on: { click: () => actions.cancel() } }, phrases.text("cancel")),
      elsewhere && hereButton(actions)),
    h("section", { class: "draft", "aria-label": phrases.text("draft"), hidden: true },
      h("p", { class: "label" }, phrases.text("draft.note")),
      h("div", { class: "answer-text" })),
    retrieve && retrieve.data.retrieved_ids.length > 0 &&
      h("ol", { class: "passages" }, retrieve.data.retrieved_ids.map((id) => passageItem(run.chunks.get(id) ?? null, id))),
  ];
}

const hereButton = ({ askHere, phrases = englishPhrases }: AnswerActions): HTMLElement =>
  h("button", { type: "button", class: "plain", "data-key": "here", on: { click: () => askHere() } }, phrases.text("here"));

/** Text as it streams in. It stands in the running view, which is made anew with each step; this fills it. */
export function showDraft(root: HTMLElement, run: Run | null, draft: string): void {
  const section = root.querySelector<HTMLElement>(".draft");
  if (!section || !run) return;
  section.hidden = draft === "";
  if (!draft) return;
  const known = run.trace && lastStep(run.trace, "retrieve");
  // A citation that is still being written is left out.
  const text = numberCitations(draft.replace(/\[[^\]\n]*$/, ""), known ? known.data.retrieved_ids : []);
  fill(section.querySelector(".answer-text")!, renderMarkdown(text, (number) => h("span", { class: "cite" }, String(number))));
}

/** Where an answer comes from when not from whom the visitor would expect: a recording, or this browser in a live one's place. */
function provenance(run: Run, actions: AnswerActions): Child {
  const { by } = run;
  if (!by || by.told || (by.who !== "recorded" && !by.why)) return null;
  const { phrases = englishPhrases } = actions;
  const back = comingTime(by.until);
  const later = back && [" ", phrases.nodes("live.again", { time: h("time", { datetime: by.until }, back) })];
  if (by.who !== "recorded") {
    const instead = by.who === "browser" ? ` ${phrases.text("instead")}` : "";
    return h("p", { class: "notice", "data-notice": by.who }, by.why, instead, later);
  }
  const { recordedAt, madeBy, models } = by.recording;
  // What made it usually says which models it used.
  const named = Object.entries(models).filter(([, model]) => !madeBy?.includes(model)).map(([task, model]) => `${task} ${model}`).join(", ");
  return h("div", { class: "notice", "data-notice": "recorded" },
    h("p", null,
      h("strong", null, phrases.text("recorded.on", { date: date(recordedAt) || phrases.text("recorded.unknown") })),
      madeBy && phrases.text("recorded.by", { maker: madeBy }), named && ` (${named})`, phrases.text("recorded.not_live"),
      by.why, later),
    run.otherIndex && h("p", null, phrases.text("recorded.other_index")),
    h("p", null, hereButton(actions)));
}

function answered(run: Run, trace: Trace, popover: Popover, actions: AnswerActions): Child[] {
  const { phrases = englishPhrases } = actions;
  const answer = numberCitations(trace.answer, trace.citations.map((citation) => citation.chunk_id));
  const grade = lastStep(trace, "grade_context");
  // The n-th mark of an id in the text is the n-th citation of that id: each stands for a sentence of its own.
  const seen = new Map<string, number>();
  const body = h("div", { class: "answer-text" }, renderMarkdown(answer, (number) => {
    const id = answer.ids[number - 1] ?? "";
    const nth = seen.get(id) ?? 0;
    seen.set(id, nth + 1);
    const all = trace.citations.filter((citation) => citation.chunk_id === id);
    return citationLink(number, all[Math.min(nth, all.length - 1)], trace, run.chunks.get(id) ?? null, popover, sourceOf(run, trace, id).url, phrases);
  }));
  return [
    grade?.data.unsure &&
      h("p", { class: "unsure" },
        phrases.text("unsure", { chance: grade.data.probability == null ? phrases.text("unsure.middling") : percent(grade.data.probability) })),
    body,
    sources(run, trace, answer, popover, phrases),
    h("p", { class: "actions" },
      h("button", { type: "button", on: { click: () => actions.copy(asMarkdown(run.question, answer, (id) => linkOf(run, trace, id)), phrases.text("answer")) } }, phrases.text("copy"))),
    withoutStages(run, trace, actions),
  ];
}

function sourceOf(run: Run, trace: Trace, id: string): { title: string; url: string } {
  const chunk = run.chunks.get(id);
  const citation = trace.citations.find((c) => c.chunk_id === id);
  return { title: chunk ? path(chunk.title, chunk.heading_path) : (citation?.title ?? id), url: chunk?.url ?? (run.otherIndex ? "" : citation?.url) ?? "" };
}

/** The same with an address that holds outside this page; empty where there is none. */
function linkOf(run: Run, trace: Trace, id: string): { title: string; href: string } {
  const { title, url } = sourceOf(run, trace, id);
  const href = url && webAddress(url);
  return { title, href: href ? new URL(href, document.baseURI).href : "" };
}

function citationLink(number: number, citation: Citation | undefined, trace: Trace, chunk: Chunk | null, popover: Popover, url: string, phrases: Phrases): HTMLElement {
  const title = chunk ? path(chunk.title, chunk.heading_path) : (citation?.title ?? "");
  const link = pageLink(url, { class: "cite", "aria-label": phrases.text("source", { n: String(number), title }), "data-chunk": chunk?.id }, String(number));
  if (link.tagName !== "A") link.tabIndex = 0;
  popover.attach(link, () => preview(chunk, citation && slice(trace.answer, citation.start, citation.end), title, phrases));
  return link;
}

/** A passage with the part that supports `claim` marked. */
export function preview(chunk: Chunk | null, claim: string | undefined, title: string, phrases: Phrases = englishPhrases): Child[] {
  if (!chunk) {
    return [h("p", { class: "popover-path" }, title), h("p", { class: "quiet" }, phrases.text("passage.absent"))];
  }
  const supported = claim ? supportingSentence(chunk.text, claim.replace(/\[[^[\]\n]+#\d{3,}\]/g, "")) : null;
  return [
    h("p", { class: "popover-path" }, named(path(chunk.title, chunk.heading_path))),
    h("div", { class: "passage-text" }, renderPassage(chunk.text, supported)),
    h("p", { class: "quiet id" }, chunk.id),
  ];
}

function sources(run: Run, trace: Trace, answer: AnswerMarkdown, popover: Popover, phrases: Phrases): HTMLElement {
  return h("section", { class: "sources" },
    h("h3", { class: "label" }, phrases.text("sources")),
    h("ol", null, answer.ids.map((id) => {
      const { title, url } = sourceOf(run, trace, id);
      const link = pageLink(url, { class: "source", "data-chunk": id }, named(title));
      if (link.tagName !== "A") link.tabIndex = 0;
      popover.attach(link, () => {
        const citation = trace.citations.find((c) => c.chunk_id === id);
        return preview(run.chunks.get(id) ?? null, citation && slice(trace.answer, citation.start, citation.end), title, phrases);
      });
      return h("li", null, link);
    })));
}

function refused(run: Run, trace: Trace, actions: AnswerActions): Child[] {
  const { phrases = englishPhrases } = actions;
  const refuse = lastStep(trace, "refuse");
  const retrieve = lastStep(trace, "retrieve");
  const queries = trace.steps.flatMap((step) => (step.node === "retrieve" ? [step.data.query] : []));
  const reason = refuse?.data.last_grader_reason || refuse?.data.reason || lastStep(trace, "grade_context")?.data.reason || "";
  const closest = (refuse?.data.closest ?? []).slice(0, closestShown);
  const found = retrieve?.data.retrieved_ids.slice(0, closestShown) ?? [];
  return [
    h("p", { class: "verdict" }, phrases.text("refused")),
    h("dl", { class: "refusal" },
      h("dt", null, phrases.text("refused.looked")),
      h("dd", null, h("ul", { class: "bare" }, queries.map((query) => h("li", null, query)))),
      reason && [h("dt", null, phrases.text("refused.why")), h("dd", null, reason)],
      found.length > 0 && [
        h("dt", null, phrases.text("refused.found")),
        h("dd", null, h("ul", { class: "passages" }, found.map((id) => passageItem(run.chunks.get(id) ?? null, id)))),
      ],
      closest.length > 0 && [
        h("dt", null, phrases.count("refused.closest", closest.length)),
        h("dd", null, h("ul", { class: "bare" }, closest.map(({ title, url }) => h("li", null, pageLink(url, {}, title))))),
      ]),
    withoutStages(run, trace, actions),
  ];
}

function failed(problem: { code: string; message: string }, phrases: Phrases): Child[] {
  const advice = phrases.find(`advice.${problem.code}`);
  return [
    h("p", { class: "verdict" }, phrases.text(problem.code === "cancelled" ? "cancelled" : "failed")),
    problem.code !== "cancelled" && h("p", null, problem.message),
    advice && h("p", { class: "quiet" }, advice),
  ];
}

function passageItem(chunk: Chunk | null, id: string): HTMLElement {
  if (!chunk) return h("li", null, h("span", { class: "passage" }, h("span", { class: "passage-path" }, id)));
  return h("li", null, pageLink(chunk.url, { class: "passage", "data-chunk": id },
    h("span", { class: "passage-path" }, named(path(chunk.title, chunk.heading_path))),
    h("span", { class: "passage-excerpt" }, excerpt(chunk.text, []))));
}

/** Which stages an answer went without, why, and how to have them. */
function withoutStages(run: Run, trace: Trace, actions: AnswerActions): Child {
  // A stage that the settings switched off is no lack.
  const wanted: Record<StageName, boolean> = {
    lexical: trace.config.retrieval_mode !== "dense",
    dense: trace.config.retrieval_mode !== "bm25",
    rerank: trace.config.use_reranker,
  };
  const lacking = (Object.keys(stageNames) as StageName[]).filter((stage) => wanted[stage] && !stageUsed(trace.stages[stage]));
  if (lacking.length === 0) return null;
  const { phrases = englishPhrases } = actions;
  const stages = lacking.map((stage) => stageNames[stage]).join(phrases.text("without.and"));
  const reasons = [...new Set(lacking.map((stage) => trace.stages[stage]))].join("; ");
  return h("p", { class: "stages-missing" },
    `${phrases.text("without", { stages, reasons })} `,
    run.by?.who !== "recorded" && (actions.moreStages(trace)
      ? h("button", { type: "button", on: { click: () => actions.askAgain() } }, phrases.text("without.again"))
      : (trace.missing?.embedder || trace.missing?.reranker) && h("span", { class: "quiet" }, phrases.text("without.later"))));
}

/** For the trace's one-line summary: what each step came to. */
export function summary(step: Trace["steps"][number]): string {
  switch (step.node) {
    case "retrieve":
      return `${count(step.data.candidates.length)} candidates, ${plural(step.data.retrieved_ids.length, "passage")} handed on`;
    case "grade_context":
      return step.data.relevant
        ? `${step.data.unsure ? "perhaps relevant" : "relevant"}, ${count(step.data.relevant_chunk_ids.length)} of ${count(step.data.graded_ids.length)} kept`
        : "not relevant";
    case "rewrite_query":
      return step.data.repeated ? "no new words" : `attempt ${count(step.data.attempt)}`;
    case "generate":
      return step.data.declined ? "declined" : `${plural(step.data.cited_ids.length, "passage")} cited`;
    case "refuse":
      return step.data.reason;
    default:
      return nodeNames[(step as { node: keyof typeof nodeNames }).node] ?? "";
  }
}

export function totals(trace: Trace): string {
  const { ms, steps, rewrites, tokens, cost_usd } = trace.totals;
  return [
    duration(ms),
    plural(steps, "step"),
    rewrites > 0 && plural(rewrites, "rewrite"),
    tokens.in + tokens.out > 0 && `${count(tokens.in)} tokens in, ${count(tokens.out)} out`,
    cost_usd !== null && cost_usd > 0 && dollars(cost_usd),
  ].filter(Boolean).join(" · ");
}
