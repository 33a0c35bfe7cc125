// The state machine as a drawing, with one run's way through it. Boxes of states that the run came through are buttons.

import { nodeNames, plural } from "../ask/words.ts";
import type { Node, Trace } from "../engine/trace.ts";
import { transitions, wayOf, type Edge, type State } from "./way.ts";

type Point = readonly [x: number, y: number];

interface Layout {
  size: Point;
  at: Record<State, Point>;
  /** Bends of edges that would run through a box, as a curve's control point. */
  bend: Partial<Record<Edge, Point>>;
}

const box: Point = [104, 44];

const wide: Layout = {
  size: [700, 210],
  at: {
    question: [54, 88], retrieve: [198, 88], grade_context: [350, 88], generate: [502, 88], answered: [646, 88],
    rewrite_query: [274, 184], refuse: [502, 184], refused: [646, 184], failed: [646, 24],
  },
  bend: { "retrieve>generate": [350, -20], "retrieve>failed": [400, -24], "rewrite_query>failed": [580, 150] },
};

const narrow: Layout = {
  size: [320, 428],
  at: {
    question: [104, 26], retrieve: [104, 112], grade_context: [104, 214], generate: [104, 316], answered: [104, 402],
    rewrite_query: [256, 163], refuse: [256, 316], refused: [256, 402], failed: [180, 484],
  },
  // A run that failed leaves by the lane between the two columns.
  bend: {
    "retrieve>generate": [-20, 214],
    "retrieve>failed": [180, 112], "grade_context>failed": [180, 214], "generate>failed": [180, 316], "rewrite_query>failed": [180, 163],
  },
};

/** Below the rest on narrow screens; a run that did not fail needs no room for it. */
const roomForFailed = 82;

const endNames: Record<string, string> = { question: "Question", answered: "Answered", refused: "Refused", failed: "Failed" };
const nameOf = (state: State): string => endNames[state] ?? nodeNames[state as Node];

function s(tag: string, attributes: Record<string, string | number | null>, ...children: (SVGElement | string | false)[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, String(value));
  for (const child of children) if (child) element.append(child);
  return element;
}

/** Where the line from `from` to `towards` leaves the box around `from`. */
function border(from: Point, towards: Point, gap: number): Point {
  const dx = towards[0] - from[0];
  const dy = towards[1] - from[1];
  const reach = Math.min((box[0] / 2 + gap) / Math.abs(dx || 1e-9), (box[1] / 2 + gap) / Math.abs(dy || 1e-9));
  return [from[0] + dx * reach, from[1] + dy * reach];
}

const words = (steps: readonly number[]): string => `${steps.length === 1 ? "step" : "steps"} ${steps.join(", ")}`;

/** @param current number of the chosen step; 0: none */
export function diagram(trace: Trace, current: number, vertical: boolean, choose: (step: number) => void): SVGElement {
  const layout = vertical ? narrow : wide;
  const way = wayOf(trace);
  const ended = way.states.at(-1);
  const edges = new Set<Edge>([...transitions, ...way.taken.keys()]);
  const states = (Object.keys(layout.at) as State[]).filter((state) => state !== "failed" || ended === "failed");
  const [width, room] = layout.size;
  const height = vertical && ended === "failed" ? room + roomForFailed : room;
  // Drawn in this order: edges that were not taken lie beneath those that were.
  const drawn = [...edges].sort((a, b) => Number(way.taken.has(a)) - Number(way.taken.has(b)));
  return s("svg", { class: "machine", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `State machine. This run: ${way.states.map(nameOf).join(", ")}.` },
    s("defs", {}, ...["idle", "taken", "now"].map((kind) => s("marker", { id: `head-${kind}`, class: `head ${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto", markerUnits: "userSpaceOnUse" }, s("path", { d: "M0 0 8 4 0 8z" })))),
    ...drawn.map((edge) => edgeShape(edge, layout, way.taken.get(edge), current)),
    ...states.map((state) => stateShape(state, layout.at[state], way.visits.get(state) ?? [], way.states.includes(state), current, choose)));
}

function edgeShape(edge: Edge, layout: Layout, taken: number[] | undefined, current: number): SVGElement {
  const [a, b] = edge.split(">") as [State, State];
  const from = layout.at[a];
  const to = layout.at[b];
  const bend = layout.bend[edge];
  const begin = border(from, bend ?? to, 1);
  const end = border(to, bend ?? from, 3);
  const kind = !taken ? "idle" : taken.includes(current) ? "now" : "taken";
  const path = bend ? `M${begin.join(" ")}Q${bend.join(" ")} ${end.join(" ")}` : `M${begin.join(" ")}L${end.join(" ")}`;
  return s("path", { class: `edge ${kind}`, d: path, "marker-end": `url(#head-${kind})`, "data-edge": edge });
}

function stateShape(state: State, [x, y]: Point, visits: number[], reached: boolean, current: number, choose: (step: number) => void): SVGElement {
  const now = visits.includes(current);
  const end = state in endNames;
  const chosen = visits.length > 0;
  const middle = box[0] / 2;
  const shape = s("g", {
    class: ["state", end ? "end" : "", reached ? "reached" : "", now ? "now" : ""].filter(Boolean).join(" "),
    transform: `translate(${x - middle} ${y - box[1] / 2})`,
    role: chosen ? "button" : null, tabindex: chosen ? 0 : null, "aria-current": now ? "step" : null, "data-state": state, "aria-hidden": chosen ? null : "true",
  },
    s("rect", { width: box[0], height: box[1], rx: end ? box[1] / 2 : 5 }),
    s("text", { "text-anchor": "middle" },
      s("tspan", { x: middle, y: chosen ? 19 : 27 }, nameOf(state)),
      chosen && " ",
      chosen && s("tspan", { class: "visits", x: middle, y: 35 }, visits.length > 4 ? plural(visits.length, "step") : words(visits))));
  if (chosen) {
    // Again and again: each of the state's steps in turn.
    const next = (): void => choose(visits[(visits.indexOf(current) + 1) % visits.length]!);
    shape.addEventListener("click", next);
    shape.addEventListener("keydown", (event) => {
      const { key } = event as KeyboardEvent;
      if (key !== "Enter" && key !== " ") return;
      event.preventDefault();
      next();
    });
  }
  return shape;
}
