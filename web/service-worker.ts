// Keeps one version of the page: its shell, engine and index at installation, onnxruntime once the models are loaded, the
// evaluation once somebody opens it. A page
// is served whole from one version's cache, so files of two versions never meet; a new version installs beside the old one
// and takes over when no page of the old one is open, or when the visitor asks for it.
//
// What it serves also carries the headers that isolate a page (COOP, COEP), without which there are no threads, where the
// host sends none: a page that is loaded through it has them.

export {};

declare const self: ServiceWorkerGlobalScope;

/** Stands in front of this file, on a line of its own. Paths are relative to it. */
declare const MANIFEST: { version: string; page: string; others: string[]; files: string[]; runtime: string[]; later: string[] };

/** Caches belong to the whole origin, on which other sites of ours may lie: each keeps and drops what is below its own path. */
const cachePrefix = `polygraph-page ${new URL("./", self.location.href).pathname} `;
const cacheName = `${cachePrefix}${MANIFEST.version}`;
const address = (path: string): string => new URL(path, self.location.href).href;
const page = address(MANIFEST.page);
const pages = new Set([MANIFEST.page, ...MANIFEST.others].map(address));
const later = new Set(MANIFEST.later.map(address));
const kept = new Set([...MANIFEST.files, ...MANIFEST.runtime].map(address));

self.addEventListener("install", (event) => {
  event.waitUntil(install());
});

async function install(): Promise<void> {
  const cache = await caches.open(cacheName);
  for (const each of pages) {
    const response = await fetch(each, { cache: "reload" });
    if (!response.ok) throw new Error(`${each}: ${response.status}`);
    if (!(await response.clone().text()).includes(MANIFEST.version)) {
      throw new Error("the site changed while it was being kept; the next visit tries again");
    }
    await cache.put(each, response);
  }
  await cache.addAll(MANIFEST.files.map(address));
}

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) {
        if (name.startsWith(cachePrefix) && name !== cacheName) await caches.delete(name);
      }
      await self.clients.claim();
    })(),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || request.headers.has("range")) return;
  const url = request.url.replace(/[?#].*$/, "");
  if (request.mode === "navigate") {
    if (pages.has(url)) event.respondWith(fromCache(url, request));
    else if (url === address("./")) event.respondWith(fromCache(page, request));
    else if (kept.has(url)) event.respondWith(fromCache(url, request)); // the licences
  } else if (kept.has(url)) {
    event.respondWith(fromCache(url, request));
  } else if (later.has(url)) {
    event.respondWith(keepNow(url, request));
  }
});

async function fromCache(url: string, request: Request): Promise<Response> {
  const cache = await caches.open(cacheName);
  return isolated((await cache.match(url)) ?? (await fetch(request)));
}

/** Pages, and the scripts of their workers, need the headers; on everything else they do no harm. */
const isolation: readonly (readonly [string, string])[] = [
  ["Cross-Origin-Opener-Policy", "same-origin"],
  ["Cross-Origin-Embedder-Policy", "require-corp"],
  ["Cross-Origin-Resource-Policy", "same-origin"],
];

/** The same answer with the headers that its host did not send. A redirect or an error of the network stays what it is. */
function isolated(response: Response): Response {
  if (response.status !== 200 || isolation.every(([name]) => response.headers.has(name))) return response;
  const headers = new Headers(response.headers);
  for (const [name, value] of isolation) if (!headers.has(name)) headers.set(name, value);
  // The body is decoded already: its length and coding were those of the connection.
  headers.delete("Content-Encoding");
  headers.delete("Content-Length");
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

async function keepNow(url: string, request: Request): Promise<Response> {
  const cache = await caches.open(cacheName);
  const known = await cache.match(url);
  if (known) return isolated(known);
  const response = await fetch(request);
  if (response.ok) await cache.put(url, response.clone()).catch(() => undefined); // a full store keeps nobody from reading it
  return isolated(response);
}

type Message = { ask: "keep-runtime" } | { ask: "take-over" };

self.addEventListener("message", (event) => {
  const message = event.data as Message;
  if (message.ask === "take-over") {
    void self.skipWaiting();
  } else {
    event.waitUntil(
      keepRuntime().then(
        () => event.ports[0]?.postMessage({ ok: true }),
        (error: unknown) => event.ports[0]?.postMessage({ ok: false, message: String(error) }),
      ),
    );
  }
});

async function keepRuntime(): Promise<void> {
  const cache = await caches.open(cacheName);
  for (const url of MANIFEST.runtime.map(address)) {
    if (!(await cache.match(url))) await cache.add(url);
  }
}
