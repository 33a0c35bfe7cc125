// MiniSearch as its documentation sets it up for a site: three fields, any word may match.

import MiniSearch from "minisearch";

export const name = "MiniSearch 7.2.0";
export function create({ passages }) {
  const index = new MiniSearch({ fields: ["title", "heading", "text"] });
  index.addAll(passages);
  const ids = (results) => results.slice(0, 10).map(({ id }) => id);
  return {
    search: (query) => ids(index.search(query)),
    complete: (query) => ids(index.search(query, { prefix: true, fuzzy: 0.2 })),
  };
}
