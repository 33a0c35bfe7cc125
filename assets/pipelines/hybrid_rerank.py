"""A pipeline over Polygraph's default corpus: BM25 and dense retrieval, fused and reranked by a cross-encoder."""

from polygraph_search import Search

pipeline = Search("hybrid_rerank", ["--config", "hybrid_rerank"])
