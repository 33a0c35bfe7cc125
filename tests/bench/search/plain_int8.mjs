// Exact dense search in plain JavaScript over the same int8 rows: what the engine's kernel has to beat.

export const name = "plain JavaScript, int8";
export function create({ passages, rows, scales, dimensions }) {
  return {
    nearest(vector) {
      let largest = 0;
      for (const x of vector) largest = Math.max(largest, Math.abs(x));
      const query = Int8Array.from(vector, (x) => Math.round((x / largest) * 127));
      const scores = new Float64Array(scales.length);
      for (let row = 0, at = 0; row < scales.length; ++row) {
        let sum = 0;
        for (let i = 0; i < dimensions; ++i) sum += rows[at++] * query[i];
        scores[row] = sum * scales[row];
      }
      return [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b).slice(0, 10).map((row) => passages[row].id);
    },
  };
}
