import assert from "node:assert/strict";
import { test } from "node:test";
import { ReliableWorker } from "../../../web/worker/reliable.ts";

/** A browser's worker that answers what it is told, or never takes a message. */
class ScriptedThread {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly told: unknown[] = [];
  terminated = false;
  readonly #silent: boolean;

  constructor(silent: boolean) {
    this.#silent = silent;
  }
  postMessage(message: unknown): void {
    this.told.push(message);
    if (!this.#silent) setTimeout(() => this.onmessage?.(new MessageEvent("message", { data: `did ${String(message)}` })));
  }
  terminate(): void {
    this.terminated = true;
  }
}

function thread(silent: boolean[], patienceMs: number[]): { made: ReliableWorker; started: ScriptedThread[]; heard: unknown[] } {
  const started: ScriptedThread[] = [];
  const heard: unknown[] = [];
  const made = new ReliableWorker(() => {
    const worker = new ScriptedThread(silent[started.length] ?? false);
    started.push(worker);
    return worker as unknown as Worker;
  }, patienceMs);
  made.onmessage = ({ data }) => heard.push(data);
  return { made, started, heard };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await soon(5); // a test that never gets there is ended by its own limit
}
const soon = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test("a thread that never takes its first message is replaced by one that is told the same", { timeout: 20_000 }, async () => {
  const { made, started, heard } = thread([true, true, false], [15, 15, 60_000]);
  made.postMessage("load");
  await until(() => heard.length === 1);
  assert.deepEqual(heard, ["did load"]);
  assert.deepEqual(started.map(({ terminated }) => terminated), [true, true, false]);
  made.postMessage("run");
  await until(() => heard.length === 2);
  assert.deepEqual(heard, ["did load", "did run"]);
  assert.equal(started.length, 3);
});

test("a thread that has spoken once may be silent for as long as it works", { timeout: 20_000 }, async () => {
  const { made, started, heard } = thread([false], [400, 400]);
  made.postMessage("load");
  await until(() => heard.length === 1);
  await soon(500);
  assert.equal(started.length, 1);
  assert.equal(started[0]?.terminated, false);
});

test("what an abandoned thread says late is not heard", { timeout: 20_000 }, async () => {
  const { made, started, heard } = thread([true, false], [15, 60_000]);
  made.postMessage("load");
  await until(() => heard.length === 1);
  started[0]?.onmessage?.(new MessageEvent("message", { data: "late" }));
  assert.deepEqual(heard, ["did load"]);
});

test("a thread that is ended is not started again", { timeout: 20_000 }, async () => {
  const { made, started } = thread([true, false], [15, 15]);
  made.postMessage("load");
  made.terminate();
  await soon(50);
  assert.equal(started.length, 1);
});
