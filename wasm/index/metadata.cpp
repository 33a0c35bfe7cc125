#include "wasm/index/metadata.hpp"

#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

namespace polygraph::index {
namespace {

// One JSON type in the whole engine: a second one would cost its WebAssembly 20 KB. Keys stand in the order of the file.
using json = nlohmann::ordered_json;

json model_json(const ModelIdentity& model) {
  return {{"dimensions", model.dimensions},
          {"max_tokens", model.max_tokens},
          {"name", model.name},
          {"query_prefix", model.query_prefix},
          {"sha256", model.sha256}};
}

/// Takes fields out of one object and remembers the first that is missing or of another type.
class Fields {
 public:
  Fields(const json& object, std::string path) : object_(object), path_(std::move(path)) {}

  void take(const char* key, std::string& out) {
    if (const json* value = find(key, "a string", &json::is_string)) out = value->get_ref<const std::string&>();
  }
  void take(const char* key, std::uint32_t& out) {
    const json* value = find(key, "a whole number", &json::is_number_unsigned);
    if (!value) return;
    const auto number = value->get<std::uint64_t>();
    if (number > std::numeric_limits<std::uint32_t>::max()) {
      refuse(key, "is " + std::to_string(number) + ", too large for 32 bits");
    } else {
      out = static_cast<std::uint32_t>(number);
    }
  }
  void take(const char* key, std::vector<std::string>& out) {
    const json* value = find(key, "a list of strings", &json::is_array);
    if (!value) return;
    for (const json& item : *value) {
      if (!item.is_string()) return refuse(key, "must be a list of strings");
      out.push_back(item.get_ref<const std::string&>());
    }
  }
  void take(const char* key, ModelIdentity& out) {
    const json* value = find(key, "an object", &json::is_object);
    if (!value) return;
    Fields fields(*value, path_ + key + ".");
    fields.take("name", out.name);
    fields.take("sha256", out.sha256);
    fields.take("dimensions", out.dimensions);
    fields.take("query_prefix", out.query_prefix);
    fields.take("max_tokens", out.max_tokens);
    if (!error_ && fields.error_) error_ = fields.error_;
  }
  void refuse(const char* key, const std::string& what) {
    if (!error_) error_ = Error{ErrorCode::invalid_json, "the metadata's " + path_ + key + " " + what, path_ + key};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const json* find(const char* key, const char* expected, bool (json::*is_expected)() const noexcept) {
    const auto at = object_.find(key);
    if (at == object_.end()) {
      refuse(key, "is missing");
      return nullptr;
    }
    if (!((*at).*is_expected)()) {
      refuse(key, std::string("must be ") + expected);
      return nullptr;
    }
    return &*at;
  }

  const json& object_;
  std::string path_;
  std::optional<Error> error_;
};

}  // namespace

std::string to_json(const Metadata& metadata) {
  const json document = {{"analysis", metadata.analysis == text::Analysis::english ? "english" : "plain"},
                         {"builder", metadata.builder},
                         {"chunker", metadata.chunker},
                         {"chunks_truncated", metadata.chunks_truncated},
                         {"corpus", metadata.corpus},
                         {"embedder", model_json(metadata.embedder)},
                         {"language", metadata.language},
                         {"licence", metadata.licence},
                         {"reranker", model_json(metadata.reranker)},
                         {"revision", metadata.revision},
                         {"skipped", metadata.skipped},
                         {"source_url", metadata.source_url},
                         {"title", metadata.title}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Metadata> parse_metadata(std::string_view text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return fail(ErrorCode::invalid_json, "the metadata is not a JSON object", "metadata");
  Metadata metadata;
  std::string analysis;
  Fields fields(document, "");
  fields.take("corpus", metadata.corpus);
  fields.take("revision", metadata.revision);
  fields.take("title", metadata.title);
  fields.take("licence", metadata.licence);
  fields.take("source_url", metadata.source_url);
  fields.take("language", metadata.language);
  fields.take("analysis", analysis);
  fields.take("embedder", metadata.embedder);
  fields.take("reranker", metadata.reranker);
  fields.take("chunker", metadata.chunker);
  fields.take("builder", metadata.builder);
  fields.take("chunks_truncated", metadata.chunks_truncated);
  fields.take("skipped", metadata.skipped);
  if (analysis == "plain") {
    metadata.analysis = text::Analysis::plain;
  } else if (analysis != "english") {
    fields.refuse("analysis", "is \"" + analysis + "\"; this program knows english and plain");
  }
  if (fields.error()) return tl::unexpected<Error>(*fields.error());
  return metadata;
}

}  // namespace polygraph::index
