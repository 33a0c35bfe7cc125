#include "cli/pipelines/messages.hpp"

#include <fmt/format.h>

#include "wasm/agent/reply.hpp"
#include "wasm/json/brackets.hpp"

namespace polygraph::pipelines {
namespace {

using nlohmann::json;

constexpr std::size_t shown_bytes = 80;
constexpr std::size_t message_bytes = 4096;

/// Without its closing brace.
std::string open_object(const nlohmann::ordered_json& object) {
  std::string text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  text.pop_back();
  return text;
}

Failed wrong_shape(std::string message) { return Failed{.type = "WrongShape", .message = std::move(message)}; }

/// `field` of `object`, which must be there. `where` is the path of the object, with its dot.
tl::expected<const json*, Failed> need(const json& object, std::string_view where, const char* field, std::string_view expected) {
  const auto found = object.find(field);
  if (found == object.end()) return tl::unexpected(wrong_shape(fmt::format("{}{} is missing: expected {}", where, field, expected)));
  return &*found;
}

tl::unexpected<Failed> wrong_type(std::string_view where, std::string_view field, std::string_view expected, const json& got) {
  return tl::unexpected(wrong_shape(fmt::format("{}{}: expected {}, got {}", where, field, expected, shown(got))));
}

tl::expected<Chunk, Failed> read_chunk(const json& value, std::size_t index) {
  const std::string place = fmt::format("chunks[{}]", index), where = place + ".";
  if (!value.is_object()) return wrong_type(place, "", "an object {id, text, score, metadata}", value);
  Chunk chunk;
  for (const auto& [field, target] : {std::pair("id", &chunk.id), std::pair("text", &chunk.text)}) {
    const auto found = need(value, where, field, "a string");
    if (!found) return tl::unexpected(found.error());
    if (!(*found)->is_string()) return wrong_type(where, field, "a string", **found);
    *target = (*found)->get<std::string>();
  }
  if (const auto score = value.find("score"); score != value.end() && !score->is_null()) {
    if (!score->is_number()) return wrong_type(where, "score", "a number", *score);
    chunk.score = score->get<double>();
  }
  if (const auto metadata = value.find("metadata"); metadata != value.end() && !metadata->is_null()) {
    if (!metadata->is_object()) return wrong_type(where, "metadata", "an object", *metadata);
    chunk.metadata = metadata->dump();
  }
  return chunk;
}

/// The first of `names` that is a whole number in `object`.
std::optional<std::uint64_t> count_of(const json& object, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (const auto found = object.find(name); found != object.end() && found->is_number_unsigned()) return found->get<std::uint64_t>();
  }
  return std::nullopt;
}

/// Takes the trace's names, and those of the common language model interfaces.
Usage read_usage(const json& object) {
  const auto tokens = object.find("tokens");
  const json& counts = tokens != object.end() && tokens->is_object() ? *tokens : object;
  Usage usage{count_of(counts, {"in", "tokens_in", "input_tokens", "prompt_tokens"}),
              count_of(counts, {"out", "tokens_out", "output_tokens", "completion_tokens"}),
              {}};
  if (const auto cost = object.find("cost_usd"); cost != object.end() && cost->is_number()) usage.cost_usd = cost->get<double>();
  return usage;
}

}  // namespace

std::string hello_request(unsigned concurrency) {
  return open_object({{"op", "hello"}, {"version", protocol_version}, {"concurrency", concurrency}});
}

std::string retrieve_request(std::string_view query, unsigned k) { return open_object({{"op", "retrieve"}, {"query", query}, {"k", k}}); }

std::string generate_request(std::string_view query, std::span<const Chunk> chunks) {
  auto list = nlohmann::ordered_json::array();
  for (const Chunk& chunk : chunks) {
    nlohmann::ordered_json value{{"id", chunk.id}, {"text", chunk.text}, {"score", nullptr}, {"metadata", nullptr}};
    if (chunk.score) value["score"] = *chunk.score;
    if (auto metadata = nlohmann::ordered_json::parse(chunk.metadata, nullptr, false); metadata.is_object()) value["metadata"] = std::move(metadata);
    list.push_back(std::move(value));
  }
  return open_object({{"op", "generate"}, {"query", query}, {"chunks", std::move(list)}});
}

tl::expected<json, std::string> parse(std::string_view text) {
  if (polygraph::json::deeper_than(text, max_depth)) return tl::unexpected(fmt::format("is nested deeper than {} levels", max_depth));
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    // Its message begins with the library's own name and number.
    const std::string_view what = error.what();
    const auto words = what.find("] ");
    return tl::unexpected("is no JSON: " + first_of(what.substr(words == std::string_view::npos ? 0 : words + 2), 200));
  }
}

std::string shown(const json& value) {
  if (value.is_null()) return "null";
  const std::string text = first_of(value.dump(-1, ' ', false, json::error_handler_t::replace), shown_bytes);
  const std::string_view article = value.is_array() || value.is_object() ? "an" : "a";
  return fmt::format("{} {} ({})", article, value.type_name(), text);
}

std::optional<Failed> reported_error(const json& reply) {
  if (!reply.is_object()) return std::nullopt;
  const auto error = reply.find("error");
  if (error == reply.end() || error->is_null()) return std::nullopt;
  Failed failed{.type = "Error"};
  if (!error->is_object()) {
    failed.message = error->is_string() ? first_of(error->get<std::string>(), message_bytes) : shown(*error);
    return failed;
  }
  const auto text = [&](const char* field) {
    const auto found = error->find(field);
    return found != error->end() && found->is_string() ? first_of(found->get<std::string>(), message_bytes) : std::string();
  };
  if (auto type = text("type"); !type.empty()) failed.type = std::move(type);
  failed.message = text("message");
  failed.file = text("file");
  if (const auto line = error->find("line"); line != error->end() && line->is_number_unsigned()) failed.line = line->get<std::uint64_t>();
  return failed;
}

Outcome<Retrieved> read_retrieved(const json& reply) {
  if (auto failed = reported_error(reply)) return tl::unexpected(std::move(*failed));
  if (!reply.is_object()) return wrong_type("", "the reply", "an object {id, chunks}", reply);
  const auto chunks = need(reply, "", "chunks", "a list of {id, text, score, metadata}");
  if (!chunks) return tl::unexpected(chunks.error());
  if (!(*chunks)->is_array()) return wrong_type("", "chunks", "a list of {id, text, score, metadata}", **chunks);
  Retrieved retrieved;
  for (const json& value : **chunks) {
    auto chunk = read_chunk(value, retrieved.chunks.size());
    if (!chunk) return tl::unexpected(std::move(chunk.error()));
    retrieved.chunks.push_back(std::move(*chunk));
  }
  return retrieved;
}

Outcome<Generated> read_generated(const json& reply) {
  Generated generated;
  if (reply.is_string()) {
    generated.answer = reply.get<std::string>();
    return generated;
  }
  if (auto failed = reported_error(reply)) return tl::unexpected(std::move(*failed));
  if (!reply.is_object()) return wrong_type("", "the reply", "an object {id, answer}", reply);
  const auto answer = need(reply, "", "answer", "a string");
  if (!answer) return tl::unexpected(answer.error());
  if (!(*answer)->is_string()) return wrong_type("", "answer", "a string", **answer);
  generated.answer = (*answer)->get<std::string>();

  if (const auto refused = reply.find("refused"); refused != reply.end() && !refused->is_null()) {
    if (!refused->is_boolean()) return wrong_type("", "refused", "true or false", *refused);
    generated.refused = refused->get<bool>();
  }
  if (const auto citations = reply.find("citations"); citations != reply.end() && !citations->is_null()) {
    if (!citations->is_array()) return wrong_type("", "citations", "a list of chunk ids", *citations);
    auto& ids = generated.citations.emplace();
    for (const json& citation : *citations) {
      const auto place = fmt::format("citations[{}]", ids.size());
      const json* id = &citation;
      if (citation.is_object()) {
        const auto named = need(citation, place + ".", "chunk_id", "a string");
        if (!named) return tl::unexpected(named.error());
        id = *named;
      }
      if (!id->is_string()) return wrong_type(place, "", "a chunk id, or an object with a chunk_id", *id);
      ids.push_back(id->get<std::string>());
    }
  }
  if (const auto usage = reply.find("usage"); usage != reply.end() && !usage->is_null()) {
    if (!usage->is_object()) return wrong_type("", "usage", "an object {tokens: {in, out}, cost_usd}", *usage);
    generated.usage = read_usage(*usage);
  }
  return generated;
}

std::string first_of(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return agent::well_formed(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return agent::well_formed(text.substr(0, bytes)) + "…";
}

std::string last_of(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return agent::well_formed(text);
  std::size_t begin = text.size() - bytes;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) ++begin;
  return "…" + agent::well_formed(text.substr(begin));
}

}  // namespace polygraph::pipelines
