import assert from "node:assert/strict";
import { test } from "node:test";
import type { Effect, EffectResult } from "../../../web/engine/boundary.ts";
import { drive } from "../../../web/engine/run.ts";
import { scriptedEngine } from "./scripted_engine.ts";

const time: Effect = { id: 1, kind: "time" };
const embed: Effect = { id: 2, kind: "embed", token_ids: [101, 102] };
const now: EffectResult = { time: { utc: "2026-01-01T00:00:00Z", ms: 0 } };

test("each effect is performed once and resumed with its result, until the run is finished", async () => {
  const { engine, calls } = await scriptedEngine({
    resume: (_run: never, effect: never) => (effect === 1 ? { effects: [embed], finished: false } : { effects: [], finished: true, served: 3 }),
  });
  const performed: number[] = [];
  let shown = 0;
  const last = await drive(engine, 7, { effects: [time], finished: false }, {
    perform: async (effect) => {
      performed.push(effect.id);
      return effect.kind === "time" ? now : { embedding: "AACAPw==" };
    },
  }, () => ++shown);
  assert.deepEqual(performed, [1, 2]);
  assert.equal(shown, 2);
  assert.deepEqual(last, { effects: [], finished: true, served: 3 });
  assert.match(calls.at(-1) ?? "", /^resume\(7, 2, /);
});

test("a host that throws resumes the run with `model_unavailable`, so that it goes on without that stage", async () => {
  let handed = "";
  const { engine } = await scriptedEngine({
    resume: (_run: never, _effect: never, result: never) => {
      handed = result;
      return { effects: [], finished: true };
    },
  });
  await drive(engine, 1, { effects: [embed], finished: false }, { perform: () => Promise.reject(new Error("the models' worker stopped")) }, () => undefined);
  assert.deepEqual(JSON.parse(handed), { error: { code: "model_unavailable", message: "the models' worker stopped" } });
});

test("a cancelled run is left at once, though an effect is still under way", async () => {
  const { engine, calls } = await scriptedEngine({});
  const controller = new AbortController();
  const running = drive(engine, 1, { effects: [embed], finished: false }, { perform: () => new Promise(() => undefined) }, () => undefined, controller.signal);
  controller.abort();
  assert.equal(await running, null);
  assert.ok(!calls.some((call) => call.startsWith("resume")));
});
