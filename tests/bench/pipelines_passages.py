"""Five passages, ready made."""

PASSAGES = [{"id": "page#%d" % i, "text": "p" * 1000, "score": 0.5, "metadata": {"page": 7}} for i in range(5)]


def retrieve(query):
    return PASSAGES
