// Vectors and logits cross the engine's boundary as base64 of little-endian float32, the form a trace keeps.

const littleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

export function encodeFloats(values: Float32Array): string {
  let bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  if (!littleEndian) {
    bytes = new Uint8Array(values.byteLength);
    const view = new DataView(bytes.buffer);
    values.forEach((v, i) => view.setFloat32(4 * i, v, true));
  }
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

export function decodeFloats(base64: string): Float32Array {
  const binary = atob(base64);
  const view = new DataView(new ArrayBuffer(binary.length));
  for (let i = 0; i < binary.length; ++i) view.setUint8(i, binary.charCodeAt(i));
  return Float32Array.from({ length: binary.length >> 2 }, (_, i) => view.getFloat32(4 * i, true));
}
