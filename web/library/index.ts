// Polygraph as a library: questions over an index of documentation, and the evaluation of any pipeline that answers questions.
// Documents go in, documents come out; nothing is read, written or sent but what the caller hands over.

import type { ComparisonReport, Conversion, Dataset, DatasetForm, Diagnosis, EvaluationReport, TrecEvaluation, Validation } from "../engine/documents.ts";
import type { CompareOptions, DatasetText, ReportOptions, Text } from "../engine/evaluation.ts";
import { theEvaluation } from "./wasm.ts";

export { PolygraphError, type ErrorCode } from "./error.ts";
export { ask, openIndex, replay, search, type AskOptions, type Index, type Preset, type SearchOptions, type SearchResult, type Settings } from "./index-file.ts";
export type { Completion, CompletionTask, Models, TokenPair } from "./models.ts";
export { setWasmLoader, type Bytes, type WasmLoader, type WasmName } from "./wasm.ts";
export type { Chunk, Hit, IndexInfo, IndexMetadata, Replay } from "../engine/boundary.ts";
export type { Trace } from "../engine/trace.ts";
export type { CompareOptions, DatasetText, ReportOptions, Text } from "../engine/evaluation.ts";
export * from "../engine/documents.ts";

/** A document: text, a file's bytes, or the value that another call gave. */
export type Document = Text | object;

const textOf = (document: Document): Text => (typeof document === "string" || document instanceof Uint8Array ? document : JSON.stringify(document));

/** Checks a golden set and finds every problem at once: JSON Lines, samples, a table, or a collection as its two files. */
export async function validateDataset(dataset: DatasetText): Promise<Validation> {
  return (await theEvaluation()).validate(dataset);
}

/** The items of a valid golden set in any of its forms. */
export async function readDataset(dataset: DatasetText): Promise<Dataset> {
  return (await theEvaluation()).readDataset(dataset);
}

/** A golden set in another form; what that form can't hold is named. */
export async function convertDataset(dataset: DatasetText, to: DatasetForm, options: { name?: string; version?: string } = {}): Promise<Conversion> {
  return (await theEvaluation()).convert(dataset, to, options);
}

/**
 * The evaluation report of stored results (an array, JSON Lines, or `{dataset_name, pipeline_name, k, results}`) or of a run that
 * `polygraph run` wrote; of a run with every metric and its interval.
 */
export async function buildReport(results: Document, options: ReportOptions & { results?: boolean } = {}): Promise<EvaluationReport> {
  return (await theEvaluation()).buildReport(textOf(results), options);
}

/** Two reports, results or runs: who wins, at what price, what became of each query, and whether B is a regression. */
export async function compareReports(a: Document, b: Document, options: CompareOptions = {}): Promise<ComparisonReport> {
  return (await theEvaluation()).compare(textOf(a), textOf(b), options);
}

/** What went wrong in stored results, a report or a run, and what to look at. */
export async function diagnose(document: Document, options: ReportOptions = {}): Promise<Diagnosis> {
  return (await theEvaluation()).diagnose(textOf(document), options);
}

/** Retrieval measures of a TREC run against qrels, as trec_eval gives them. `k`: depths, 1, 3, 5 and 10 without others. */
export async function metrics(qrels: Text, run: Text, options: { k?: readonly number[] } = {}): Promise<TrecEvaluation> {
  return (await theEvaluation()).metrics(qrels, run, options);
}

/** Diagnosis and comparison as Markdown, names and ids escaped. */
export const markdown = {
  diagnose: async (document: Document, options: ReportOptions = {}): Promise<string> => (await theEvaluation()).markdown.diagnose(textOf(document), options),
  compareReports: async (a: Document, b: Document, options: CompareOptions = {}): Promise<string> => (await theEvaluation()).markdown.compare(textOf(a), textOf(b), options),
};
