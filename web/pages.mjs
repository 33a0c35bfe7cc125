// The pages beside the Ask page, /report.html and /review.html: as pages of the site, whose scripts and styles are files of
// their own, and as one file each, which opens from a disk, asks no network for anything, and carries its own
// Content-Security-Policy with the digests of its one script and one style sheet.
//
// The one-file report holds the line `<!--polygraph-report-data-->`, once. A program that has a report writes in its place
//
//   <meta name="report-name" content="NAME">                                        optional; & " < > escaped
//   <script type="application/json" class="report-data">JSON</script>
//
// JSON is the report (web/report/open.ts says what it may be) with every "<" written as \u003c: "<" stands inside strings
// only, where that is the same, so nothing in it can end the element. Large reports are split over several such elements at
// any place between two characters; keep each under 200 MB, since a browser's strings are limited. No line of the template
// needs to change otherwise: data elements are not scripts, so the policy does not count them.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";
import { Licences, licencesLink } from "./licences.mjs";

export const dataMarker = "<!--polygraph-report-data-->";

async function bundle(root, name, debug, licences) {
  // The notices stand in the page's foot, or in the file that it links to.
  const common = { bundle: true, write: false, minify: !debug, legalComments: "none", metafile: true, logLevel: "warning" };
  const [script, style] = await Promise.all([
    build({ ...common, entryPoints: [path.join(root, `web/${name}/${name}.ts`)], format: "esm", target: ["es2022", "chrome109", "firefox115", "safari16.4"], outfile: "out.js" }),
    build({ ...common, entryPoints: [path.join(root, `web/${name}/${name}.css`)] }),
  ]);
  licences.addBundle(script.metafile);
  return { script: script.outputFiles[0].text, style: style.outputFiles[0].text };
}

const filled = (template, values) => template.replace(/^[ \t]*%(POLICY|DATA|SITE)%\n/gm, (whole, name) => (values[name] ? whole : "")).replace(/%([A-Z]+)%/g, (_, name) => values[name]);

/** Where `polygraph export` puts the site's policy, for hosts that send no headers; the server sends it as one. */
export const policyMarker = "<!--polygraph-policy-->";

/** Where a page of the site says which version it belongs to; the version is known once all pages are. */
export const versionMarker = "%VERSION%";

const attribute = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");

/**
 * @param put writes an asset and gives its address
 * @param site what the page finds of its site (web/worker/site.ts); null: nothing
 * @param licences learns which packages the page contains
 */
export async function sitePage(root, name, debug, icon, put, site = null, licences = new Licences(root)) {
  const { script, style } = await bundle(root, name, debug, licences);
  return filled(await readFile(path.join(root, `web/${name}/${name}.html`), "utf8"), {
    POLICY: policyMarker, DATA: "",
    SITE: `<meta name="site-version" content="${versionMarker}">${site ? `\n  <meta name="polygraph-site" content="${attribute(JSON.stringify({ ...site, version: versionMarker }))}">` : ""}`,
    ICON: `<link rel="icon" href="${icon}" type="image/svg+xml">`,
    STYLE: `<link rel="stylesheet" href="${await put(`${name}.css`, style)}">`,
    SCRIPT: `<script type="module" src="${await put(`${name}.js`, script)}"></script>`,
    HOME: '<a href="./">Polygraph</a>',
    LICENCES: licencesLink,
  });
}

export async function filePage(root, name, debug) {
  const licences = new Licences(root);
  const bundled = await bundle(root, name, debug, licences);
  // "<!--" in a script would open a state in which "</script>" no longer closes it; \x3c is the same in strings and patterns.
  const script = bundled.script.replaceAll("<!--", "\\x3c!--");
  if (/<\/script/i.test(script) || /<\/style/i.test(bundled.style)) throw new Error(`${name}: the bundle holds a closing tag`);
  const icon = `data:image/svg+xml,${encodeURIComponent(await readFile(path.join(root, "assets/page/icon.svg"), "utf8"))}`;
  const digest = (content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
  // A review that the command line serves sends its decisions back; a report asks for nothing.
  const connect = name === "review" ? "'self'" : "'none'";
  const policy = `default-src 'none'; script-src ${digest(script)}; style-src ${digest(bundled.style)}; img-src data:; connect-src ${connect}; base-uri 'none'; form-action 'none'`;
  return filled(await readFile(path.join(root, `web/${name}/${name}.html`), "utf8"), {
    POLICY: `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    DATA: dataMarker,
    SITE: "",
    ICON: `<link rel="icon" href="${icon}" type="image/svg+xml">`,
    STYLE: `<style>${bundled.style}</style>`,
    SCRIPT: `<script type="module">${script}</script>`,
    HOME: "<span>Polygraph</span>",
    LICENCES: await licences.element(),
  });
}
