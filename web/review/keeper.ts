// Keeps the decisions: with the command line that opened the page (`polygraph review` serves it) through three requests, or in
// this browser until they are downloaded.
//
//   GET api/review          {kind "review_set", schema 1, name str, mode "review"|"calibration",
//                            items [{id, type, question, reference, notes?, answer? (calibration),
//                                    passages [{id, title, text, url?, relevant bool}],
//                                    proposal? {decision, reason}}],
//                            decisions {ID: {decision "accept"|"edit"|"reject", edit?, reason?, reviewer?, reviewed_at?}}
//                                      in calibration {ID: {correct bool, grounded bool, reason?, …}}}
//                           404 or no JSON: nobody keeps the file, and the page opens files.
//   PUT api/review/ID       {decision, edit, reason}: edit {question?, reference_answer?, relevant_chunk_ids?} or null, reason
//                           str or null; in calibration {correct, grounded, reason}. Answered with 2xx once it is on disk;
//                           the command line adds reviewer and time. The same request again changes nothing.
//   DELETE api/review/ID    takes the decision back (undo); 404 when there was none is as good.
//
// ID is percent-encoded (encodeURIComponent); errors are {error: {message}}. The requests are same-origin, with the header
// `X-Polygraph-Review: 1`, which a foreign page cannot send without a preflight that the command line refuses. In calibration
// the judge's verdict must not be sent at all. Several items are sent one after another, in the order of the decisions.

import { object, text } from "../report/shapes.ts";
import type { Session } from "./session.ts";

const header = { "X-Polygraph-Review": "1" };

/** The set that the command line has open; null: there is none. */
export async function fetchSet(base: string): Promise<string | null> {
  if (!base.startsWith("http")) return null;
  try {
    const response = await fetch(new URL("api/review", base), { headers: header, cache: "no-store", redirect: "error" });
    if (!response.ok || !(response.headers.get("content-type") ?? "").includes("json")) return null;
    return await response.text();
  } catch {
    return null;
  }
}

export class Keeper {
  readonly #base: string;
  readonly #session: Session;
  readonly #changed: (problem: string) => void;
  #sending = false;
  #called = false;

  constructor(base: string, session: Session, changed: (problem: string) => void) {
    this.#base = base;
    this.#session = session;
    this.#changed = changed;
  }

  /** Sends what is not saved yet. What fails stays unsaved and goes with the next call. */
  async send(): Promise<void> {
    this.#called = true;
    if (this.#sending) return;
    this.#sending = true;
    let problem = "";
    try {
      // A call while a request was under way is the next one for it, too, should it fail.
      while (this.#session.unsaved.size > 0 && (!problem || this.#called)) {
        this.#called = false;
        const id = [...this.#session.unsaved][0]!;
        const decision = this.#session.decision(id);
        const sent = JSON.stringify(decision);
        problem = await this.#put(id, decision ? body(decision) : null);
        // Decided anew while the request was under way: it has to go again.
        if (!problem && JSON.stringify(this.#session.decision(id)) === sent) this.#session.unsaved.delete(id);
        this.#changed(problem);
      }
    } finally {
      this.#sending = false;
    }
  }

  async #put(id: string, content: object | null): Promise<string> {
    try {
      const response = await fetch(new URL(`api/review/${encodeURIComponent(id)}`, this.#base), {
        method: content ? "PUT" : "DELETE", headers: content ? { ...header, "Content-Type": "application/json" } : header, redirect: "error",
        ...(content ? { body: JSON.stringify(content) } : {}),
      });
      if (response.ok || (!content && response.status === 404)) return "";
      const reply = object(await response.json().catch(() => null));
      return text(object(reply["error"])["message"]) || `The command line answered with ${response.status}.`;
    } catch {
      return "The command line that opened this page does not answer.";
    }
  }
}

function body(decision: NonNullable<ReturnType<Session["decision"]>>): object {
  const reason = decision.reason ?? null;
  if (decision.correct !== undefined) return { correct: decision.correct, grounded: decision.grounded ?? null, reason };
  return { decision: decision.decision, edit: decision.edit ?? null, reason };
}
