// What the Ask page knows, and nothing else it shows.

import type { Chunk, Hit, IndexInfo, Presets } from "../engine/boundary.ts";
import type { Trace } from "../engine/trace.ts";
import type { BuiltInState } from "../providers/built-in.ts";
import type { Choice } from "../providers/choice.ts";
import type { ConnectPolicy } from "../providers/connect-policy.ts";
import type { Endpoint } from "../providers/endpoint.ts";
import type { Service } from "../providers/service.ts";
import type { IndexProgress, ModelProgress } from "../worker/messages.ts";
import type { Settings } from "./settings-store.ts";

export interface Problem {
  code: string;
  message: string;
}

/** One question's run, from the moment it was asked. */
export interface Run {
  question: string;
  state: "running" | "finished" | "failed";
  /** Who answers it, and why nobody before them; null: not decided yet. */
  by: Choice | null;
  /** A recorded run over another index than the page's: what its ids stand for has to be compared. */
  otherIndex: boolean;
  /** Grows step by step while it runs. */
  trace: Trace | null;
  /** The finished trace's own bytes. */
  json: string;
  problem: Problem | null;
  /** For a fork: effects that came from the earlier trace, and the step it began at. */
  forked: { step: number; served: number } | null;
  /** Passages that the trace names, by chunk id; null: this index has no such chunk. */
  chunks: ReadonlyMap<string, Chunk | null>;
}

export interface Offline {
  /** `unsupported`: this browser or address cannot keep the page. */
  state: "unsupported" | "working" | "ready" | "failed";
  /** What of the page is kept: without the models it still answers lexically. */
  models: boolean;
  message: string;
  /** A newer version of the page waits for the next visit. */
  update: boolean;
  /** The host isolates no page, but what is kept now does: once loaded again, the models have several threads. */
  threads: boolean;
}

export interface State {
  index: IndexProgress;
  info: IndexInfo | null;
  presets: Presets | null;
  models: ModelProgress[];
  threads: number;
  offline: Offline;
  settings: Settings;
  service: Service;
  endpoint: Endpoint;
  /** Whom this page may connect to; null: not known. */
  policy: ConnectPolicy | null;
  builtIn: BuiltInState;
  /** Text of a generation under way, before its citations were checked. */
  draft: string;
  /** What stands in the field. */
  typed: string;
  /** The question whose answer is shown; empty at the start page. */
  asked: string;
  hits: Hit[] | null;
  /** Milliseconds that the last look-up took, from keypress to list. */
  lookupMs: number;
  run: Run | null;
  problem: Problem | null;
}
