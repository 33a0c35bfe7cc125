// Passages while somebody types: a list of links that the arrow keys walk through.

import type { Hit } from "../engine/boundary.ts";
import { activeWithin, fill, h, heading, pageLink } from "./dom.ts";
import { excerpt } from "./excerpt.ts";
import { englishPhrases } from "./phrases.ts";
import { path } from "./words.ts";

export interface PassagesView {
  show(hits: Hit[] | null, query: string, lookupMs: number): void;
  /** Moves the focus by one; past the first it returns to the field. */
  move(step: 1 | -1): boolean;
}

export function passagesView(root: HTMLElement, field: HTMLInputElement, say: (message: string) => void, phrases = englishPhrases): PassagesView {
  const links = (): HTMLElement[] => [...root.querySelectorAll<HTMLElement>("a")];
  return {
    show(hits, query, lookupMs) {
      root.hidden = hits === null;
      if (!hits) {
        fill(root);
        return;
      }
      root.dataset["ms"] = lookupMs.toFixed(1);
      // A list that arrives late must not take the focus from somebody who walks the one before it.
      const focused = links().indexOf(activeWithin(root) as HTMLElement);
      if (hits.length === 0) {
        fill(root, h("p", { class: "quiet" }, query ? phrases.text("passages.none") : ""));
        if (focused >= 0) field.focus();
        return;
      }
      fill(
        root,
        h("h2", { class: "label" }, phrases.text("passages"), h("span", { class: "quiet" }, phrases.nodes("passages.how", { enter: h("kbd", null, "Enter"), down: h("kbd", null, "↓") }))),
        h("ol", { class: "passages" }, hits.map((hit) =>
          h("li", null,
            pageLink(hit.url, { class: "passage", "data-chunk": hit.id },
              h("span", { class: "passage-path" }, heading(path(hit.title, hit.heading_path))),
              h("span", { class: "passage-excerpt" }, excerpt(hit.text, hit.marks))),
          ))),
      );
      if (focused >= 0) links()[Math.min(focused, hits.length - 1)]?.focus();
      say(phrases.count("passages", hits.length));
    },
    move(step) {
      const all = links();
      if (all.length === 0) return false;
      const at = all.indexOf(activeWithin(root) as HTMLElement) + step;
      if (at < 0) field.focus();
      else all[Math.min(at, all.length - 1)]?.focus();
      return true;
    },
  };
}
