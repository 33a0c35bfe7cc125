#include "proxy/recordings/recordings.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>

#include <nlohmann/json.hpp>

#include "wasm/agent/reply.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::proxy {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::size_t longest_id = 64;
constexpr std::uintmax_t largest_file = 8 << 20;  ///< a trace has some hundred kilobytes

bool digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// 2026-11-30T12:00:00Z, or with fractions of a second. Months and hours out of range are no harm here.
bool is_time(std::string_view text) {
  if (text.size() < 20 || text.back() != 'Z') return false;
  constexpr std::string_view form = "0000-00-00T00:00:00";
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '0' ? !digits(text.substr(i, 1)) : text[i] != form[i]) return false;
  }
  const std::string_view fraction = text.substr(form.size(), text.size() - form.size() - 1);
  return fraction.empty() || (fraction.front() == '.' && digits(fraction.substr(1)));
}

/// The time without its Z sorts as text, with and without fractions.
std::string_view sortable(std::string_view time) { return time.substr(0, time.size() - 1); }

class Fields {
 public:
  explicit Fields(const Json& object, std::string path = {}) : object_(object), path_(std::move(path)) {}

  Result<std::string> text(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) return fail(ErrorCode::invalid_json, "is missing; a string was expected", path_ + key);
    if (!found->is_string()) return fail(ErrorCode::invalid_json, std::string("is of type ") + found->type_name() + "; a string was expected", path_ + key);
    return found->get<std::string>();
  }

 private:
  const Json& object_;
  std::string path_;
};

/// Whether `path`, with links followed, is a plain file inside `folder` (canonical).
bool is_inside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error || !fs::is_regular_file(real, error)) return false;
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), real.begin(), real.end());
  return end == folder.end();
}

Result<std::string> read_file(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return fail(ErrorCode::io, "can't be read: " + error.message());
  if (size > largest_file) return fail(ErrorCode::invalid_json, "has " + std::to_string(size) + " bytes; at most " + std::to_string(largest_file) + " are allowed");
  std::ifstream stream(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (!stream) return fail(ErrorCode::io, "can't be read");
  return text;
}

}  // namespace

bool is_recording_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= longest_id &&
         std::all_of(id.begin(), id.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::string question_key(std::string_view question) {
  // Ends of sentences, also typographic, full-width and Arabic ones.
  static constexpr std::string_view marks[] = {" ", ".", "?", "!", ",", ";", ":", "\xE2\x80\xA6", "\xEF\xBC\x9F", "\xEF\xBC\x81", "\xE3\x80\x82", "\xD8\x9F"};
  std::string key = agent::folded(question);
  const std::string whole = key;
  for (bool cut = true; cut && !key.empty();) {
    cut = false;
    for (const std::string_view mark : marks) {
      if (!key.ends_with(mark)) continue;
      key.resize(key.size() - mark.size());
      cut = true;
    }
  }
  return key.empty() ? whole : key;  // a question of marks alone is itself
}

Result<Recording> parse_recording(std::string text, std::string_view id) {
  if (const auto offset = text::first_invalid(text)) return fail(ErrorCode::invalid_text, "is not UTF-8: ill-formed at byte " + std::to_string(*offset));
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return fail(ErrorCode::invalid_json, "is not JSON");
  if (!document.is_object()) return fail(ErrorCode::invalid_json, std::string("is of type ") + document.type_name() + "; an object was expected");
  const Fields fields(document);
  const auto kind = fields.text("kind");
  if (!kind) return tl::unexpected(kind.error());
  if (*kind != "recording") return fail(ErrorCode::invalid_json, "is \"" + *kind + "\"; \"recording\" was expected", "kind");
  const auto schema = document.find("schema");
  if (schema == document.end() || *schema != 1) return fail(ErrorCode::unsupported_version, "is missing or another than 1", "schema");

  Recording recording;
  const auto into = [](std::string& to, Result<std::string> value) -> Result<void> {
    if (!value) return tl::unexpected(value.error());
    to = std::move(*value);
    return {};
  };
  const std::pair<const char*, std::string Recording::*> texts[] = {{"id", &Recording::id},
                                                                    {"question", &Recording::question},
                                                                    {"recorded_at", &Recording::recorded_at},
                                                                    {"made_by", &Recording::made_by},
                                                                    {"index_digest", &Recording::index_digest}};
  for (const auto& [key, member] : texts) {
    if (auto done = into(recording.*member, fields.text(key)); !done) return tl::unexpected(done.error());
  }
  if (!is_recording_id(recording.id)) return fail(ErrorCode::invalid_json, "is no id: a to z, 0 to 9 and -, up to 64", "id");
  if (recording.id != id) return fail(ErrorCode::invalid_json, "is \"" + recording.id + "\", but the file is named \"" + std::string(id) + ".json\"", "id");
  if (agent::folded(recording.question).empty()) return fail(ErrorCode::invalid_json, "is empty", "question");
  if (!is_time(recording.recorded_at)) return fail(ErrorCode::invalid_json, "is no time like 2026-11-30T12:00:00Z", "recorded_at");
  if (const auto aliases = document.find("aliases"); aliases != document.end()) {
    const bool sound = aliases->is_array() && std::all_of(aliases->begin(), aliases->end(), [](const Json& alias) { return alias.is_string(); });
    if (!sound) return fail(ErrorCode::invalid_json, "is no array of strings", "aliases");
    for (const Json& alias : *aliases) {
      if (!agent::folded(alias.get_ref<const std::string&>()).empty()) recording.aliases.push_back(alias.get<std::string>());
    }
  }
  const auto models = document.find("models");
  if (models == document.end() || !models->is_object()) return fail(ErrorCode::invalid_json, "is missing or no object", "models");
  const Fields named(*models, "models.");
  const std::pair<const char*, std::string Recording::*> roles[] = {
      {"generator", &Recording::generator}, {"grader", &Recording::grader}, {"rewriter", &Recording::rewriter}};
  for (const auto& [key, member] : roles) {
    if (auto done = into(recording.*member, named.text(key)); !done) return tl::unexpected(done.error());
  }
  const auto trace = document.find("trace");
  if (trace == document.end() || !trace->is_object()) return fail(ErrorCode::invalid_json, "is missing or no object", "trace");
  recording.trace = trace->dump();
  recording.file = std::move(text);
  return recording;
}

Result<Recordings> Recordings::load(const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error) return fail(ErrorCode::not_found, "can't be opened: " + error.message(), folder.string());
  fs::directory_iterator entries(real, error);
  if (error) return fail(ErrorCode::io, "can't be read: " + error.message(), folder.string());

  Recordings loaded;
  for (const fs::directory_iterator end; entries != end; entries.increment(error)) {
    const fs::path& path = entries->path();
    const std::string name = path.filename().string();
    if (name.starts_with('.') || path.extension() != ".json" || !is_inside(path, real)) continue;
    const auto left_out = [&](Error why) {
      why.field = why.field.empty() ? name : name + ": " + why.field;
      loaded.warnings_.push_back(std::move(why));
    };
    const std::string id = path.stem().string();
    if (!is_recording_id(id)) {
      left_out({ErrorCode::invalid_json, "its name is no id: a to z, 0 to 9 and -, up to 64"});
      continue;
    }
    auto text = read_file(path);
    auto recording = text ? parse_recording(std::move(*text), id) : tl::unexpected(text.error());
    if (recording) {
      loaded.recordings_.push_back(std::move(*recording));
    } else {
      left_out(recording.error());
    }
  }
  if (error) return fail(ErrorCode::io, "can't be read: " + error.message(), folder.string());
  std::sort(loaded.recordings_.begin(), loaded.recordings_.end(), [](const Recording& a, const Recording& b) { return a.id < b.id; });
  std::sort(loaded.warnings_.begin(), loaded.warnings_.end(), [](const Error& a, const Error& b) { return a.field < b.field; });
  for (std::size_t i = 0; i < loaded.recordings_.size(); ++i) {
    const auto add = [&](std::string_view question) {
      loaded.keys_.push_back(question_key(question));
      loaded.of_.push_back(i);
    };
    add(loaded.recordings_[i].question);
    for (const std::string& alias : loaded.recordings_[i].aliases) add(alias);
  }
  return loaded;
}

const Recording* Recordings::find(std::string_view id) const {
  const auto found = std::lower_bound(recordings_.begin(), recordings_.end(), id, [](const Recording& a, std::string_view b) { return a.id < b; });
  return found != recordings_.end() && found->id == id ? &*found : nullptr;
}

const Recording* Recordings::find_question(std::string_view question, std::string_view index_digest) const {
  const std::string key = question_key(question);
  if (key.empty()) return nullptr;
  const Recording* best = nullptr;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] != key) continue;
    const Recording& candidate = recordings_[of_[i]];
    const auto rank = [&](const Recording& each) { return std::pair(each.index_digest == index_digest, sortable(each.recorded_at)); };
    if (best == nullptr || rank(*best) < rank(candidate)) best = &candidate;
  }
  return best;
}

}  // namespace polygraph::proxy
