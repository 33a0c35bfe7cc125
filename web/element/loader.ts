// <polygraph-ask src="docs.polygraph">: a button, and a dialog with a field. Until the dialog is opened nothing but this file
// is fetched; then come the dialog's code, the engine and the index, and models only once a question is asked.
//
// Attributes: src, models, endpoint, assets, lang, open; strings, position, shortcuts, trigger, isolation. README.md of the
// package describes each.

import { h } from "../ask/dom.ts";
import type { DialogModule, ElementFiles, Frame, Panel } from "./files.ts";
import { sourceOf } from "./source.ts";
import { frameWords, type FrameWord } from "./words.ts";

/** Written by the build. */
declare const FILES: ElementFiles;
declare const STYLE: string;

let style: CSSStyleSheet | undefined;
function sheet(): CSSStyleSheet {
  if (!style) {
    style = new CSSStyleSheet(); // no <style>: a Content-Security-Policy need not allow one
    style.replaceSync(STYLE);
  }
  return style;
}

/** `/` and Ctrl or ⌘ with K, as names for the attribute. */
const defaultShortcuts = "/ mod+k";

const inText = (target: EventTarget | undefined): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));

export class PolygraphAsk extends HTMLElement {
  static readonly observedAttributes = ["src", "endpoint", "assets", "isolation", "models", "lang", "strings", "open"];

  readonly #shadow = this.attachShadow({ mode: "open" });
  readonly #button = h("button", { type: "button", class: "trigger", part: "button", "aria-haspopup": "dialog" });
  readonly #slot = h("slot", { name: "trigger" }, this.#button);
  readonly #label = h("label", { class: "sr-only", for: "question" });
  readonly #field = h("input", {
    id: "question", type: "text", part: "field", autocomplete: "off", autocapitalize: "none", spellcheck: "false", enterkeyhint: "go", maxlength: "100000",
  });
  readonly #submit = h("button", { type: "submit", class: "primary", part: "submit" });
  readonly #close = h("button", { type: "button", class: "close", part: "close" }, "×");
  readonly #form = h("form", { class: "ask", role: "search" }, this.#label, this.#field, this.#submit, this.#close);
  readonly #body = h("div", { class: "body", part: "body" });
  readonly #live = h("div", { class: "sr-only", role: "status", "aria-live": "polite" });
  readonly #dialog = h("dialog", { part: "dialog" },
    h("slot", { name: "header" }), this.#form, this.#body, h("slot", { name: "footer" }), this.#live);

  /** Addresses, resolved when the attribute was set: a site that goes from page to page in place changes its own. */
  readonly #addresses = new Map<string, string>();
  #connected: AbortController | null = null;
  /** Ends what the dialog's code listens to. */
  #attachment = new AbortController();
  #panel: Promise<Panel | null> | null = null;
  #attached: Panel | null = null;
  /** Asked before the dialog's code was there. */
  #question = "";
  /** While the dialog closes, the browser gives the focus back to where it was. */
  #returning = false;

  constructor() {
    super();
    this.#shadow.adoptedStyleSheets = [sheet()];
    this.#shadow.append(this.#slot, this.#dialog);
    this.#slot.addEventListener("click", () => this.show());
    // A field of the site's own as trigger: its focus opens the dialog, but not the focus that comes back to it.
    this.#slot.addEventListener("focusin", (event) => {
      if (inText(event.target ?? undefined) && !this.#returning) this.show();
    });
    this.#close.addEventListener("click", () => this.close());
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask(this.#field.value);
    });
    this.#dialog.addEventListener("keydown", (event) => {
      // What is typed here is no shortcut of the site.
      event.stopPropagation();
      if (event.key === "Escape") {
        event.preventDefault();
        this.#back();
      } else {
        this.#shortcut(event);
      }
    });
    this.#dialog.addEventListener("cancel", (event) => {
      event.preventDefault(); // the back gesture of phones
      this.#back();
    });
    this.#dialog.addEventListener("click", (event) => {
      const { left, right, top, bottom } = this.#dialog.getBoundingClientRect();
      const outside = event.clientX < left || event.clientX > right || event.clientY < top || event.clientY > bottom;
      if (event.target === this.#dialog && outside && event.detail > 0) this.close();
    });
    this.#dialog.addEventListener("close", () => this.removeAttribute("open"));
  }

  connectedCallback(): void {
    const connected = new AbortController();
    const { signal } = connected;
    this.#connected = connected;
    for (const name of ["src", "endpoint", "assets", "isolation"]) this.#resolve(name);
    this.#translate();
    document.addEventListener("keydown", (event) => this.#shortcut(event), { signal });
    document.addEventListener("click", (event) => {
      const trigger = this.getAttribute("trigger");
      if (!trigger || event.defaultPrevented || !(event.target instanceof Element) || !event.target.closest(trigger)) return;
      if (this.#show()) event.preventDefault();
    }, { signal });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const follow = (): void => this.#follow(dark.matches);
    dark.addEventListener("change", follow, { signal });
    // Sites switch between light and dark with an attribute or a class of their root or body.
    const switches = new MutationObserver(follow);
    for (const each of [document.documentElement, document.body]) switches.observe(each, { attributes: true });
    signal.addEventListener("abort", () => switches.disconnect());
    follow();
    if (this.hasAttribute("open")) this.show();
  }

  disconnectedCallback(): void {
    this.#connected?.abort();
    this.#connected = null;
    this.#detach();
    this.close();
  }

  attributeChangedCallback(name: string, _old: string | null, value: string | null): void {
    if (!this.#connected) return;
    if (name === "open") {
      if (value !== null) this.show();
      else this.close();
    } else {
      this.#resolve(name);
      this.#translate();
      this.#detach();
      if (this.#dialog.open) void this.#load();
    }
  }

  /** The next opening makes another panel. */
  #detach(): void {
    this.#attachment.abort();
    this.#panel = this.#attached = null;
    this.#body.replaceChildren();
  }

  get open(): boolean {
    return this.hasAttribute("open");
  }
  set open(open: boolean) {
    this.toggleAttribute("open", open);
  }

  show(): void {
    this.#show();
  }

  /** False where the element stands in a part of the page that is not displayed, as in a menu that is folded away. */
  #show(): boolean {
    if (!this.#connected) return false;
    if (!this.#dialog.open) {
      this.#dialog.showModal();
      if (this.#dialog.getClientRects().length === 0) {
        this.close();
        return false;
      }
      this.setAttribute("open", "");
    }
    this.#field.focus();
    this.#field.select();
    void this.#load();
    return true;
  }

  close(): void {
    this.#returning = true;
    this.#dialog.close();
    this.#returning = false;
  }

  #back(): void {
    if (!this.#attached?.back()) this.close();
  }

  /** Opens the dialog and asks. */
  ask(question: string): void {
    this.#field.value = question;
    if (!this.#dialog.open) this.show();
    if (this.#attached) this.#attached.ask(question);
    else this.#question = question;
  }

  #load(): Promise<Panel | null> {
    if (this.#panel) return this.#panel;
    const loading = this.#attach().then((panel) => {
      if (loading !== this.#panel) return null; // another attribute by now
      this.#attached = panel;
      const question = this.#question;
      this.#question = "";
      if (question) panel.ask(question);
      return panel;
    }).catch((error: unknown) => {
      if (loading !== this.#panel) return null;
      this.#panel = null;
      this.#failed(error instanceof Error ? error.message : String(error));
      return null;
    });
    this.#panel = loading;
    return loading;
  }

  async #attach(): Promise<Panel> {
    const { signal } = (this.#attachment = new AbortController());
    const language = this.#language();
    this.#say(this.#text("frame.loading"));
    const src = this.#addresses.get("src");
    if (!src) throw new Error("the element has no src, the address of an index file");
    const assets = this.#addresses.get("assets") ?? new URL(".", import.meta.url).href;
    if (new URL(assets).origin !== location.origin) throw new Error(`its files stand at ${assets}, and browsers run workers from a page’s own site only`);
    const given = this.getAttribute("models");
    const models = given === "ask" || given === "auto" ? given : "none";
    const source = typeof WebAssembly === "object" ? sourceOf(FILES, assets, src, models !== "none") : null;
    const shipped = FILES.languages[language.split("-")[0] ?? ""]?.file;
    const [{ attach }, translated, own] = await Promise.all([
      import(new URL(FILES.dialog, assets).href) as Promise<DialogModule>,
      shipped ? words(new URL(shipped, assets).href) : {},
      this.#ownWords(true),
    ]);
    signal.throwIfAborted();
    this.#frameWords({ ...translated, ...own });
    const frame: Frame = {
      host: this, shadow: this.#shadow, dialog: this.#dialog, form: this.#form, field: this.#field, body: this.#body, live: this.#live,
      source, src, signal, language,
      endpoint: this.#addresses.get("endpoint") ?? "",
      models,
      isolation: this.#addresses.get("isolation") ?? "",
      words: { ...translated, ...own },
      close: () => this.close(),
    };
    return attach(frame);
  }

  #failed(reason: string): void {
    const again = h("button", { type: "button" }, this.#text("frame.retry"));
    again.addEventListener("click", () => void this.#load());
    this.#say(this.#text("frame.failed").replace("{reason}", () => reason.replace(/\.$/, "")), again);
  }

  #say(text: string, ...more: Node[]): void {
    this.#body.replaceChildren(h("p", { class: "note", role: "status" }, text), ...more);
  }

  #resolve(name: string): void {
    const value = this.getAttribute(name);
    if (value === null) {
      this.#addresses.delete(name);
      return;
    }
    const folder = name === "assets" || name === "endpoint";
    this.#addresses.set(name, new URL(folder && !value.endsWith("/") ? `${value}/` : value, document.baseURI).href);
  }

  // ---- words

  #words: Record<string, string> = {};

  #language(): string {
    return (this.closest<HTMLElement>("[lang]")?.lang || "en").toLowerCase();
  }

  #text(name: FrameWord): string {
    return this.#words[name] ?? FILES.languages[this.#language().split("-")[0] ?? ""]?.frame[name] ?? frameWords[name];
  }

  /** The attribute `strings`: JSON, or the address of a JSON file, which is fetched once the dialog is opened. */
  async #ownWords(opened: boolean): Promise<Record<string, string>> {
    const given = this.getAttribute("strings")?.trim() ?? "";
    if (given.startsWith("{")) return strings(JSON.parse(given));
    return given && opened ? words(new URL(given, document.baseURI).href) : {};
  }

  #translate(): void {
    this.#frameWords({});
    this.#ownWords(false).then((own) => this.#frameWords(own), (error: unknown) => console.error(`polygraph-ask: its strings are no JSON: ${String(error)}`));
  }

  #frameWords(own: Record<string, string>): void {
    this.#words = own;
    this.#dialog.lang = this.#language();
    this.#button.textContent = this.#text("frame.button");
    this.#dialog.setAttribute("aria-label", this.#text("frame.title"));
    this.#label.textContent = this.#text("frame.field");
    this.#field.placeholder = this.#text("frame.placeholder");
    this.#submit.textContent = this.#text("frame.submit");
    this.#close.setAttribute("aria-label", this.#text("frame.close"));
  }

  // ---- keys and colours

  #shortcut(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.altKey || event.isComposing) return;
    const keys = (this.getAttribute("shortcuts") ?? defaultShortcuts).split(/\s+/);
    const mod = event.ctrlKey || event.metaKey;
    const key = `${mod ? "mod+" : ""}${event.key.toLowerCase()}`;
    if (!keys.includes(key) || (!mod && inText(event.composedPath()[0]))) return;
    if (this.#show()) event.preventDefault();
  }

  /** Light or dark as the page around the element is; where that does not say, as the system is. */
  #follow(systemDark: boolean): void {
    const schemes = getComputedStyle(this).colorScheme.split(" ");
    const dark = schemes.includes("dark") !== schemes.includes("light") ? schemes.includes("dark") : systemDark;
    for (const each of [this.#dialog, this.#button]) each.dataset["theme"] = dark ? "dark" : "light";
    // Sites give their root other font sizes; this is the one that the visitor chose.
    this.#dialog.style.setProperty("--rem", getComputedStyle(this.#dialog).fontSize);
  }
}

function strings(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(value ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** A translation that cannot be had leaves English words. */
async function words(address: string): Promise<Record<string, string>> {
  try {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return strings(await response.json());
  } catch (error) {
    console.error(`polygraph-ask: ${address}: ${error instanceof Error ? error.message : String(error)}`);
    return {};
  }
}

// Two copies on one page: the first stays.
if (!customElements.get("polygraph-ask")) customElements.define("polygraph-ask", PolygraphAsk);
