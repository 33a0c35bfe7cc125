// What this browser can do, found out on the page and handed to the workers, with a sentence for each thing that is missing.

import { threadsHere } from "../models/web.ts";

export interface Capabilities {
  webassembly: boolean;
  simd: boolean;
  /** More than one needs shared memory, so a page that is cross-origin isolated. */
  threads: number;
}

// The smallest module that uses a v128 instruction: (func (result v128) i32.const 0 i8x16.splat i8x16.popcnt).
const simdModule = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]);

export function capabilities(): Capabilities {
  const webassembly = typeof WebAssembly === "object" && typeof WebAssembly.validate === "function";
  return {
    webassembly,
    simd: webassembly && WebAssembly.validate(simdModule),
    threads: threadsHere(),
  };
}

/**
 * True when files can be kept in the browser; private windows of some browsers have the interface but refuse its use. The
 * answer takes a while at the start, so nothing that shows passages waits for it.
 */
export async function canStore(): Promise<boolean> {
  try {
    if (typeof caches !== "object") return false;
    await caches.has("polygraph");
    return true;
  } catch {
    return false;
  }
}
