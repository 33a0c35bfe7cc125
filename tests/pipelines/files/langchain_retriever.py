"""A LangChain retriever over Polygraph's retrieval, as it is."""

from typing import Any, List

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from polygraph_search import Search

search = Search("bm25", ["--mode", "bm25", "--no-rerank"])


class PolygraphRetriever(BaseRetriever):
    k: int = 3

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> List[Document]:
        return [Document(id=found["id"], page_content=found["text"], metadata=found["metadata"]) for found in search.retrieve(query, self.k)]


pipeline = PolygraphRetriever()
