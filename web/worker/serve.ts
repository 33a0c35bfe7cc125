// A worker's end of the calls that `calls.ts` makes.

import { EngineError } from "../engine/engine.ts";
import type { ErrorBody } from "../engine/boundary.ts";
import type { Listening } from "./calls.ts";

export type Handlers<Calls extends Record<keyof Calls, { request: unknown; reply: unknown }>> = {
  [K in keyof Calls]: (body: Calls[K]["request"]) => Calls[K]["reply"] | Promise<Calls[K]["reply"]>;
};

interface Request {
  id: number;
  kind: string;
  body: unknown;
}

/** Answers each message with what its handler gives or with what it threw, as `error` puts it. */
export function serveCalls<Calls extends Record<keyof Calls, { request: unknown; reply: unknown }>>(
  handlers: Handlers<Calls>,
  errorOf: (error: unknown) => unknown = errorBody,
): void {
  const byKind = handlers as Record<string, (body: unknown) => unknown>;
  const answer = async ({ id, kind, body }: Request): Promise<unknown> => {
    try {
      return { id, ok: await byKind[kind]?.(body) };
    } catch (error) {
      return { id, error: errorOf(error) };
    }
  };
  let listening = false;
  self.addEventListener("message", ({ data }: MessageEvent<Request>) => {
    if (!listening) self.postMessage({ event: "listening" } satisfies Listening);
    listening = true;
    void answer(data).then((reply) => self.postMessage(reply));
  });
}

function errorBody(error: unknown): ErrorBody {
  if (!(error instanceof EngineError)) return { code: "internal", message: error instanceof Error ? error.message : String(error) };
  const { code, message, field, line } = error;
  return { code, message, ...(field ? { field } : {}), ...(line ? { line } : {}) };
}
