"""A chain that retrieves by itself and gives {input, context, answer}, as create_retrieval_chain makes it."""

from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_retriever import PolygraphRetriever

pipeline = RunnablePassthrough.assign(context=RunnableLambda(lambda value: value["input"]) | PolygraphRetriever()).assign(
    answer=RunnableLambda(lambda value: "%d documents for %s" % (len(value["context"]), value["input"]))
)
