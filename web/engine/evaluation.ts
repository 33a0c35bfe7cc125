// The evaluation module (wasm/bindings/evaluation.cpp) as an ordinary class: golden sets, retrieval metrics, diagnosis, comparison,
// reports. Documents go in as text or as a file's bytes and come out as values, or, from `text`, as the module's own bytes: JavaScript
// would write numbers in another form. Runs unchanged in a page, a worker and Node.

import type { ErrorBody, Reply } from "./boundary.ts";
import type {
  ComparisonReport, Conversion, Dataset, DatasetForm, Diagnosis, EvaluationReport, TrecEvaluation, Validation,
} from "./documents.ts";
import { EngineError, wellFormed } from "./engine.ts";

/** A document: its text, or the bytes of its file (UTF-8). */
export type Text = string | Uint8Array;

/** A golden set: items, samples or a table as one text; a collection as its two files. */
export type DatasetText = Text | { form: "trec" | "beir"; queries: Text; qrels: Text };

export interface ReportOptions {
  /** K of results that name none; 5. */
  k?: number | undefined;
  /** The last rank at which the first expected chunk stands well; 3. */
  goodRank?: number | undefined;
  /** A retrieval over it is an outlier, in ms; 1000. */
  slowMs?: number | undefined;
}

export interface CompareOptions extends ReportOptions {
  /** A smaller difference of a quality metric is a tie; 0.02. */
  qualityTolerance?: number | undefined;
  /** A smaller difference of mean retrieval is a tie; 10. */
  latencyToleranceMs?: number | undefined;
}

/** The Embind functions. Each answers one JSON string, `{"ok": …}` or `{"error": …}`, and never throws. */
export interface EvaluationModule {
  validate(text: Text, qrels: Text, form: string): string;
  readDataset(text: Text, qrels: Text, form: string): string;
  convert(text: Text, qrels: Text, form: string, options: string): string;
  metrics(qrels: Text, run: Text, options: string): string;
  buildReport(text: Text, options: string): string;
  diagnose(text: Text, options: string): string;
  compare(a: Text, b: Text, options: string): string;
  matrix(runs: Text[]): string;
  runHead(options: string): string;
  runLine(golden: Text, result: Text, texts: string, judgement: string, options: string): string;
  version(): string;
}

export type EvaluationFactory = (options?: { wasmBinary?: Uint8Array | ArrayBuffer; locateFile?: (name: string) => string }) => Promise<EvaluationModule>;

/** What decides a run's figures (wasm/report/run_text.hpp): reports show it, and runs of one identity are one run. */
export interface RunIdentity {
  subject: { kind: string; name: string; config?: Record<string, string>; [field: string]: unknown };
  index_digest: string | null;
  golden: { name: string; digest: string; source: string; subset: string | null };
  /** Retrieval metrics of a single result are at this rank. */
  k: number;
  repeats: number;
  judge: { provider: string; model: string; [field: string]: unknown } | null;
  shard: null;
}

export interface RunLineOptions {
  k?: number;
  repeat?: number;
  /** ISO 8601, UTC. */
  finishedAt: string;
  /** JSON of a judgement; absent: nobody judged. */
  judgement?: string;
}

const safe = (text: Text): Text => (typeof text === "string" ? wellFormed(text) : text);

function parts(dataset: DatasetText): [text: Text, qrels: Text, form: string] {
  if (typeof dataset === "string" || dataset instanceof Uint8Array) return [safe(dataset), "", ""];
  return [safe(dataset.queries), safe(dataset.qrels), dataset.form];
}

/** Names as the module has them; what is not given is left out. */
function settings(options: Record<string, unknown>): string {
  const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return JSON.stringify(Object.fromEntries(Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [[snake(name), value]]))));
}

function failed(reply: string): ErrorBody | null {
  return reply.startsWith('{"error":') ? (JSON.parse(reply) as { error: ErrorBody }).error : null;
}

/** The document's own bytes out of a reply. */
function inner(reply: string): string {
  const error = failed(reply);
  if (error) throw new EngineError(error);
  return reply.slice('{"ok":'.length, -1);
}

function value<T>(reply: string): T {
  const parsed = JSON.parse(reply) as Reply<T>;
  if ("error" in parsed) throw new EngineError(parsed.error);
  return parsed.ok;
}

export class Evaluation {
  readonly #module: EvaluationModule;

  private constructor(module: EvaluationModule) {
    this.#module = module;
  }

  static async create(factory: EvaluationFactory, options: Parameters<EvaluationFactory>[0]): Promise<Evaluation> {
    return new Evaluation(await factory(options));
  }

  /** Every problem of a golden set, as `polygraph validate --json` prints them. */
  validate(dataset: DatasetText): Validation {
    return value(this.#module.validate(...parts(dataset)));
  }

  /** The items of a valid set, whatever its form, and the digest that identifies it. */
  readDataset(dataset: DatasetText): Dataset {
    return value(this.#module.readDataset(...parts(dataset)));
  }

  convert(dataset: DatasetText, to: DatasetForm, options: { name?: string; version?: string } = {}): Conversion {
    return value(this.#module.convert(...parts(dataset), settings({ ...options, to })));
  }

  /** Measures of a TREC run against qrels, as trec_eval gives them. */
  metrics(qrels: Text, run: Text, options: { k?: readonly number[] | undefined } = {}): TrecEvaluation {
    return value(this.#module.metrics(safe(qrels), safe(run), settings(options)));
  }

  /** The report of stored results, a stored report or a run; of a run with every metric and its interval. */
  buildReport(document: Text, options: ReportOptions & { results?: boolean | undefined } = {}): EvaluationReport {
    return value(this.#module.buildReport(safe(document), settings({ ...options })));
  }

  diagnose(document: Text, options: ReportOptions = {}): Diagnosis {
    return value(this.#module.diagnose(safe(document), settings({ ...options })));
  }

  compare(a: Text, b: Text, options: CompareOptions = {}): ComparisonReport {
    return value(this.#module.compare(safe(a), safe(b), settings({ ...options })));
  }

  /** Several runs side by side: the document that the report page shows as a matrix (`kind` "matrix"), as JSON text. */
  matrix(runs: readonly Text[]): string {
    return inner(this.#module.matrix(runs.map(safe)));
  }

  /** The first line of a run, with its end. `items`: how many lines the complete run has. */
  runHead(identity: RunIdentity, items: number, createdAt: string): string {
    return value(this.#module.runHead(settings({ identity, items, createdAt })));
  }

  /** The line of an item whose agent's run left `trace` (its own bytes, Engine.traceJson). `texts`: of the retrieved chunks, by id. */
  runLineOfTrace(golden: Text, trace: Text, texts: Readonly<Record<string, string>>, options: RunLineOptions): string {
    return this.#line(golden, trace, texts, options, true);
  }

  /** The line of an item and its result. */
  runLine(golden: Text, result: Text, options: RunLineOptions): string {
    return this.#line(golden, result, {}, options, false);
  }

  #line(golden: Text, result: Text, texts: Readonly<Record<string, string>>, { judgement = "", ...options }: RunLineOptions, trace: boolean): string {
    return value(this.#module.runLine(safe(golden), safe(result), wellFormed(JSON.stringify(texts)), wellFormed(judgement), settings({ ...options, trace })));
  }

  /** The same documents as the module's own bytes, those of the native command line. */
  readonly text = {
    buildReport: (document: Text, options: ReportOptions & { results?: boolean | undefined } = {}): string => inner(this.#module.buildReport(safe(document), settings({ ...options }))),
    diagnose: (document: Text, options: ReportOptions = {}): string => inner(this.#module.diagnose(safe(document), settings({ ...options }))),
    compare: (a: Text, b: Text, options: CompareOptions = {}): string => inner(this.#module.compare(safe(a), safe(b), settings({ ...options }))),
    metrics: (qrels: Text, run: Text, options: { k?: readonly number[] | undefined } = {}): string => inner(this.#module.metrics(safe(qrels), safe(run), settings(options))),
    validate: (dataset: DatasetText): string => inner(this.#module.validate(...parts(dataset))),
  };

  /** The diagnosis and the comparison as Markdown, names and ids escaped. */
  readonly markdown = {
    diagnose: (document: Text, options: ReportOptions = {}): string => value(this.#module.diagnose(safe(document), settings({ ...options, markdown: true }))),
    compare: (a: Text, b: Text, options: CompareOptions = {}): string => value(this.#module.compare(safe(a), safe(b), settings({ ...options, markdown: true }))),
  };

  get version(): string {
    return value(this.#module.version());
  }
}
