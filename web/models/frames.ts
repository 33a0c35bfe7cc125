// The frames between a native program and its model worker, over two pipes.
//
//   frame   = u32 length of what follows | u32 length of the head | head | payload
//   head    = a JSON object in UTF-8
//   payload = raw little-endian int32 or float32 values, as many as the head says
//
// Requests (each has an `id`; replies repeat it):
//   {"op":"models","threads":2,"embedder":"/path","reranker":"/path"}   first frame, no reply
//   {"op":"embed","id":1,"lengths":[12,9]}                              payload: the texts' token ids, one after the other
//   {"op":"score","id":2,"lengths":[40],"splits":[11],"budget_ms":0}    payload: the pairs' token ids
// Replies:
//   {"op":"ready","runtime":"onnxruntime-node 1.30.0","protocol":1}     once, when requests can be answered
//   {"op":"progress","id":1,"done":1}                                   after every text or pair: a sign of life
//   {"op":"done","id":1,"count":2,"width":384,"ms":103.5}               payload: count * width float32
//   {"op":"error","id":1,"code":"model_unavailable","message":"…"}      the worker goes on; without `id` it ends
export const PROTOCOL = 1;

/** A frame never exceeds this (64 MiB); a longer length means that the two sides are out of step. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

export interface Frame {
  readonly head: Readonly<Record<string, unknown>>;
  readonly payload: Uint8Array;
}

export function encode(head: object, payload: Uint8Array = new Uint8Array(0)): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(head));
  const frame = new Uint8Array(8 + json.length + payload.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, 4 + json.length + payload.length, true);
  view.setUint32(4, json.length, true);
  frame.set(json, 8);
  frame.set(payload, 8 + json.length);
  return frame;
}

/** Takes bytes as they arrive and gives whole frames. */
export class FrameReader {
  #chunks: Uint8Array[] = [];
  #buffered = 0;

  /** Frames that `chunk` completes. Throws when the bytes are no frames. */
  push(chunk: Uint8Array): Frame[] {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    const frames: Frame[] = [];
    for (;;) {
      const start = this.#peek(4);
      if (start === undefined) return frames;
      const length = new DataView(start.buffer, start.byteOffset, 4).getUint32(0, true);
      if (length < 4 || length > MAX_FRAME_BYTES) throw new Error(`a frame of ${length} bytes`);
      const whole = this.#peek(4 + length);
      if (whole === undefined) return frames;
      this.#chunks = [whole.subarray(4 + length)];
      this.#buffered -= 4 + length;
      frames.push(decode(whole.subarray(4, 4 + length)));
    }
  }

  /** The buffered bytes as one array when there are at least `count`. Joins chunks only then. */
  #peek(count: number): Uint8Array | undefined {
    if (this.#buffered < count) return undefined;
    const first = this.#chunks[0];
    if (this.#chunks.length === 1 && first !== undefined) return first;
    const joined = new Uint8Array(this.#buffered);
    let offset = 0;
    for (const chunk of this.#chunks) {
      joined.set(chunk, offset);
      offset += chunk.length;
    }
    this.#chunks = [joined];
    return joined;
  }
}

function decode(body: Uint8Array): Frame {
  const headLength = new DataView(body.buffer, body.byteOffset, 4).getUint32(0, true);
  if (headLength > body.length - 4) throw new Error(`a head of ${headLength} bytes in a frame of ${body.length}`);
  const head: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body.subarray(4, 4 + headLength)));
  if (typeof head !== "object" || head === null || Array.isArray(head)) throw new Error("a head that is no JSON object");
  // Copied, so that the payload is aligned for the typed array that reads it.
  return { head: head as Record<string, unknown>, payload: body.slice(4 + headLength) };
}
