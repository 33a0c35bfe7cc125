// The traces that are open: files, and one row for each trace in them. A trace is read from its file when it is opened.

import { kindOf, openDocument, Unreadable, type TraceDocument } from "./document.ts";
import type { InspectorWorker } from "./client.ts";
import type { Filter, Row } from "./lines.ts";

export interface Opening {
  rows: Row[];
  /** Of files that are no traces: which, and why. */
  problems: string[];
  /** Index files among what was opened. */
  indexes: File[];
}

export class Library {
  readonly #worker: () => InspectorWorker;
  readonly #changed: () => void;
  #files: File[] = [];
  #rows: Row[] = [];
  #read = new Map<number, number>();
  #turn = 0;

  constructor(worker: () => InspectorWorker, changed: () => void) {
    this.#worker = worker;
    this.#changed = changed;
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** Share of the files that has been read. */
  get read(): number {
    const size = this.#files.reduce((sum, file) => sum + file.size, 0);
    const read = [...this.#read.values()].reduce((sum, bytes) => sum + bytes, 0);
    return size > 0 ? Math.min(1, read / size) : 1;
  }

  /** Closes what was open. Null: something else was opened meanwhile. */
  async open(files: readonly File[]): Promise<Opening | null> {
    const turn = ++this.#turn;
    const traces: { file: File; whole: boolean }[] = [];
    const indexes: File[] = [];
    const problems: string[] = [];
    for (const file of files) {
      try {
        const kind = await kindOf(file);
        if (kind === "index") indexes.push(file);
        else traces.push({ file, whole: kind === "document" });
      } catch (error) {
        problems.push(`${file.name}: ${error instanceof Unreadable ? error.message : `It could not be read (${error instanceof Error ? error.message : String(error)}).`}`);
      }
    }
    if (turn !== this.#turn) return null;
    if (traces.length === 0) return { rows: [], problems, indexes };
    const worker = this.#worker();
    await worker.call("forget", null);
    if (turn !== this.#turn) return null;
    this.#files = traces.map(({ file }) => file);
    this.#rows = [];
    this.#read = new Map(this.#files.map((_, i) => [i, 0]));
    this.#changed();
    for (const [i, { file, whole }] of traces.entries()) {
      await worker.call("scan", { blob: file, file: i, whole });
      if (turn !== this.#turn) return null;
      this.#read.set(i, file.size);
    }
    this.#changed();
    return { rows: this.#rows, problems, indexes };
  }

  /** Rows that the worker has read. */
  add(rows: readonly Row[], read: number): void {
    for (const row of rows) this.#rows.push(row);
    const file = rows[0]?.file;
    if (file !== undefined) this.#read.set(file, read);
    this.#changed();
  }

  filter(filter: Filter): Promise<Uint32Array> {
    return this.#worker().call("filter", filter);
  }

  /** Throws Unreadable, with the file and line in its message. */
  async document(row: Row): Promise<TraceDocument> {
    const file = this.#files[row.file];
    if (!file) throw new Unreadable("This file has been closed.");
    let text: string;
    try {
      if (row.length === 0 && file.size > 0) throw new Unreadable(row.problem);
      text = await file.slice(row.offset, row.offset + row.length).text();
    } catch (error) {
      if (error instanceof Unreadable) throw error;
      throw new Unreadable(`${file.name} can no longer be read: it was changed or moved since it was opened. Open it again.`);
    }
    try {
      return openDocument(text);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      throw new Unreadable(`${this.sourceOf(row)}: ${error.message}`, error.field);
    }
  }

  /** File and, where it holds several, line. */
  sourceOf(row: Row): string {
    const file = this.#files[row.file];
    if (!file) return "";
    return row.length < file.size - 1 ? `${file.name}, line ${row.line}` : file.name;
  }
}
