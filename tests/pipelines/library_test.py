"""polygraph.py: what it asks of the program, and what it makes of its end."""

import os
import sys
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "assets", "pipelines"))
os.environ["POLYGRAPH_PROGRAM"] = os.path.join(here, "library_program.py")

import polygraph  # noqa: E402


class Pipeline:
    name = "mine"

    def retrieve(self, query):
        if query == "raise":
            raise KeyError("no such key")
        return [{"id": "a", "text": query + " ü"}]

    def generate(self, query, chunks):
        return ", ".join(chunk["id"] for chunk in chunks)


class Library(unittest.TestCase):
    def test_evaluates_an_object_of_this_process(self):
        evaluation = polygraph.evaluate(Pipeline(), {"question": "q"}, k=3, judge="groq")
        self.assertEqual(evaluation["k"], "3")
        self.assertEqual(evaluation["judge"], "groq")
        self.assertEqual(evaluation["asked"], {"retrieve": {"chunks": [{"id": "a", "text": "q ü", "score": None, "metadata": None}]},
                                               "generate": {"answer": "a"}})

    def test_passes_on_how_a_pipeline_is_written(self):
        self.assertEqual(polygraph.evaluate("hybrid", {"question": "q"})["asked"], {"pipeline": "hybrid"})

    def test_an_exception_of_the_pipeline_is_a_result(self):
        replies = polygraph.evaluate(Pipeline(), {"question": "raise"})["asked"]
        self.assertEqual(replies["retrieve"]["error"]["type"], "KeyError")
        self.assertTrue(replies["retrieve"]["error"]["file"].endswith("library_test.py"))

    def test_compares_two_pipelines_and_two_reports(self):
        comparison = polygraph.compare(Pipeline(), "dense", {"question": "q"})
        self.assertEqual(comparison["a"]["generate"], {"answer": "a"})
        self.assertEqual(comparison["b"], {"pipeline": "dense"})
        self.assertEqual(polygraph.compare({"x": 1}, {"x": 2}), {"a": {"x": 1}, "b": {"x": 2}})

    def test_diagnoses_a_report(self):
        self.assertEqual(polygraph.diagnose({"k": 5}), {"diagnosed": {"k": 5}})

    def test_says_why_the_program_failed(self):
        with self.assertRaises(polygraph.PolygraphError) as caught:
            polygraph.evaluate("dense", {"question": "q", "status": 3})
        self.assertEqual(caught.exception.status, 3)
        self.assertIn("line 3: samples: expected a list", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
