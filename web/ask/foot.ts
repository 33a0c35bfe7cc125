// The foot: which corpus answers, of which revision and date, under which licence, and from where.

import type { IndexInfo } from "../engine/boundary.ts";
import { fill, h, webAddress } from "./dom.ts";
import { date, plural } from "./words.ts";

export function footView(root: HTMLElement, info: IndexInfo | null, builtAt: string): void {
  if (!info) return;
  const { title, corpus, revision, licence, source_url } = info.metadata;
  const source = source_url ? webAddress(source_url) : null;
  fill(root, h("p", null,
    h("strong", null, title || corpus), ` · ${corpus} ${revision}`,
    ` · indexed ${date(builtAt)}`,
    ` · ${plural(info.documents, "page")}, ${plural(info.chunks, "passage")}`,
    licence && ` · ${licence}`,
    source_url && [" · ", source ? h("a", { href: source, target: "_blank", rel: "noopener" }, "Source") : source_url]));
}
