#include "wasm/metrics/golden_set.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace polygraph::metrics {
namespace {

using Json = nlohmann::json;

/// Reads the fields of one item; the first that does not fit is kept as the error.
class ItemReader {
 public:
  ItemReader(const Json& object, std::uint64_t line) : object_(object), line_(line) {}

  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) {
      wrong(key, "a string");
      return {};
    }
    return value->get<std::string>();
  }

  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> out;
    const Json* value = find(key);
    if (value == nullptr) return out;
    if (!value->is_array()) {
      wrong(key, "an array of strings");
      return out;
    }
    for (const Json& entry : *value) {
      if (!entry.is_string()) {
        wrong(key, "an array of strings");
        return out;
      }
      out.push_back(entry.get<std::string>());
    }
    return out;
  }

  bool flag(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) {
      wrong(key, "true or false");
      return false;
    }
    return value->get<bool>();
  }

  void reject(const char* key, std::string message) {
    if (!error_) error_ = Error{ErrorCode::invalid_json, std::move(message), key, line_};
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  const Json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  void wrong(const char* key, const char* expected) {
    reject(key, std::string("expected ") + expected + ", found " + object_.at(key).type_name());
  }

  const Json& object_;
  std::uint64_t line_;
  std::optional<Error> error_;
};

std::optional<ItemType> item_type(std::string_view text) {
  for (const auto type : {ItemType::answerable, ItemType::vague, ItemType::unanswerable}) {
    if (text == name(type)) return type;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(ItemType type) noexcept {
  switch (type) {
    case ItemType::answerable: return "answerable";
    case ItemType::vague: return "vague";
    case ItemType::unanswerable: return "unanswerable";
  }
  return "";
}

Result<std::vector<GoldenItem>> parse_golden_set(std::string_view json_lines) {
  std::vector<GoldenItem> items;
  std::set<std::string> ids;
  if (json_lines.starts_with("\xef\xbb\xbf")) json_lines.remove_prefix(3);
  std::uint64_t number = 0;
  while (!json_lines.empty()) {
    ++number;
    const auto end = json_lines.find('\n');
    const std::string_view line = json_lines.substr(0, end);
    json_lines = end == std::string_view::npos ? std::string_view{} : json_lines.substr(end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;

    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) return fail(ErrorCode::invalid_json, "is no JSON object", "", number);
    ItemReader reader(object, number);
    GoldenItem item;
    item.line = number;
    item.id = reader.text("id");
    item.question = reader.text("question");
    item.reference_answer = reader.text("reference_answer");
    item.relevant_chunk_ids = reader.texts("relevant_chunk_ids");
    item.relevant_pages = reader.texts("relevant_pages");
    item.should_refuse = reader.flag("should_refuse");
    item.kind = reader.text("kind");
    const std::string type = reader.text("type");
    if (const auto known = item_type(type)) {
      item.type = *known;
    } else {
      reader.reject("type", "expected answerable, vague or unanswerable, found \"" + type + "\"");
    }
    if (item.id.empty()) reader.reject("id", "is missing or empty");
    if (item.question.empty()) reader.reject("question", "is missing or empty");
    if (!ids.insert(item.id).second) reader.reject("id", "\"" + item.id + "\" occurs twice");
    if (reader.error()) return tl::unexpected(*reader.error());
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace polygraph::metrics
