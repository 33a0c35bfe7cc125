// Which hosts this page may connect to. A page cannot read its own Content-Security-Policy, but it may ask its server for
// the headers that it was served with, and read the policy there.

import { Deadline } from "./deadline.ts";

const policyWithinMs = 5_000;

/** `"any"`: no policy limits it. Otherwise the sources of connect-src, or of default-src where that is absent. */
export type ConnectPolicy = "any" | readonly string[];

/** @param headers each Content-Security-Policy that applies; several are all obeyed */
export function connectPolicyOf(headers: readonly string[]): ConnectPolicy {
  let allowed: ConnectPolicy = "any";
  for (const policy of headers.flatMap((header) => header.split(","))) {
    const directives = new Map<string, string[]>();
    for (const directive of policy.split(";")) {
      const [name = "", ...sources] = directive.trim().split(/\s+/);
      if (name && !directives.has(name.toLowerCase())) directives.set(name.toLowerCase(), sources);
    }
    const sources = directives.get("connect-src") ?? directives.get("default-src");
    if (!sources) continue;
    allowed = allowed === "any" ? sources : allowed.filter((source) => sources.includes(source));
  }
  return allowed;
}

/** True when the policy lets the page connect to `url`. `self`: the page's own origin. */
export function mayConnect(policy: ConnectPolicy, url: string, self: string): boolean {
  if (policy === "any") return true;
  const target = new URL(url);
  return policy.some((source) => {
    if (source === "*") return /^https?:$/.test(target.protocol);
    if (source === "'self'") return target.origin === self;
    if (/^[a-z][a-z0-9+.-]*:$/i.test(source)) return target.protocol === source.toLowerCase();
    try {
      const { origin, pathname } = new URL(source);
      return origin === target.origin && (pathname === "/" || target.pathname === pathname || (pathname.endsWith("/") && target.pathname.startsWith(pathname)));
    } catch {
      return false; // 'none', a nonce, or a form that this page does not offer
    }
  });
}

/** The endpoints that the policy names beside the page's own host. */
export function endpointsOf(policy: ConnectPolicy): string[] {
  return policy === "any" ? [] : policy.filter((source) => /^https?:\/\//i.test(source));
}

/** True when some other host than the page's own may be asked. */
export function anyEndpoint(policy: ConnectPolicy): boolean {
  return policy === "any" || policy.some((source) => source === "*" || /^https?:/i.test(source));
}

/** The policy of the page at `address`; null: it cannot be found out, as without a network. */
export async function readConnectPolicy(address: string): Promise<ConnectPolicy | null> {
  const deadline = new Deadline(policyWithinMs);
  try {
    const response = await fetch(address, { method: "HEAD", cache: "no-store", signal: deadline.signal });
    if (!response.ok) return null;
    const header = response.headers.get("content-security-policy");
    const metas = [...document.querySelectorAll<HTMLMetaElement>('meta[http-equiv="content-security-policy" i]')].map((meta) => meta.content);
    return connectPolicyOf([...(header ? [header] : []), ...metas]);
  } catch {
    return null;
  } finally {
    deadline.end();
  }
}
