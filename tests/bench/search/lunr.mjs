// Lunr. Its query language would read `:` and `-` as operators, so the terms go in one by one.

import lunr from "lunr";

export const name = "Lunr 2.3.9";
export function create({ passages }) {
  const index = lunr(function () {
    this.ref("id");
    for (const field of ["title", "heading", "text"]) this.field(field);
    for (const passage of passages) this.add(passage);
  });
  const search = (query) => index.query((q) => q.term(lunr.tokenizer(query), {})).slice(0, 10).map(({ ref }) => ref);
  return { search };
}
