// Who completes the agent's LLM tasks (grade, rewrite, generate) for the page, and what can go wrong with each of them.
// The engine asks with an effect and is answered with its result; what follows from a reply is the engine's business.

import type { Chunk, Effect, EffectResult } from "../engine/boundary.ts";

export type Task = Extract<Effect, { kind: "complete" }>;

/** What a provider may use beside the task itself. */
export interface Context {
  /** Of the page's index, which the chunk ids belong to. */
  indexDigest: string;
  /** The passages, for a provider that writes its own prompt. */
  chunks(ids: readonly string[]): Promise<(Chunk | null)[]>;
  /** Text of a generation as it comes: a draft until the engine has checked its citations. */
  onDraft(text: string): void;
  /** Fires when the visitor cancels or asks anew. */
  signal: AbortSignal;
}

export interface Provider {
  /** Rejects with a ProviderFailure. */
  complete(task: Task, context: Context): Promise<EffectResult>;
}

export type FailureKind =
  /** No connection, or it broke before an answer began. */
  | "unreachable"
  /** Nothing answers tasks at this address: a plain file server. */
  | "absent"
  /** Quota spent, queue full, or asked too often: later it works. */
  | "busy"
  | "index_mismatch"
  | "timeout"
  /** A stream that ended without its end. */
  | "cut"
  /** An answer that is none. */
  | "invalid"
  /** The task itself was turned down. */
  | "refused"
  | "cancelled";

export class ProviderFailure extends Error {
  override readonly name = "ProviderFailure";
  readonly kind: FailureKind;
  /** When it is expected to work again, ISO 8601; null: unknown. */
  readonly until: string | null;
  /** Id of a recorded run that the server offers instead. */
  readonly recording: string | null;

  constructor(kind: FailureKind, message: string, until: string | null = null, recording: string | null = null) {
    super(message);
    this.kind = kind;
    this.until = until;
    this.recording = recording;
  }

  /** As the engine takes it: it ends the run as failed. */
  get result(): EffectResult {
    return { error: { code: this.kind === "busy" ? "quota_spent" : "provider_failed", message: this.message } };
  }
}

/** A failure as a ProviderFailure; anything else is a connection that could not be made or broke. */
export function failureOf(error: unknown, deadline: { expired: boolean; signal: AbortSignal }, who: string): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  if (deadline.expired) return new ProviderFailure("timeout", `${who} did not answer in time.`);
  if (deadline.signal.aborted) return new ProviderFailure("cancelled", "The question was cancelled.");
  return new ProviderFailure("unreachable", `${who} cannot be reached.`);
}

/** A member of an answer that nobody vouches for. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>)[name] : undefined;
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
export const countOf = (value: unknown): number => (Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0);
