// The site behind the program itself, answering live: `polygraph serve` over the real index, before the scripted endpoint
// of the proxy's tests (tests/proxy/upstream/scripted_upstream.hpp says what it can be told to do).

import { expect } from "@playwright/test";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { program, root, siteFolder } from "./site.ts";

const upstreamProgram = process.env["POLYGRAPH_TEST_UPSTREAM"] ?? path.join(root, "build/default/tests/proxy/upstream/scripted_upstream");
const cache = process.env["POLYGRAPH_DIR"] ?? path.join(process.env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"), "polygraph");
const index = process.env["POLYGRAPH_TEST_INDEX"] ?? path.join(cache, "index/docker-doc.polygraph");

export const shippedRecordings = path.join(root, "assets/recordings");
const key = "gsk_canary-of-the-browser-tests";

/** The first line that a program prints, which is JSON. */
async function firstLine<T>(child: ChildProcess, name: string): Promise<T> {
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`${name} ended with ${code}`)));
    child.once("error", reject);
  });
  return JSON.parse(line) as T;
}

/** The endpoint that the server asks. */
export class ScriptedUpstream {
  #child: ChildProcess | undefined;
  #control = "";
  url = "";

  async start(): Promise<void> {
    if (!existsSync(upstreamProgram)) throw new Error(`${upstreamProgram} is missing; build the target scripted_upstream`);
    this.#child = spawn(upstreamProgram, [], { stdio: ["pipe", "pipe", "inherit"] });
    const { plain_url, control } = await firstLine<{ plain_url: string; control: string }>(this.#child, "the scripted endpoint");
    this.url = plain_url;
    this.#control = control;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.stdin!.end();
    await ended;
  }

  /** What the next calls are answered with, one each. */
  next(...behaviours: string[]): Promise<void> {
    return this.#tell("next", behaviours);
  }
  /** What every call is answered with for which `next` says nothing. */
  always(behaviour: string): Promise<void> {
    return this.#tell("always", behaviour);
  }
  async #tell(what: string, value: unknown): Promise<void> {
    const response = await fetch(`${this.#control}/${what}`, { method: "POST", body: JSON.stringify(value) });
    if (!response.ok) throw new Error(`the scripted endpoint does not take ${JSON.stringify(value)}: ${await response.text()}`);
  }

  async counts(): Promise<{ calls: number; waiting: number; left: number }> {
    return (await (await fetch(`${this.#control}/counts`)).json()) as { calls: number; waiting: number; left: number };
  }
}

export interface ProgramOptions {
  /** NAME=VALUE of the server's settings. */
  set?: string[];
  recordings?: string;
  /** Without one it is a server that has nobody to ask. */
  upstream?: ScriptedUpstream;
}

export class ProgramService {
  readonly #state = mkdtempSync(path.join(tmpdir(), "polygraph-browser-"));
  #child: ChildProcess | undefined;
  #log = "";

  /** Returns the site's address. */
  async start({ set = [], recordings = shippedRecordings, upstream }: ProgramOptions): Promise<string> {
    if (!existsSync(program)) throw new Error(`${program} is missing; build it with ./polygraph build`);
    const { GROQ_API_KEY: _key, GROQ_API_KEY_FILE: _file, ...environment } = process.env;
    this.#child = spawn(
      program,
      ["serve", "--site", siteFolder, "--index", index, "--state", path.join(this.#state, "state"), "--recordings", recordings, "--port", "0",
       ...(upstream ? ["--upstream", upstream.url] : []), ...set.flatMap((each) => ["--set", each])],
      { stdio: ["ignore", "pipe", "pipe"], cwd: this.#state, env: { ...environment, ...(upstream ? { GROQ_API_KEY: key } : {}) } },
    );
    this.#child.stderr!.on("data", (piece: Buffer) => (this.#log += piece.toString("utf8")));
    const { listening } = await firstLine<{ listening: string }>(this.#child, "the server").catch((error: unknown) => {
      throw new Error(`${String(error)}: ${this.#log}`);
    });
    return `${listening}/`;
  }

  /** As a crash ends it: nothing more is sent. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ends it in order; its log never holds the key. */
  async stop(): Promise<void> {
    const code = await this.#end("SIGTERM");
    rmSync(this.#state, { recursive: true, force: true });
    expect(this.#log).not.toContain(key);
    if (code !== null) expect(code, this.#log).toBe(0);
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = once(child, "close");
    child.kill(signal);
    const [code] = (await ended) as [number | null];
    return code;
  }
}
