// Drives one run of the engine to its end: hands each effect to a host, resumes with the result, and shows the record as
// it grows. The host performs; what follows from a result is the engine's business.

import type { Effect, EffectResult, Progress } from "./boundary.ts";
import type { Engine } from "./engine.ts";

export interface Host {
  perform(effect: Effect): Promise<EffectResult>;
}

/** The last progress when the run finished, null when `signal` fired first: effects under way are then left to themselves. */
export async function drive(
  engine: Engine,
  run: number,
  first: Progress,
  host: Host,
  progress: () => void,
  signal?: AbortSignal,
): Promise<Progress | null> {
  const open = new Map<number, Promise<{ id: number; result: EffectResult }>>();
  const begin = (effects: Effect[]): void => {
    for (const effect of effects) {
      open.set(effect.id, perform(host, effect).then((result) => ({ id: effect.id, result })));
    }
  };
  const cancelled = new Promise<"cancelled">((resolve) => {
    if (signal?.aborted) resolve("cancelled");
    signal?.addEventListener("abort", () => resolve("cancelled"), { once: true });
  });

  begin(first.effects);
  let last = first;
  while (!last.finished && open.size > 0) {
    const next = await Promise.race([cancelled, ...open.values()]);
    if (next === "cancelled") return null;
    open.delete(next.id);
    last = engine.resume(run, next.id, next.result);
    begin(last.effects);
    progress();
  }
  return last;
}

async function perform(host: Host, effect: Effect): Promise<EffectResult> {
  try {
    return await host.perform(effect);
  } catch (error) {
    return { error: { code: "model_unavailable", message: error instanceof Error ? error.message : String(error) } };
  }
}
