"""Polygraph's own retrieval as a pipeline in Python: `polygraph search --json`, kept as one process, and answers quoted from
what it finds. The shipped pipelines are made of it; it is also an example of a pipeline class.

POLYGRAPH_PROGRAM and POLYGRAPH_INDEX name another program and index than those of the installation.
"""

import json
import os
import re
import shutil
import subprocess
import threading

TOP = 20  # passages asked for; fewer are given when fewer are wanted
ANSWER_PASSAGES = 4
ANSWER_SENTENCES = 2
REFUSAL = "The documentation does not say."

# Words that say nothing about what is asked for.
STOP_WORDS = frozenset(
    "a about an and any are as at be by can could do does for from get has have how i if in into is it its me my need no not of on or "
    "should so that the their them then there these they this to use used using want was we what when where which who why will with "
    "would you your".split()
)


def program():
    """The polygraph program: named by POLYGRAPH_PROGRAM, built in this checkout, or on PATH."""
    named = os.environ.get("POLYGRAPH_PROGRAM")
    if named:
        return named
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    built = os.path.join(root, "build", "default", "cli", "polygraph")
    found = built if os.access(built, os.X_OK) else shutil.which("polygraph")
    if not found:
        raise FileNotFoundError("the polygraph program is neither built in %s nor on PATH; POLYGRAPH_PROGRAM can name it" % root)
    return found


def words(text):
    """The words of a text that say something, without their commonest endings."""
    found = set()
    for word in re.findall(r"[a-z0-9][a-z0-9_.-]*", text.lower()):
        word = word.strip(".-_")
        if word and word not in STOP_WORDS:
            found.add(re.sub(r"(?<=[a-z]{3})(ing|ed|es|s)$", "", word))
    return found


def sentences(text):
    """Sentences and lines of a passage, without headings and code."""
    for line in re.sub(r"```.*?(```|\Z)", "\n", text, flags=re.S).splitlines():
        line = re.sub(r"^[\s>*+-]+", "", line).strip()
        if line and not line.startswith("#"):
            yield from (part.strip() for part in re.split(r"(?<=[.!?])\s+(?=[A-Z`\"(])", line) if len(part.split()) >= 4)


class Search:
    """retrieve asks the program; generate quotes the sentences that share most words with the question, or refuses."""

    def __init__(self, name, arguments):
        self.name = name
        self._command = [program(), "search", "--json", "--top", str(TOP)] + list(arguments)
        if os.environ.get("POLYGRAPH_INDEX"):
            self._command += ["--index", os.environ["POLYGRAPH_INDEX"]]
        self._lock = threading.Lock()
        self._process = None
        self._ask("warm up")  # models are loaded before anything is measured

    def _ask(self, query):
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
            try:
                self._process.stdin.write(query + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except BrokenPipeError:
                line = ""
            if not line:
                status = self._process.wait()
                self._process = None
                raise RuntimeError("`%s` ended with status %d" % (" ".join(self._command), status))
            return json.loads(line)["results"]

    def retrieve(self, query, k=5):
        query = " ".join(query.split())  # a query is a line, and a tab would name it
        if not query:
            return []
        chunks = []
        for found in self._ask(query)[:k]:
            chunks.append({"id": found["id"], "text": found["text"], "score": found["score"],
                           "metadata": {"title": found["title"], "url": found["url"]}})
        return chunks

    def generate(self, query, chunks):
        asked = words(query)
        ranked = []
        for place, chunk in enumerate(chunks[:ANSWER_PASSAGES]):
            about = len(asked & words((chunk["metadata"] or {}).get("title", "")))
            for sentence in sentences(chunk["text"]):
                shared = len(asked & words(sentence))
                if shared:
                    ranked.append((-(shared + 0.5 * about), place, len(ranked), sentence, chunk["id"]))
        best = sorted(ranked)[:ANSWER_SENTENCES]
        if not best:
            return {"answer": REFUSAL, "refused": True, "citations": []}
        best.sort(key=lambda entry: entry[1:3])  # as they stand
        return {"answer": " ".join(entry[3] for entry in best), "refused": False, "citations": list(dict.fromkeys(entry[4] for entry in best))}
