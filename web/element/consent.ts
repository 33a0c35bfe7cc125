// Whether the visitor lets the models be loaded. Consent is kept in this browser, a refusal until the page is left.

const key = "polygraph.models";

export class Consent {
  readonly #mode: "none" | "ask" | "auto";
  #state: "none" | "ask" | "given" | "refused";

  constructor(mode: "none" | "ask" | "auto") {
    this.#mode = mode;
    this.#state = mode === "none" ? "none" : mode === "auto" || this.#kept() ? "given" : "ask";
  }

  get state(): "none" | "ask" | "given" | "refused" {
    return this.#state;
  }

  give(): void {
    this.#state = "given";
    if (this.#mode !== "ask") return;
    try {
      window.localStorage.setItem(key, "yes");
    } catch {
      // A forbidden store: the next page asks again.
    }
  }

  refuse(): void {
    this.#state = "refused";
  }

  #kept(): boolean {
    try {
      return window.localStorage.getItem(key) === "yes";
    } catch {
      return false;
    }
  }
}
