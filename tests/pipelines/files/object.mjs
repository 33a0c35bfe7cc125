// A LangChain.js-like retriever and a chain, by their shapes: Documents in, a message out.
class Document {
  constructor({ id, pageContent, metadata }) {
    Object.assign(this, { id, pageContent, metadata });
  }
}
const retriever = {
  _getRelevantDocuments: async () => [],
  invoke: async (query) => [new Document({ id: "d1", pageContent: `about ${query}`, metadata: { source: "a.md" } })],
};
const chain = {
  async *[Symbol.asyncIterator]() {},
  invoke: async ({ question, context, documents }) => ({ content: `${question} from ${context}: ${documents[0] instanceof Document}`, usage_metadata: { input_tokens: 1, output_tokens: 2 } }),
};
export const pipeline = polygraph.wrap(retriever, chain, "by shape");
