"""Plain functions, and everything on stdout that must not reach the protocol."""

import os
import subprocess
import sys

print("loading")


def retrieve(query):
    print("retrieving", query)
    sys.stdout.write('{"id": 1, "chunks": "no reply"}\n')
    os.write(1, b"straight to the descriptor\n")
    subprocess.run(["echo", "from a child process"], check=True)
    if query == "exit":
        sys.exit("enough")
    if query == "stdin":
        return [{"id": "stdin", "text": sys.stdin.read()}]
    if query == "raise":
        raise KeyError("no such key")
    if query == "recurse":
        return retrieve(query)
    if query == "none":
        return None
    if query == "shape":
        return [{"id": "a", "text": "b"}, {"id": "c", "content": 7}]
    if query == "odd":
        return [
            {"id": 7, "text": "lone \ud800 surrogate", "score": float("nan"), "metadata": {1: {2, 2}, "when": complex(1, 2), "inf": float("inf")}},
            ({"chunk_id": "pair", "content": "of chunk and score"}, 0.25),
        ]
    return [{"id": query, "text": "text of " + query, "score": 0.5, "metadata": {"page": 7}}] * 2


def generate(query, chunks):
    if query == "none":
        return None
    return "%s: %s" % (query, ", ".join(chunk["id"] for chunk in chunks))
