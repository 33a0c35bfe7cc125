// FlexSearch: one index over title, heading and text. `suggest` keeps questions from finding nothing because one word is missing.

import FlexSearch from "flexsearch";

export const name = "FlexSearch 0.8.212";
export function create({ passages }) {
  const make = (tokenize) => {
    const index = new FlexSearch.Index({ tokenize });
    passages.forEach(({ title, heading, text }, at) => index.add(at, `${title}\n${heading}\n${text}`));
    return (query) => index.search(query, { limit: 10, suggest: true }).map((at) => passages[at].id);
  };
  return { search: make("strict"), complete: make("forward") };
}
