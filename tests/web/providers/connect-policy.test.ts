import assert from "node:assert/strict";
import { test } from "node:test";
import { anyEndpoint, connectPolicyOf, endpointsOf, mayConnect } from "../../../web/providers/connect-policy.ts";

const self = "https://docs.example";

test("the policy is connect-src, or default-src without it, or none", () => {
  assert.deepEqual(connectPolicyOf(["default-src 'self'; connect-src 'self' https://api.groq.com"]), ["'self'", "https://api.groq.com"]);
  assert.deepEqual(connectPolicyOf(["script-src 'self';default-src  'none'"]), ["'none'"]);
  assert.equal(connectPolicyOf(["script-src 'self'"]), "any");
  assert.equal(connectPolicyOf([]), "any");
});

test("of several policies all are obeyed", () => {
  assert.deepEqual(connectPolicyOf(["connect-src 'self' https://a.example", "connect-src 'self' https://b.example"]), ["'self'"]);
  assert.deepEqual(connectPolicyOf(["connect-src 'self' https://a.example, connect-src 'self'"]), ["'self'"]);
});

test("an endpoint may be asked where the policy lists its origin, path and all", () => {
  const policy = ["'self'", "https://api.groq.com", "http://localhost:11434", "https://paths.example/v1/"];
  assert.ok(mayConnect(policy, "https://api.groq.com/openai/v1/chat/completions", self));
  assert.ok(mayConnect(policy, "http://localhost:11434/v1/chat/completions", self));
  assert.ok(mayConnect(policy, "https://docs.example/llm", self));
  assert.ok(mayConnect(policy, "https://paths.example/v1/chat/completions", self));
  assert.ok(!mayConnect(policy, "https://paths.example/v2/chat/completions", self));
  assert.ok(!mayConnect(policy, "http://localhost:8080/v1/chat/completions", self));
  assert.ok(!mayConnect(policy, "https://api.groq.com.evil.example/", self));
  assert.ok(!mayConnect(["'none'"], self, self));
  assert.ok(mayConnect(["https:"], "https://anywhere.example/", self));
  assert.ok(mayConnect("any", "https://anywhere.example/", self));
});

test("a page that may ask its own host alone has no endpoint to offer", () => {
  assert.ok(!anyEndpoint(["'self'", "data:"]));
  assert.ok(anyEndpoint(["'self'", "http://localhost:11434"]));
  assert.deepEqual(endpointsOf(["'self'", "http://localhost:11434"]), ["http://localhost:11434"]);
});
