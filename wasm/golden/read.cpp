// Tells the forms of a golden set apart and reads items and samples.
#include <algorithm>
#include <optional>

#include "wasm/golden/item_json.hpp"
#include "wasm/golden/table.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::golden {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::uint64_t line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::uint64_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size())), '\n'));
}

/// Finds where a text stops being JSON.
class SyntaxError : public nlohmann::json_sax<Json> {
 public:
  static std::size_t offset(std::string_view text) {
    SyntaxError finder;
    Json::sax_parse(text, &finder);
    return finder.position_ == 0 ? 0 : finder.position_ - 1;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool key(string_t&) override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    position_ = position;
    return false;
  }

 private:
  std::size_t position_ = 0;
};

/// On which lines a document's fields and its samples stand. Takes JSON text that parses.
struct DocumentLines {
  std::map<std::string, std::uint64_t, std::less<>> fields;
  std::vector<Lines> samples;

  explicit DocumentLines(std::string_view text) {
    std::uint64_t line = 1;
    std::size_t depth = 0;
    bool in_samples = false, expecting_sample = false;
    std::string_view last_string, top_key;
    std::uint64_t string_line = 1;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\n') ++line;
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
      if (expecting_sample && c != ']') samples.push_back({line});
      expecting_sample = false;
      switch (c) {
        case '"': {
          const std::size_t begin = i + 1;
          for (++i; i < text.size() && text[i] != '"'; ++i) {
            if (text[i] == '\\') ++i;
          }
          last_string = text.substr(begin, std::min(i, text.size()) - begin);
          string_line = line;
          break;
        }
        case ':':
          if (depth == 1) {
            top_key = last_string;
            fields[std::string(last_string)] = string_line;
          } else if (in_samples && depth == 3 && !samples.empty()) {
            samples.back().fields[std::string(last_string)] = string_line;
          }
          break;
        case '[':
          if (++depth == 2 && top_key == "samples") {
            in_samples = expecting_sample = true;
            samples.clear();  // of a key given twice the last counts
          }
          break;
        case '{': ++depth; break;
        case ']':
        case '}':
          if (depth > 0 && --depth == 1) in_samples = false;
          break;
        case ',': expecting_sample = in_samples && depth == 2; break;
        default: break;
      }
    }
  }
  std::uint64_t of(std::string_view field) const {
    const auto found = fields.find(field);
    return found == fields.end() ? 1 : found->second;
  }
};

bool looks_like_sample(const Json& object) { return !object.contains("question") && (object.contains("query") || object.contains("expected_answer")); }
bool looks_like_item(const Json& object) { return !object.contains("query") && (object.contains("question") || object.contains("reference_answer")); }

std::string id_of(const Json& object) {
  const auto id = object.find("id");
  return id != object.end() && id->is_string() ? id->get<std::string>() : std::string();
}

Checked read_items(std::string_view text) {
  Reader reader(Form::items);
  std::uint64_t number = 0;
  while (!text.empty()) {
    ++number;
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (blank(line)) continue;
    const Json object = parse_json(line);
    if (object.is_discarded()) {
      reader.error({"", number, "", "is not JSON (or nested too deep); expected one item, a JSON object, on each line"});
    } else if (!object.is_object()) {
      reader.error({"", number, "", std::string("expected an item, a JSON object; found ") + object.type_name()});
    } else if (object.contains("samples") && !object.contains("question")) {
      reader.error({"", number, "samples", "mixed forms: a document of samples among the items of JSON Lines"});
    } else if (looks_like_sample(object)) {
      reader.error({id_of(object), number, object.contains("query") ? "query" : "expected_answer",
                    "mixed forms: a sample among items; samples stand in {\"name\", \"version\", \"samples\": […]}"});
    } else {
      reader.add(object, {number});
    }
  }
  return reader.finish();
}

/// One item whose object is spread over lines.
Checked read_lone_item(const Json& object, std::uint64_t line) {
  Reader reader(Form::items);
  reader.add(object, {line});
  return reader.finish();
}

Checked read_samples(std::string_view text, const Json& document) {
  Reader reader(Form::samples);
  Set& set = reader.set();
  const DocumentLines lines(text);
  const auto take = [&](const char* field, std::string& value) {
    const auto found = document.find(field);
    if (found == document.end() || found->is_null()) return;
    if (found->is_string()) value = trimmed(found->get_ref<const std::string&>());
    else reader.error({"", lines.of(field), field, "expected a string, found " + std::string(found->type_name()) + " " + to_text(*found)});
  };
  take("name", set.name);
  take("version", set.version);
  Json rest = Json::object();
  for (const auto& [key, value] : document.items()) {
    if (key == "name" || key == "version" || key == "samples") continue;
    rest[key] = value;
    if (key == "question" || key == "relevant_chunk_ids") {
      reader.error({"", lines.of(key), key, "mixed forms: a field of an item beside samples"});
    } else if (key != "kind" && key != "schema") {
      reader.warning({"", lines.of(key), key, "is no field of a golden set; it is kept"});
    }
  }
  if (!rest.empty()) set.extra = to_text(rest);
  const auto samples = document.find("samples");
  if (samples == document.end()) {
    reader.error({"", lines.of("name"), "samples", "is missing; expected an array of samples"});
    return reader.finish();
  }
  if (!samples->is_array()) {
    reader.error({"", lines.of("samples"), "samples", std::string("expected an array, found ") + samples->type_name()});
    return reader.finish();
  }
  for (std::size_t i = 0; i < samples->size(); ++i) {
    const Json& sample = (*samples)[i];
    const Lines& at = i < lines.samples.size() ? lines.samples[i] : Lines{};
    const std::string field = "samples[" + std::to_string(i) + "]";
    if (!sample.is_object()) reader.error({"", at.item, field, std::string("expected a sample, a JSON object; found ") + sample.type_name()});
    else if (looks_like_item(sample)) reader.error({id_of(sample), at.item, field, "mixed forms: an item among samples; a sample has query and expected_answer"});
    else reader.add(item_of_sample(sample), at);
  }
  return reader.finish();
}

Checked unreadable(std::uint64_t line, std::string message, Form form = Form::items) {
  Checked checked;
  checked.set.form = form;
  checked.errors.push_back({"", line, "", std::move(message)});
  return checked;
}

}  // namespace

Result<Checked> read(std::string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const auto bad = std::min(text::first_invalid(text).value_or(std::string_view::npos), text.find('\0'));
  if (bad != std::string_view::npos) {
    return fail(ErrorCode::invalid_text, "isn't UTF-8 text at byte " + std::to_string(bad), "", line_at(text, bad));
  }
  if (blank(text)) return Reader(Form::items).finish();
  const std::size_t first = text.find_first_not_of(" \t\r\n\f\v");
  if (text[first] == '[') {
    return unreadable(line_at(text, first), "a JSON array is no golden set; expected JSON Lines (one item a line) or {\"name\", \"version\", \"samples\": […]}");
  }
  if (text[first] != '{') {
    if (auto table = read_table(text)) return std::move(*table);
    return unreadable(line_at(text, first),
                      "is no golden set; expected JSON Lines, {\"name\", \"version\", \"samples\": […]}, or a CSV or TSV table whose header names question or query");
  }
  const std::string_view line = trimmed(text.substr(first, text.find('\n', first) - first));
  const Json document = parse_json(text);
  if (document.is_object()) {
    // An item may have a field of that name, which is none of ours.
    if (document.contains("samples") && !(document.contains("question") && document.contains("type"))) return read_samples(text, document);
    if (document.contains("name") && !document.contains("question") && !document.contains("id")) return read_samples(text, document);
    if (parse_json(line).is_object()) return read_items(text);
    return read_lone_item(document, line_at(text, first));
  }
  // A document of samples with a mistake in it, rather than lines of which the first is broken.
  if (!parse_json(line).is_object() && (line == "{" || text.find("\"samples\"") != std::string_view::npos)) {
    return unreadable(line_at(text, SyntaxError::offset(text)), "is not JSON from here on (or nested too deep)", Form::samples);
  }
  return read_items(text);
}

}  // namespace polygraph::golden
