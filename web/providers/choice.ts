// Who answers the next question. In order: live where the server says live, the recorded run of an example, extractive in
// this browser; the visitor may choose otherwise, and gets what is nearest to that with a word about it.

import { recordingFor, type Recording } from "./recordings.ts";
import type { Service } from "./service.ts";

/** What the visitor wants. */
export const wishes = ["automatic", "live", "recorded", "browser", "own", "built-in"] as const;
export type Wish = (typeof wishes)[number];

interface Reason {
  why: string;
  until: string | null;
  /** The strip said so before the question, and nobody expected another answer: it need not stand above this one. */
  told?: true;
}

export type Choice = ({ who: "live" | "browser" | "own" | "built-in" } | { who: "recorded"; recording: Recording }) & Reason;

export interface Situation {
  wish: Wish;
  service: Service;
  /** Of the page's index. */
  indexDigest: string;
  /** Why the visitor's endpoint, or the browser's model, cannot be asked; empty: it can. */
  ownMissing: string;
  builtInMissing: string;
}

/** A server over another edition of the documents would turn every task down: an id may stand for another text there. */
const anotherEdition = ({ service, indexDigest }: Situation): boolean =>
  service.indexDigest !== "" && indexDigest !== "" && service.indexDigest !== indexDigest;

/** Why there is no live answer now; empty where there never was one to miss. */
function notLive(situation: Situation): string {
  const { service, wish } = situation;
  switch (service.state) {
    case "recorded":
    case "busy":
      // Without a time to come back it may be more than a spent quota: a server without a key, or one whose model host is down.
      return service.until ? "There are no live answers for the moment." : "This site gives no live answers now.";
    case "unreachable":
      return "The server that answers live cannot be reached.";
    case "none":
    case "unknown":
      return wish === "live" || wish === "recorded" ? "This site has no server that answers live." : "";
    case "live":
      return anotherEdition(situation) ? "The server that answers live holds another edition of these documents." : "";
  }
}

export function choose(question: string, situation: Situation): Choice {
  const { wish, service, indexDigest } = situation;
  const { until } = service;
  if (wish === "own" && !situation.ownMissing) return { who: "own", why: "", until: null };
  if (wish === "built-in" && !situation.builtInMissing) return { who: "built-in", why: "", until: null };
  if (wish === "own") return { who: "browser", why: situation.ownMissing, until: null };
  if (wish === "built-in") return { who: "browser", why: situation.builtInMissing, until: null };
  if (wish === "browser") return { who: "browser", why: "", until: null };
  if (wish !== "recorded" && service.state === "live" && !anotherEdition(situation)) return { who: "live", why: "", until: null };
  const why = wish === "recorded" ? "" : notLive(situation);
  const recording = recordingFor(question, service.recordings, indexDigest);
  if (recording) return { who: "recorded", recording, why, until };
  if (wish === "recorded") return { who: "browser", why: "There is no recorded run of this question.", until: null };
  // A site that gives no live answers at all, rather than none at the moment.
  const never = !until && (service.state === "recorded" || service.state === "busy");
  return wish === "automatic" && never ? { who: "browser", why, until, told: true } : { who: "browser", why, until };
}

/** Who goes on after the live answer failed: never live again for the same question. */
export function chooseAfter(question: string, situation: Situation, why: string, until: string | null): Choice {
  const recording = recordingFor(question, situation.service.recordings, situation.indexDigest);
  return recording ? { who: "recorded", recording, why, until } : { who: "browser", why, until };
}
