// Orama with a schema of three text fields.

import { create as createIndex, insertMultiple, search } from "@orama/orama";

export const name = "Orama 3.1.18";
export async function create({ passages }) {
  const index = createIndex({ schema: { id: "string", title: "string", heading: "string", text: "string" } });
  await insertMultiple(index, passages.map((passage) => ({ ...passage })));
  const properties = ["title", "heading", "text"];
  const ids = async (options) => (await search(index, { properties, limit: 10, ...options })).hits.map(({ id }) => id);
  return { search: (term) => ids({ term }), complete: (term) => ids({ term, tolerance: 1 }) };
}
