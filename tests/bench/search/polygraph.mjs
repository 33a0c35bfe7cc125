// This engine in WebAssembly, through its boundary: JSON out, as the page gets it.

import { read } from "./reply.mjs";

const limit = 10;

export const name = "Polygraph";
export function create({ engine }) {
  const ids = (json) => read(json).ranked.map(({ id }) => id);
  return {
    search: (query) => ids(engine.rankLexical(query, limit)),
    complete: (query) => read(engine.typeahead(query, limit)).hits.map(({ id }) => id),
    nearest: (_, base64) => ids(engine.rankDense(base64, limit)),
  };
}
