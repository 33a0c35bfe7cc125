import assert from "node:assert/strict";
import { test } from "node:test";
import { completionsAddress, endpointProblem, loadEndpoint, noEndpoint, parametersOf, saveEndpoint } from "../../../web/providers/endpoint.ts";

class MemoryStorage {
  readonly items = new Map<string, string>();
  getItem = (key: string): string | null => this.items.get(key) ?? null;
  setItem = (key: string, value: string): void => void this.items.set(key, value);
  removeItem = (key: string): void => void this.items.delete(key);
}

test("tasks go to chat/completions under the address, whether it was typed with it or not", () => {
  assert.equal(completionsAddress(" https://api.groq.com/openai/v1/ "), "https://api.groq.com/openai/v1/chat/completions");
  assert.equal(completionsAddress("http://localhost:11434/v1/chat/completions"), "http://localhost:11434/v1/chat/completions");
  assert.equal(completionsAddress("https://host.example?x=1#y"), "https://host.example/chat/completions");
});

test("a key is never sent in the clear to another machine, nor to what is no web address", () => {
  for (const url of ["http://host.example/v1", "http://127.0.0.1.evil.example/v1", "file:///etc", "javascript:alert(1)", "https://user:secret@host.example/", "host"]) {
    assert.equal(completionsAddress(url), null, url);
  }
  for (const url of ["http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost"]) assert.ok(completionsAddress(url), url);
});

test("what is missing for an endpoint is said", () => {
  assert.match(endpointProblem(noEndpoint), /no address/);
  assert.match(endpointProblem({ ...noEndpoint, url: "http://host.example" }), /https/);
  assert.match(endpointProblem({ ...noEndpoint, url: "https://host.example" }), /no model/);
  assert.equal(endpointProblem({ ...noEndpoint, url: "https://host.example", model: "m" }), "");
});

test("each kind of endpoint is sent the parameters that it takes", () => {
  const schema = { type: "object" };
  const prompt = { messages: [], schema, maxTokens: 9 };
  const strict = { type: "json_schema", json_schema: { name: "grade", strict: true, schema } };
  assert.deepEqual(parametersOf("localhost", "tiny", "grade", prompt), { max_tokens: 9, temperature: 0, response_format: strict });
  assert.deepEqual(parametersOf("api.groq.com", "openai/gpt-oss-20b", "grade", prompt), {
    max_completion_tokens: 9, temperature: 0, reasoning_effort: "low", include_reasoning: false, response_format: strict,
  });
  assert.deepEqual(parametersOf("api.groq.com", "llama-3.1-8b-instant", "grade", prompt), { max_completion_tokens: 9, temperature: 0, response_format: { type: "json_object" } });
  assert.deepEqual(parametersOf("api.openai.com", "gpt-5-mini", "generate", { ...prompt, schema: null }), { max_completion_tokens: 9 });
  assert.deepEqual(parametersOf("groq.com.evil.example", "tiny", "generate", { ...prompt, schema: null }), { max_tokens: 9, temperature: 0 });
});

test("the key is stored only where the visitor asked for it", () => {
  const storage = new MemoryStorage();
  const store = storage as unknown as Storage;
  const endpoint = { url: "https://host.example", model: "m", key: "sk-secret", keepKey: false };
  saveEndpoint(store, endpoint);
  assert.ok(![...storage.items.values()].join().includes("sk-secret"));
  assert.deepEqual(loadEndpoint(store), { ...endpoint, key: "" });
  saveEndpoint(store, { ...endpoint, keepKey: true });
  assert.deepEqual(loadEndpoint(store), { ...endpoint, keepKey: true });
  saveEndpoint(store, endpoint);
  assert.ok(![...storage.items.values()].join().includes("sk-secret"));
  saveEndpoint(store, noEndpoint);
  assert.equal(storage.items.size, 0);
});

test("a store that holds rubbish, or none at all, gives an empty endpoint", () => {
  const storage = new MemoryStorage();
  storage.setItem("polygraph.endpoint", '{"url": 7, "key": {}}');
  assert.deepEqual(loadEndpoint(storage as unknown as Storage), noEndpoint);
  storage.setItem("polygraph.endpoint", "{");
  assert.deepEqual(loadEndpoint(storage as unknown as Storage), noEndpoint);
  assert.deepEqual(loadEndpoint(null), noEndpoint);
});
