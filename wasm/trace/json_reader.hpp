// Reads fields of a JSON document without exceptions: the first thing that is wrong is kept, with the path to it, and
// everything after it yields defaults.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "wasm/error.hpp"

namespace polygraph::trace {

// Keys keep their order; one instantiation for the whole engine.
using Json = nlohmann::ordered_json;

class JsonReader {
 public:
  /// `root` must outlive the reader.
  JsonReader(const Json& root, std::string path, std::optional<Error>& error) : json_(&root), path_(std::move(path)), error_(&error) {
    if (!root.is_object()) wrong("", "an object");
  }

  const Json* find(const char* key) const {
    if (*error_ || !json_->is_object()) return nullptr;
    const auto found = json_->find(key);
    return found == json_->end() ? nullptr : &*found;
  }
  std::string at(const char* key) const { return path_.empty() ? key : path_ + "." + key; }
  bool failed() const { return error_->has_value(); }

  /// Records what was expected at `key`, unless something was wrong before.
  void wrong(const char* key, const std::string& expected) const {
    if (*error_) return;
    const std::string where = *key == '\0' ? path_ : at(key);
    const Json* value = *key == '\0' ? json_ : find(key);
    const std::string met = value == nullptr ? "is missing" : std::string("is of type ") + value->type_name();
    *error_ = Error{ErrorCode::invalid_json, (where.empty() ? std::string("the document") : where) + " " + met + "; " + expected + " was expected", where};
  }

  /// Keeps an error that was found elsewhere.
  void raise(Error error) const {
    if (!*error_) *error_ = std::move(error);
  }

  std::string text(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && value->is_string()) return value->get_ref<const std::string&>();
    wrong(key, "a string");
    return {};
  }
  /// An empty string for null.
  std::string text_or_null(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && value->is_null()) return {};
    return text(key);
  }
  bool boolean(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && value->is_boolean()) return value->get<bool>();
    wrong(key, "true or false");
    return false;
  }
  double number(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
    wrong(key, "a number");
    return 0;
  }
  std::optional<double> number_or_null(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && value->is_null()) return std::nullopt;
    return number(key);
  }
  std::uint64_t count(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && value->is_number_unsigned()) return value->get<std::uint64_t>();
    wrong(key, "a whole number");
    return 0;
  }
  std::uint32_t count32(const char* key) const {
    const std::uint64_t value = count(key);
    if (value <= std::numeric_limits<std::uint32_t>::max()) return static_cast<std::uint32_t>(value);
    wrong(key, "a smaller number");
    return 0;
  }
  std::optional<std::uint32_t> count_or_null(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && value->is_null()) return std::nullopt;
    return count32(key);
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> out;
    const Json* value = find(key);
    if (value == nullptr || !value->is_array()) {
      wrong(key, "an array of strings");
      return out;
    }
    for (const Json& each : *value) {
      if (!each.is_string()) {
        wrong(key, "an array of nothing but strings");
        return {};
      }
      out.push_back(each.get_ref<const std::string&>());
    }
    return out;
  }
  /// The object at `key`; an empty one, with the error kept, where there is none.
  JsonReader object(const char* key) const {
    static const Json empty = Json::object();
    const Json* value = find(key);
    if (value == nullptr || !value->is_object()) {
      wrong(key, "an object");
      value = &empty;
    }
    return {*value, at(key), *error_};
  }
  /// Calls `each` with a reader for every element of the array of objects at `key`, until something is wrong.
  template <class Each>
  void objects(const char* key, Each&& each) const {
    const Json* value = find(key);
    if (value == nullptr || !value->is_array()) {
      wrong(key, "an array of objects");
      return;
    }
    for (std::size_t i = 0; i < value->size() && !failed(); ++i) {
      each(JsonReader((*value)[i], at(key) + "[" + std::to_string(i) + "]", *error_));
    }
  }

 private:
  const Json* json_;
  std::string path_;
  std::optional<Error>* error_;
};

}  // namespace polygraph::trace
