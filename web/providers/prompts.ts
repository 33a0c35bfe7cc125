// The task prompts of assets/prompts, for providers that the page itself sends a prompt to. The build puts the files, with
// the price list, into one file of the site. A prompt's file has a part `# system` and a part `# user`, and stands for its
// data with {{question}}, {{passages}}, {{failed_query}} and {{reason}}; data never enters the system part.

import type { Chunk } from "../engine/boundary.ts";
import type { Task } from "./provider.ts";
import { ProviderFailure } from "./provider.ts";

type TaskName = Task["task"];

export interface Message {
  role: "system" | "user";
  content: string;
}

export interface Prompt {
  messages: Message[];
  /** JSON Schema of the reply; null: free text. */
  schema: unknown;
  maxTokens: number;
}

export interface Price {
  endpoint: string;
  model: string;
  /** USD for `tokens` tokens. */
  in: number;
  out: number;
  as_of: string;
}

/** What the build wrote: each prompt's text and schema, and the price list. */
export interface TaskFile {
  prompts: Record<TaskName, { text: string; schema: unknown }>;
  prices: { tokens: number; prices: Price[] };
}

/** Room for a reply, with what a thinking model spends before it; the proxy's defaults. */
const maxTokens: Record<TaskName, number> = { grade: 512, rewrite: 256, generate: 1024 };

/**
 * Data made safe to stand between the prompt's tags: it can neither close them nor open one, nor write the marks by which
 * chat templates part roles. The native program's prompts escape the same (proxy/tasks).
 */
const asData = (text: string): string =>
  text.replace(/<(?=[ \t\r\n/]*(?:passage|question|query|reason|start_of_turn|end_of_turn|think|bos>|eos>)|[|\uFF5C])/gi, "&lt;");
const asAttribute = (text: string): string => asData(text).replace(/"/g, "&quot;").replace(/[\x00-\x1F]/g, " ");

export class Prompts {
  readonly #file: TaskFile;

  constructor(file: TaskFile) {
    this.#file = file;
  }

  /** @param chunks those of `task.chunk_ids`, in that order */
  of(task: Task, chunks: readonly (Chunk | null)[]): Prompt {
    const { text, schema } = this.#file.prompts[task.task];
    const [system = "", user = ""] = text.split(/^# user$/m).map((part) => part.replace(/^# system$/m, "").trim());
    const passages = task.chunk_ids.map((id, i) => {
      const chunk = chunks[i];
      if (!chunk) throw new ProviderFailure("refused", `This index has no passage ${id}.`);
      const heading = chunk.heading_path ? ` heading="${asAttribute(chunk.heading_path)}"` : "";
      return `<passage id="${asAttribute(id)}" title="${asAttribute(chunk.title)}"${heading}>\n${asData(chunk.text)}\n</passage>`;
    });
    const data: Record<string, string> = {
      question: asData(task.question),
      passages: passages.join("\n\n"),
      failed_query: asData(task.failed_query),
      reason: asData(task.reason),
    };
    const filled = user.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => data[name] ?? whole);
    const messages: Message[] = [{ role: "system", content: system }, { role: "user", content: filled }];
    if (task.repair) {
      messages.push({ role: "user", content: `Your last reply could not be read: ${asData(task.repair)}\nReply again, briefly, with the JSON object alone.` });
    }
    return {
      messages,
      schema: task.task === "generate" ? null : schema,
      maxTokens: maxTokens[task.task],
    };
  }

  /** What these tokens cost there, in USD; null where the price list does not know the model. */
  cost(endpoint: string, model: string, tokens: { in: number; out: number }): number | null {
    const { tokens: unit, prices } = this.#file.prices;
    const price = prices.find((each) => each.endpoint === endpoint && each.model === model);
    return price ? (tokens.in * price.in + tokens.out * price.out) / unit : null;
  }
}
