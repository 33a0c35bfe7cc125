// Names of dots in a plot, placed so that they can be read on narrow screens too.

/** About how wide a name is: capitals are wider. In pixels, at the size of the plots' letters. */
export const widthOf = (name: string): number => [...name].reduce((sum, letter) => sum + (/[A-Z_@]/.test(letter) ? 8.4 : 6.9), 0);

/** Where a name stands from its dot, in pixels. */
export interface Place {
  name: string;
  dx: number;
  dy: number;
  anchor: "start" | "middle" | "end";
}

const letterHeight = 14;
const dotSize = 7;

/**
 * Where the names of dots stand: beside their own dot, inside the plot, and off other names and dots as far as there is room.
 * @param dots in pixels. @param frame the plot's own part, in the same
 */
export function placeNames(dots: readonly { name: string; x: number; y: number }[], frame: { left: number; right: number; top: number; bottom: number }): Place[] {
  type Box = readonly [left: number, top: number, right: number, bottom: number];
  const overlap = (a: Box, b: Box): number => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  const taken: Box[] = dots.map(({ x, y }) => [x - dotSize, y - dotSize, x + dotSize, y + dotSize]);
  // Below on the right and above on the left come first: the front's line, which rises, does not cross them.
  const offsets: readonly Omit<Place, "name">[] = [
    { dx: 9, dy: 12, anchor: "start" }, { dx: -9, dy: -12, anchor: "end" }, { dx: 9, dy: -12, anchor: "start" }, { dx: -9, dy: 12, anchor: "end" },
    { dx: 0, dy: 17, anchor: "middle" }, { dx: 0, dy: -17, anchor: "middle" }, { dx: 0, dy: 31, anchor: "middle" }, { dx: 0, dy: -31, anchor: "middle" },
  ];
  return dots.map(({ name, x, y }, i) => {
    const width = widthOf(name);
    let best = { cost: Number.POSITIVE_INFINITY, place: offsets[0]!, box: taken[i]! };
    for (const place of offsets) {
      const left = x + place.dx - (place.anchor === "start" ? 0 : place.anchor === "end" ? width : width / 2);
      const box: Box = [left, y + place.dy - letterHeight / 2, left + width, y + place.dy + letterHeight / 2];
      const inside: Box = [Math.max(box[0], frame.left), Math.max(box[1], frame.top), Math.min(box[2], frame.right), Math.min(box[3], frame.bottom)];
      const outside = width * letterHeight - overlap(box, inside);
      const cost = outside * 2 + taken.reduce((sum, other, j) => sum + (j === i ? 0 : overlap(box, other)), 0);
      if (cost < best.cost - 0.5) best = { cost, place, box };
    }
    taken.push(best.box);
    return { name, ...best.place };
  });
}
