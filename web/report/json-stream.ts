// Reads a report of any size as a stream: the elements of its `results` arrays (or the lines of JSON Lines, or the elements of
// an array that is the whole file) are cut out and handed over one by one, each with its place in the file; what remains, the
// report itself, is small. No string ever holds the whole file, which would be too long for a browser, and an item's
// passages and trace need not stay in memory: they are read again from the file when somebody opens the item.

export interface Cut {
  /** Where it stands: "" for a line or an element of the file's own array, else `results`, `pipeline_a_report.results`, … */
  path: string;
  value: unknown;
  /** Byte range in the file. */
  start: number;
  end: number;
}

export class JsonProblem extends Error {}

/** Arrays whose elements are cut out. */
const cutPaths = /^((report|pipeline_[ab]_report|reports\.\d+)\.)?results$/;
/** No such array stands deeper than `reports.N.results`: keys below are not looked at. */
const deepestKey = 4;
const longestKey = "pipeline_a_report".length;

/** So long the page may stand still while a file is read. */
const mostBusyMs = 30;

const quote = 0x22, backslash = 0x5c, comma = 0x2c, colon = 0x3a, newline = 0x0a;
const openBrace = 0x7b, closeBrace = 0x7d, openBracket = 0x5b, closeBracket = 0x5d;
/** Where the byte stands next, or the end. */
function at(chunk: Uint8Array, byte: number, from: number): number {
  const found = chunk.indexOf(byte, from);
  return found < 0 ? chunk.length : found;
}
const isSpace = (byte: number): boolean => byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09;

interface Frame {
  array: boolean;
  /** The key or index of the value that is being read. */
  at: string | number;
  /** The next string is a key. */
  key: boolean;
  /** Its elements are cut out. */
  cut: boolean;
}

export class JsonStream {
  readonly #value: (cut: Cut) => void;
  readonly #decoder = new TextDecoder();
  readonly #frames: Frame[] = [];
  /** Bytes of the value that stands outside the cut arrays, and of the element that is being cut out. */
  #outer: Uint8Array[] = [];
  #inner: Uint8Array[] = [];
  #offset = 0;
  #line = 1;
  #outerStart = 0;
  #outerLine = 1;
  #innerStart = 0;
  #innerLine = 1;
  /** Open brackets inside the element being cut out; -1: not in one. */
  #depth = -1;
  #scalar = false;
  #inString = false;
  #escaped = false;
  #key: number[] | null = null;
  #needsComma = false;
  /** A comma of a cut array that no element has followed yet. */
  #afterComma = false;

  /** @param value called for every cut element, and for every value at the top with its cut arrays emptied */
  constructor(value: (cut: Cut) => void) {
    this.#value = value;
  }

  push(chunk: Uint8Array): void {
    let from = 0;
    let i = 0;
    let nextQuote = -1;
    let nextBackslash = -1;
    if (this.#offset === 0 && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf) from = i = 3;
    for (; i < chunk.length; ++i) {
      const byte = chunk[i]!;
      if (this.#inString) {
        if (!this.#escaped && !this.#key && byte !== quote && byte !== backslash) {
          // Most of a file is text of passages: on to the next byte that means something.
          if (nextQuote < i) nextQuote = at(chunk, quote, i);
          if (nextBackslash < i) nextBackslash = at(chunk, backslash, i);
          i = Math.min(nextQuote, nextBackslash) - 1;
          continue;
        }
        if (this.#escaped) this.#escaped = false;
        else if (byte === backslash) this.#escaped = true;
        else if (byte === quote) {
          this.#inString = false;
          if (this.#key) this.#endKey();
          else if (this.#depth === 0 && !this.#scalar) from = this.#endInner(chunk, from, i + 1);
          continue;
        }
        if (this.#key) this.#key.push(byte);
        continue;
      }
      if (byte === newline) ++this.#line;
      const frame = this.#frames.at(-1);
      if (this.#depth >= 0) {
        // Inside an element that is being cut out only strings and brackets matter.
        if (this.#scalar) {
          if (byte !== comma && byte !== closeBracket && !isSpace(byte)) continue;
          from = this.#endInner(chunk, from, i);
          this.#scalar = false;
        } else {
          if (byte === quote) this.#inString = true;
          else if (byte === openBrace || byte === openBracket) ++this.#depth;
          else if (byte === closeBrace || byte === closeBracket) {
            if (--this.#depth === 0) from = this.#endInner(chunk, from, i + 1);
          }
          continue;
        }
      }
      if (frame?.cut) {
        if (isSpace(byte)) continue;
        if (byte === comma) {
          if (!this.#needsComma) this.#fail("a comma without a value before it");
          this.#needsComma = false;
          this.#afterComma = true;
        } else if (byte === closeBracket) {
          if (this.#afterComma) this.#fail("a comma without a value after it");
          from = i;
          this.#pop(frame);
          if (this.#frames.length === 0) {
            from = i + 1;
            this.#outer = [];
          }
        } else {
          if (this.#needsComma) this.#fail("a comma is missing between two values");
          from = i;
          this.#innerStart = this.#offset + i;
          this.#innerLine = this.#line;
          this.#afterComma = false;
          this.#depth = byte === openBrace || byte === openBracket ? 1 : 0;
          this.#inString = byte === quote;
          this.#scalar = this.#depth === 0 && !this.#inString;
        }
        continue;
      }
      if (!frame) {
        if (isSpace(byte)) continue;
        // A new value at the top.
        this.#outerStart = this.#offset + i;
        this.#outerLine = this.#line;
        from = i;
      }
      switch (byte) {
        case openBrace:
          this.#frames.push({ array: false, at: "", key: true, cut: false });
          break;
        case openBracket: {
          const cut = !frame || (this.#frames.length <= deepestKey && cutPaths.test(this.#path()));
          this.#frames.push({ array: true, at: 0, key: false, cut });
          if (cut) {
            this.#outer.push(chunk.slice(from, i + 1));
            from = i + 1;
            this.#needsComma = this.#afterComma = false;
          }
          break;
        }
        case closeBrace:
        case closeBracket:
          if (!frame || frame.array !== (byte === closeBracket)) this.#fail("a bracket that closes nothing");
          this.#pop(frame!);
          if (this.#frames.length === 0) {
            this.#outer.push(chunk.slice(from, i + 1));
            from = i + 1;
            this.#endOuter(i + 1);
          }
          break;
        case quote:
          if (!frame) this.#fail("a report begins with { or [");
          this.#inString = true;
          if (frame!.key && this.#frames.length <= deepestKey) this.#key = [];
          break;
        case colon:
          if (frame) frame.key = false;
          break;
        case comma:
          if (frame && !frame.array) frame.key = true;
          else if (frame) frame.at = (frame.at as number) + 1;
          break;
        default:
          if (!frame) this.#fail("a report begins with { or [");
      }
    }
    const rest = chunk.slice(from);
    if (this.#depth >= 0) this.#inner.push(rest);
    else if (this.#frames.length > 0 && !this.#frames.at(-1)!.cut) this.#outer.push(rest);
    this.#offset += chunk.length;
  }

  end(): void {
    if (this.#frames.length > 0 || this.#depth >= 0) {
      throw new JsonProblem(`The file ends in the middle of a value that began on line ${this.#depth >= 0 ? this.#innerLine : this.#outerLine}: it was cut short.`);
    }
  }

  #path(): string {
    return this.#frames.map((frame) => frame.at).join(".");
  }

  #pop(frame: Frame): void {
    if (this.#frames.pop() !== frame) this.#fail("brackets that do not match");
  }

  #endKey(): void {
    const frame = this.#frames.at(-1)!;
    // Only plain names matter: a longer key, or one with other letters, is none of them.
    frame.at = this.#key!.length <= longestKey ? String.fromCharCode(...this.#key!) : "";
    this.#key = null;
  }

  #endInner(chunk: Uint8Array, from: number, to: number): number {
    this.#inner.push(chunk.subarray(from, to));
    const start = this.#innerStart;
    this.#emit(this.#frames.length === 1 ? "" : this.#path().slice(0, this.#path().lastIndexOf(".")), this.#inner, start, this.#offset + to, this.#innerLine);
    this.#inner = [];
    this.#depth = -1;
    this.#needsComma = true;
    return to;
  }

  #endOuter(to: number): void {
    this.#emit("", this.#outer, this.#outerStart, this.#offset + to, this.#outerLine);
    this.#outer = [];
  }

  #emit(path: string, parts: Uint8Array[], start: number, end: number, line: number): void {
    let value: unknown;
    try {
      value = JSON.parse(this.#decode(parts));
    } catch (error) {
      throw new JsonProblem(`Line ${line} is not JSON: ${(error as Error).message}`);
    }
    this.#value({ path, value, start, end });
  }

  #decode(parts: Uint8Array[]): string {
    if (parts.length === 1) return this.#decoder.decode(parts[0]!);
    let text = "";
    for (const part of parts) text += this.#decoder.decode(part, { stream: true });
    return text + this.#decoder.decode();
  }

  #fail(what: string): never {
    throw new JsonProblem(`Line ${this.#line} is not JSON: ${what}.`);
  }
}

/** Reads the whole file; `progress` gets the share that has been read. */
export async function readJson(file: Blob, value: (cut: Cut) => void, progress: (share: number) => void, signal?: AbortSignal): Promise<void> {
  const stream = new JsonStream(value);
  const reader = file.stream().getReader();
  let read = 0;
  let resumed = performance.now();
  for (;;) {
    const { done, value: chunk } = await reader.read();
    signal?.throwIfAborted();
    if (done) break;
    stream.push(chunk);
    read += chunk.byteLength;
    progress(file.size > 0 ? read / file.size : 1);
    if (performance.now() - resumed > mostBusyMs) {
      await new Promise((resolve) => setTimeout(resolve));
      resumed = performance.now();
    }
  }
  stream.end();
}
