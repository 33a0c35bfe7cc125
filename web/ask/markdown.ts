// Light Markdown of an answer as DOM: paragraphs, lists, tables, code, emphasis, links. The lexer is marked's; nodes are
// built here from its tokens, so HTML in an answer stays text.

import { Lexer, type Token, type Tokens } from "marked";
import { h, webAddress, type Child } from "./dom.ts";

/** Marks the place of citation number N while Markdown is read: private-use characters that no text should hold. */
const open = "\uE000";
const close = "\uE001";
const citationMark = /\uE000(\d+)\uE001/g;

export interface AnswerMarkdown {
  source: string;
  /** Chunk ids in the order of their numbers, which count from 1. */
  ids: string[];
}

/** Numbers the citations `[chunk id]` of an answer by first appearance. */
export function numberCitations(answer: string, cited: readonly string[]): AnswerMarkdown {
  const known = new Set(cited);
  const ids: string[] = [];
  const source = answer.replace(/[\uE000\uE001]/g, "").replace(/\[([^[\]\n]+#\d{3,})\]/g, (whole, id: string) => {
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
        const code = this.#restore(text, marks);
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
          return [h("code", null, this.#restore((token as Tokens.Codespan).text, marks)), marks];
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

  /** Text with its citations in place. */
  #text(text: string): Child[] {
    const children: Child[] = [];
    let at = 0;
    for (const match of text.matchAll(citationMark)) {
      children.push(decodeEntities(text.slice(at, match.index)), this.#cite(Number(match[1])));
      at = match.index + match[0].length;
    }
    children.push(decodeEntities(text.slice(at)));
    return children;
  }

  /** Code keeps its characters; citations that stand in it follow after it. */
  #restore(code: string, marks: Node[]): string {
    return code.replace(citationMark, (_, number: string) => {
      if (this.#ids[Number(number) - 1] !== undefined) marks.push(this.#cite(Number(number)));
      return "";
    });
  }
}

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

function decodeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => entities[name]!);
}
