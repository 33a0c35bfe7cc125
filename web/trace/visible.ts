// Text from a trace is data. What would not show, or would turn the text around it, is made visible: control characters as
// their pictures (U+2400 …), marks of direction by their code points.

const hidden = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;
const controlPictures = 0x2400;
const deletePicture = "\u2421";

export function visible(text: string): string {
  return text.replace(hidden, (mark) => {
    const code = mark.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(controlPictures + code);
    if (code === 0x7f) return deletePicture;
    return `\u27E8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27E9`;
  });
}

/** The same for every string of a JSON value; what holds nothing hidden stays the same value. */
export function visibleValue<T>(value: T): T {
  if (typeof value === "string") return visible(value) as T;
  if (Array.isArray(value)) {
    const made = value.map((each: unknown) => visibleValue(each));
    return (made.some((each, i) => each !== value[i]) ? made : value) as T;
  }
  if (typeof value === "object" && value !== null) {
    let changed = false;
    const made = Object.entries(value).map(([name, each]): [string, unknown] => {
      const entry: [string, unknown] = [visible(name), visibleValue(each as unknown)];
      changed ||= entry[0] !== name || entry[1] !== each;
      return entry;
    });
    return (changed ? Object.fromEntries(made) : value) as T;
  }
  return value;
}
