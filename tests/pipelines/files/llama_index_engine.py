"""A LlamaIndex query engine: a retriever over Polygraph's retrieval, a cut-off by score, a synthesizer over a small model."""

from typing import Any, List

from llama_index.core import QueryBundle
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, TextNode
from polygraph_search import Search

search = Search("bm25", ["--mode", "bm25", "--no-rerank"])


class PolygraphRetriever(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> List[NodeWithScore]:
        found = search.retrieve(query_bundle.query_str, 3)
        return [NodeWithScore(node=TextNode(id_=chunk["id"], text=chunk["text"], metadata=chunk["metadata"]), score=chunk["score"]) for chunk in found]


class CountingModel(CustomLLM):
    """Says how long its prompt was."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=8192, num_output=64, model_name="counting")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text="65 degrees" if "65 degrees" in prompt else "no idea")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        yield self.complete(prompt)


retriever = PolygraphRetriever()
pipeline = RetrieverQueryEngine(
    retriever=retriever,
    response_synthesizer=get_response_synthesizer(llm=CountingModel(), response_mode="compact"),
    node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.0)],
)
