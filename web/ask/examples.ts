// Example questions, in three groups: with an answer, vague, and with none in these documents.

import { fill, h } from "./dom.ts";

interface Group {
  title: string;
  note: string;
  questions: string[];
}

export async function examplesView(root: HTMLElement, url: string, address: (question: string) => string): Promise<void> {
  let groups: Group[];
  try {
    const response = await fetch(url);
    groups = ((await response.json()) as { groups: Group[] }).groups;
  } catch {
    return; // The page works without examples.
  }
  fill(root, groups.map(({ title, note, questions }) =>
    h("section", { class: "examples-group" },
      h("h2", { class: "label" }, title),
      h("p", { class: "quiet" }, note),
      h("ul", null, questions.map((question) => h("li", null, h("a", { href: address(question), "data-question": question }, question)))),
    )));
}
