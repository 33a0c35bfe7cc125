// Exported functions, and much on stdout that must not reach the protocol.
console.log("loading");

export async function retrieve(query, k) {
  console.log("retrieving", query);
  process.stdout.write('{"id": 1, "chunks": "no reply"}\n');
  if (query === "raise") throw new RangeError("no such range");
  if (query === "none") return undefined;
  if (query === "shape") return [{ id: "a", text: "b" }, { id: "c", content: 7 }];
  if (query === "odd") return [{ id: 7, text: "lone \ud800 surrogate", score: NaN, metadata: { when: new Date(0), big: 1n } }, [{ id: "pair", pageContent: "of chunk and score" }, 0.25]];
  return Array.from({ length: k }, (_, i) => ({ id: `${query} ${i}`, text: "line\u2028separator", score: 0.5 }));
}

export const generate = (query, chunks) => ({ answer: chunks.map(({ id }) => id).join(", "), refused: false, citations: [chunks[0]] });
