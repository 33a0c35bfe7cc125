// A static server for tests that need a misbehaving network: it serves the built site with the headers of the real server,
// and can cut, stop or slow a file; or, plain, any folder as a host that knows nothing of it, below any path. Everything else
// is tested against the program itself (site.ts).

import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";

export const contentSecurityPolicy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "style-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8", ".json": "application/json", ".svg": "image/svg+xml", ".wasm": "application/wasm",
};

/** What happens to requests whose path matches. */
export interface Fault {
  path: RegExp;
  /** The connection is closed after so many bytes. */
  cutAfter?: number;
  /** The lowest bit of the byte at this offset is turned over. */
  flipAt?: number;
  /** Bytes a second. */
  rate?: number;
  status?: number;
  /** How often it happens; endless without. */
  times?: number;
}

export class StaticServer {
  /** The folder; another one is another deployment. */
  root: string;
  readonly #prefix: string;
  readonly #server: Server;
  /** Answers what it takes over (true); everything else is a file. */
  route: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  faults: Fault[] = [];
  /** `path range` of every request for a file, and of those that were answered with 404. */
  readonly requests: string[] = [];
  readonly missed: string[] = [];

  /**
   * @param endpoints that connect-src lists beside the site's own host
   * @param policy another Content-Security-Policy
   * @param plain only what every host sends: type, length, ranges
   * @param prefix the path that the folder is mounted at; ends with a slash
   */
  constructor(root: string, { isolated = true, endpoints = [] as string[], policy: own = "", plain = false, prefix = "/" } = {}) {
    const policy = own || contentSecurityPolicy.replace("connect-src 'self'", ["connect-src 'self'", ...endpoints].join(" "));
    this.root = root;
    this.#prefix = prefix;
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? "/", "http://localhost");
      const inside = url.pathname.startsWith(prefix);
      const name = inside ? `/${decodeURIComponent(url.pathname.slice(prefix.length))}`.replace(/\/$/, "/index.html") : url.pathname;
      const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? "");
      this.requests.push(`${name} ${request.headers.range ?? ""}`.trim());
      if (this.route(request, response)) return;
      const file = path.join(this.root, path.normalize(name));
      const fault = this.faults.find((each) => each.path.test(name) && (each.times === undefined || each.times > 0));
      if (fault?.times !== undefined) --fault.times;
      if (fault?.status) {
        response.writeHead(fault.status).end();
        return;
      }
      if (!inside || !existsSync(file) || !statSync(file).isFile()) {
        this.missed.push(name);
        response.writeHead(404).end();
        return;
      }
      const size = statSync(file).size;
      const from = range ? Number(range[1]) : 0;
      response.writeHead(range ? 206 : 200, {
        "Content-Type": types[path.extname(file)] ?? "application/octet-stream",
        "Content-Length": size - from,
        "Accept-Ranges": "bytes",
        ...(plain ? {} : {
          "Content-Security-Policy": policy,
          "Cross-Origin-Resource-Policy": "same-origin",
          ...(isolated ? { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" } : {}),
          ETag: `"${path.basename(file)}"`,
          "Cache-Control": /-[0-9a-f]{8,}\./.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
        }),
        ...(range ? { "Content-Range": `bytes ${from}-${size - 1}/${size}` } : {}),
      });
      if (request.method === "HEAD") {
        response.end();
        return;
      }
      const stream = createReadStream(file, { start: from, highWaterMark: 32 * 1024 });
      let sent = 0;
      stream.on("data", (piece) => {
        const at = from + sent;
        if (fault?.flipAt !== undefined && fault.flipAt >= at && fault.flipAt < at + piece.length) (piece as Buffer)[fault.flipAt - at]! ^= 1;
        sent += piece.length;
        response.write(piece);
        if (fault?.cutAfter !== undefined && sent >= fault.cutAfter) {
          stream.destroy();
          response.socket?.end();
          response.destroy();
        } else if (fault?.rate) {
          stream.pause();
          setTimeout(() => stream.resume(), (1000 * piece.length) / fault.rate);
        }
      });
      stream.on("end", () => response.end());
      response.on("close", () => stream.destroy());
    });
  }

  async start(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${this.#prefix}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
