#!/usr/bin/env python3
"""Stands for the polygraph program where polygraph.py is tested: it checks how it is called, asks the pipelines that it is
given, and ends as its dataset says."""

import json
import sys
import urllib.request


def option(name):
    return sys.argv[sys.argv.index(name) + 1]


def ask(address, question):
    if not address.startswith("http://127.0.0.1:"):
        return {"pipeline": address}
    replies = {}
    body = {"op": "retrieve", "query": question, "k": 5, "id": 1}
    for operation in ("retrieve", "generate"):
        body["op"] = operation
        request = urllib.request.Request(address + "/" + operation, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            replies[operation] = json.load(reply)
        body["chunks"] = replies[operation].get("chunks", [])
    return replies


command = sys.argv[1]
if command == "diagnose":
    assert sys.argv[3:] == ["--json"], sys.argv
    print(json.dumps({"diagnosed": json.load(open(sys.argv[2]))}))
elif "--report-a" in sys.argv:
    print(json.dumps({"a": json.load(open(option("--report-a"))), "b": json.load(open(option("--report-b")))}))
else:
    dataset = json.load(open(option("--dataset")))
    print("a message", file=sys.stderr)
    if dataset.get("status"):
        print("golden.json: line 3: samples: expected a list", file=sys.stderr)
        sys.exit(dataset["status"])
    if command == "run":
        document = {"k": option("--k"), "judge": option("--judge") if "--judge" in sys.argv else None, "asked": ask(option("--pipeline"), dataset["question"])}
        with open(option("--out"), "w") as file:
            json.dump(document, file)
        print("text for people")
    else:
        print(json.dumps({side: ask(option("--pipeline-" + side), dataset["question"]) for side in "ab"}))
