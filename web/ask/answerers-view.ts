// The part of the settings about who answers: the choice, the visitor's own endpoint, and the browser's built-in model. What
// cannot be chosen stays in the list, greyed, with the reason below it.

import { hasBuiltIn, type BuiltInState } from "../providers/built-in.ts";
import type { Wish } from "../providers/choice.ts";
import { endpointsOf } from "../providers/connect-policy.ts";
import type { Endpoint } from "../providers/endpoint.ts";
import { h, type Child } from "./dom.ts";
import type { Settings } from "./settings-store.ts";
import type { State } from "./state.ts";
import { endpointsBarred, ownMissing } from "./who.ts";
import { percent } from "./words.ts";

export interface AnswererActions {
  changeEndpoint(endpoint: Endpoint): void;
  downloadBuiltIn(): void;
  cancelDownload(): void;
}

const labels: Record<Wish, string> = {
  automatic: "Automatic",
  live: "Live, through this site",
  recorded: "Recorded runs",
  browser: "In this browser",
  own: "Your own endpoint",
  "built-in": "Your browser’s built-in model",
};

const notes: Record<Wish, string> = {
  automatic: "Live where this site answers live, otherwise the recorded run of an example, otherwise in this browser.",
  live: "A language model writes the answer; this site’s server is sent your question and the ids of the passages found.",
  recorded: "Examples play a run that was recorded with a language model; other questions are answered in this browser.",
  browser: "The engine grades the passages and quotes their sentences. Nothing is sent anywhere.",
  own: "Any endpoint with the OpenAI chat API. It is sent your question and the passages found.",
  "built-in": "A small language model inside this browser. Nothing is sent anywhere.",
};

/** @param now the state as it is when the part is made, and when a field of it changes */
export function answerersView(now: () => Readonly<State>, actions: AnswererActions): (settings: Settings, change: (settings: Settings) => void) => Child {
  return (settings, change) => {
    const state = now();
    const barred = endpointsBarred(state.policy);
    const noService = state.service.state === "none";
    const offered = (Object.keys(labels) as Wish[]).filter((wish) => wish !== "built-in" || hasBuiltIn());
    const disabled = (wish: Wish): boolean => (wish === "own" && barred !== "") || (noService && (wish === "live" || wish === "recorded"));
    return [
      h("label", { class: "setting" }, h("span", null, "Who answers"),
        h("select", { name: "answers", on: { change: (event) => change({ ...settings, answers: (event.target as HTMLSelectElement).value as Wish }) } },
          offered.map((wish) => h("option", { value: wish, selected: wish === settings.answers, disabled: disabled(wish) && wish !== settings.answers }, labels[wish])))),
      h("p", { class: "answerer-note quiet" }, notes[settings.answers]),
      noService && h("p", { class: "answerer-note quiet" }, "This site has no server that answers live or holds recorded runs."),
      barred && h("p", { class: "answerer-note quiet", "data-note": "endpoint" }, `Your own endpoint cannot be chosen here. ${barred}`),
      settings.answers === "own" && !barred && endpointFields(now, actions),
      settings.answers === "built-in" && builtInLine(state.builtIn, actions),
    ];
  };
}

function endpointFields(now: () => Readonly<State>, actions: AnswererActions): Child {
  const { endpoint, policy } = now();
  const problem = h("p", { class: "answerer-note quiet", role: "status" });
  const tell = (): void => {
    problem.textContent = ownMissing(now().endpoint, now().policy);
  };
  const change = (next: Partial<Endpoint>): void => {
    actions.changeEndpoint({ ...now().endpoint, ...next });
    tell();
  };
  const field = (label: string, name: "url" | "model" | "key", attributes: Record<string, string>): Child =>
    h("label", { class: "setting" }, h("span", null, label),
      h("input", {
        name: `endpoint-${name}`, value: endpoint[name], autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes,
        on: { input: (event) => change({ [name]: (event.target as HTMLInputElement).value }) },
      }));
  tell();
  const allowed = policy === null ? [] : endpointsOf(policy);
  return h("fieldset", { class: "endpoint" },
    h("legend", { class: "sr-only" }, "Your own endpoint"),
    field("Address", "url", { type: "url", inputmode: "url", placeholder: allowed[0] ?? "http://localhost:11434/v1" }),
    field("Model", "model", { type: "text" }),
    field("Key", "key", { type: "password" }),
    h("label", { class: "setting" }, h("span", null, "Keep the key in this browser"),
      h("input", { type: "checkbox", name: "endpoint-keep", checked: endpoint.keepKey, on: { change: (event) => change({ keepKey: (event.target as HTMLInputElement).checked }) } })),
    h("p", { class: "answerer-note quiet" }, "Without the tick the key is forgotten when this page is closed. It is sent to your endpoint alone."),
    problem);
}

function builtInLine({ state, received, message }: BuiltInState, actions: AnswererActions): Child {
  const button = (label: string, click: () => void): Child => h("button", { type: "button", class: "plain", name: "built-in-download", on: { click } }, label);
  switch (state) {
    case "available":
      return h("p", { class: "answerer-note quiet", role: "status" }, "It is here and ready.");
    case "downloadable":
      return h("p", { class: "answerer-note quiet", role: "status" }, "The browser has to download it once. ", button("Download", actions.downloadBuiltIn));
    case "downloading":
      return h("p", { class: "answerer-note quiet", role: "status" }, `Downloading, ${percent(received)} `, h("progress", { max: 1, value: received, "aria-label": "Download of the built-in model" }), button("Cancel", actions.cancelDownload));
    case "failed":
      return h("p", { class: "answerer-note quiet", role: "status" }, `It could not be downloaded: ${message} `, button("Try again", actions.downloadBuiltIn));
    case "unavailable":
    case "absent":
      return h("p", { class: "answerer-note quiet", role: "status" }, "This device cannot run it.");
  }
}
