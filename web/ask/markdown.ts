// Light Markdown of an answer as DOM: paragraphs, lists, tables, code, emphasis, links. The lexer is marked's; nodes are
// built here from its tokens, so HTML in an answer stays text.

import { Lexer, type Token, type Tokens } from "marked";
import type { Range } from "../engine/boundary.ts";
import { toUtf16 } from "../engine/codepoints.ts";
import { h, webAddress, type Child } from "./dom.ts";

// What must survive the lexer stands in the text as private-use characters, which no text should hold: citation number N
// between the first two, a marked range between the others.
const open = "\uE000";
const close = "\uE001";
const markOpen = "\uE002";
const markClose = "\uE003";
const reserved = /[\uE000-\uE003]/g;
const citationMark = /\uE000(\d+)\uE001/g;
const anyMark = /\uE000(\d+)\uE001|[\uE002\uE003]/g;

export interface AnswerMarkdown {
  source: string;
  /** Chunk ids in the order of their numbers, which count from 1. */
  ids: string[];
}

/** Numbers the citations `[chunk id]` of an answer by first appearance. */
export function numberCitations(answer: string, cited: readonly string[]): AnswerMarkdown {
  const known = new Set(cited);
  const ids: string[] = [];
  const source = answer.replace(reserved, "").replace(/\[([^[\]\n]+#\d{3,})\]/g, (whole, id: string) => {
    if (!known.has(id)) return whole;
    if (!ids.includes(id)) ids.push(id);
    return `${open}${ids.indexOf(id) + 1}${close}`;
  });
  return { source, ids };
}

export type CitationBuilder = (number: number) => Node;

/** The answer's blocks. `cite` makes the node for a citation. */
export function renderMarkdown({ source, ids }: AnswerMarkdown, cite: CitationBuilder): DocumentFragment {
  const fragment = document.createDocumentFragment();
  const builder = new Builder(ids, cite);
  fragment.append(...builder.blocks(new Lexer({ gfm: true }).lex(source)));
  return fragment;
}

/** A passage's blocks, with a code point range of its text marked. */
export function renderPassage(text: string, marked: Range | null): DocumentFragment {
  const fragment = document.createDocumentFragment();
  fragment.append(...new Builder([], () => document.createTextNode("")).blocks(new Lexer({ gfm: true }).lex(withMark(text, marked))));
  return fragment;
}

/** Puts the marks where they leave the lines' Markdown as it is: inside list markers, table bars and code fences. */
export function withMark(text: string, marked: Range | null): string {
  const clean = (part: string): string => part.replace(reserved, "");
  if (!marked) return clean(text);
  let [begin, end] = toUtf16(text, marked) as [number, number];
  const lineOf = (at: number): [number, number] => {
    const newline = text.indexOf("\n", at);
    return [text.lastIndexOf("\n", at - 1) + 1, newline < 0 ? text.length : newline];
  };
  const fence = /^\s*(`{3,}|~{3,})/;
  for (let [from, to] = lineOf(begin); fence.test(text.slice(from, to)) && to < end; [from, to] = lineOf(begin)) begin = to + 1;
  for (let [from, to] = lineOf(end); fence.test(text.slice(from, to)) && from - 1 > begin; [from, to] = lineOf(end)) end = from - 1;
  const [line] = lineOf(begin);
  const prefix = /^\s*(?:(?:[-*+]|\d+[.)]|#{1,6}|>|\|)\s+)*/.exec(text.slice(line, end))?.[0].length ?? 0;
  begin = Math.max(begin, line + prefix);
  while (end > begin && /[\s|]/.test(text[end - 1]!)) --end;
  if (end <= begin) return clean(text);
  return `${clean(text.slice(0, begin))}${markOpen}${clean(text.slice(begin, end))}${markClose}${clean(text.slice(end))}`;
}

/** The answer as Markdown for elsewhere: citations as numbered links, their pages listed below. An empty `href` is no link. */
export function asMarkdown(
  question: string,
  { source, ids }: AnswerMarkdown,
  page: (id: string) => { title: string; href: string },
): string {
  const target = (id: string): string => page(id).href.replace(/[()\s]/g, (unit) => `%${unit.charCodeAt(0).toString(16)}`);
  const text = source.replace(citationMark, (_, number: string) => {
    const href = target(ids[Number(number) - 1] ?? "");
    return href ? `[[${number}]](${href})` : `[${number}]`;
  });
  const list = ids.map((id, i) => {
    const title = page(id).title.replace(/[[\]]/g, "\\$&");
    const href = target(id);
    return `${i + 1}. ${href ? `[${title}](${href})` : title}`;
  });
  return [`**${question}**`, text.trim(), list.join("\n")].filter(Boolean).join("\n\n") + "\n";
}

class Builder {
  readonly #ids: readonly string[];
  readonly #cite: CitationBuilder;
  #marking = false;

  constructor(ids: readonly string[], cite: CitationBuilder) {
    this.#ids = ids;
    this.#cite = cite;
  }

  blocks(tokens: readonly Token[]): Node[] {
    return tokens.flatMap((token) => this.#block(token));
  }

  #block(token: Token): Node[] {
    switch (token.type) {
      case "space":
      case "def":
        return [];
      case "paragraph":
        return [h("p", null, this.#inline((token as Tokens.Paragraph).tokens))];
      case "heading":
        // Inside an answer, headings stand below the page's own.
        return [h("h3", null, this.#inline((token as Tokens.Heading).tokens))];
      case "code": {
        const { text } = token as Tokens.Code;
        const marks: Node[] = [];
        const code = this.#code(text, marks);
        return [h("div", { class: "code" }, h("pre", { tabindex: 0 }, h("code", null, code)), marks)];
      }
      case "blockquote":
        return [h("blockquote", null, this.blocks((token as Tokens.Blockquote).tokens))];
      case "hr":
        return [h("hr")];
      case "list": {
        const list = token as Tokens.List;
        const items = list.items.map((item) => h("li", null, this.#item(item)));
        return [list.ordered ? h("ol", { start: list.start === "" ? 1 : list.start }, items) : h("ul", null, items)];
      }
      case "table": {
        const table = token as Tokens.Table;
        const row = (cells: Tokens.TableCell[], tag: "th" | "td"): Node =>
          h("tr", null, cells.map((cell) => h(tag, { class: cell.align && `align-${cell.align}` }, this.#inline(cell.tokens))));
        return [
          h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" },
            h("table", null, h("thead", null, row(table.header, "th")), h("tbody", null, table.rows.map((cells) => row(cells, "td"))))),
        ];
      }
      default:
        return [h("p", null, this.#inline([token]))];
    }
  }

  #item(item: Tokens.ListItem): Child[] {
    return item.tokens.map((token) => {
      if (token.type === "text") return this.#inline((token as Tokens.Text).tokens ?? [token]);
      if (token.type === "checkbox") return (token as Tokens.Checkbox).checked ? "☑ " : "☐ ";
      return this.#block(token);
    });
  }

  #inline(tokens: readonly Token[]): Child[] {
    return tokens.map((token): Child => {
      switch (token.type) {
        case "strong":
          return h("strong", null, this.#inline((token as Tokens.Strong).tokens));
        case "em":
          return h("em", null, this.#inline((token as Tokens.Em).tokens));
        case "del":
          return h("del", null, this.#inline((token as Tokens.Del).tokens));
        case "codespan": {
          const marks: Node[] = [];
          return [h("code", null, this.#code((token as Tokens.Codespan).text, marks)), marks];
        }
        case "br":
          return h("br");
        case "link": {
          const { href, tokens: inner } = token as Tokens.Link;
          const safe = webAddress(href);
          const words = this.#inline(inner);
          return safe === null ? words : h("a", { href: safe, target: "_blank", rel: "noopener nofollow" }, words);
        }
        case "image":
          return (token as Tokens.Image).text;
        case "escape":
          return this.#text((token as Tokens.Escape).text);
        default: {
          const inner = (token as Tokens.Text).tokens;
          return inner ? this.#inline(inner) : this.#text(token.raw);
        }
      }
    });
  }

  /** Text with its citations in place, and what is marked as <mark>. */
  #text(text: string): Child[] {
    const children: Child[] = [];
    let at = 0;
    for (const match of text.matchAll(anyMark)) {
      children.push(this.#marked(decodeEntities(text.slice(at, match.index))));
      if (match[1]) children.push(this.#cite(Number(match[1])));
      else this.#marking = match[0] === markOpen;
      at = match.index + match[0].length;
    }
    children.push(this.#marked(decodeEntities(text.slice(at))));
    return children;
  }

  #marked(text: string): Child {
    return this.#marking && text !== "" ? h("mark", null, text) : text;
  }

  /** Code keeps its characters; citations that stand in it follow after it. */
  #code(code: string, after: Node[]): Child[] {
    const children: Child[] = [];
    let at = 0;
    for (const match of code.matchAll(anyMark)) {
      children.push(this.#marked(code.slice(at, match.index)));
      if (!match[1]) this.#marking = match[0] === markOpen;
      else if (this.#ids[Number(match[1]) - 1] !== undefined) after.push(this.#cite(Number(match[1])));
      at = match.index + match[0].length;
    }
    children.push(this.#marked(code.slice(at)));
    return children;
  }
}

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

function decodeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => entities[name]!);
}
