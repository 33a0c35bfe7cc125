// Five passages, ready made.
const passages = Array.from({ length: 5 }, (_, i) => ({ id: `page#${i}`, text: "p".repeat(1000), score: 0.5, metadata: { page: 7 } }));

export const retrieve = () => passages;
