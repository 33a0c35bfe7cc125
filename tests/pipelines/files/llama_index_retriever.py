"""A LlamaIndex retriever, as it is."""

from llama_index_engine import retriever as pipeline
