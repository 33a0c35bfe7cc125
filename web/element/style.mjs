// Style sheets for a shadow tree on somebody else's page, from those of the Ask page.
//
// - Colours and sizes stand on the element's own button and dialog instead of the page's root; each can be set from outside, as
//   --polygraph-NAME. Dark is where the loader says so, since sites switch by other means than the system's setting.
// - `rem` would be a share of the site's own root size: it becomes a share of --rem, the size that the visitor chose.

const colourBlock = /:root\s*\{([^}]*)\}/;

/** @param css bundled, not minified */
export function shadowStyle(css) {
  const dark = /@media \(prefers-color-scheme: dark\)\s*\{\s*:root\s*\{([^}]*)\}\s*\}/;
  const themable = (block) => block.replace(/(--[\w-]+):\s*([^;]+);/g, (_, name, value) => `${name}: var(--polygraph-${name.slice(2)}, ${value});`);
  return css
    .replace(dark, (_, block) => `.trigger[data-theme="dark"], dialog[data-theme="dark"] { color-scheme: dark; ${themable(block)} }`)
    .replace(colourBlock, (_, block) => `.trigger, dialog { ${themable(block.replace("color-scheme: light dark;", "color-scheme: light;"))} }`)
    .replace(/(@media[^{]*)|(?<![\w#-])(\d*\.?\d+)rem\b/g, (whole, condition, size) => (condition ?? `calc(${size} * var(--rem, 16px))`));
}
