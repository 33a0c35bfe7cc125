// The model that some browsers have built in (Chrome's Prompt API). It runs in this browser: nothing is sent anywhere. The
// browser downloads it once, when a page asks for it after the visitor did something.

import type { EffectResult } from "../engine/boundary.ts";
import { Deadline } from "./deadline.ts";
import type { Prompts } from "./prompts.ts";
import { failureOf, ProviderFailure, type Context, type Provider, type Task } from "./provider.ts";

type Availability = "unavailable" | "downloadable" | "downloading" | "available";

/** The prompts are English; the browser wants to know beforehand. */
const languages = {
  expectedInputs: [{ type: "text", languages: ["en"] }],
  expectedOutputs: [{ type: "text", languages: ["en"] }],
};

interface Session {
  prompt(text: string, options: { signal: AbortSignal; responseConstraint?: unknown }): Promise<string>;
  promptStreaming(text: string, options: { signal: AbortSignal }): ReadableStream<string>;
  destroy(): void;
}

interface LanguageModelApi {
  availability(options: typeof languages): Promise<Availability>;
  create(options: typeof languages & {
    signal?: AbortSignal;
    initialPrompts?: { role: string; content: string }[];
    monitor?: (monitor: EventTarget) => void;
  }): Promise<Session>;
}

export interface BuiltInState {
  /** `absent`: this browser has none. */
  state: "absent" | Availability | "failed";
  /** Of the download, from 0 to 1. */
  received: number;
  message: string;
}

export const noBuiltIn: BuiltInState = { state: "absent", received: 0, message: "" };

const availabilityWithinMs = 5_000;
const downloadWithinMs = 60 * 60_000;
const answerWithinMs = 180_000;
const modelName = "built-in language model";

/** Today's name of the interface, and the one that it had before. */
function api(): LanguageModelApi | null {
  const scope = globalThis as unknown as { LanguageModel?: LanguageModelApi; ai?: { languageModel?: LanguageModelApi } };
  const found = scope.LanguageModel ?? scope.ai?.languageModel;
  return typeof found?.availability === "function" && typeof found.create === "function" ? found : null;
}

export const hasBuiltIn = (): boolean => api() !== null;

export async function readBuiltIn(): Promise<BuiltInState> {
  const model = api();
  if (!model) return noBuiltIn;
  const deadline = new Deadline(availabilityWithinMs);
  try {
    return { state: await deadline.race(model.availability(languages)), received: 0, message: "" };
  } catch {
    return { state: "unavailable", received: 0, message: "" };
  } finally {
    deadline.end();
  }
}

/** Has the browser download its model, telling how far it is. Call it from a click: the browser wants one. */
export async function downloadBuiltIn(tell: (state: BuiltInState) => void, signal: AbortSignal): Promise<void> {
  const model = api();
  if (!model) return;
  const deadline = new Deadline(downloadWithinMs, signal);
  tell({ state: "downloading", received: 0, message: "" });
  try {
    const session = await deadline.race(model.create({
      ...languages,
      signal: deadline.signal,
      monitor: (monitor) => monitor.addEventListener("downloadprogress", (event) => {
        const { loaded } = event as ProgressEvent;
        tell({ state: "downloading", received: Math.min(1, loaded), message: "" });
      }),
    }));
    session.destroy();
    tell({ state: "available", received: 1, message: "" });
  } catch (error) {
    const stopped = deadline.signal.aborted && !deadline.expired;
    tell({ state: stopped ? "downloadable" : "failed", received: 0, message: stopped ? "" : error instanceof Error ? error.message : String(error) });
  } finally {
    deadline.end();
  }
}

/** Why the model cannot be asked; empty: it can. */
export function builtInProblem({ state }: BuiltInState): string {
  switch (state) {
    case "available":
      return "";
    case "absent":
      return "This browser has no built-in model.";
    case "downloadable":
      return "The browser’s built-in model is not downloaded yet.";
    case "downloading":
      return "The browser’s built-in model is still downloading.";
    case "unavailable":
      return "This device cannot run the browser’s built-in model.";
    case "failed":
      return "The browser’s built-in model could not be downloaded.";
  }
}

export class BuiltInProvider implements Provider {
  readonly #prompts: Prompts;

  constructor(prompts: Prompts) {
    this.#prompts = prompts;
  }

  async complete(task: Task, context: Context): Promise<EffectResult> {
    const model = api();
    if (!model) throw new ProviderFailure("absent", builtInProblem(noBuiltIn));
    const { messages, schema } = this.#prompts.of(task, await context.chunks(task.chunk_ids));
    const deadline = new Deadline(answerWithinMs, context.signal);
    const begun = performance.now();
    let session: Session | undefined;
    try {
      const last = messages.at(-1)?.content ?? "";
      session = await deadline.race(model.create({ ...languages, signal: deadline.signal, initialPrompts: messages.slice(0, -1) }));
      const text = task.task === "generate"
        ? await read(session.promptStreaming(last, { signal: deadline.signal }), deadline, context.onDraft)
        : await deadline.race(session.prompt(last, { signal: deadline.signal, ...(schema ? { responseConstraint: schema } : {}) }));
      // It tells no token counts that could be charged.
      return { text, model: modelName, ms: performance.now() - begun, tokens: { in: 0, out: 0 }, cost_usd: 0, finish: "stop" };
    } catch (error) {
      const failure = failureOf(error, deadline, "The browser’s built-in model");
      throw failure.kind === "unreachable" ? new ProviderFailure("invalid", `The browser’s built-in model failed: ${error instanceof Error ? error.message : String(error)}`) : failure;
    } finally {
      session?.destroy();
      deadline.end();
    }
  }
}

async function read(stream: ReadableStream<string>, deadline: Deadline, onDraft: (text: string) => void): Promise<string> {
  const reader = stream.getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await deadline.race(reader.read());
      if (done) return text;
      // Its first versions gave the whole text so far with each piece.
      text = text && value.startsWith(text) && value.length > text.length ? value : text + value;
      onDraft(text);
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
