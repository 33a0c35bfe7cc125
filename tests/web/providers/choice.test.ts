import assert from "node:assert/strict";
import { test } from "node:test";
import { choose, chooseAfter, type Situation } from "../../../web/providers/choice.ts";
import type { Recording } from "../../../web/providers/recordings.ts";
import { noService } from "../../../web/providers/service.ts";

const example = "How do I limit a container's memory?";
const recording: Recording = { id: "memory", question: example, aliases: [], recordedAt: "2026-01-01T00:00:00Z", madeBy: "", models: {}, indexDigest: "a" };
const until = "2026-01-02T00:00:00.000Z";
const situation = (state: Situation["service"]["state"], more: Partial<Situation> = {}): Situation => ({
  wish: "automatic",
  service: { ...noService, state, until: state === "live" ? null : until, recordings: [recording] },
  indexDigest: "a", ownMissing: "", builtInMissing: "", ...more,
});

test("live answers come first, then the recorded run of an example, then this browser", () => {
  assert.deepEqual(choose(example, situation("live")), { who: "live", why: "", until: null });
  assert.deepEqual(choose(example, situation("recorded")), { who: "recorded", recording, why: "There are no live answers for the moment.", until });
  assert.deepEqual(choose("Anything else", situation("recorded")), { who: "browser", why: "There are no live answers for the moment.", until });
  assert.equal(choose(example, situation("unreachable")).who, "recorded");
  assert.equal(choose("Anything else", situation("unreachable")).why, "The server that answers live cannot be reached.");
});

test("a server over another edition of the documents is not asked", () => {
  const other = situation("live");
  other.service = { ...other.service, indexDigest: "b" };
  assert.deepEqual(choose("Anything else", other), { who: "browser", why: "The server that answers live holds another edition of these documents.", until: null });
  other.service = { ...other.service, indexDigest: "a" };
  assert.equal(choose("Anything else", other).who, "live");
});

test("on plain static hosting nothing is missed", () => {
  const none = situation("none");
  none.service = { ...noService, state: "none" };
  assert.deepEqual(choose(example, none), { who: "browser", why: "", until: null });
});

test("what the visitor chose is what they get, or the nearest to it with the reason", () => {
  assert.equal(choose(example, situation("live", { wish: "browser" })).who, "browser");
  assert.equal(choose(example, situation("live", { wish: "recorded" })).who, "recorded");
  assert.deepEqual(choose("Anything else", situation("live", { wish: "recorded" })), { who: "browser", why: "There is no recorded run of this question.", until: null });
  assert.equal(choose(example, situation("live", { wish: "own" })).who, "own");
  assert.deepEqual(choose(example, situation("live", { wish: "own", ownMissing: "No address." })), { who: "browser", why: "No address.", until: null });
  assert.equal(choose(example, situation("live", { wish: "built-in" })).who, "built-in");
  assert.equal(choose(example, situation("live", { wish: "built-in", builtInMissing: "None." })).who, "browser");
  assert.equal(choose(example, situation("live", { wish: "live" })).who, "live");
  assert.equal(choose("Anything else", situation("busy", { wish: "live" })).why, "There are no live answers for the moment.");
});

test("after a live answer failed the same question is not asked live again", () => {
  assert.equal(chooseAfter(example, situation("live"), "It broke off.", null).who, "recorded");
  assert.deepEqual(chooseAfter("Anything else", situation("live"), "It broke off.", until), { who: "browser", why: "It broke off.", until });
});

test("a site that gives no live answers at all says so once, before the question", () => {
  const never = situation("recorded");
  never.service = { ...never.service, until: null };
  assert.deepEqual(choose("Anything else", never), { who: "browser", why: "This site gives no live answers now.", until: null, told: true });
  assert.equal(choose("Anything else", situation("recorded")).told, undefined);
});
