// The plots, drawn by Observable Plot as SVG in the page's own colours. Each has a sentence that says what it shows, and
// stands beside or above a table with the same figures. A plot is drawn anew when its width changes, so its letters keep
// their size on narrow screens; in print it scales.

import { axisX, axisY, barX, binX, dot, gridX, gridY, line, plot, rectY, ruleX, ruleY, stackX, text, type PlotOptions } from "@observablehq/plot";
import { h, type Child } from "../ask/dom.ts";
import { placeNames, widthOf } from "./plot-names.ts";
import { decimal, msUpTo, signed, visible } from "./words.ts";

const accent = "var(--accent)";
const quiet = "var(--quiet)";
const ink = "var(--text)";
const strongLine = "var(--strong-line)";
const severities = { domain: ["major", "warning", "info"], range: ["var(--major)", "var(--warning)", "var(--pass)"] };
const textSize = 12;
const rowHeight = 26;
const gap = 12;

/** What the names of the rows need; narrow screens give less and cut them. */
const nameRoom = (width: number, names: readonly string[]): number => Math.min(Math.ceil(Math.max(...names.map(widthOf))) + gap, Math.round(width * 0.46));

const drawn = new Map<Element, { draw(width: number): void; width: number }>();
let observer: ResizeObserver | null = null;

function watch(frame: HTMLElement, draw: (width: number) => void): void {
  observer ??= new ResizeObserver((changes) => {
    for (const { target, contentRect } of changes) {
      const known = drawn.get(target);
      const width = Math.floor(contentRect.width);
      if (!target.isConnected) {
        observer?.unobserve(target);
        drawn.delete(target);
      } else if (known && width > 0 && width !== known.width) {
        known.width = width;
        known.draw(width);
      }
    }
  });
  drawn.set(frame, { draw, width: 0 });
  observer.observe(frame);
}

/** @param description what a reader who does not see the plot is told */
function figure(caption: Child, description: string, options: (width: number) => PlotOptions): HTMLElement {
  const frame = h("div", { class: "plot-frame", role: "img", "aria-label": description });
  watch(frame, (width) => {
    const svg = plot({
      className: "plot",
      width,
      style: { fontSize: `${textSize}px` },
      ...options(width),
    });
    // Plot's own rules would be an inline style sheet, which a strict Content-Security-Policy forbids; report.css has them.
    svg.querySelectorAll("style").forEach((style) => style.remove());
    svg.setAttribute("aria-hidden", "true");
    frame.replaceChildren(svg);
  });
  return h("figure", { class: "figure" }, h("figcaption", null, caption), frame);
}

function clip(name: string, room: number): string {
  const letters = [...visible(name)];
  let fits = letters.length;
  while (fits > 3 && widthOf(letters.slice(0, fits).join("")) > room - gap) --fits;
  return fits < letters.length ? `${letters.slice(0, fits - 1).join("")}…` : letters.join("");
}

export interface Bar {
  name: string;
  severity: string;
  value: number;
  /** Beside the bar; by default the value. */
  label?: string;
}

export function bars(caption: Child, description: string, rows: readonly Bar[]): HTMLElement {
  const names = rows.map((row) => row.name);
  return figure(caption, description, (width) => {
    const marginLeft = nameRoom(width, names);
    return {
      height: rows.length * rowHeight + 8,
      marginLeft, marginRight: 64, marginTop: 4, marginBottom: 4,
      x: { axis: null, domain: [0, Math.max(1, ...rows.map((row) => row.value))] },
      y: { domain: names, padding: 0.35 },
      color: severities,
      marks: [
        axisY({ label: null, tickSize: 0, tickFormat: (name: string) => clip(name, marginLeft), fill: ink }),
        barX(rows, { x: "value", y: "name", fill: "severity" }),
        text(rows, { x: "value", y: "name", text: (row: Bar) => row.label ?? String(row.value), textAnchor: "start", dx: 6, fill: ink }),
        ruleX([0], { stroke: strongLine }),
      ],
    };
  });
}

export interface Range {
  name: string;
  value: number;
  low: number | null;
  high: number | null;
}

/** Values with their intervals on one scale: 0 to 1, or round a zero line for differences. */
export function ranges(caption: Child, description: string, rows: readonly Range[], differences = false): HTMLElement {
  const known = rows.filter((row) => row.low !== null && row.high !== null);
  const extent = Math.max(0.01, ...rows.flatMap((row) => [row.value, row.low ?? 0, row.high ?? 0].map(Math.abs)));
  return figure(caption, description, (width) => {
    const marginLeft = nameRoom(width, rows.map((row) => row.name));
    return {
      height: rows.length * rowHeight + 36,
      marginLeft, marginRight: 16, marginTop: 4, marginBottom: 30,
      x: { domain: differences ? [-extent * 1.08, extent * 1.08] : [0, 1] },
      y: { domain: rows.map((row) => row.name), type: "point" as const, padding: 0.6 },
      marks: [
        gridX({ stroke: strongLine, strokeOpacity: 0.5, ticks: 5 }),
        axisX({ label: null, ticks: 5, tickSize: 0, fill: quiet, tickFormat: (value: number) => (differences ? signed(value, extent < 0.02 ? 3 : extent < 0.5 ? 2 : 1) : decimal(value, 1)) }),
        axisY({ label: null, tickSize: 0, tickFormat: (name: string) => clip(name, marginLeft), fill: ink }),
        ruleX([0], { stroke: differences ? ink : strongLine }),
        ruleY(known, { y: "name", x1: "low", x2: "high", stroke: accent, strokeWidth: 2 }),
        dot(rows, { x: "value", y: "name", r: 4, fill: accent }),
      ],
    };
  });
}

export interface Part {
  row: string;
  severity: "major" | "warning" | "info";
  value: number;
}

/** Shares of each row by severity. */
export function shares(caption: Child, description: string, parts: readonly Part[]): HTMLElement {
  const rows = [...new Set(parts.map((part) => part.row))];
  return figure([caption, h("span", { class: "legend" },
    (["major", "warning", "info"] as const).map((severity) => h("span", { class: `key ${severity}` }, severity === "info" ? "pass" : severity)))], description, (width) => {
    const marginLeft = nameRoom(width, rows);
    return {
      height: rows.length * rowHeight + 30,
      marginLeft, marginRight: 24, marginTop: 4, marginBottom: 24,
      x: { percent: true },
      y: { domain: rows, padding: 0.35 },
      color: severities,
      marks: [
        axisX({ label: null, ticks: 5, tickSize: 0, fill: quiet, tickFormat: (value: number) => `${value} %` }),
        axisY({ label: null, tickSize: 0, tickFormat: (name: string) => clip(name, marginLeft), fill: ink }),
        barX(parts, stackX({ offset: "normalize", order: severities.domain }, { x: "value", y: "row", fill: "severity", insetRight: 1 })),
      ],
    };
  });
}

export function histogram(caption: Child, description: string, values: readonly number[], marks: readonly { name: string; value: number }[]): HTMLElement {
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  return figure(caption, description, (width) => ({
    height: 190,
    marginLeft: 44, marginRight: 36, marginTop: 30, marginBottom: 32,
    x: { domain: [0, Math.max(1, most)], nice: true },
    y: { grid: false },
    marks: [
      gridY({ stroke: strongLine, strokeOpacity: 0.5, ticks: 4 }),
      axisX({ label: null, ticks: Math.max(3, Math.floor(width / 110)), tickSize: 0, fill: quiet, tickFormat: msUpTo(most) }),
      axisY({ label: null, ticks: 4, tickSize: 0, fill: quiet }),
      rectY(values, {
        ...binX({ y: "count" }, { x: (value: number) => value, thresholds: Math.max(10, Math.min(40, Math.floor(width / 16))) }),
        fill: accent, fillOpacity: 0.75, inset: 0.5,
      }),
      ruleX(marks, { x: "value", stroke: ink, strokeDasharray: "3,3" }),
      // Percentiles that stand close together take turns at two heights.
      text(marks, { x: "value", frameAnchor: "top", text: "name", dy: -10, fill: ink, filter: (_, i) => i % 2 === 0 }),
      text(marks, { x: "value", frameAnchor: "top", text: "name", dy: -22, fill: ink, filter: (_, i) => i % 2 === 1 }),
      ruleY([0], { stroke: strongLine }),
    ],
  }));
}

export interface Point {
  name: string;
  x: number;
  y: number;
  front: boolean;
}

/** Quality against what it costs; what no other pipeline beats on both is joined by a line. */
export function pareto(caption: Child, description: string, points: readonly Point[], xName: string, xFormat: (value: number) => string, yName: string): HTMLElement {
  const front = points.filter((point) => point.front).sort((a, b) => a.x - b.x || a.y - b.y);
  const ys = points.map((point) => point.y);
  const low = Math.min(...ys);
  const high = Math.max(...ys);
  const room = Math.max(0.02, (high - low) * 0.15);
  const most = Math.max(...points.map((point) => point.x));
  const [right, bottom, top] = [most > 0 ? most * 1.15 : 1, Math.max(0, low - room), Math.min(1, high + room)];
  return figure(caption, description, (width) => {
    const height = Math.max(240, Math.min(320, Math.round(width * 0.62)));
    const margin = { marginLeft: 52, marginRight: 24, marginTop: 26, marginBottom: 42 };
    const frame = { left: margin.marginLeft, right: width, top: margin.marginTop / 2, bottom: height - margin.marginBottom };
    const names = placeNames(points.map((point) => ({
      name: clip(point.name, Math.min(220, width * 0.45)),
      x: margin.marginLeft + (point.x / right) * (width - margin.marginLeft - margin.marginRight),
      y: frame.bottom - ((point.y - bottom) / (top - bottom)) * (frame.bottom - margin.marginTop),
    })), frame);
    return {
      height, ...margin,
      x: { domain: [0, right] },
      y: { domain: [bottom, top] },
      marks: [
        gridX({ stroke: strongLine, strokeOpacity: 0.4, ticks: 4 }),
        gridY({ stroke: strongLine, strokeOpacity: 0.4, ticks: 5 }),
        axisX({ label: `${xName} →`, labelAnchor: "right", ticks: Math.max(3, Math.floor(width / 120)), tickSize: 0, fill: quiet, tickFormat: xFormat }),
        axisY({ label: `↑ ${yName}`, ticks: 5, tickSize: 0, fill: quiet, tickFormat: (value: number) => decimal(value, 2) }),
        line(front, { x: "x", y: "y", stroke: accent, strokeWidth: 1.5 }),
        dot(points, { x: "x", y: "y", r: 5, fill: (point: Point) => (point.front ? accent : "var(--ground)"), stroke: (point: Point) => (point.front ? accent : quiet), strokeWidth: 1.5 }),
        ...names.map(({ name, dx, dy, anchor }, i) => text([points[i]!], { x: "x", y: "y", dx, dy, textAnchor: anchor, fill: ink, text: () => name })),
      ],
    };
  });
}
