// The difference of two queries, word by word (longest common subsequence).

export interface WordChange {
  kind: "same" | "removed" | "added";
  text: string;
}

export function wordDiff(from: string, to: string): WordChange[] {
  const a = from.split(/\s+/).filter(Boolean);
  const b = to.split(/\s+/).filter(Boolean);
  // longest[i][j]: length of the longest common subsequence of a[i…] and b[j…].
  const longest = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j) {
      longest[i]![j] = a[i] === b[j] ? longest[i + 1]![j + 1]! + 1 : Math.max(longest[i + 1]![j]!, longest[i]![j + 1]!);
    }
  }
  const changes: WordChange[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      changes.push({ kind: "same", text: a[i++]! });
      ++j;
    } else if (i < a.length && (j === b.length || longest[i + 1]![j]! >= longest[i]![j + 1]!)) {
      changes.push({ kind: "removed", text: a[i++]! });
    } else {
      changes.push({ kind: "added", text: b[j++]! });
    }
  }
  return changes;
}
