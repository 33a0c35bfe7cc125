// The site's own index and engine beneath its report page: opened when something of a report needs them. They give the text of
// passages, and make a run of the shipped evaluation again from what models answered then (cli/runs/site_document.hpp), so that
// answer and trace stand there in full though the report holds no text of the corpus.

import type { Chunk, EffectResult, IndexInfo, Presets, RunConfig } from "../engine/boundary.ts";
import type { Trace } from "../engine/trace.ts";
import { capabilities } from "../worker/capabilities.ts";
import { WorkerClient } from "../worker/client.ts";
import type { Finished, RecordedResult, WorkerEvent } from "../worker/messages.ts";
import type { Site } from "../worker/site.ts";
import { isObject, list, number, object, objects, text, texts, type Json } from "./shapes.ts";

export interface Opened {
  client: WorkerClient;
  info: IndexInfo;
  presets: Presets;
}

export class SiteIndex {
  readonly site: Site;
  #opened: Promise<Opened> | null = null;
  readonly #listeners = new Set<(event: WorkerEvent) => void>();

  constructor(site: Site) {
    this.site = site;
  }

  /** As engine and traces name it. */
  get identity(): string {
    return this.site.index.identity;
  }

  /** Rejects with a sentence for people. A failed attempt is made again at the next call. */
  open(): Promise<Opened> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = null;
      throw error;
    });
    return this.#opened;
  }

  /** What the worker tells unasked: models loading, a run's steps. */
  listen(listener: (event: WorkerEvent) => void): void {
    this.#listeners.add(listener);
  }

  async chunks(ids: readonly string[]): Promise<Map<string, Chunk | null>> {
    const { client } = await this.open();
    const wanted = [...new Set(ids)];
    const found = await client.call("chunks", { ids: wanted });
    return new Map(wanted.map((id, i) => [id, found[i] ?? null]));
  }

  async #open(): Promise<Opened> {
    const found = capabilities();
    if (!found.webassembly) throw new Error("This browser runs no WebAssembly, so the page cannot open its index.");
    const client = new WorkerClient(this.site.engine_worker, (event) => this.#listeners.forEach((listener) => listener(event)));
    const { info, presets } = await client.call("open", { site: this.site, capabilities: found });
    return { client, info, presets };
  }
}

/** `config` of an evaluation as the engine takes it. */
export const runConfig = (config: unknown): RunConfig => ({
  preset: "tuned",
  set: Object.fromEntries(Object.entries(object(config)).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []))),
});

/** A result's recorded effects with the values that the document keeps once for all. */
export function recordedResults(run: Json, effects: readonly unknown[]): RecordedResult[] {
  return list(run["effects"]).flatMap((entry): RecordedResult[] => {
    const [what, ms] = list(entry);
    if (isObject(what)) return [{ digest: "", result: { time: { utc: text(what["utc"]), ms: number(what["ms"]) ?? 0 }, ms: number(ms) ?? 0 } }];
    const kept = object(effects[number(what) ?? -1]);
    const { digest, result, ...more } = kept;
    return isObject(result) ? [{ digest: text(digest), result: { ...more, ...result, ms: number(ms) ?? 0 } as EffectResult }] : [];
  });
}

/** Every chunk id that a trace names. */
export function idsOf(trace: Trace): string[] {
  const ids = trace.citations.map((citation) => citation.chunk_id);
  for (const step of trace.steps) {
    if (step.node === "retrieve") ids.push(...step.data.candidates.map((candidate) => candidate.id), ...step.data.retrieved_ids);
    else if (step.node === "generate") ids.push(...step.data.context_ids);
    else if (step.node === "grade_context") ids.push(...step.data.graded_ids);
  }
  return ids;
}

export interface Completed {
  record: Json;
  chunks: ReadonlyMap<string, Chunk | null>;
  /** The trace's own bytes; empty: none. */
  traceJson: string;
  /** What is missing of the record, and why; empty: nothing. */
  note: string;
}

/** A result with its passages' text, answer and trace. */
export async function completed(record: Json, head: Json, document: Json, index: SiteIndex): Promise<Completed> {
  const ids = objects(record["retrieved_chunks"]).map((chunk) => text(chunk["id"]));
  const same = text(object(document["made"])["index_digest"]) === index.identity;
  if (!same) return { record, chunks: new Map(), traceJson: "", note: "This evaluation is over another index than the site's: passages, answer and trace cannot be shown." };
  const { client } = await index.open();
  const run = object(record["run"]);
  const finished: Finished = await client.call("again", {
    question: text(record["query"]), config: runConfig(head["config"]), results: recordedResults(run, list(document["effects"])),
  });
  const { trace } = finished;
  const chunks = await index.chunks([...ids, ...idsOf(trace), ...texts(record["expected_chunk_ids"])]);
  const first = trace.steps.find((step) => step.node === "retrieve");
  const candidates = first?.node === "retrieve" ? first.data.candidates.slice(0, ids.length).map((candidate) => candidate.id) : [];
  const identical = trace.id === run["id"] && trace.status === run["status"] && candidates.join("\n") === ids.join("\n");
  return {
    chunks, traceJson: finished.json,
    record: {
      ...record, generated_answer: trace.answer, trace,
      retrieved_chunks: ids.map((id) => {
        const chunk = chunks.get(id);
        return chunk ? { id, text: chunk.text, metadata: { title: chunk.title, heading_path: chunk.heading_path, url: chunk.url } } : { id };
      }),
    },
    note: identical ? "" : "The engine of this site makes another run of what models answered then: the trace below is that run, the figures are those of the evaluation.",
  };
}
