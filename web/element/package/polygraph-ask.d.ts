// Types of <polygraph-ask> and its events.

export interface PolygraphSource {
  /** `path/of/page#003`, the passage that is cited. */
  chunkId: string;
  title: string;
  url: string;
}

export interface PolygraphAnswer {
  question: string;
  /** Markdown, with citations as `[path/of/page#003]`. */
  answer: string;
  citations: PolygraphSource[];
  /** The run's record, as the trace inspector opens it. */
  trace: object;
}

export interface PolygraphRefusal {
  question: string;
  reason: string;
  closest: { title: string; url: string }[];
  trace: object;
}

export interface PolygraphSelection {
  url: string;
  title: string;
  chunkId: string | null;
  question: string;
}

export class PolygraphAsk extends HTMLElement {
  open: boolean;
  show(): void;
  close(): void;
  /** Opens the dialog and asks. */
  ask(question: string): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "polygraph-ask": PolygraphAsk;
  }
  interface HTMLElementEventMap {
    "polygraph-answer": CustomEvent<PolygraphAnswer>;
    "polygraph-refusal": CustomEvent<PolygraphRefusal>;
    /** A source or passage was chosen; preventDefault() keeps the browser from following the link. */
    "polygraph-select": CustomEvent<PolygraphSelection>;
  }
}
