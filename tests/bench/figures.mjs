// Figures with their limits, tables, and how both are printed.

/** At most `limit`: less is better. */
export const atMost = (name, value, unit, limit, note = "") => ({ name, value, unit, at_most: limit, ok: value <= limit, note });
/** At least `limit`: more is better. */
export const atLeast = (name, value, unit, limit, note = "") => ({ name, value, unit, at_least: limit, ok: value >= limit, note });
/** Without a limit. */
export const plain = (name, value, unit, note = "") => ({ name, value, unit, note });

/** The value below which the share `p` of them lies (nearest rank). */
export function percentile(values, p) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? NaN;
}

export function number(value) {
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value >= 1 ? value.toFixed(2) : value.toFixed(3);
}

/** Columns as wide as their longest cell, numbers to the right. */
function align(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => number(row[column] ?? "").length)));
  return rows
    .map((row) => row.map((cell, column) => {
      const text = number(cell ?? "");
      return typeof cell === "number" ? text.padStart(widths[column]) : text.padEnd(widths[column]);
    }).join("  ").trimEnd())
    .map((line) => `  ${line}`)
    .join("\n");
}

export function print(name, { figures = [], tables = [], notes = [] }) {
  console.log(`\n${name}`);
  if (figures.length > 0) {
    console.log(align(figures.map(({ name, value, unit, at_most, at_least, ok, note }) => [
      name,
      `${number(value)} ${unit}`.trim(),
      at_most !== undefined ? `at most ${number(at_most)}` : at_least !== undefined ? `at least ${number(at_least)}` : "",
      ok === undefined ? "" : ok ? "ok" : "missed",
      note,
    ])));
  }
  for (const { title, columns, rows } of tables) console.log(`\n  ${title}\n${align([columns, ...rows])}`);
  for (const note of notes) console.log(`\n  ${note}`);
}
