// What the element itself says, in English. The frame's words are part of the loader, the dialog's come with it. A site puts
// others in their place by name (README.md of the package).

import type { PhraseName } from "../ask/phrases.ts";

export const frameWords = {
  "frame.button": "Ask",
  "frame.title": "Ask the documentation",
  "frame.field": "Question about the documentation",
  "frame.placeholder": "Ask the documentation",
  "frame.submit": "Ask",
  "frame.close": "Close",
  "frame.loading": "The search is loading …",
  "frame.failed": "The search could not be loaded: {reason}.",
  "frame.retry": "Try again",
} as const;

export const dialogWords = {
  "start": "Type to search these documents. Enter asks a question, and the answer names its sources.",
  "who.browser": "Answered in this browser: your question is not sent anywhere.",
  "who.live": "Your question is sent to {host}, and from there to its language model.",
  "models.offer": "Models find and check answers better than words alone. They are {size} MB, come from this site once, and are kept in this browser.",
  "models.load": "Load them and ask again",
  "models.refuse": "Not now",
  "models.loading": "Models, {received} of {size} MB",
  "models.ready": "Models ready",
  "models.failed": "The models could not be loaded: {reason}.",
  "advice.invalid_argument": "Change the question and ask again.",
  "advice.provider_failed": "Ask again.",
  "advice.quota_spent": "Ask again later.",
  "advice.internal": "Ask again. If it comes back, please report it.",
  "copied": "Answer copied",
  "not_copied": "This browser does not let the page copy here",
  "unsupported": "This browser runs no WebAssembly, which this search is made of. A current Firefox, Chrome, Edge or Safari runs it; some have it switched off in a strict security mode.",
} as const;

export type FrameWord = keyof typeof frameWords;
export type ElementPhrase = PhraseName | keyof typeof dialogWords;
