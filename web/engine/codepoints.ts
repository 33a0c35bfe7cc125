// Text offsets: the engine counts Unicode code points, JavaScript strings count UTF-16 units.

/** UTF-16 positions of code point offsets; offsets past the end give the text's length. Order is free. */
export function toUtf16(text: string, offsets: readonly number[]): number[] {
  const order = offsets.map((offset, at) => ({ offset, at })).sort((a, b) => a.offset - b.offset);
  const positions = new Array<number>(offsets.length).fill(text.length);
  let point = 0;
  let position = 0;
  for (const { offset, at } of order) {
    while (point < offset && position < text.length) {
      position += text.codePointAt(position)! > 0xffff ? 2 : 1;
      ++point;
    }
    positions[at] = position;
  }
  return positions;
}

/** The text between two code point offsets. */
export function slice(text: string, begin: number, end: number): string {
  const [from, to] = toUtf16(text, [begin, end]) as [number, number];
  return text.slice(from, to);
}
