// The agent's state machine, and the way that one run took through it.

import type { Node, Trace } from "../engine/trace.ts";

export type State = "question" | Node | "answered" | "refused" | "failed";
export type Edge = `${State}>${State}`;

/** Every transition of the agent; a run without reflection goes from retrieve to generate. */
export const transitions: readonly Edge[] = [
  "question>retrieve", "retrieve>grade_context", "retrieve>generate", "grade_context>generate", "grade_context>rewrite_query",
  "grade_context>refuse", "rewrite_query>retrieve", "rewrite_query>refuse", "generate>answered", "generate>refuse", "refuse>refused",
];

export interface Way {
  /** Question, then the node of each step, then how it ended; a run that was not finished has no end. */
  states: State[];
  /** Numbers of the steps that an edge led to; 0 for the end. */
  taken: ReadonlyMap<Edge, number[]>;
  /** Numbers of the steps in each state. */
  visits: ReadonlyMap<State, number[]>;
}

export function wayOf(trace: Trace): Way {
  const states: State[] = ["question", ...trace.steps.map((step) => step.node)];
  if (trace.status !== "running") states.push(trace.status);
  const taken = new Map<Edge, number[]>();
  const visits = new Map<State, number[]>();
  states.forEach((state, i) => {
    const step = trace.steps[i - 1];
    if (step) visits.set(state, [...(visits.get(state) ?? []), step.n]);
    if (i === 0) return;
    const edge: Edge = `${states[i - 1]!}>${state}`;
    taken.set(edge, [...(taken.get(edge) ?? []), step?.n ?? 0]);
  });
  return { states, taken, visits };
}
