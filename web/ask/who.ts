// Who answers, in words: who will, before a question is asked, with whether it leaves the browser and to whom; who did,
// once there is an answer.

import { builtInProblem } from "../providers/built-in.ts";
import { choose, type Choice, type Situation } from "../providers/choice.ts";
import { anyEndpoint, endpointsOf, mayConnect, type ConnectPolicy } from "../providers/connect-policy.ts";
import { completionsAddress, endpointProblem, type Endpoint } from "../providers/endpoint.ts";
import { h, type Child } from "./dom.ts";
import type { State } from "./state.ts";
import { comingTime, date } from "./words.ts";

/** Why this page may ask no endpoint of the visitor's at all; empty: it may. */
export function endpointsBarred(policy: ConnectPolicy | null): string {
  if (policy === null || anyEndpoint(policy)) return "";
  return "This site lets its page connect to its own server alone. Whoever runs it can allow other endpoints (CONNECT_ENDPOINTS).";
}

/** Why the visitor's endpoint cannot be asked; empty: it can. */
export function ownMissing(endpoint: Endpoint, policy: ConnectPolicy | null): string {
  const problem = endpointsBarred(policy) || endpointProblem(endpoint);
  if (problem) return problem;
  const address = completionsAddress(endpoint.url);
  if (policy !== null && address && !mayConnect(policy, address, window.location.origin)) {
    return `This site lets its page connect to these endpoints: ${endpointsOf(policy).join(", ")}. Yours is not among them.`;
  }
  return "";
}

export function situationOf(state: Readonly<State>): Situation {
  return {
    wish: state.settings.answers,
    service: state.service,
    indexDigest: state.info?.digest ?? "",
    ownMissing: ownMissing(state.endpoint, state.policy),
    builtInMissing: builtInProblem(state.builtIn),
  };
}

const hostOf = (url: string): string => {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
};

/** The strip's first entry. */
export function whoView(state: Readonly<State>): Child[] {
  const { run } = state;
  const shown = run && state.typed.trim() === state.asked ? run : null;
  if (shown?.by && shown.state === "running") return [named(shown.by, state), ` – ${sent(shown.by, state)}`];
  if (shown?.by) {
    // The next question may go another way than this one did: that is said before it is asked, too.
    const next = choose("", situationOf(state));
    const leaves = next.who === "live" || next.who === "own";
    return [named(shown.by, state), leaves && h("span", { class: "reason" }, ` – ${sent(next, state, "your next question")}`)];
  }
  if (state.service.state === "unknown" && state.settings.answers === "automatic") return ["Finding out who answers …"];
  const next = choose(state.typed || state.asked, situationOf(state));
  const back = next.why && comingTime(next.until);
  return [named(next, state), ` – ${sent(next, state)}${next.why ? "." : ""}`, next.why && h("span", { class: "reason" }, ` ${next.why}${back ? ` Expected again ${back}.` : ""}`)];
}

function named(choice: Choice, state: Readonly<State>): Child {
  const words: Record<Choice["who"], string> = {
    browser: "In this browser",
    live: "Live",
    recorded: choice.who === "recorded" ? `Recorded on ${date(choice.recording.recordedAt)}` : "Recorded",
    own: `Your endpoint, ${state.endpoint.model.trim()}`,
    "built-in": "Your browser’s built-in model",
  };
  return h("strong", null, words[choice.who]);
}

/** What leaves the browser, and to whom. */
function sent(choice: Choice, state: Readonly<State>, question = "your question"): string {
  switch (choice.who) {
    case "live":
      return `${question} is sent to ${window.location.host}, and from there to its language model`;
    case "own":
      return `${question} and the passages found are sent to ${hostOf(state.endpoint.url)}`;
    case "recorded":
      return `${question} is not sent anywhere; the recorded run comes from this site`;
    case "browser":
    case "built-in":
      return `${question} is not sent anywhere`;
  }
}
