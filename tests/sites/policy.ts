// A strict Content-Security-Policy for a site that somebody else's generator wrote: what its pages carry inline is allowed by digest,
// one by one, and the element is allowed nothing but what its README asks for.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { root } from "../browser/site.ts";

const hashed = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

export function policyFor(site: string): string {
  const scripts = new Set<string>();
  const styles = new Set<string>();
  for (const file of readdirSync(site, { recursive: true }) as string[]) {
    if (!file.endsWith(".html")) continue;
    const html = readFileSync(path.join(site, file), "utf8");
    for (const [, attributes = "", text = ""] of html.matchAll(/<script\b([^>]*)>(.*?)<\/script>/gs)) if (!/\bsrc=/.test(attributes)) scripts.add(hashed(text));
    for (const [, text = ""] of html.matchAll(/<style\b[^>]*>(.*?)<\/style>/gs)) styles.add(hashed(text));
    for (const [, text = ""] of html.matchAll(/\bstyle="([^"]*)"/g)) styles.add(hashed(text.replace(/&quot;/g, '"').replace(/&#x27;/g, "'").replace(/&amp;/g, "&")));
  }
  const asked = /^script-src .*$/m.exec(readFileSync(path.join(root, "web/element/package/README.md"), "utf8"))?.[0];
  if (!asked) throw new Error("the README of the package names no policy");
  return `default-src 'self'; img-src 'self' data:; font-src 'self' data:; style-src 'self' 'unsafe-hashes' ${[...styles].join(" ")}; ` +
    `object-src 'none'; base-uri 'none'; form-action 'none'; ${asked.replace("script-src 'self'", `script-src 'self' ${[...scripts].join(" ")}`)}`;
}
