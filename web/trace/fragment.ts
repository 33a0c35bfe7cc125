// A trace in an address: deflated, in base64url, after the `#`, which browsers never send to a server.

/** Longest fragment that is made: browsers, chats and mail programs carry this much, and little more. */
export const longestFragment = 30_000;
/** No fragment of that size unpacks to more than this unless it was made to. */
const longestUnpacked = 32e6;

const prefix = "#trace=";

/** The fragment, or null when it would be too long: then a file has to do. */
export async function toFragment(json: string): Promise<string | null> {
  const packed = await new Response(new Blob([json]).stream().pipeThrough(new CompressionStream("deflate"))).arrayBuffer();
  const bytes = new Uint8Array(packed);
  if ((bytes.length * 4) / 3 + prefix.length > longestFragment) return null;
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return prefix + btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export const isTraceFragment = (hash: string): boolean => hash.startsWith(prefix);

/** Throws with a sentence for people when the link is damaged. */
export async function fromFragment(hash: string): Promise<string> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    const binary = atob(hash.slice(prefix.length).replace(/-/g, "+").replace(/_/g, "/"));
    bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    throw new Error("This link holds no trace: a part of it is missing or was changed on the way.");
  }
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      length += value.byteLength;
      if (length > longestUnpacked) {
        void reader.cancel().catch(() => undefined);
        break;
      }
      pieces.push(value as Uint8Array<ArrayBuffer>);
    }
  } catch {
    throw new Error("This link breaks off or was changed on the way. Copy it again, or open the trace's file.");
  }
  if (length > longestUnpacked) throw new Error("This link unpacks to more than any trace holds. It was not opened.");
  return new Blob(pieces).text();
}
