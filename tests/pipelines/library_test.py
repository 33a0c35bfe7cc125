"""polygraph.py over the real program: the same documents as the command line gives, and what it makes of errors.

POLYGRAPH_PROGRAM names the program, POLYGRAPH_DIR a folder of the test's own.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(root, "assets", "pipelines"))

import polygraph  # noqa: E402

GOLDEN = {
    "name": "galley",
    "version": "1",
    "samples": [
        {"id": "soup", "query": "soup", "expected_answer": "65 degrees", "relevant_chunk_ids": ["a"], "query_type": "factual"},
        {"id": "lamp", "query": "raise", "expected_answer": "red", "relevant_chunk_ids": ["b"], "query_type": "reasoning"},
        {"id": "log", "query": "log ü", "expected_answer": "hourly", "relevant_chunk_ids": ["x"], "query_type": "factual"},
    ],
}

SOURCE = '''
class Pipeline:
    name = "mine"

    def retrieve(self, query):
        if query == "raise":
            raise KeyError("no such key")
        return [{"id": "a", "text": query + " ü", "score": 0.5, "metadata": {"page": 7}}, {"id": "b", "text": "other"}]

    def generate(self, query, chunks):
        return ", ".join(chunk["id"] for chunk in chunks)


pipeline = Pipeline()
'''
space = {}
exec(SOURCE, space)
Pipeline = space["Pipeline"]


class Retriever:
    name = "retriever"

    def retrieve(self, query):
        return [{"id": "a", "text": query}]


def command(*arguments):
    """What the program prints, as JSON."""
    done = subprocess.run([os.environ["POLYGRAPH_PROGRAM"], *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def unmeasured(value):
    """A document without times, and without the sentences that name them; places in files differ, too."""
    if isinstance(value, dict):
        return {key: unmeasured(item) for key, item in value.items() if not re.search(r"latency|_ms$|^log$|^config$|^error$|^evidence$|^strengths$|^weaknesses$", key)}
    return [unmeasured(item) for item in value] if isinstance(value, list) else value


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="polygraph library ")
        os.chdir(cls.folder.name)
        with open("mine.py", "w", encoding="utf-8") as file:
            file.write(SOURCE)
        with open("golden.json", "w", encoding="utf-8") as file:
            json.dump(GOLDEN, file)

    @classmethod
    def tearDownClass(cls):
        os.chdir(root)
        cls.folder.cleanup()

    def setUp(self):
        self.messages = io.StringIO()  # of the program, which are passed on
        redirected = contextlib.redirect_stderr(self.messages)
        redirected.__enter__()
        self.addCleanup(redirected.__exit__, None, None, None)

    def evaluated_by_command(self, pipeline, k="5"):
        subprocess.run([os.environ["POLYGRAPH_PROGRAM"], "run", "--pipeline", pipeline, "--dataset", "golden.json", "--k", k, "--out", "run.jsonl", "--fresh"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        return command("report", "run.jsonl", "--json")

    def test_evaluate_gives_the_evaluation_of_the_command_line(self):
        evaluation = polygraph.evaluate("mine.py", "golden.json", k=3)
        self.assertEqual(unmeasured(evaluation), unmeasured(self.evaluated_by_command("mine.py", "3")))
        self.assertEqual(evaluation["kind"], "evaluation")
        self.assertEqual(evaluation["retrieval"]["k"], 3)
        self.assertEqual([one["status"] for one in evaluation["results"]], ["completed", "failed", "completed"])

    def test_an_object_of_this_process_is_evaluated_like_its_file(self):
        evaluation = polygraph.evaluate(Pipeline(), GOLDEN)
        self.assertEqual(unmeasured(evaluation), unmeasured(self.evaluated_by_command("mine.py")))
        self.assertEqual(evaluation["pipeline_name"], "mine")
        failed = evaluation["results"][1]
        self.assertRegex(failed["error"], r"^retrieve: KeyError: 'no such key'")
        self.assertEqual(evaluation["results"][2]["retrieved_chunks"][0]["text"], "log ü ü")

    def test_one_that_only_retrieves_completes_without_answers(self):
        evaluation = polygraph.evaluate(Retriever(), GOLDEN)
        self.assertEqual(evaluation["completed_queries"], 3)
        self.assertIsNone(evaluation["results"][0]["generated_answer"])

    def test_compare_gives_the_comparison_of_the_command_line(self):
        first, second = polygraph.evaluate("mine.py", GOLDEN), polygraph.evaluate(Retriever(), GOLDEN)
        for name, report in (("a.json", first), ("b.json", second)):
            with open(name, "w", encoding="utf-8") as file:
                json.dump(report, file)
        self.assertEqual(polygraph.compare(first, second), command("compare", "--report-a", "a.json", "--report-b", "b.json", "--json"))
        run = polygraph.compare(Pipeline(), Retriever(), GOLDEN)
        self.assertEqual(run["query_outcomes"], polygraph.compare(first, second)["query_outcomes"])
        self.assertEqual(run["winner_side"]["quality"], polygraph.compare(first, second)["winner_side"]["quality"])
        self.assertEqual((run["pipeline_a_name"], run["pipeline_b_name"]), ("mine", "retriever"))

    def test_diagnose_gives_the_diagnosis_of_the_command_line(self):
        report = self.evaluated_by_command("mine.py")
        self.assertEqual(polygraph.diagnose("run.jsonl"), command("diagnose", "run.jsonl", "--json"))
        self.assertEqual(unmeasured(polygraph.diagnose(report)["report"]["results"]), unmeasured(report["results"]))
        self.assertEqual(polygraph.diagnose(report)["failure_modes"][0]["category"], "UNKNOWN")

    def refused(self, call, *arguments, **named):
        with self.assertRaises(polygraph.PolygraphError) as caught:
            call(*arguments, **named)
        return caught.exception.status, str(caught.exception)

    def test_says_why_the_program_refused(self):
        status, message = self.refused(polygraph.evaluate, "mine.py", "nowhere.json")
        self.assertEqual(status, 3)
        self.assertIn("nowhere.json", message)
        status, message = self.refused(polygraph.evaluate, "mine.py", {"name": "g", "version": "1", "samples": [{"id": "a"}]})
        self.assertEqual(status, 3)
        self.assertIn("query", message)
        status, message = self.refused(polygraph.evaluate, "nothing", GOLDEN)
        self.assertEqual(status, 2)
        self.assertIn("`nothing` is no pipeline", message)
        self.assertEqual(self.refused(polygraph.evaluate, "mine.py", GOLDEN, judge="nobody")[0], 2)
        status, message = self.refused(polygraph.diagnose, {"name": "g"})
        self.assertEqual(status, 3)
        self.assertIn("holds neither results nor an evaluation report", message)
        self.assertEqual(self.refused(polygraph.compare, {"k": 3, "results": []}, {"k": 5, "results": []})[0], 3)
        self.assertIn("K = 3", self.messages.getvalue())

    def test_says_why_no_query_completed(self):
        class Broken:
            def retrieve(self, query):
                raise ValueError("the index was never built")

        status, message = self.refused(polygraph.evaluate, Broken(), GOLDEN)
        self.assertEqual(status, 5)
        self.assertIn("3 failed, the first was soup: retrieve: ValueError: the index was never built", message)

    def test_says_that_the_program_was_not_found(self):
        kept = os.environ["POLYGRAPH_PROGRAM"]
        os.environ["POLYGRAPH_PROGRAM"] = "/nowhere/polygraph"
        try:
            status, message = self.refused(polygraph.diagnose, "run.jsonl")
        finally:
            os.environ["POLYGRAPH_PROGRAM"] = kept
        self.assertEqual(status, 5)
        self.assertIn("/nowhere/polygraph", message)

    def test_nobody_else_reaches_a_pipeline_of_this_process(self):
        with contextlib.ExitStack() as stack:
            relay = polygraph._named(stack, Pipeline())[len("cmd:exec ") :]
            hello = b'{"op":"hello","version":1,"id":0}\n'
            for token, reply in ((polygraph._TOKEN, b'{"id": 0, "name": "mine", "ops": ["retrieve", "generate"]}\n'), ("guessed", b"")):
                done = subprocess.run(["/bin/sh", "-c", relay], input=hello, stdout=subprocess.PIPE, env=dict(os.environ, POLYGRAPH_RELAY_TOKEN=token))
                self.assertEqual(done.stdout, reply)

    def test_the_example_of_the_readme_runs(self):
        with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
            example = re.search(r"```python\n(.*?import polygraph.*?)```", file.read(), re.S).group(1)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example, "README.md", "exec"), {"__name__": "readme"})
        self.assertEqual(printed.getvalue(), "1.0 Excellent\nTIE\n")


if __name__ == "__main__":
    unittest.main()
