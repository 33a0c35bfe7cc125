// Builds DOM nodes. All text goes in as text nodes: nothing that comes from a corpus, a model or a trace is ever parsed as
// HTML, and no inline style or handler attribute is made, so the page runs under a strict Content-Security-Policy.

export type Child = Node | string | null | undefined | false | readonly Child[];

type Listeners = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };

export interface Attributes {
  /** Attribute values; null and false leave the attribute out, true writes it empty. */
  [name: string]: string | number | boolean | null | undefined | Listeners;
  on?: Listeners;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes?: Attributes | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") {
      for (const [type, listener] of Object.entries(value as Listeners)) {
        element.addEventListener(type, listener as EventListener);
      }
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

export function append(parent: Node, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (typeof child === "string") parent.appendChild(document.createTextNode(child));
    else if (child instanceof Node) parent.appendChild(child);
    else append(parent, child);
  }
}

/** Puts new children in place of the old ones. */
export function fill(parent: Element, ...children: Child[]): void {
  const fragment = document.createDocumentFragment();
  append(fragment, children);
  parent.replaceChildren(fragment);
}

/** "#007" of `run#007`: tells two passages under one heading apart. */
export function chunkNumber(id: string): string {
  return id.slice(Math.max(0, id.lastIndexOf("#")));
}

/** A heading's words, with options such as `--memory` kept on one line: browsers break after every hyphen. */
export function heading(text: string): Child[] {
  return text.split(/((?<![^\s(,/])--?[a-zA-Z][\w-]*)/).map((part, i) => (i % 2 === 1 ? h("span", { class: "option" }, part) : part));
}

/** A link target that a corpus, model or trace names: web addresses only, null for anything else. */
export function webAddress(url: string): string | null {
  try {
    const { protocol } = new URL(url, document.baseURI);
    return protocol === "https:" || protocol === "http:" ? url : null;
  } catch {
    return null;
  }
}

/**
 * A link to a page of the corpus, or its words alone where there is no address to open. Pages of another site open beside
 * this one, those of the same site in its place.
 */
export function pageLink(url: string, attributes: Attributes, ...children: Child[]): HTMLElement {
  const href = url ? webAddress(url) : null;
  if (href === null) return h("span", attributes, ...children);
  const elsewhere = new URL(href, document.baseURI).origin !== window.location.origin;
  return h("a", { ...attributes, href, ...(elsewhere ? { target: "_blank", rel: "noopener" } : {}) }, ...children);
}

/** What has the focus in the tree that `node` stands in: the document, or a shadow root, whose host is all that the document sees. */
export function activeWithin(node: Node): HTMLElement | null {
  const tree = node.getRootNode();
  return tree instanceof Document || tree instanceof ShadowRoot ? (tree.activeElement as HTMLElement | null) : null;
}
