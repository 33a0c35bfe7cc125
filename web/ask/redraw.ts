// Parts of a page that are drawn anew as more becomes known, without taking anything from whoever uses them: the focus stays on
// the control that had it, folds that were opened stay open, and a button that is held down is left alone until it is let go,
// since a click on what was replaced meanwhile would be lost.

import { activeWithin } from "./dom.ts";

interface Part {
  held: boolean;
  waiting: (() => void) | null;
}

const parts = new WeakMap<HTMLElement, Part>();

function partOf(root: HTMLElement): Part {
  const known = parts.get(root);
  if (known) return known;
  const part: Part = { held: false, waiting: null };
  parts.set(root, part);
  const hold = (event: Event): void => {
    // A list that drops down takes the release for itself.
    if ((event.target as Element).closest("button, a, summary, label, input")) part.held = true;
  };
  const release = (): void => {
    if (!part.held) return;
    part.held = false;
    window.setTimeout(() => { // after the click
      if (part.held) return;
      const { waiting } = part;
      part.waiting = null;
      waiting?.();
    });
  };
  root.addEventListener("pointerdown", hold);
  root.addEventListener("keydown", (event) => event.key === " " && hold(event));
  for (const type of ["pointerup", "pointercancel", "dragend", "keyup", "blur"]) window.addEventListener(type, release);
  return part;
}

const nameOf = (element: HTMLElement): string | null => element.dataset["key"] ?? element.dataset["state"] ?? element.getAttribute("name");

/**
 * Runs `draw`, which replaces what `root` holds: now, or when what is held down in it has been let go; of several that wait the
 * last one runs. Controls are known again by `data-key`, `data-state` or `name`, folds by `data-fold`.
 * @param lost what takes the focus where the control that had it is gone
 */
export function redraw(root: HTMLElement, draw: () => void, lost?: () => HTMLElement | null): void {
  const part = partOf(root);
  if (part.held) {
    part.waiting = () => redraw(root, draw, lost);
    return;
  }
  part.waiting = null;
  const active = activeWithin(root);
  const focused = active && root.contains(active) ? active.closest<HTMLElement>("[data-key], [data-state], [name]") : null;
  const had = active !== null && root.contains(active);
  const open = new Set([...root.querySelectorAll<HTMLElement>("details[data-fold][open]")].map((fold) => fold.dataset["fold"]));
  draw();
  for (const fold of root.querySelectorAll<HTMLDetailsElement>("details[data-fold]")) if (open.has(fold.dataset["fold"])) fold.open = true;
  if (!had || (active && root.contains(active))) return;
  const name = focused && nameOf(focused);
  const again = name ? [...root.querySelectorAll<HTMLElement>("[data-key], [data-state], [name]")].find((each) => nameOf(each) === name) : undefined;
  // A button that has just become useless hands its focus to the one beside it.
  const target = again?.matches(":disabled") ? again.parentElement?.querySelector<HTMLElement>("button:enabled") : again;
  (target ?? lost?.())?.focus({ preventScroll: true });
}
