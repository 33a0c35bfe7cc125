// The files of the checkout, for tests that read them.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

let listed: string[] | null | undefined;

/** Every file that git tracks; null where this is no checkout (an unpacked archive). */
export function trackedFiles(): string[] | null {
  if (listed === undefined) {
    try {
      listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { encoding: "utf8", maxBuffer: 1 << 26, stdio: ["ignore", "pipe", "ignore"] }).split("\0").filter(Boolean);
    } catch {
      listed = null;
    }
  }
  return listed;
}

export const text = (file: string): string => readFileSync(file, "utf8");
