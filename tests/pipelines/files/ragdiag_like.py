"""A pipeline object as RAGDiag's users have it: it gives and takes objects of its own type."""


class RetrievedChunk:
    def __init__(self, id, text, score=None, metadata=None):
        self.id, self.text, self.score, self.metadata = id, text, score, metadata or {}


class MyPipeline:
    name = "my-pipeline"

    def retrieve(self, query):
        return [RetrievedChunk("c1", "first of " + query, 0.9, {"source": "a.md"}), RetrievedChunk("c2", "second", None)]

    def generate(self, query, chunks):
        # isinstance, so that dictionaries would not do
        assert all(isinstance(chunk, RetrievedChunk) for chunk in chunks), chunks
        return " | ".join(chunk.text for chunk in chunks)


pipeline = MyPipeline()
