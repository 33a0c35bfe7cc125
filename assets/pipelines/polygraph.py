"""Polygraph for Python: evaluates and compares RAG pipelines, and explains what went wrong, over its command line.

    import polygraph

    report = polygraph.evaluate(pipeline, "golden.json", k=5)
    print(report["health_profile"]["score"])
    print(polygraph.compare(pipeline, "http://localhost:9000/rag", "golden.json")["winner"])
    print(polygraph.diagnose(report)["failure_modes"])  # also of a run's file, or of stored results

A pipeline is what `polygraph run --pipeline` takes (a file, `cmd:…`, an address, the name of a shipped one), or any object of this
process that polygraph_pipeline.wrap takes: one with retrieve(query) and generate(query, chunks), a LangChain retriever or
chain, a LlamaIndex query engine. Such an object is called in this process, on other threads than the caller's, one call at a
time. Results are the documents that the commands write, as dictionaries. One file, standard library only, Python 3.9 or newer;
the program is found through POLYGRAPH_PROGRAM, in the checkout that this file stands in, or on PATH.
"""

import contextlib
import importlib.util
import json
import os
import secrets
import shlex
import shutil
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading

__all__ = ["evaluate", "compare", "diagnose", "PolygraphError"]

_TOKEN = secrets.token_hex(16)  # so that nobody else on this machine talks to a pipeline of this process


class PolygraphError(RuntimeError):
    """The program refused or failed. `status` is its exit status: 2 wrong use, 3 input that can't be read, 4 quota spent, 5
    model or network failure."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def evaluate(pipeline, dataset, k=5, judge=None, judge_model=None):
    """Runs a golden set (a file, or its document) through a pipeline; the evaluation as a dictionary."""
    with contextlib.ExitStack() as stack:
        return _run_json(["report", _evaluated(stack, pipeline, dataset, k, judge, judge_model), "--json"])


def compare(a, b, dataset=None, k=5, judge=None, judge_model=None):
    """Compares two pipelines over a golden set, or, without one, two reports; the comparison as a dictionary."""
    with contextlib.ExitStack() as stack:
        sides = [_document(stack, side) if dataset is None else _evaluated(stack, side, dataset, k, judge, judge_model) for side in (a, b)]
        return _run_json(["compare", "--report-a", sides[0], "--report-b", sides[1], "--json"])


def diagnose(report):
    """Explains a report (a file, or its document); the diagnosis as a dictionary."""
    with contextlib.ExitStack() as stack:
        return _run_json(["diagnose", _document(stack, report), "--json"])


def _evaluated(stack, pipeline, dataset, k, judge, judge_model):
    """The file of a run of the pipeline."""
    out = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="polygraph-")), "run.jsonl")
    arguments = ["run", "--dataset", _document(stack, dataset), "--k", str(k), "--out", out]
    if judge is not None:
        arguments += ["--judge", judge]
    if judge_model is not None:
        arguments += ["--judge-model", judge_model]
    with contextlib.ExitStack() as while_it_runs:
        _run(arguments + ["--pipeline", _named(while_it_runs, pipeline)])
    return out


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

    environment = dict(os.environ, POLYGRAPH_RELAY_TOKEN=_TOKEN)
    program = _program()
    try:
        started = subprocess.Popen([program] + arguments, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise PolygraphError("the polygraph program can't be started: %s: %s" % (program, error.strerror), 5) from error
    with started as process:
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


def _named(stack, pipeline):
    """How the command line names a pipeline. One of this process is reached through a relay, which is this file as a program: it
    carries the protocol's lines to a loopback port and back."""
    if isinstance(pipeline, (str, os.PathLike)):
        return os.fspath(pipeline)
    shim = _shim()
    host = shim.Host(shim.wrap(pipeline))
    name = host.pipeline.name or type(pipeline).__name__
    one_at_a_time = threading.Lock()

    def answer(request):
        if request.get("op") == "hello":
            return {"name": name, "ops": ["retrieve", "generate"] if host.pipeline.generates else ["retrieve"]}
        try:
            with one_at_a_time:
                return host.answer(request)
        except BaseException as error:  # a result of this query
            return {"error": shim._error(error)}

    class Conversation(socketserver.StreamRequestHandler):
        disable_nagle_algorithm = True

        def handle(self):
            if self.rfile.readline(1024).strip() != _TOKEN.encode():
                return
            with contextlib.suppress(ConnectionError):  # the program gave up waiting, or was interrupted
                for line in self.rfile:
                    request = json.loads(line)
                    reply = dict({"id": request.get("id")}, **answer(request))
                    self.wfile.write((json.dumps(reply, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "replace"))

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    server = Server(("127.0.0.1", 0), Conversation)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    return "cmd:exec %s %s --relay %d" % (shlex.quote(sys.executable or "python3"), shlex.quote(os.path.abspath(__file__)), server.server_address[1])


def _relay(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(os.environ["POLYGRAPH_RELAY_TOKEN"].encode() + b"\n")

        def requests():
            with contextlib.suppress(OSError):  # the other side went away
                for line in sys.stdin.buffer:
                    connection.sendall(line)
                connection.shutdown(socket.SHUT_WR)

        threading.Thread(target=requests, daemon=True).start()
        for piece in iter(lambda: connection.recv(1 << 16), b""):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "--relay" or "POLYGRAPH_RELAY_TOKEN" not in os.environ:
        sys.exit("polygraph.py is a library: import it. As a program it only serves itself.")
    with contextlib.suppress(ConnectionError):
        _relay(int(sys.argv[2]))
