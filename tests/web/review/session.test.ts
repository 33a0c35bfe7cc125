import assert from "node:assert/strict";
import { test } from "node:test";
import { editOf, readReviewSet, ReviewProblem, Session } from "../../../web/review/session.ts";

const document = (more: object = {}): string => JSON.stringify({
  kind: "review_set", schema: 1, name: "docs", mode: "review",
  items: ["q1", "q2", "q3"].map((id, i) => ({
    id, type: "answerable", question: `Question ${i + 1}?`, reference: `Answer ${i + 1}.`,
    passages: [{ id: "a#001", title: "A", text: "One.", relevant: true }, { id: "b#001", title: "B", text: "Two.", relevant: false }],
  })),
  decisions: {}, ...more,
});
const session = (more?: object): Session => new Session(readReviewSet(document(more), "file"));

test("accepting goes on to the next undecided item, and the last stays", () => {
  const review = session();
  review.decide("accept");
  assert.equal(review.item.id, "q2");
  review.go(0);
  review.decide("reject");
  assert.equal(review.item.id, "q2");
  review.decide("accept");
  review.decide("accept");
  assert.equal(review.item.id, "q3");
  assert.equal(review.decided, 3);
  assert.deepEqual([...review.unsaved], ["q1", "q2", "q3"]);
});

test("accepting what was changed is an edit that holds the change alone", () => {
  const review = session();
  review.toggle(1);
  review.change({ reason: "  both say it " });
  review.decide("accept");
  assert.deepEqual(review.decision("q1"), { decision: "edit", edit: { relevant_chunk_ids: ["a#001", "b#001"] }, reason: "both say it" });
  review.change({ question: "Another question?" });
  review.decide("accept");
  assert.deepEqual(review.decision("q2"), { decision: "edit", edit: { question: "Another question?" } });
});

test("toggling twice is no edit, and a place without a passage does nothing", () => {
  const review = session();
  assert.ok(review.toggle(0));
  assert.ok(review.toggle(0));
  assert.equal(review.toggle(8), false);
  assert.equal(editOf(review.item, review.draft()), null);
});

test("undo takes back step by step, across items, and shows the item that it was about", () => {
  const review = session();
  review.toggle(1);
  review.decide("accept");
  review.decide("reject");
  assert.equal(review.item.id, "q3");
  assert.ok(review.undo());
  assert.equal(review.item.id, "q2");
  assert.equal(review.decision(), null);
  assert.ok(review.undo());
  assert.equal(review.item.id, "q1");
  assert.deepEqual(review.draft().relevant, ["a#001", "b#001"]);
  assert.ok(review.undo());
  assert.deepEqual(review.draft().relevant, ["a#001"]);
  assert.equal(review.undo(), false);
  assert.deepEqual([...review.unsaved].sort(), ["q1", "q2"]);
});

test("what was written down comes back whole: decisions, changes under way, steps, place", () => {
  const before = session();
  before.decide("reject");
  before.toggle(0);
  before.change({ reason: "half a sen" });
  const after = session();
  after.resume(before.write());
  assert.equal(after.item.id, "q2");
  assert.deepEqual(after.draft(), before.draft());
  assert.deepEqual(after.decision("q1"), { decision: "reject" });
  assert.deepEqual([...after.unsaved], ["q1"]);
  for (let i = 0; i < 3; ++i) assert.ok(after.undo());
  assert.equal(after.decided, 0);
});

test("decisions that are on disk win over what this browser remembers, except what it had not saved", () => {
  const before = session();
  before.decide("reject");
  before.decide("reject");
  before.unsaved.delete("q1"); // the command line confirmed it
  const after = session({ decisions: { q1: { decision: "accept", reviewer: "ada" }, q2: { decision: "accept" } } });
  after.resume(before.write());
  assert.deepEqual(after.decision("q1"), { decision: "accept", reviewer: "ada" });
  assert.deepEqual(after.decision("q2"), { decision: "reject" });
  assert.deepEqual([...after.unsaved], ["q2"]);
});

test("something else under the key leaves the review as it is", () => {
  for (const junk of ["", "null", "[]", '{"decisions": 3, "steps": [{"id": "nobody"}], "unsaved": ["q9"], "at": "q9"}']) {
    const review = session();
    review.resume(junk);
    assert.equal(review.item.id, "q1");
    assert.equal(review.decided, 0);
    assert.equal(review.unsaved.size, 0);
    assert.equal(review.undo(), false);
  }
});

test("in calibration both labels make a decision, passages stay as they are, and no verdict of the judge is read", () => {
  const source = JSON.stringify({ mode: "calibration", name: "c", items: [{ id: "q1", question: "Q?", answer: "A.", judge: { correct: false }, passages: [{ id: "a", text: "x" }] }, { id: "q2", question: "R?" }] });
  const set = readReviewSet(source, "c");
  assert.ok(!JSON.stringify(set).includes("judge"));
  const review = new Session(set);
  assert.equal(review.toggle(0), false);
  review.label({ correct: true });
  assert.equal(review.decided, 0);
  review.label({ grounded: false });
  assert.deepEqual(review.decision("q1"), { correct: true, grounded: false });
  assert.equal(review.item.id, "q2");
});

test("the file of decisions holds them in the set's order, with time and reviewer", () => {
  const review = session();
  review.go(1);
  review.decide("accept");
  review.go(0);
  review.decide("reject");
  assert.deepEqual(JSON.parse(review.file("ada", "2026-12-01T10:00:00Z")), {
    kind: "review_decisions", schema: 1, name: "docs",
    items: { q1: { decision: "reject", reviewer: "ada", reviewed_at: "2026-12-01T10:00:00Z" }, q2: { decision: "accept", reviewer: "ada", reviewed_at: "2026-12-01T10:00:00Z" } },
  });
});

test("a golden set opens in either form, its pooled ids as passages", () => {
  const lines = readReviewSet('\uFEFF{"id":"g1","type":"answerable","question":"Q?","reference_answer":"R.","relevant_chunk_ids":["a#1"],"pool_ids":["b#1","a#1"]}\r\n\r\n{"id":"g2","question":"S?"}\r\n', "golden.jsonl");
  assert.deepEqual(lines.items.map((item) => item.passages.map((passage) => [passage.id, passage.relevant])), [[["a#1", true], ["b#1", false]], []]);
  const samples = readReviewSet('{"name":"n","version":"1","samples":[{"id":"s","query":"Q?","expected_answer":"E","relevant_chunk_ids":["x"],"query_type":"factual"}]}', "set.json");
  assert.deepEqual([samples.items[0]?.question, samples.items[0]?.reference, samples.items[0]?.type], ["Q?", "E", "factual"]);
});

for (const [what, source, message] of [
  ["an item without an id", '{"question":"Q?"}\n{"question":"R?"}', /Item 1 has no id/],
  ["an id twice", '[{"id":"a","question":"Q?"},{"id":"a","question":"R?"}]', /Two items have the id a/],
  ["a line that is no JSON", '{"id":"a","question":"Q?"}\n{oops', /Line 2/],
  ["an empty file", "", /no golden items/],
] as const) {
  test(`${what} is named`, () => {
    assert.throws(() => readReviewSet(source, "f"), (error) => error instanceof ReviewProblem && message.test(error.message));
  });
}
