#include "proxy/tasks/tasks.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "proxy/tasks/prices.hpp"
#include "proxy/tasks/prompt_data.hpp"
#include "proxy/tasks/prompts.hpp"
#include "proxy/upstream/format.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::proxy {
namespace {

using Json = nlohmann::ordered_json;

struct Prompt {
  std::string_view system, user;
};

Prompt read_prompt(agent::Task task) {
  constexpr std::string_view system_heading = "# system\n", user_heading = "\n# user\n";
  const std::string_view file = prompt_files(task).prompt;
  const std::size_t user = file.find(user_heading);
  return {trimmed(file.substr(system_heading.size(), user - system_heading.size())), trimmed(file.substr(user + user_heading.size()))};
}

bool equal_without_case(std::string_view text, std::string_view small) {
  if (text.size() < small.size()) return false;
  return std::equal(small.begin(), small.end(), text.begin(), [](char s, char t) { return s == (t >= 'A' && t <= 'Z' ? t - 'A' + 'a' : t); });
}

/// Text of a caller or a corpus made safe to stand between our tags: it can neither close them, nor open one of its own,
/// nor write the marks by which chat templates part roles (servers that read special tokens out of the text exist).
std::string as_data(std::string_view text) {
  static constexpr std::array<std::string_view, 9> tags = {"passage", "question", "query", "reason", "start_of_turn", "end_of_turn", "think", "bos>", "eos>"};
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '<') {
      out += text[i];
      continue;
    }
    const std::size_t name = std::min(text.find_first_not_of(" \t\r\n/", i + 1), text.size());
    const std::string_view rest = text.substr(name);
    const bool ours = std::any_of(tags.begin(), tags.end(), [&](std::string_view tag) { return equal_without_case(rest, tag); });
    const bool role_mark = text.substr(i + 1).starts_with('|') || text.substr(i + 1).starts_with("\xEF\xBD\x9C");
    out += ours || role_mark ? "&lt;" : "<";
  }
  return out;
}

/// The same for what stands in an attribute, on one line.
std::string as_attribute(std::string_view text) {
  std::string out;
  for (const char c : as_data(cut(text, longest_heading_bytes))) {
    if (c == '"') {
      out += "&quot;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

Result<std::string> passages(const agent::CompleteRequest& request, const index::Index& index) {
  std::string out;
  for (const std::string& id : request.chunk_ids) {
    const auto number = index.find_chunk(id);
    if (!number) return fail(ErrorCode::not_found, "the index holds no chunk \"" + cut(id, longest_heading_bytes) + "\"", "chunk_ids");
    const index::Chunk chunk = index.chunk(*number);
    if (!out.empty()) out += "\n\n";
    // An id that holds a mark of ours would be shown escaped, and a citation of it is then no match: refused, not trusted.
    out += "<passage id=\"" + as_attribute(id) + "\" title=\"" + as_attribute(index.document(chunk.document).title) + '"';
    if (!chunk.heading_path.empty()) out += " heading=\"" + as_attribute(chunk.heading_path) + '"';
    out += ">\n" + as_data(cut(chunk.text, longest_passage_bytes)) + "\n</passage>";
  }
  return out;
}

bool gpt_oss(std::string_view model) { return model.find("gpt-oss") != std::string_view::npos; }

/// What endpoints count beside the messages' own text: marks of each message, and the system message that gpt-oss's
/// template puts in front. Measured figures are 4 and about 70.
constexpr std::uint64_t tokens_of_template = 160, tokens_of_message = 16;

}  // namespace

const std::string& TaskModels::of(agent::Task task) const {
  switch (task) {
    case agent::Task::grade: return grader;
    case agent::Task::rewrite: return rewriter;
    case agent::Task::generate: break;
  }
  return generator;
}

Dialect dialect_of(std::string_view upstream_url) {
  const std::string host = host_of(upstream_url);
  return host == "groq.com" || host.ends_with(".groq.com") ? Dialect::groq : Dialect::plain;
}

std::string prompt_version(agent::Task task) {
  const PromptFiles files = prompt_files(task);
  std::string bytes(files.prompt);
  bytes += '\0';
  bytes += files.schema;
  constexpr std::size_t prefix = 7;  // "xxh128:"
  return std::string(agent::name(task)) + '-' + text::digest(bytes).substr(prefix, 8);
}

Result<TaskRequestText> task_request(const agent::CompleteRequest& request, const index::Index& index, std::string_view model, std::size_t max_tokens,
                                     bool stream) {
  auto shown = passages(request, index);
  if (!shown) return tl::unexpected(shown.error());
  const Prompt prompt = read_prompt(request.task);
  TaskRequestText text;
  ModelRequest& ask = text.request;
  ask.model = agent::well_formed(model);
  ask.system = prompt.system;
  ask.user.push_back(filled(prompt.user, {{"question", as_data(agent::well_formed(request.question))},
                                          {"passages", *shown},
                                          {"failed_query", as_data(cut(request.failed_query, longest_query_bytes))},
                                          {"reason", as_data(cut(request.reason, longest_reason_bytes))}}));
  if (!request.repair.empty()) ask.user.push_back(repair_message(as_data(cut(request.repair, longest_repair_bytes))));
  ask.schema = prompt_files(request.task).schema;
  ask.schema_name = agent::name(request.task);
  ask.describes_reply = true;
  ask.max_tokens = max_tokens;
  ask.stream = stream;
  switch (request.task) {
    case agent::Task::grade: ask.role = "grader"; break;
    case agent::Task::rewrite: ask.role = "rewriter"; break;
    case agent::Task::generate: ask.role = "generator"; break;
  }
  text.prompt_version = prompt_version(request.task);
  return text;
}

std::string repair_message(std::string_view wrong) {
  return "Your last reply could not be read: " + std::string(wrong) + "\nReply again, briefly, with the JSON object alone.";
}

std::uint64_t most_prompt_tokens(const ModelRequest& request) {
  std::uint64_t tokens = tokens_of_template;
  if (!request.system.empty()) tokens += tokens_of_message + most_tokens(request.system);
  for (const auto& message : request.user) tokens += tokens_of_message + most_tokens(message);
  return tokens;
}

std::uint64_t most_schema_tokens(std::string_view schema) {
  const Json parsed = Json::parse(schema, nullptr, false);
  return parsed.is_discarded() ? most_tokens(schema) : most_tokens(parsed.dump(2));
}

Result<TaskCall> task_call(const agent::CompleteRequest& request, const index::Index& index, std::string_view model, std::size_t max_tokens, bool stream,
                           Dialect dialect) {
  auto text = task_request(request, index, model, max_tokens, stream);
  if (!text) return tl::unexpected(text.error());
  auto body = format_of(dialect == Dialect::groq ? ApiFormat::groq : ApiFormat::openai).body(text->request);
  if (!body) return tl::unexpected(body.error());
  TaskCall call;
  call.body = std::move(*body);
  call.prompt_version = std::move(text->prompt_version);
  call.prompt_tokens = most_prompt_tokens(text->request);
  // gpt-oss's template shows the schema to the model, and it is counted.
  if (!text->request.schema.empty() && (dialect == Dialect::plain || gpt_oss(model))) call.prompt_tokens += most_schema_tokens(text->request.schema);
  return call;
}

}  // namespace polygraph::proxy
