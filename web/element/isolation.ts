// A service worker for sites whose host sends no headers of its own: it adds the two that isolate a page, without which a browser
// shares no memory between threads, so models run on one. It keeps nothing and changes nothing else. `credentialless`: images
// and scripts of other sites go on loading, without cookies.

export {};

declare const self: ServiceWorkerGlobalScope;

self.addEventListener("install", () => void self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  // Pages and their workers; everything else may come as it is.
  const isolated = request.mode === "navigate" || request.destination === "worker" || request.destination === "sharedworker";
  if (isolated && new URL(request.url).origin === self.location.origin) event.respondWith(withHeaders(request));
});

async function withHeaders(request: Request): Promise<Response> {
  const response = await fetch(request);
  if (response.type === "opaqueredirect" || response.status === 0) return response;
  const headers = new Headers(response.headers);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "credentialless");
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
