// What answers and passages are accompanied by, in English. A site may put other words, in another language, in their place;
// what comes from the documents and from the engine stays as it is. `{name}` stands for a value. A phrase that counts has a form
// for each plural category of its language (`passages.one`, `passages.other`, and where it has them `passages.few`, …).

import type { Child } from "./dom.ts";

export const english = {
  "passages": "Passages",
  "passages.how": " by words, while you type. {enter} asks, {down} walks the list.",
  "passages.none": "No passage holds these words. Press Enter to ask anyway.",
  "passages.one": "{n} passage",
  "passages.other": "{n} passages",
  "sources.one": "{n} source",
  "sources.other": "{n} sources",
  "doing.retrieve": "Reading the best passages",
  "doing.grade_context": "Checking whether the passages hold an answer",
  "doing.rewrite_query": "Looking again with other words",
  "doing.generate": "Writing the answer",
  "doing.refuse": "Closing",
  "doing.recorded": "Playing the recorded run",
  "doing.start": "Looking",
  "cancel": "Cancel",
  "here": "Answer in this browser",
  "draft": "Draft",
  "draft.note": "Draft: its citations are checked when it is complete",
  "unsure": "The grader gives {chance} that these passages hold the answer. Read the sources before you rely on it.",
  "unsure.middling": "a middling chance",
  "source": "Source {n}: {title}",
  "sources": "Sources",
  "copy": "Copy as Markdown",
  "answer": "Answer",
  "passage.absent": "This index does not hold that passage.",
  "refused": "This could not be found in these documents.",
  "refused.looked": "Looked for",
  "refused.why": "Why no answer",
  "refused.found": "Found instead",
  "refused.closest.one": "Closest page",
  "refused.closest.other": "Closest pages",
  "failed": "This question could not be worked on.",
  "cancelled": "Cancelled.",
  "unrecorded": "The run ended without a record.",
  "unanswered": "The run ended without an answer.",
  "advice.invalid_argument": "Change the question or the settings and ask again.",
  "advice.invalid_text": "Type the question again: it holds characters that are no text.",
  "advice.io": "Check the connection, then load the page again.",
  "advice.provider_failed": "Ask again, or choose under Settings who answers.",
  "advice.quota_spent": "Ask again later, or choose under Settings who answers.",
  "advice.internal": "Ask again. If it comes back, please report it with the trace.",
  "without": "Worked out without {stages}: {reasons}.",
  "without.and": " and ",
  "without.again": "Ask again with all stages",
  "without.later": "Once the models are here, it can be asked again with them.",
  "instead": "This was answered in your browser instead, from the documents’ own sentences.",
  "live.again": "Live answers are expected again {time}.",
  "recorded.on": "Recorded on {date}",
  "recorded.unknown": "an unknown date",
  "recorded.by": " by {maker}",
  "recorded.not_live": ", not live. ",
  "recorded.other_index": "It was recorded over another edition of these documents than this page holds: its citations open only where the text is the same.",
  "said.recorded": "Recorded on {date}.",
  "said.failed": "The question failed. {reason}",
  "said.answer": "Answer, {sources}: {text}",
  "said.refused": "Refused: this could not be found in the documents. The closest pages are listed.",
} as const;

export type PhraseName = keyof typeof english;
/** The names of phrases that count. */
type Counted<Name> = Name extends `${infer Stem}.other` ? Stem : never;

export class Phrases<Name extends string = PhraseName> {
  /** BCP 47. */
  readonly language: string;
  readonly #own: Readonly<Record<Name, string>>;
  readonly #translated: Readonly<Record<string, string>>;
  readonly #plurals: Intl.PluralRules;
  readonly #numbers: Intl.NumberFormat;

  /** @param own every phrase, in English; @param translated those in `language`; what it lacks stays English */
  constructor(own: Readonly<Record<Name, string>>, language = "en", translated: Readonly<Record<string, string>> = {}) {
    this.#own = own;
    this.#translated = translated;
    let known: string;
    try {
      known = Intl.PluralRules.supportedLocalesOf(language)[0] ?? "en";
    } catch {
      known = "en"; // no language tag
    }
    this.language = known;
    this.#plurals = new Intl.PluralRules(known);
    this.#numbers = new Intl.NumberFormat(known);
  }

  text(name: Name, values: Readonly<Record<string, string>> = {}): string {
    return this.#of(name).replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole);
  }

  /** The phrase with nodes in the place of its values. */
  nodes(name: Name, values: Readonly<Record<string, Child>>): Child[] {
    return this.#of(name).split(/\{(\w+)\}/).map((part, i) => (i % 2 === 1 ? (values[part] ?? `{${part}}`) : part));
  }

  /** The form that belongs to `n`. */
  count(name: Counted<Name>, n: number): string {
    const form = `${name}.${this.#plurals.select(n)}`;
    const text = this.#translated[form] ?? this.#own[form as Name] ?? this.#of(`${name}.other` as Name);
    return text.replace("{n}", this.#numbers.format(n));
  }

  /** For names made from data; null where there is no such phrase. */
  find(name: string): string | null {
    return name in this.#own ? this.#of(name as Name) : null;
  }

  #of(name: Name): string {
    return this.#translated[name] ?? this.#own[name];
  }
}

export const englishPhrases = new Phrases(english);
