// Names beside the dots of a plot: none covers another one or a foreign dot where there is room, and none leaves the plot.

import assert from "node:assert/strict";
import test from "node:test";
import { placeNames, widthOf } from "../../../web/report/plot-names.ts";

const frame = { left: 52, right: 328, top: 13, bottom: 198 };
const letters = 12;

/** The box of each name, and of each dot. */
function boxes(dots: { name: string; x: number; y: number }[]): { name: string; box: number[] }[] {
  const places = placeNames(dots, frame);
  return [
    ...dots.map(({ name, x, y }) => ({ name, box: [x - 5, y - 5, x + 5, y + 5] })),
    ...dots.map(({ name, x, y }, i) => {
      const { dx, dy, anchor } = places[i]!;
      const left = x + dx - { start: 0, middle: 0.5, end: 1 }[anchor] * widthOf(name);
      return { name, box: [left, y + dy - letters / 2, left + widthOf(name), y + dy + letters / 2] };
    }),
  ];
}

const covers = ([l, t, r, b]: number[], [left, top, right, bottom]: number[]): boolean => l! < right! && left! < r! && t! < bottom! && top! < b!;

test("three pipelines that stand close together at the right of a narrow plot keep their names apart", () => {
  const all = boxes([{ name: "baseline", x: 52, y: 180 }, { name: "hybrid", x: 52, y: 90 }, { name: "hybrid_rerank", x: 168, y: 32 }, { name: "full", x: 228, y: 32 }, { name: "tuned", x: 270, y: 44 }]);
  for (const [i, a] of all.entries()) {
    for (const b of all.slice(i + 1)) assert.ok(a.name === b.name || !covers(a.box, b.box), `${a.name} and ${b.name}`);
  }
});

test("a name at an edge stands inside the plot", () => {
  for (const { box } of boxes([{ name: "a_long_pipeline_name", x: 326, y: 16 }, { name: "another_long_name", x: 54, y: 195 }]).slice(2)) {
    assert.ok(box[0]! >= frame.left && box[2]! <= frame.right && box[1]! >= frame.top && box[3]! <= frame.bottom, String(box));
  }
});

test("dots at one place show each name once, none over another", () => {
  const [a, b, c] = boxes(["one", "two", "three"].map((name) => ({ name, x: 150, y: 100 }))).slice(3);
  assert.ok(!covers(a!.box, b!.box) && !covers(b!.box, c!.box) && !covers(a!.box, c!.box));
});
