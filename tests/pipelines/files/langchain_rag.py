"""A LangChain retriever and a chain: prompt, model, message."""

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_retriever import PolygraphRetriever
from polygraph_pipeline import wrap

prompt = ChatPromptTemplate.from_messages([("system", "Answer from:\n{context}"), ("human", "{question}")])
model = GenericFakeChatModel(messages=iter(AIMessage(content="answer %d" % i, usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}) for i in range(1000)))
seen = RunnableLambda(lambda value: print("PROMPT", value.to_string().replace("\n", " ")) or value)

pipeline = wrap(PolygraphRetriever(), prompt | seen | model, name="langchain")
