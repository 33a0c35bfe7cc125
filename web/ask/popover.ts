// One passage shown beside what names it: on hover, on focus, or on a tap. Esc closes it; the pointer may move into it.

import { activeWithin, fill, h, type Child } from "./dom.ts";

const hideDelayMs = 180;
const margin = 8;

export class Popover {
  readonly #box = h("div", { class: "popover", id: "passage-popover", role: "tooltip", tabindex: 0, hidden: true });
  #anchor: HTMLElement | null = null;
  #timer = 0;

  /** @param signal fires when the parent is gone for good */
  constructor(parent: Element, signal?: AbortSignal) {
    const until = signal ? { signal } : {};
    parent.append(this.#box);
    this.#box.addEventListener("pointerenter", () => window.clearTimeout(this.#timer));
    this.#box.addEventListener("pointerleave", () => this.#hideSoon());
    // A long passage is scrolled by keyboard, too.
    this.#box.addEventListener("focus", () => window.clearTimeout(this.#timer));
    this.#box.addEventListener("blur", () => this.#hideSoon());
    window.addEventListener("resize", () => this.#place(), until);
    document.addEventListener("scroll", () => this.#place(), { ...until, passive: true, capture: true });
    document.addEventListener("pointerdown", (event) => {
      // The target of an event from a shadow tree is that tree's host.
      const path = event.composedPath();
      if (!path.includes(this.#box) && !(this.#anchor && path.includes(this.#anchor))) this.hide();
    }, until);
  }

  get shown(): boolean {
    return this.#anchor !== null;
  }

  /** Makes `anchor` show `content` when it is pointed at, focused or tapped. */
  attach(anchor: HTMLElement, content: () => Child[]): void {
    anchor.addEventListener("pointerenter", (event) => {
      if (event.pointerType !== "touch") this.#show(anchor, content);
    });
    anchor.addEventListener("pointerleave", () => this.#hideSoon());
    anchor.addEventListener("focus", () => this.#show(anchor, content));
    anchor.addEventListener("blur", () => this.#hideSoon());
    anchor.addEventListener("click", (event) => {
      // A finger cannot hover: the first tap shows the passage, a second one opens the page.
      if ((event as PointerEvent).pointerType === "touch" && this.#anchor !== anchor) {
        event.preventDefault();
        this.#show(anchor, content);
      }
    });
  }

  hide(): void {
    if (this.#anchor && activeWithin(this.#box) === this.#box) this.#anchor.focus();
    window.clearTimeout(this.#timer);
    this.#anchor?.removeAttribute("aria-describedby");
    this.#anchor = null;
    this.#box.hidden = true;
  }

  #show(anchor: HTMLElement, content: () => Child[]): void {
    window.clearTimeout(this.#timer);
    if (this.#anchor === anchor) return;
    this.hide();
    fill(this.#box, content());
    this.#anchor = anchor;
    anchor.setAttribute("aria-describedby", this.#box.id);
    this.#box.hidden = false;
    this.#place();
    const mark = this.#box.querySelector("mark");
    this.#box.scrollTop = mark ? mark.offsetTop - this.#box.clientHeight / 3 : 0;
  }

  #hideSoon(): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.hide(), hideDelayMs);
  }

  #place(): void {
    if (!this.#anchor) return;
    const at = this.#anchor.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.#box;
    const room = document.documentElement.clientWidth;
    const left = Math.max(margin, Math.min(at.left - 16, room - width - margin));
    const below = at.bottom + margin;
    const above = at.top - height - margin;
    const top = below + height > window.innerHeight && above > margin ? above : below;
    this.#box.style.left = `${left}px`;
    this.#box.style.top = `${top}px`;
  }
}
