import assert from "node:assert/strict";
import { test } from "node:test";
import { Deadline } from "../../../web/providers/deadline.ts";

test("a wait ends when its time is up, and says so", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const deadline = new Deadline(1000);
  t.mock.timers.tick(999);
  assert.equal(deadline.signal.aborted, false);
  t.mock.timers.tick(1);
  assert.equal(deadline.signal.aborted, true);
  assert.equal(deadline.expired, true);
});

test("what keeps coming keeps a wait alive until its whole time is up", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const deadline = new Deadline(1000);
  for (let came = 0; came < 9; ++came) {
    deadline.within(110);
    t.mock.timers.tick(100);
    assert.equal(deadline.signal.aborted, false);
  }
  deadline.within(110);
  t.mock.timers.tick(100);
  assert.equal(deadline.expired, true);
});

test("silence ends a wait early", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const deadline = new Deadline(1000);
  deadline.within(100);
  t.mock.timers.tick(100);
  assert.equal(deadline.expired, true);
});

test("whoever gives up ends the wait, which did not run out of time", async () => {
  const outer = new AbortController();
  const deadline = new Deadline(1000, outer.signal);
  const race = deadline.race(new Promise(() => undefined));
  outer.abort();
  await assert.rejects(race, { name: "AbortError" });
  assert.equal(deadline.expired, false);
  deadline.end();
  const late = new Deadline(1000, outer.signal);
  assert.equal(late.signal.aborted, true);
  late.end();
});

test("a wait that ended does not fire afterwards", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const outer = new AbortController();
  const deadline = new Deadline(1000, outer.signal);
  deadline.within(10);
  deadline.end();
  t.mock.timers.tick(2000);
  outer.abort();
  assert.equal(deadline.signal.aborted, false);
});
