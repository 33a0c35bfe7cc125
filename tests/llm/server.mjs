// A real small language model behind an OpenAI-compatible endpoint, for tests of the wiring: what it says is not judged.
//
//   node tests/llm/server.mjs FOLDER [PORT]     FOLDER as tests/llm/setup.sh made it
//
// Prints {"url": "http://127.0.0.1:PORT/v1", "model": NAME, "pid": N} once it answers, and runs until its stdin ends or a
// signal comes. Takes POST /v1/chat/completions with response_format json_schema (as a grammar, so that the reply fits), max
// tokens, and stream with stream_options.include_usage.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, port = "0"] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node tests/llm/server.mjs FOLDER [PORT]");
  process.exit(2);
}
const packages = createRequire(path.join(path.resolve(folder), "package.json"));
const { getLlama, LlamaChatSession } = await import(pathToFileURL(packages.resolve("node-llama-cpp")).href);

const contextSize = 8192;
const llama = await getLlama({ gpu: false, build: "never", logLevel: "error" });
const model = await llama.loadModel({ modelPath: path.join(path.resolve(folder), "model.gguf") });
// One thread: where others want the processor too, threads that wait for each other are slower than one.
const context = await model.createContext({ contextSize, threads: 1 });
const sequence = context.getSequence();
const name = "SmolLM2-135M-Instruct";

/** A model this small does not find the end of a string or list by itself. */
function bounded(schema) {
  if (schema.type === "string") return { ...schema, maxLength: 100 };
  if (schema.type === "array") return { ...schema, items: bounded(schema.items), maxItems: 2 };
  if (schema.type !== "object") return schema;
  return { ...schema, properties: Object.fromEntries(Object.entries(schema.properties).map(([key, value]) => [key, bounded(value)])) };
}

/** One call after the other: there is one sequence. */
let last = Promise.resolve();
const inTurn = (work) => (last = last.then(work, work));

async function complete(request, onText, signal) {
  await sequence.clearHistory();
  const of = (role) => request.messages.filter((message) => message.role === role).map((message) => message.content).join("\n\n");
  const session = new LlamaChatSession({ contextSequence: sequence, systemPrompt: of("system") });
  const schema = request.response_format?.json_schema?.schema;
  const before = sequence.tokenMeter.getState();
  try {
    const { responseText, stopReason } = await session.promptWithMeta(of("user"), {
      grammar: schema === undefined ? undefined : await llama.createGrammarForJsonSchema(bounded(schema)),
      maxTokens: request.max_completion_tokens ?? request.max_tokens ?? 256,
      temperature: request.temperature ?? 0,
      onTextChunk: onText,
      signal,
      stopOnAbortSignal: true,
    });
    const used = sequence.tokenMeter.diff(before);
    const [prompt, completion] = [used.usedInputTokens, Math.max(used.usedOutputTokens, 1)];
    return {
      text: responseText,
      finish: stopReason === "maxTokens" ? "length" : "stop",
      usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    };
  } finally {
    session.dispose({ disposeSequence: false });
  }
}

const fail = (response, status, message) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error: { message, type: "invalid_request_error" } }));
};

const server = createServer((incoming, response) => {
  const parts = [];
  incoming.on("data", (part) => parts.push(part));
  incoming.on("end", () => {
    if (incoming.method !== "POST" || incoming.url !== "/v1/chat/completions") return fail(response, 404, "there is /v1/chat/completions");
    let request;
    try {
      request = JSON.parse(Buffer.concat(parts).toString("utf8"));
    } catch {
      return fail(response, 400, "the body is not JSON");
    }
    if (!Array.isArray(request.messages)) return fail(response, 400, "messages is missing");
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    void inTurn(async () => {
      if (gone.signal.aborted) return;
      const about = { id: "chatcmpl-local", created: Math.floor(Date.now() / 1000), model: request.model ?? name };
      const event = (choices, more = {}) => {
        response.write(`data: ${JSON.stringify({ ...about, object: "chat.completion.chunk", choices, ...more })}\n\n`);
      };
      const delta = (text) => {
        if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
        event([{ index: 0, delta: { content: text }, finish_reason: null }]);
      };
      try {
        const reply = await complete(request, request.stream === true ? delta : undefined, gone.signal);
        if (request.stream === true) {
          delta("");
          event([{ index: 0, delta: {}, finish_reason: reply.finish }]);
          if (request.stream_options?.include_usage === true) event([], { usage: reply.usage });
          response.end("data: [DONE]\n\n");
          return;
        }
        const choices = [{ index: 0, message: { role: "assistant", content: reply.text }, finish_reason: reply.finish }];
        const body = JSON.stringify({ ...about, object: "chat.completion", choices, usage: reply.usage });
        response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
      } catch (error) {
        if (response.headersSent) response.destroy();
        else fail(response, 500, error instanceof Error ? error.message : String(error));
      }
    });
  });
});

server.listen(Number(port), "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/v1`, model: name, pid: process.pid }));
});
process.stdin.on("end", () => process.exit(0)).resume();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));
