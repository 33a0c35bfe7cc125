"""A pipeline over Polygraph's default corpus: BM25 and dense retrieval, fused."""

from polygraph_search import Search

pipeline = Search("hybrid", ["--config", "hybrid"])
