// Whether the site was replaced by another version of itself since this page was opened. Every file that a page asks for is
// named by its digest, so it never gets one of another version; but its own may be gone.

import { Deadline } from "../providers/deadline.ts";
import { memberOf, textOf } from "../providers/provider.ts";

const withinMs = 5_000;

/** True when the site at `base` says that it has another version. Never rejects, and always ends. */
export async function wasReplaced(version: string, base: string): Promise<boolean> {
  const deadline = new Deadline(withinMs);
  try {
    const response = await fetch(new URL("site.json", base), { cache: "no-store", signal: deadline.signal });
    const now = response.ok ? textOf(memberOf(await response.json(), "version")) : "";
    return now !== "" && now !== version;
  } catch {
    return false;
  } finally {
    deadline.end();
  }
}
