// Server-sent events (HTML Standard, 9.2.6) as a parser without I/O: bytes in, events out, whatever way the bytes are split.

export interface ServerEvent {
  /** The event's name; `message` where the stream gives none. */
  event: string;
  /** Its data lines, joined with line feeds. */
  data: string;
}

/** A stream that never ends a line or an event must not fill the memory. */
const longestEvent = 1_048_576;

export class SseParser {
  readonly #decoder = new TextDecoder("utf-8"); // drops a byte order mark at the start, as the standard says
  #line = "";
  /** The last piece ended with a carriage return: a line feed that follows belongs to it. */
  #afterReturn = false;
  #event = "";
  #data: string[] = [];
  #held = 0;

  /** The events that end within these bytes. Throws a RangeError when one is longer than 1 MiB of text. */
  push(bytes: Uint8Array): ServerEvent[] {
    const events: ServerEvent[] = [];
    const text = this.#decoder.decode(bytes, { stream: true });
    let from = 0;
    for (let at = 0; at < text.length; ++at) {
      const c = text[at];
      if (c === "\n" && this.#afterReturn) {
        this.#afterReturn = false;
        from = at + 1;
        continue;
      }
      this.#afterReturn = c === "\r";
      if (c !== "\n" && c !== "\r") continue;
      const ended = this.#take(this.#line + text.slice(from, at));
      this.#line = "";
      from = at + 1;
      if (ended) events.push(ended);
    }
    this.#line += text.slice(from);
    if (this.#line.length + this.#held > longestEvent) throw new RangeError("an event of the stream is longer than 1 MiB");
    return events;
  }

  /** Reads one line; the event that a blank line ends, if it has data. What the stream left unfinished is never given out. */
  #take(line: string): ServerEvent | null {
    if (line === "") {
      const ended = this.#data.length > 0 ? { event: this.#event || "message", data: this.#data.join("\n") } : null;
      this.#event = "";
      this.#data = [];
      this.#held = 0;
      return ended;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return null; // a comment, which keeps the connection alive
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "event") this.#event = value;
    if (name === "data") {
      this.#data.push(value);
      this.#held += value.length + 1;
      if (this.#held > longestEvent) throw new RangeError("an event of the stream is longer than 1 MiB");
    }
    return null;
  }
}
