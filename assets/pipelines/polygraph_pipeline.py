#!/usr/bin/env python3
"""Runs a pipeline written in Python under Polygraph, over its protocol (JSON Lines on stdin and stdout).

    polygraph run --pipeline my_pipeline.py --dataset golden.json

The file defines one of

    pipeline = ...                      # an object with retrieve(query) and generate(query, chunks), and a name if it likes
    def retrieve(query): ...            # functions of the module; generate may be missing: then only retrieval is measured
    def generate(query, chunks): ...

where `pipeline` may also be a LangChain retriever or chain, or a LlamaIndex retriever or query engine, as it is or from

    from polygraph_pipeline import wrap
    pipeline = wrap(retriever, chain, name="mine")

A chunk is anything with an id and a text: a dictionary {id, text, score, metadata}, a LangChain Document, a LlamaIndex node
with its score, any object with such attributes, or a pair (chunk, score). An answer is a string, a message, a response, or a
dictionary {answer, refused, citations, usage}. Functions may be async. `generate` gets the very objects that `retrieve` gave.

What the code prints goes to stderr, so that it can't disturb the protocol. Standard library only, Python 3.9 or newer.
"""

import asyncio
import collections
import importlib.util
import inspect
import json
import math
import os
import re
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

VERSION = 1
MAX_DEPTH = 24  # of metadata; the protocol allows a reply 64 levels
REMEMBERED = 256  # retrievals whose own objects are kept for generate


class Chunk(dict):
    """A chunk as generate gets it where the pipeline's own object is not known: {id, text, score, metadata}, with attributes."""

    def __getattr__(self, name):
        key = {"page_content": "text", "content": "text", "chunk_id": "id", "node_id": "id"}.get(name, name)
        try:
            return self[key]
        except KeyError:
            raise AttributeError(name) from None

    def get_content(self, *_, **__):
        return self["text"]


class ShapeError(TypeError):
    """The pipeline gave something of another shape than was expected; the message names the field."""


# ------------------------------------------------------------------------------------------------- from Python to JSON


def _shown(value):
    text = repr(value)
    return "%s (%s)" % (type(value).__name__, text if len(text) <= 80 else text[:80] + "…")


def _plain(value, depth=0):
    """A value that JSON can hold: numbers that are none are null, what JSON doesn't know is its text."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth < MAX_DEPTH:
        if isinstance(value, collections.abc.Mapping):
            return {str(key): _plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [_plain(item, depth + 1) for item in value]
    return str(value)


def _field(value, names):
    """The first of `names` that `value` has and that is not None: as a key of a mapping, or as an attribute."""
    for name in names:
        if isinstance(value, collections.abc.Mapping):
            found = value.get(name)
        else:
            found = getattr(value, name, None)
            if callable(found):
                found = None
        if found is not None:
            return found
    return None


def _number(value):
    """A finite number, or None: also of NumPy's and similar types."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _chunk_to_json(value, where):
    score = None
    if isinstance(value, tuple) and len(value) == 2:  # similarity_search_with_score
        value, score = value
    if isinstance(value, str) or value is None:
        raise ShapeError("%s: expected a chunk with an id and a text, got %s" % (where, _shown(value)))
    given_score = _field(value, ("score",))
    if given_score is not None:
        score = given_score
    node = _field(value, ("node",))
    if node is not None and not isinstance(node, (str, int, float)):  # LlamaIndex's NodeWithScore
        value = node
    metadata = _field(value, ("metadata",))
    if metadata is not None and not isinstance(metadata, collections.abc.Mapping):
        raise ShapeError("%s.metadata: expected a dictionary, got %s" % (where, _shown(metadata)))

    identity = _field(value, ("id", "chunk_id", "node_id", "id_", "_id"))
    if identity is None and metadata:
        identity = _field(metadata, ("chunk_id", "id", "_id", "doc_id"))
        if identity is None and metadata.get("source") is not None:
            identity = str(metadata["source"])
            if metadata.get("start_index") is not None:
                identity += "#%s" % metadata["start_index"]
    if identity is None:
        raise ShapeError("%s.id is missing: expected a string, in the chunk or in its metadata; got %s" % (where, _shown(value)))
    if isinstance(identity, (bool, float, bytes)) or isinstance(identity, collections.abc.Mapping):
        raise ShapeError("%s.id: expected a string, got %s" % (where, _shown(identity)))

    text = _field(value, ("text", "page_content", "content"))
    if text is None and callable(getattr(value, "get_content", None)):
        text = value.get_content()
    if text is None:
        raise ShapeError("%s.text is missing: expected a string; got %s" % (where, _shown(value)))
    if not isinstance(text, str):
        raise ShapeError("%s.text: expected a string, got %s" % (where, _shown(text)))
    if score is not None and (isinstance(score, (str, bool)) or (_number(score) is None and not isinstance(score, float))):
        raise ShapeError("%s.score: expected a number, got %s" % (where, _shown(score)))
    return {"id": str(identity), "text": text, "score": None if score is None else _number(score), "metadata": _plain(metadata) if metadata else None}


def _chunk_list(value):
    """What a retriever gave, as a list of its own objects."""
    if isinstance(value, collections.abc.Mapping):
        for name in ("chunks", "documents", "results", "context", "source_documents"):
            if isinstance(value.get(name), (list, tuple)):
                return list(value[name])
    elif not isinstance(value, (str, bytes)) and value is not None:
        for name in ("chunks", "source_nodes"):
            found = getattr(value, name, None)
            if isinstance(found, (list, tuple)):
                return list(found)
        if isinstance(value, collections.abc.Iterable):
            return list(value)
    raise ShapeError("retrieve: expected a list of chunks, got %s" % _shown(value))


def _answer_text(value):
    """The text of a string, a message, a response; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):  # a message's content in parts
        parts = [part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None for part in value]
        return "".join(part for part in parts if isinstance(part, str)) if value and all(isinstance(part, (str, dict)) for part in value) else None
    return None


def _answer_to_json(value):
    if inspect.isgenerator(value):  # streamed
        parts = [_answer_text(_field(part, ("content", "delta")) if not isinstance(part, str) else part) for part in value]
        value = "".join(part for part in parts if part)
    text = _answer_text(value) if isinstance(value, str) else None
    reply = {}
    if text is None and value is not None:
        text = _answer_text(_field(value, ("answer", "response", "content", "result", "output", "output_text", "text")))
        nested = _field(value, ("answer", "result", "output"))
        if text is None and nested is not None:  # a chain whose answer is a message
            text = _answer_text(_field(nested, ("content", "text")))
        if text is None and type(value).__name__ in ("Response", "StreamingResponse", "AsyncStreamingResponse", "PydanticResponse"):
            text = str(value)  # an empty response of LlamaIndex holds None
        if text is not None:
            refused = _field(value, ("refused",))
            if refused is not None:
                if not isinstance(refused, bool):
                    raise ShapeError("refused: expected True or False, got %s" % _shown(refused))
                reply["refused"] = refused
            citations = _field(value, ("citations",))
            if isinstance(citations, (list, tuple)):
                named = [citation if isinstance(citation, (str, int)) else _field(citation, ("chunk_id", "id")) for citation in citations]
                for i, identity in enumerate(named):
                    if identity is None:
                        raise ShapeError("citations[%d]: expected a chunk's id, got %s" % (i, _shown(citations[i])))
                reply["citations"] = [str(identity) for identity in named]
            usage = _field(value, ("usage", "usage_metadata"))
            if isinstance(usage, collections.abc.Mapping):
                reply["usage"] = _plain(usage)
    if text is None:
        raise ShapeError("answer: expected a string, or something that holds one; got %s" % _shown(value))
    reply["answer"] = text
    return reply


# ------------------------------------------------------------------------------------------------- what may be a pipeline


class _Loop:
    """The one event loop, on a thread of its own: a client that belongs to a loop meets the same one in every call."""

    _loop = None
    _lock = threading.Lock()

    @classmethod
    def run(cls, coroutine):
        with cls._lock:
            if cls._loop is None:
                cls._loop = asyncio.new_event_loop()
                threading.Thread(target=cls._loop.run_forever, daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coroutine, cls._loop).result()


def _settled(value):
    """The value, waited for where it is awaitable."""
    if not inspect.isawaitable(value) and not inspect.isasyncgen(value):
        return value

    async def wait():
        if inspect.isasyncgen(value):
            parts = [part async for part in value]
            return "".join(parts) if parts and all(isinstance(part, str) for part in parts) else parts
        return await value

    return _Loop.run(wait())


def _parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _call_retrieve(function, query, k):
    """With k where the function takes it."""
    for name in ("k", "top_k"):
        if name in _parameters(function):
            return _settled(function(query, **{name: k}))
    return _settled(function(query))


def _method(value, name):
    found = getattr(value, name, None)
    return found if callable(found) else None


class _Wrapped:
    """What every kind of pipeline becomes: retrieve(query, k) gives the pipeline's own objects, generate takes them."""

    def __init__(self, retrieve, generate, name):
        self._retrieve, self._generate, self.name = retrieve, generate, name
        self.generates = generate is not None

    def retrieve(self, query, k=None):
        return _chunk_list(self._retrieve(query, k))

    def generate(self, query, chunks):
        if self._generate is None:
            raise NotImplementedError("this pipeline only retrieves")
        return _settled(self._generate(query, chunks))


def _query_bundle(query):
    """LlamaIndex's own type of query, where LlamaIndex is loaded."""
    schema = sys.modules.get("llama_index.core.schema") or sys.modules.get("llama_index.schema")
    return schema.QueryBundle(query) if schema is not None else query


class _Once:
    """Retrieval and generation of something that does both in one call: the retrieval's time is then that of both."""

    def __init__(self, call):
        self._call, self._results, self._lock = call, collections.OrderedDict(), threading.Lock()

    def retrieve(self, query, _k):
        result = _settled(self._call(query))
        with self._lock:
            self._results[query] = result
            while len(self._results) > REMEMBERED:
                self._results.popitem(last=False)
        nodes = getattr(result, "source_nodes", None)
        if nodes is not None:
            return nodes
        if isinstance(result, collections.abc.Mapping):
            for name in ("context", "source_documents", "documents", "chunks"):
                if isinstance(result.get(name), (list, tuple)):
                    return result[name]
        raise ShapeError("the chain's result holds no documents: expected `context`, `source_documents` or `documents` in it, got %s; "
                         "wrap(retriever, chain) names the retriever" % _shown(result))

    def generate(self, query, _chunks):
        with self._lock:
            result = self._results.get(query)
        return result if result is not None else _settled(self._call(query))


def _chain_input(query, chunks):
    """What a chain may ask for, under the names in use."""
    context = "\n\n".join(_chunk_to_json(chunk, "chunks[%d]" % i)["text"] for i, chunk in enumerate(chunks))
    return {"question": query, "query": query, "input": query, "context": context, "documents": chunks, "chunks": chunks}


def _is_langchain_retriever(value):
    return _method(value, "invoke") and (_method(value, "_get_relevant_documents") or _method(value, "get_relevant_documents"))


def _retriever(value):
    """retrieve(query, k) of a retriever of any kind."""
    if _method(value, "invoke"):
        return lambda query, _k: _settled(value.invoke(query))
    if _method(value, "retrieve"):
        return lambda query, k: _call_retrieve(value.retrieve, query, k)
    if _method(value, "get_relevant_documents"):
        return lambda query, _k: value.get_relevant_documents(query)
    if callable(value):
        return lambda query, k: _call_retrieve(value, query, k)
    raise ShapeError("no retriever: expected invoke, retrieve or a function; got %s" % _shown(value))


def _generator(value):
    """generate(query, chunks) of a generator of any kind."""
    if value is None:
        return None
    if _method(value, "generate") and not _method(value, "invoke"):
        return value.generate
    if _method(value, "synthesize"):
        return lambda query, chunks: value.synthesize(_query_bundle(query), chunks)
    if _method(value, "invoke"):
        return lambda query, chunks: value.invoke(_chain_input(query, chunks))
    if callable(value):
        return value
    raise ShapeError("no generator: expected generate, invoke, synthesize or a function; got %s" % _shown(value))


def _query_engine(engine, name):
    once = _Once(engine.query)

    def retrieve(query, k):
        if _method(engine, "retrieve"):
            try:
                return _settled(engine.retrieve(_query_bundle(query)))
            except NotImplementedError:  # an engine whose query is one piece
                pass
        return once.retrieve(query, k)

    def generate(query, chunks):
        if _method(engine, "synthesize") and query not in once._results:
            try:
                return _settled(engine.synthesize(_query_bundle(query), chunks))
            except NotImplementedError:
                pass
        return once.generate(query, chunks)

    return _Wrapped(retrieve, generate, name)


def wrap(retriever, generator=None, name=None):
    """A pipeline of a retriever and, if there is one, a generator.

    retriever: a LangChain retriever, a LlamaIndex retriever or query engine, a chain whose result holds its documents, an
    object with retrieve(query), or a function. generator: a LangChain chain or model (it gets question, query, input, context
    and documents), a LlamaIndex response synthesizer, an object with generate(query, chunks), or a function of both.
    """
    if isinstance(retriever, _Wrapped) and generator is None:
        return retriever
    own_name = getattr(retriever, "name", None)
    name = name or (own_name if isinstance(own_name, str) else None)
    if generator is not None:
        return _Wrapped(_retriever(retriever), _generator(generator), name)
    if _method(retriever, "retrieve") and _method(retriever, "generate"):
        return _Wrapped(_retriever_method(retriever), retriever.generate, name)
    if _method(retriever, "query") and (_method(retriever, "retrieve") or _method(retriever, "synthesize")):
        return _query_engine(retriever, name)
    if _method(retriever, "invoke") and not _is_langchain_retriever(retriever) and not _method(retriever, "retrieve"):
        once = _Once(lambda query: retriever.invoke({"input": query, "question": query, "query": query}))
        return _Wrapped(once.retrieve, once.generate, name)
    return _Wrapped(_retriever(retriever), None, name)


def _retriever_method(pipeline):
    return lambda query, k: _call_retrieve(pipeline.retrieve, query, k)


# ------------------------------------------------------------------------------------------------- serving


class Host:
    """Answers requests for one pipeline. Thread-safe if the pipeline is."""

    def __init__(self, pipeline):
        self.pipeline = pipeline
        self._recent = collections.OrderedDict()  # query -> {(id, text): the pipeline's own object}
        self._example = None
        self._lock = threading.Lock()

    def answer(self, request):
        operation = request.get("op")
        query = request.get("query")
        if operation not in ("retrieve", "generate"):
            raise ShapeError("op: expected retrieve or generate, got %s" % _shown(operation))
        if not isinstance(query, str):
            raise ShapeError("query: expected a string, got %s" % _shown(query))
        return self._answer_retrieve(query, request.get("k")) if operation == "retrieve" else self._answer_generate(query, request.get("chunks"))

    def _answer_retrieve(self, query, k):
        own = self.pipeline.retrieve(query, k)
        chunks = [_chunk_to_json(chunk, "chunks[%d]" % i) for i, chunk in enumerate(own)]
        with self._lock:
            self._recent[query] = {(chunk["id"], chunk["text"]): value for chunk, value in zip(chunks, own)}
            self._recent.move_to_end(query)
            while len(self._recent) > REMEMBERED:
                self._recent.popitem(last=False)
            if own:
                self._example = own[0]
        return {"chunks": chunks}

    def _answer_generate(self, query, chunks):
        if not isinstance(chunks, list):
            raise ShapeError("chunks: expected a list, got %s" % _shown(chunks))
        with self._lock:
            known, example = self._recent.get(query, {}), self._example
        own = []
        for chunk in chunks:
            value = known.get((chunk["id"], chunk["text"]))
            own.append(value if value is not None else _like(example, Chunk(chunk)))
        return _answer_to_json(self.pipeline.generate(query, own))


def _like(example, chunk):
    """A chunk in the type that the pipeline's own retrieval gives, as far as its constructor can be guessed."""
    if isinstance(example, tuple) and len(example) == 2:
        return (_like(example[0], chunk), chunk.get("score"))
    kind = type(example)
    identity, text, score, metadata = chunk["id"], chunk["text"], chunk.get("score"), chunk.get("metadata") or {}
    if example is None or isinstance(example, dict):
        return chunk
    try:
        if hasattr(example, "page_content"):
            return kind(page_content=text, metadata=metadata, id=identity)
        if hasattr(example, "node"):
            return kind(node=type(example.node)(text=text, id_=identity, metadata=metadata), score=score)
        if hasattr(example, "text"):
            return kind(**{"chunk_id" if hasattr(example, "chunk_id") else "id": identity, "text": text, "score": score, "metadata": metadata})
    except Exception:  # whatever a constructor of somebody else's may raise
        pass
    return chunk


def _error(error, file=None):
    """An exception as the protocol reports it, with the place in `file` where it arose."""
    report = {"type": type(error).__name__, "message": str(error) or type(error).__name__}
    if isinstance(error, ShapeError):
        report["type"] = "WrongShape"
        return report
    if isinstance(error, SystemExit):
        report["message"] = "the pipeline called exit(%s)" % ("" if error.code is None else error.code)
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        report.update(message=error.msg, file=error.filename, line=error.lineno)
        return report
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__ and frame.lineno and not frame.filename.startswith("<")]
    own = [frame for frame in frames if file and os.path.abspath(frame.filename) == os.path.abspath(file)]
    if own or frames:
        frame = (own or frames)[-1]
        report.update(file=frame.filename, line=frame.lineno)
    return report


def load(file):
    """The pipeline that a Python file defines."""
    folder = os.path.dirname(os.path.abspath(file))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = re.sub(r"\W", "_", os.path.splitext(os.path.basename(file))[0])
    if name in sys.modules or name == "polygraph_pipeline":
        name = "polygraph_pipeline_file_" + name
    spec = importlib.util.spec_from_file_location(name, os.path.abspath(file))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    stem = os.path.splitext(os.path.basename(file))[0]
    found = getattr(module, "pipeline", None)
    if found is not None:
        if inspect.isclass(found) or (inspect.isfunction(found) and not _parameters(found)):
            found = _settled(found())
        wrapped = wrap(found)
    elif callable(getattr(module, "retrieve", None)):
        module_name = getattr(module, "name", None)
        wrapped = _Wrapped(_retriever_method(module), _method(module, "generate"), module_name if isinstance(module_name, str) else None)
    else:
        raise ShapeError("the file defines neither `pipeline` nor a function `retrieve(query)`")
    wrapped.name = wrapped.name or stem
    return wrapped


def _main(file):
    # The protocol keeps the real stdin and stdout to itself: what the pipeline prints, and what its child processes print,
    # goes to stderr, and nobody but us reads requests.
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.argv = [file]
    sys.path.append(sys.path[0])  # the shipped modules, after the user's
    sys.path[0] = os.path.dirname(os.path.abspath(file))
    sys.modules["polygraph_pipeline"] = sys.modules[__name__]

    writing = threading.Lock()
    host = None
    pool = None

    def reply(identity, body):
        body = {"id": identity, **body}
        line = (json.dumps(body, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "replace")  # a lone surrogate is no UTF-8
        sys.stdout.flush()
        sys.stderr.flush()
        with writing:
            while line:
                line = line[replies.write(line):]

    def work(identity, request):
        try:
            body = host.answer(request)
            reply(identity, body)
        except BrokenPipeError:
            raise
        except ShapeError as error:  # its place is in this file, and says nothing
            reply(identity, {"error": _error(error)})
        except BaseException as error:  # also exit(), and recursion without end: a result of this query
            traceback.print_exc()
            reply(identity, {"error": _error(error, file)})

    for line in iter(requests.readline, b""):
        if not line.strip():
            continue
        request = json.loads(line)
        identity = request.get("id")
        if request.get("op") != "hello":
            if pool is not None:
                pool.submit(work, identity, request)
            else:
                work(identity, request)
            continue
        if request.get("version") != VERSION:
            reply(identity, {"error": {"type": "UnsupportedVersion", "message": "this shim speaks version %d of the protocol" % VERSION}})
            continue
        try:
            host = Host(load(file))
        except BaseException as error:
            if not isinstance(error, ShapeError):
                traceback.print_exc()
            reply(identity, {"error": _error(error, file)})
            return 1
        concurrency = request.get("concurrency")
        if isinstance(concurrency, int) and concurrency > 1:
            pool = ThreadPoolExecutor(concurrency)
        reply(identity, {"name": host.pipeline.name, "ops": ["retrieve", "generate"] if host.pipeline.generates else ["retrieve"]})
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: polygraph_pipeline.py FILE")
    try:
        sys.exit(_main(sys.argv[1]))
    except BrokenPipeError:
        os._exit(0)
