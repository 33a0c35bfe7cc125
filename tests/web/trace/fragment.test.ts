import assert from "node:assert/strict";
import { test } from "node:test";
import { fromFragment, isTraceFragment, longestFragment, toFragment } from "../../../web/trace/fragment.ts";
import { answeredRecording, refusedRecording } from "./recorded.ts";
import { openDocument } from "../../../web/trace/document.ts";

test("a real trace survives a link, byte for byte", async () => {
  for (const recording of [answeredRecording, refusedRecording]) {
    const { json } = openDocument(recording);
    const fragment = await toFragment(json);
    assert.ok(fragment && fragment.length < longestFragment && isTraceFragment(fragment));
    assert.match(fragment, /^#trace=[\w-]+$/);
    assert.equal(await fromFragment(fragment), json);
  }
});

test("a trace too long for a link makes none", async () => {
  let text = "";
  for (let i = 0; text.length < 200_000; ++i) text += Math.sin(i).toString(36); // hardly compresses
  assert.equal(await toFragment(text), null);
});

test("a link that lost its end or was changed says so", async () => {
  const fragment = (await toFragment(openDocument(answeredRecording).json))!;
  await assert.rejects(fromFragment(fragment.slice(0, -200)), /breaks off or was changed/);
  await assert.rejects(fromFragment("#trace=%%%"), /holds no trace/);
  await assert.rejects(fromFragment("#trace=AAAA"), /breaks off or was changed/);
});

test("a link made to unpack to gigabytes is given up", async () => {
  const packed = await new Response(new Blob([new Uint8Array(40e6)]).stream().pipeThrough(new CompressionStream("deflate"))).arrayBuffer();
  const fragment = `#trace=${Buffer.from(packed).toString("base64url")}`;
  await assert.rejects(fromFragment(fragment), /more than any trace holds/);
});
