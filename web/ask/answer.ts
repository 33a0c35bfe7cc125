// What came of a question: the answer with its citations, a refusal, or what went wrong. Each says which stages it used.

import type { Chunk } from "../engine/boundary.ts";
import { slice } from "../engine/codepoints.ts";
import { lastStep, type Citation, type Trace } from "../engine/trace.ts";
import { fill, h, heading as named, pageLink, webAddress, type Child } from "./dom.ts";
import { asMarkdown, numberCitations, renderMarkdown, renderPassage, type AnswerMarkdown } from "./markdown.ts";
import { excerpt } from "./excerpt.ts";
import type { Popover } from "./popover.ts";
import type { Run } from "./state.ts";
import { supportingSentence } from "./support.ts";
import { comingTime, count, date, dollars, duration, nodeNames, path, percent, plural, stageNames, stageUsed, type StageName } from "./words.ts";

export interface AnswerActions {
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
  const active = document.activeElement;
  const focused = active && root.contains(active) ? (active as HTMLElement).dataset["key"] : undefined;
  show(root, run, popover, actions);
  if (focused) root.querySelector<HTMLElement>(`[data-key="${focused}"]`)?.focus();
}

function show(root: HTMLElement, run: Run, popover: Popover, actions: AnswerActions): void {
  const { trace } = run;
  root.dataset["by"] = run.by?.who ?? "";
  const heading = h("h2", { class: "question" }, run.question);
  root.dataset["status"] = run.state === "running" ? "running" : run.state === "failed" ? "failed" : (trace?.status ?? "failed");
  if (run.state === "running") {
    fill(root, heading, running(run, actions));
  } else if (run.state === "failed" || !trace) {
    fill(root, heading, failed(run.problem ?? { code: "internal", message: "The run ended without a record." }));
  } else if (trace.status === "answered") {
    fill(root, heading, provenance(run, actions), answered(run, trace, popover, actions));
  } else if (trace.status === "refused") {
    fill(root, heading, provenance(run, actions), refused(run, trace, actions));
  } else {
    fill(root, heading, run.by && run.by.who !== "browser" && h("p", { class: "actions" }, hereButton(actions, "Answer in this browser")), failed(trace.error ?? { code: "internal", message: "The run ended without an answer." }));
  }
}

/** One sentence for screen readers, once the run has ended. */
export function announcement(run: Run): string {
  const said = verdictOf(run);
  if (run.state !== "finished" || !run.by) return said;
  const { by } = run;
  return [by.why, by.who === "recorded" && `Recorded on ${date(by.recording.recordedAt)}.`, said].filter(Boolean).join(" ");
}

function verdictOf(run: Run): string {
  if (run.state === "failed") return `The question failed. ${run.problem?.message ?? ""}`;
  const { trace } = run;
  if (!trace || run.state === "running") return "";
  if (trace.status === "answered") {
    const { source, ids } = numberCitations(trace.answer, trace.citations.map((c) => c.chunk_id));
    const text = source.replace(/\uE000(\d+)\uE001/g, "");
    return `Answer, ${plural(ids.length, "source")}: ${text}`;
  }
  if (trace.status === "refused") return "Refused: this could not be found in the documents. The closest pages are listed.";
  return `The question failed. ${trace.error?.message ?? ""}`;
}

function running(run: Run, actions: AnswerActions): Child[] {
  const step = run.trace?.steps.at(-1);
  const retrieve = run.trace && lastStep(run.trace, "retrieve");
  const doing: Record<string, string> = {
    retrieve: "Reading the best passages",
    grade_context: "Checking whether the passages hold an answer",
    rewrite_query: "Looking again with other words",
    generate: "Writing the answer",
    refuse: "Closing",
  };
  const elsewhere = run.by?.who === "live" || run.by?.who === "own" || run.by?.who === "built-in";
  return [
    h("p", { class: "doing" },
      run.by?.why && `${run.by.why} `,
      `${run.by?.who === "recorded" ? "Playing the recorded run" : (doing[step?.node ?? "retrieve"] ?? "Looking")} …`,
      h("button", { type: "button", class: "plain", "data-key": "cancel", on: { click: () => actions.cancel() } }, "Cancel"),
      elsewhere && hereButton(actions, "Answer in this browser")),
    h("section", { class: "draft", "aria-label": "Draft", hidden: true },
      h("p", { class: "label" }, "Draft: its citations are checked when it is complete"),
      h("div", { class: "answer-text" })),
    retrieve && retrieve.data.retrieved_ids.length > 0 &&
      h("ol", { class: "passages" }, retrieve.data.retrieved_ids.map((id) => passageItem(run.chunks.get(id) ?? null, id))),
  ];
}

const hereButton = (actions: AnswerActions, label: string): HTMLElement =>
  h("button", { type: "button", class: "plain", "data-key": "here", on: { click: () => actions.askHere() } }, label);

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
  const back = comingTime(by.until);
  const later = back && [" Live answers are expected again ", h("time", { datetime: by.until }, back), "."];
  if (by.who !== "recorded") {
    const instead = by.who === "browser" ? " This was answered in your browser instead, from the documents’ own sentences." : "";
    return h("p", { class: "notice", "data-notice": by.who }, by.why, instead, later);
  }
  const { recordedAt, madeBy, models } = by.recording;
  // What made it usually says which models it used.
  const named = Object.entries(models).filter(([, model]) => !madeBy?.includes(model)).map(([task, model]) => `${task} ${model}`).join(", ");
  return h("div", { class: "notice", "data-notice": "recorded" },
    h("p", null,
      h("strong", null, `Recorded on ${date(recordedAt) || "an unknown date"}`), madeBy && ` by ${madeBy}`, named && ` (${named})`, ", not live. ",
      by.why, later),
    run.otherIndex && h("p", null, "It was recorded over another edition of these documents than this page holds: its citations open only where the text is the same."),
    h("p", null, hereButton(actions, "Answer in this browser")));
}

function answered(run: Run, trace: Trace, popover: Popover, actions: AnswerActions): Child[] {
  const answer = numberCitations(trace.answer, trace.citations.map((citation) => citation.chunk_id));
  const grade = lastStep(trace, "grade_context");
  // The n-th mark of an id in the text is the n-th citation of that id: each stands for a sentence of its own.
  const seen = new Map<string, number>();
  const body = h("div", { class: "answer-text" }, renderMarkdown(answer, (number) => {
    const id = answer.ids[number - 1] ?? "";
    const nth = seen.get(id) ?? 0;
    seen.set(id, nth + 1);
    const all = trace.citations.filter((citation) => citation.chunk_id === id);
    return citationLink(number, all[Math.min(nth, all.length - 1)], trace, run.chunks.get(id) ?? null, popover, sourceOf(run, trace, id).url);
  }));
  return [
    grade?.data.unsure &&
      h("p", { class: "unsure" },
        `The grader gives ${grade.data.probability == null ? "a middling chance" : percent(grade.data.probability)} that these passages hold the answer. Read the sources before you rely on it.`),
    body,
    sources(run, trace, answer, popover),
    h("p", { class: "actions" },
      h("button", { type: "button", on: { click: () => actions.copy(asMarkdown(run.question, answer, (id) => linkOf(run, trace, id)), "Answer") } }, "Copy as Markdown")),
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

function citationLink(number: number, citation: Citation | undefined, trace: Trace, chunk: Chunk | null, popover: Popover, url: string): HTMLElement {
  const title = chunk ? path(chunk.title, chunk.heading_path) : (citation?.title ?? "");
  const link = pageLink(url, { class: "cite", "aria-label": `Source ${number}: ${title}` }, String(number));
  if (link.tagName !== "A") link.tabIndex = 0;
  popover.attach(link, () => preview(chunk, citation && slice(trace.answer, citation.start, citation.end), title));
  return link;
}

/** A passage with the part that supports `claim` marked. */
export function preview(chunk: Chunk | null, claim: string | undefined, title: string): Child[] {
  if (!chunk) {
    return [h("p", { class: "popover-path" }, title), h("p", { class: "quiet" }, "This index does not hold that passage.")];
  }
  const supported = claim ? supportingSentence(chunk.text, claim.replace(/\[[^[\]\n]+#\d{3,}\]/g, "")) : null;
  return [
    h("p", { class: "popover-path" }, named(path(chunk.title, chunk.heading_path))),
    h("div", { class: "passage-text" }, renderPassage(chunk.text, supported)),
    h("p", { class: "quiet id" }, chunk.id),
  ];
}

function sources(run: Run, trace: Trace, answer: AnswerMarkdown, popover: Popover): HTMLElement {
  return h("section", { class: "sources" },
    h("h3", { class: "label" }, "Sources"),
    h("ol", null, answer.ids.map((id) => {
      const { title, url } = sourceOf(run, trace, id);
      const link = pageLink(url, { class: "source" }, named(title));
      if (link.tagName !== "A") link.tabIndex = 0;
      popover.attach(link, () => {
        const citation = trace.citations.find((c) => c.chunk_id === id);
        return preview(run.chunks.get(id) ?? null, citation && slice(trace.answer, citation.start, citation.end), title);
      });
      return h("li", null, link);
    })));
}

function refused(run: Run, trace: Trace, actions: AnswerActions): Child[] {
  const refuse = lastStep(trace, "refuse");
  const retrieve = lastStep(trace, "retrieve");
  const queries = trace.steps.flatMap((step) => (step.node === "retrieve" ? [step.data.query] : []));
  const reason = refuse?.data.last_grader_reason || refuse?.data.reason || lastStep(trace, "grade_context")?.data.reason || "";
  const closest = (refuse?.data.closest ?? []).slice(0, closestShown);
  const found = retrieve?.data.retrieved_ids.slice(0, closestShown) ?? [];
  return [
    h("p", { class: "verdict" }, "This could not be found in these documents."),
    h("dl", { class: "refusal" },
      h("dt", null, "Looked for"),
      h("dd", null, h("ul", { class: "bare" }, queries.map((query) => h("li", null, query)))),
      reason && [h("dt", null, "Why no answer"), h("dd", null, reason)],
      found.length > 0 && [
        h("dt", null, "Found instead"),
        h("dd", null, h("ul", { class: "passages" }, found.map((id) => passageItem(run.chunks.get(id) ?? null, id)))),
      ],
      closest.length > 0 && [
        h("dt", null, closest.length === 1 ? "Closest page" : "Closest pages"),
        h("dd", null, h("ul", { class: "bare" }, closest.map(({ title, url }) => h("li", null, pageLink(url, {}, title))))),
      ]),
    withoutStages(run, trace, actions),
  ];
}

function failed(problem: { code: string; message: string }): Child[] {
  const advice: Record<string, string> = {
    invalid_argument: "Change the question or the settings and ask again.",
    invalid_text: "Type the question again: it holds characters that are no text.",
    io: "Check the connection, then load the page again.",
    provider_failed: "Ask again, or choose under Settings who answers.",
    quota_spent: "Ask again later, or choose under Settings who answers.",
    internal: "Ask again. If it comes back, please report it with the trace.",
  };
  return [
    h("p", { class: "verdict" }, problem.code === "cancelled" ? "Cancelled." : "This question could not be worked on."),
    problem.code !== "cancelled" && h("p", null, problem.message),
    advice[problem.code] && h("p", { class: "quiet" }, advice[problem.code]),
  ];
}

function passageItem(chunk: Chunk | null, id: string): HTMLElement {
  if (!chunk) return h("li", null, h("span", { class: "passage" }, h("span", { class: "passage-path" }, id)));
  return h("li", null, pageLink(chunk.url, { class: "passage" },
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
  return h("p", { class: "stages-missing" },
    `Worked out without ${lacking.map((stage) => stageNames[stage]).join(" and ")}: ${[...new Set(lacking.map((stage) => trace.stages[stage]))].join("; ")}. `,
    run.by?.who !== "recorded" && (actions.moreStages(trace)
      ? h("button", { type: "button", on: { click: () => actions.askAgain() } }, "Ask again with all stages")
      : (trace.missing?.embedder || trace.missing?.reranker) && h("span", { class: "quiet" }, "Once the models are here, it can be asked again with them.")));
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
