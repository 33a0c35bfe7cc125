// The official client of the Model Context Protocol against the real program, index and models.

import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { McpError } from "@modelcontextprotocol/sdk/types.js";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const program = process.env["POLYGRAPH_PROGRAM"] ?? path.join(root, "build/default/cli/polygraph");
const index = process.env["POLYGRAPH_TEST_INDEX"];

interface Ask {
  status: string;
  answer: string | null;
  citations: { number: number; id: string; title: string; url: string }[];
  refusal: { reason: string; closest: { title: string; url: string }[] } | null;
  note: string | null;
}
interface Search {
  results: { rank: number; id: string; url: string; text: string }[];
  note: string | null;
}
interface Read {
  page: { id: string };
  passages: { id: string; text: string }[];
  previous: string | null;
  next: string | null;
}

const client = new Client({ name: "polygraph-tests", version: "1" });
let transport: StdioClientTransport;
let log = "";
const problems: Error[] = [];

before(async () => {
  assert.ok(index, "POLYGRAPH_TEST_INDEX names the index");
  transport = new StdioClientTransport({ command: program, args: ["mcp", "--index", index], env: process.env as Record<string, string>, stderr: "pipe" });
  transport.stderr?.on("data", (part: Buffer) => (log += part.toString()));
  client.onerror = (error) => problems.push(error); // whatever on stdout is no message of the protocol
  await client.connect(transport);
});

after(async () => {
  const started = performance.now();
  await client.close();
  assert.ok(performance.now() - started < 2000, "it ends by itself once its stdin is closed; the client would use a signal after two seconds");
  assert.deepEqual(problems, []);
});

/** The client checks structured results against the tool's output schema. */
async function call<T>(name: string, args: Record<string, unknown>): Promise<{ text: string; data: T; isError: boolean }> {
  const result = await client.callTool({ name, arguments: args });
  const content = result.content as { type: string; text: string }[];
  return { text: content[0]!.text, data: result.structuredContent as T, isError: result.isError === true };
}

test("it introduces itself and lists its tools", async () => {
  assert.equal(client.getServerVersion()?.name, "polygraph");
  assert.match(client.getInstructions() ?? "", /Docker Engine documentation .* passages/);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["ask", "search", "read_passage"]);
  for (const tool of tools) {
    assert.ok(tool.outputSchema && tool.annotations?.readOnlyHint);
    assert.equal(tool.inputSchema["additionalProperties"], false);
  }
});

test("search ranks passages, and read_passage reads on", async () => {
  const { data, text } = await call<Search>("search", { query: "What is a dangling image?", top: 3 });
  assert.equal(data.results.length, 3);
  assert.deepEqual(data.results.map((result) => result.rank), [1, 2, 3]);
  assert.equal(data.note, null, log);
  assert.match(text, /^> .*dangling/m);
  const read = await call<Read>("read_passage", { id: data.results[0]!.id, neighbours: 1 });
  assert.ok(read.data.passages.some((passage) => passage.id === data.results[0]!.id && passage.text === data.results[0]!.text));
  assert.ok(read.data.passages.length >= 1 && read.data.passages.length <= 3);
});

test("ask answers with numbered citations and their addresses", async () => {
  const { data, text, isError } = await call<Ask>("ask", { question: "How do I limit a container's memory?" });
  assert.equal(isError, false);
  assert.equal(data.status, "answered");
  assert.match(data.answer ?? "", /\[1\]/);
  assert.doesNotMatch(data.answer ?? "", /#\d{3}\]/, "no citation is left by its id");
  assert.match(data.citations[0]!.url, /^https:/);
  assert.ok(text.includes(`[1] ${data.citations[0]!.title} ${data.citations[0]!.url}`));
});

test("a refusal stays a refusal", async () => {
  const { data, text, isError } = await call<Ask>("ask", { question: "How do I set up an ingress controller on GKE?" });
  assert.equal(isError, false);
  assert.equal(data.status, "refused");
  assert.equal(data.answer, null);
  assert.ok(data.refusal && data.refusal.reason !== "" && data.refusal.closest.length > 0);
  assert.match(text, /^Refused: /);
});

test("a ping is answered while a question is, and progress is told", async () => {
  let answered = false;
  const steps: string[] = [];
  const asked = client
    .callTool({ name: "ask", arguments: { question: "How do I remove unused volumes and networks?" } }, undefined, { onprogress: (progress) => steps.push(progress.message ?? "") })
    .finally(() => (answered = true));
  await client.ping();
  assert.equal(answered, false);
  await asked;
  assert.ok(steps.includes("retrieve") && steps.includes("grade_context"), steps.join());
});

test("a cancelled question is not answered, and the next one is", async () => {
  const cancel = new AbortController();
  const asked = client.callTool({ name: "ask", arguments: { question: "How does the overlay2 storage driver work?" } }, undefined, { signal: cancel.signal, onprogress: () => cancel.abort("enough") });
  await assert.rejects(asked, /enough/);
  assert.equal((await call<Search>("search", { query: "overlay2", mode: "bm25" })).data.results.length, 5);
});

test("errors are of the protocol or of the tool, and name the argument", async () => {
  const wrong = await call("search", { query: "x", top: 0 });
  assert.ok(wrong.isError && wrong.text.includes("top is 0; it must be a whole number from 1 to 50"));
  const missing = await call("read_passage", { id: "no/such/page#000" });
  assert.ok(missing.isError && missing.text.includes("no passage \"no/such/page#000\""));
  await assert.rejects(client.callTool({ name: "nothing", arguments: {} }), (error) => error instanceof McpError && error.code === -32602);
  await assert.rejects(client.listPrompts(), (error) => error instanceof Error);
  await assert.rejects(client.readResource({ uri: "file:///etc/passwd" }), (error) => error instanceof McpError && error.code === -32002);
});

test("pages are resources, page by page of the list, and a passage is read by its template", async () => {
  const uris: string[] = [];
  let cursor: string | undefined;
  do {
    const list = await client.listResources(cursor ? { cursor } : {});
    uris.push(...list.resources.map((resource) => resource.uri));
    cursor = list.nextCursor;
  } while (cursor);
  assert.equal(new Set(uris).size, uris.length);
  assert.ok(uris.length > 100, "more than one answer holds");
  const { contents } = await client.readResource({ uri: uris[0]! });
  assert.ok(contents.length > 0);
  const passage = await client.readResource({ uri: contents[0]!.uri });
  assert.deepEqual(passage.contents, contents.slice(0, 1));
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
});
