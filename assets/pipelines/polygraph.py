"""Polygraph for Python: evaluates and compares RAG pipelines, and explains what went wrong, over its command line.

    import polygraph

    report = polygraph.evaluate(pipeline, "golden.json", k=5)
    print(report["health_profile"]["score"])
    print(polygraph.compare(pipeline, "http://localhost:9000/rag", "golden.json")["winner"])
    print(polygraph.diagnose(report)["failure_modes"])

A pipeline is what `polygraph run --pipeline` takes (a file, `cmd:…`, an address, the name of a shipped one), or any object of this
process that polygraph_pipeline.wrap takes: one with retrieve(query) and generate(query, chunks), a LangChain retriever or
chain, a LlamaIndex query engine. Such an object is called in this process, on other threads than the caller's, one call at a
time. Results are the documents that the commands write, as dictionaries. One file, standard library only, Python 3.9 or newer;
the program is found through POLYGRAPH_PROGRAM, in the checkout that this file stands in, or on PATH.
"""

import contextlib
import http.server
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

__all__ = ["evaluate", "compare", "diagnose", "PolygraphError"]


class PolygraphError(RuntimeError):
    """The program refused or failed. `status` is its exit status: 2 wrong use, 3 input that can't be read, 4 quota spent, 5
    model or network failure."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def evaluate(pipeline, dataset, k=5, judge=None, judge_model=None):
    """Runs a golden set (a file, or its document) through a pipeline; the evaluation as a dictionary."""
    with contextlib.ExitStack() as stack:
        out = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="polygraph-")), "evaluation.json")
        arguments = ["run", "--pipeline", _address(stack, pipeline), "--dataset", _document(stack, dataset), "--k", str(k), "--out", out]
        if judge is not None:
            arguments += ["--judge", judge]
        if judge_model is not None:
            arguments += ["--judge-model", judge_model]
        _run(arguments)
        return _read(out)


def compare(a, b, dataset=None):
    """Compares two pipelines over a golden set, or, without one, two reports; the comparison as a dictionary."""
    with contextlib.ExitStack() as stack:
        if dataset is None:
            return _run_json(["compare", "--report-a", _document(stack, a), "--report-b", _document(stack, b), "--json"])
        return _run_json(["compare", "--pipeline-a", _address(stack, a), "--pipeline-b", _address(stack, b),
                          "--dataset", _document(stack, dataset), "--json"])


def diagnose(report):
    """Explains a report (a file, or its document); the diagnosis as a dictionary."""
    with contextlib.ExitStack() as stack:
        return _run_json(["diagnose", _document(stack, report), "--json"])


def _root():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _program():
    named = os.environ.get("POLYGRAPH_PROGRAM")
    if named:
        return named
    # A checkout's entry script sets up and builds what is missing.
    for path in (os.path.join(_root(), "polygraph"), shutil.which("polygraph")):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise PolygraphError("the polygraph program was not found: put it on PATH, or name it with POLYGRAPH_PROGRAM", 5)


def _run(arguments):
    last = []

    def relay(stream):  # its messages go where ours go; the last of them say why it failed
        for line in stream:
            text = line.decode("utf-8", "replace")
            sys.stderr.write(text)
            last[:] = last[-9:] + [text]

    with subprocess.Popen([_program()] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        relaying = threading.Thread(target=relay, args=(process.stderr,), daemon=True)
        relaying.start()
        try:
            output = process.stdout.read()
            status = process.wait()
        except BaseException:
            process.terminate()  # it saves what is finished
            process.wait()
            raise
        relaying.join()
    if status not in (0, 1):  # 1: what was checked failed, which is a result
        raise PolygraphError("polygraph %s ended with status %d: %s" % (arguments[0], status, "".join(last).strip()), status)
    return output


def _run_json(arguments):
    return json.loads(_run(arguments).decode("utf-8"))


def _read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _document(stack, value):
    """The file of a document: its own, or a temporary one."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="polygraph-"))
    path = os.path.join(folder, "document.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, allow_nan=False)
    return path


def _shim():
    """polygraph_pipeline: loaded already, beside this file, or with the program."""
    if "polygraph_pipeline" in sys.modules:
        return sys.modules["polygraph_pipeline"]
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [here, os.path.join(os.path.dirname(os.path.realpath(_program())), "assets", "pipelines")]
    for folder in folders + sys.path:
        path = os.path.join(folder, "polygraph_pipeline.py")
        if os.path.isfile(path):
            spec = importlib.util.spec_from_file_location("polygraph_pipeline", path)
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
            return module
    raise PolygraphError("polygraph_pipeline.py, which calls pipelines of this process, was not found: put it beside polygraph.py", 5)


def _address(stack, pipeline):
    """How the command line names a pipeline. An object of this process is served on a loopback port while it is needed."""
    if isinstance(pipeline, (str, os.PathLike)):
        return os.fspath(pipeline)
    shim = _shim()
    host = shim.Host(shim.wrap(pipeline))
    one_at_a_time = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # head and body go out together

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                with one_at_a_time:
                    body = host.answer(request)
            except Exception as error:  # a result of this query
                body = {"error": shim._error(error)}
            data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    return "http://127.0.0.1:%d" % server.server_address[1]
