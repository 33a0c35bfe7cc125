"""A pipeline over Polygraph's default corpus: dense retrieval alone."""

from polygraph_search import Search

pipeline = Search("dense", ["--config", "baseline"])
