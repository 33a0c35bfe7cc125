#include "wasm/judges/reply.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "wasm/agent/extractive/logistic.hpp"
#include "wasm/agent/reply.hpp"

namespace polygraph::judges {
namespace {

using Json = nlohmann::ordered_json;

/// Finds the end of a JSON value (RFC 8259) and stops at the first byte that can't belong to one, so that brackets in prose
/// cost next to nothing.
class Scanner {
 public:
  Scanner(std::string_view text, std::size_t budget) : text_(text), budget_(budget) {}

  /// The end of the object or array that begins at `at`, or nothing.
  std::optional<std::size_t> end_of_value(std::size_t at) {
    at_ = at;
    depth_ = 0;
    return value() ? std::optional(at_) : std::nullopt;
  }
  bool exhausted() const noexcept { return budget_ == 0; }

 private:
  static constexpr std::size_t deepest = 64;

  bool step() noexcept {
    if (at_ >= text_.size() || budget_ == 0) return false;
    --budget_;
    return true;
  }
  void blanks() noexcept {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos && step()) ++at_;
  }
  bool take(char c) noexcept {
    if (!step() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool peek(char c) const noexcept { return at_ < text_.size() && text_[at_] == c; }

  bool value() {
    if (!step()) return false;
    switch (text_[at_]) {
      case '{': return object();
      case '[': return array();
      case '"': return string();
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }
  bool object() {
    if (++depth_ > deepest) return false;
    ++at_;
    blanks();
    if (!peek('}')) {
      do {
        blanks();
        if (!peek('"') || !string()) return false;
        blanks();
        if (!take(':')) return false;
        blanks();
        if (!value()) return false;
        blanks();
      } while (comma());
    }
    --depth_;
    return take('}');
  }
  bool array() {
    if (++depth_ > deepest) return false;
    ++at_;
    blanks();
    if (!peek(']')) {
      do {
        blanks();
        if (!value()) return false;
        blanks();
      } while (comma());
    }
    --depth_;
    return take(']');
  }
  bool comma() noexcept { return peek(',') && take(','); }
  bool word(std::string_view word) noexcept {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool string() noexcept {
    ++at_;
    while (step()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\' && !escape()) return false;
    }
    return false;
  }
  bool escape() noexcept {
    if (!step()) return false;
    const char c = text_[at_++];
    if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    for (int i = 0; i < 4; ++i) {
      if (!step()) return false;
      const char digit = text_[at_++];
      if (!((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F'))) return false;
    }
    return true;
  }
  bool digits() noexcept {
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && step()) ++at_;
    return at_ > first;
  }
  bool number() noexcept {
    if (peek('-')) ++at_;
    if (peek('0')) {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (peek('.')) {
      ++at_;
      if (!digits()) return false;
    }
    if (peek('e') || peek('E')) {
      ++at_;
      if (peek('+') || peek('-')) ++at_;
      if (!digits()) return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0, depth_ = 0, budget_;
};

/// Cut for a message: what a model or an answer wrote is not worth more.
std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string out = agent::well_formed(text.substr(0, longest));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return "\"" + out + (text.size() > longest ? "…\"" : "\"");
}

tl::unexpected<Error> wrong(const Json& object, const char* field, const std::string& expected) {
  const auto found = object.find(field);
  const std::string met = found == object.end() ? "is missing" : std::string("is of type ") + found->type_name();
  return fail(ErrorCode::invalid_json, "\"" + std::string(field) + "\" " + met + "; " + expected + " was expected", field);
}

/// Exactly these fields; those in `optional` may be missing.
Result<void> check_fields(const Json& object, std::initializer_list<std::string_view> required, std::initializer_list<std::string_view> optional = {}) {
  for (const std::string_view field : required) {
    if (!object.contains(field)) return fail(ErrorCode::invalid_json, "\"" + std::string(field) + "\" is missing", std::string(field));
  }
  for (const auto& member : object.items()) {
    const std::string& key = member.key();
    const auto is_key = [&](std::string_view field) { return field == key; };
    if (std::none_of(required.begin(), required.end(), is_key) && std::none_of(optional.begin(), optional.end(), is_key)) {
      return fail(ErrorCode::invalid_json, "there is no field " + in_quotes(key) + " in what was asked for");
    }
  }
  return {};
}

struct ReadObject {
  Json json;
  JsonSpan span;
};

/// The reply's last JSON value, which must be this call's object.
Result<ReadObject> read_object(const JudgeReply& reply, std::string_view nonce, std::initializer_list<std::string_view> required,
                               std::initializer_list<std::string_view> optional = {}) {
  if (reply.finish == "length") return fail(ErrorCode::truncated, "the reply was cut by the token limit; a shorter one was expected");
  const auto span = last_json(reply.text);
  if (!span) return fail(ErrorCode::invalid_json, "the reply holds no complete JSON value; a JSON object was expected");
  // A field that stands twice says two things. The callback sees every key with its depth.
  bool twice = false;
  std::vector<std::vector<std::string>> keys;
  const auto note = [&](int depth, Json::parse_event_t event, Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start) {
      keys.resize(level + 1);
      keys.emplace_back();
    } else if (event == Json::parse_event_t::key && level < keys.size()) {
      const auto& key = parsed.get_ref<const std::string&>();
      twice = twice || std::find(keys[level].begin(), keys[level].end(), key) != keys[level].end();
      keys[level].push_back(key);
    }
    return true;
  };
  ReadObject read{Json::parse(reply.text.begin() + static_cast<std::ptrdiff_t>(span->begin), reply.text.begin() + static_cast<std::ptrdiff_t>(span->end), note, false),
                  *span};
  if (read.json.is_discarded()) return fail(ErrorCode::invalid_json, "the reply's last JSON value can't be read");
  if (!read.json.is_object()) {
    return fail(ErrorCode::invalid_json, std::string("the reply's last JSON value is an ") + read.json.type_name() + "; an object was expected");
  }
  if (twice) return fail(ErrorCode::invalid_json, "a field stands twice in one object");
  if (auto sound = check_fields(read.json, required, optional); !sound) return tl::unexpected(sound.error());
  const auto id = read.json.find("id");
  if (id == read.json.end() || !id->is_string()) return wrong(read.json, "id", "a string");
  if (id->get_ref<const std::string&>() != nonce) {
    return fail(ErrorCode::invalid_json, "\"id\" is " + in_quotes(id->get_ref<const std::string&>()) + "; the id of the task was expected", "id");
  }
  return read;
}

Result<std::string> read_text(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_string()) return wrong(object, field, "a string");
  return found->get<std::string>();
}

Result<bool> read_boolean(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_boolean()) return wrong(object, field, "true or false");
  return found->get<bool>();
}

/// Strings of which none is blank.
Result<std::vector<std::string>> read_texts(const Json& object, const char* field, std::size_t most) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_array()) return wrong(object, field, "an array of strings");
  if (found->size() > most) {
    return fail(ErrorCode::invalid_json, "\"" + std::string(field) + "\" holds " + std::to_string(found->size()) + " entries; at most " + std::to_string(most) + " are allowed",
                field);
  }
  std::vector<std::string> out;
  for (const Json& each : *found) {
    if (!each.is_string()) return fail(ErrorCode::invalid_json, "\"" + std::string(field) + "\" holds a value of type " + each.type_name() + "; strings were expected", field);
    if (agent::folded(each.get_ref<const std::string&>()).empty()) return fail(ErrorCode::invalid_json, "\"" + std::string(field) + "\" holds an empty string", field);
    out.push_back(each.get<std::string>());
  }
  return out;
}

std::optional<double> read_confidence(const Json& object) {
  const auto found = object.find("confidence");
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  return value >= 0 && value <= 1 ? std::optional(value) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? std::string_view{} : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The label that `text` is, as a whole; case does not count.
std::optional<Label> label_of(std::string_view text) {
  std::string small(trimmed(text));
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  for (const Label label : {Label::supported, Label::unsupported}) {
    if (small == name(label)) return label;
  }
  return std::nullopt;
}

/// The offset of the digit behind the key "score" in `text`, a JSON object with that key once at its top. Inside of a string
/// the quotes of `"score"` would be escaped.
std::optional<std::size_t> score_offset(std::string_view text) {
  constexpr std::string_view key = "\"score\"";
  std::size_t at = text.rfind(key);
  if (at == std::string_view::npos) return std::nullopt;
  at = text.find_first_not_of(" \t\r\n", at + key.size());
  if (at == std::string_view::npos || text[at] != ':') return std::nullopt;
  at = text.find_first_not_of(" \t\r\n", at + 1);
  return at == std::string_view::npos ? std::nullopt : std::optional(at);
}

/// The token that is the score, at the last place where it stands: by offset where the tokens are the reply's text, otherwise
/// (hidden reasoning, other spelling) the last token that is this digit.
const ReplyToken* score_token(const JudgeReply& reply, JsonSpan span, int score) {
  const std::string digit = std::to_string(score);
  std::string joined;
  for (const ReplyToken& token : reply.tokens) joined += token.text;
  if (joined == reply.text) {
    const auto within = score_offset(std::string_view(reply.text).substr(span.begin, span.end - span.begin));
    if (!within) return nullptr;
    std::size_t begin = 0;
    for (const ReplyToken& token : reply.tokens) {
      const std::size_t end = begin + token.text.size();
      if (span.begin + *within < end) return trimmed(token.text) == digit ? &token : nullptr;
      begin = end;
    }
    return nullptr;
  }
  for (std::size_t i = reply.tokens.size(); i-- > 0;) {
    if (trimmed(reply.tokens[i].text) == digit) return &reply.tokens[i];
  }
  return nullptr;
}

}  // namespace

std::string_view name(Label label) noexcept {
  constexpr std::array<std::string_view, 3> names = {"supported", "unsupported", "missing"};
  return names[static_cast<std::size_t>(label)];
}

std::optional<JsonSpan> last_json(std::string_view text) {
  // A bracket of prose is left at once, and nesting ends at 64 levels. What still asks for more than this is no reply, and
  // then nothing is better than an earlier value.
  Scanner scanner(text, 16 * text.size() + 4096);
  std::optional<JsonSpan> last;
  for (std::size_t at = text.find_first_of("{["); at != std::string_view::npos; at = text.find_first_of("{[", at)) {
    const auto end = scanner.end_of_value(at);
    if (scanner.exhausted()) return std::nullopt;
    if (end) last = JsonSpan{at, *end};
    at = end.value_or(at + 1);
  }
  return last;
}

Result<std::vector<std::string>> read_statements(const JudgeReply& reply, std::string_view nonce) {
  auto object = read_object(reply, nonce, {"id", "statements"});
  if (!object) return tl::unexpected(object.error());
  auto statements = read_texts(object->json, "statements", most_statements);
  if (statements && statements->empty()) return fail(ErrorCode::invalid_json, "\"statements\" is empty; at least one statement was expected", "statements");
  return statements;
}

Result<std::vector<ClaimVerdict>> read_verdicts(const JudgeReply& reply, std::string_view nonce, std::span<const Claim> claims) {
  auto object = read_object(reply, nonce, {"id", "verdicts"});
  if (!object) return tl::unexpected(object.error());
  const Json& list = object->json["verdicts"];
  if (!list.is_array()) return wrong(object->json, "verdicts", "an array of objects");
  if (list.size() != claims.size()) {
    return fail(ErrorCode::invalid_json, "\"verdicts\" holds " + std::to_string(list.size()) + " verdicts; " + std::to_string(claims.size()) + " were asked for", "verdicts");
  }
  std::vector<ClaimVerdict> verdicts(claims.size());
  std::vector<bool> given(claims.size(), false);
  for (const Json& each : list) {
    if (!each.is_object()) return fail(ErrorCode::invalid_json, std::string("\"verdicts\" holds a value of type ") + each.type_name() + "; objects were expected", "verdicts");
    if (auto sound = check_fields(each, {"id"}, {"verdict", "reason"}); !sound) return tl::unexpected(sound.error());
    auto id = read_text(each, "id");
    if (!id) return tl::unexpected(id.error());
    const auto claim = std::find_if(claims.begin(), claims.end(), [&](const Claim& known) { return known.id == *id; });
    if (claim == claims.end()) return fail(ErrorCode::invalid_json, "a verdict is for " + in_quotes(*id) + ", which was not asked for", "id");
    const auto index = static_cast<std::size_t>(claim - claims.begin());
    if (given[index]) return fail(ErrorCode::invalid_json, "there are two verdicts for " + in_quotes(*id), "id");
    given[index] = true;
    if (const auto reason = each.find("reason"); reason != each.end() && !reason->is_null()) {
      if (!reason->is_string()) return wrong(each, "reason", "a string");
      verdicts[index].reason = reason->get<std::string>();
    }
    const auto verdict = each.find("verdict");
    if (verdict == each.end() || verdict->is_null()) continue;
    if (!verdict->is_string()) return wrong(each, "verdict", "\"supported\" or \"unsupported\"");
    const auto label = label_of(verdict->get_ref<const std::string&>());
    if (!label) {
      return fail(ErrorCode::invalid_json, "a verdict is " + in_quotes(verdict->get_ref<const std::string&>()) + "; \"supported\" or \"unsupported\" was expected", "verdict");
    }
    verdicts[index].label = *label;
  }
  return verdicts;
}

Result<Questions> read_questions(const JudgeReply& reply, std::string_view nonce) {
  auto object = read_object(reply, nonce, {"id", "noncommittal", "questions"});
  if (!object) return tl::unexpected(object.error());
  auto noncommittal = read_boolean(object->json, "noncommittal");
  if (!noncommittal) return tl::unexpected(noncommittal.error());
  auto questions = read_texts(object->json, "questions", questions_asked);
  if (!questions) return tl::unexpected(questions.error());
  if (!*noncommittal && questions->size() != questions_asked) {
    return fail(ErrorCode::invalid_json, "\"questions\" holds " + std::to_string(questions->size()) + " questions; " + std::to_string(questions_asked) + " were asked for",
                "questions");
  }
  return Questions{std::move(*questions), *noncommittal};
}

Result<Rubric> read_rubric(const JudgeReply& reply, std::string_view nonce) {
  auto object = read_object(reply, nonce, {"id", "reason", "score"}, {"confidence"});
  if (!object) return tl::unexpected(object.error());
  Rubric rubric;
  auto reason = read_text(object->json, "reason");
  if (!reason) return tl::unexpected(reason.error());
  rubric.reason = std::move(*reason);
  rubric.confidence = read_confidence(object->json);
  const Json& score = object->json["score"];
  if (!score.is_number()) return wrong(object->json, "score", "a whole number from 1 to 5");
  const auto value = score.get<double>();
  if (value != 1 && value != 2 && value != 3 && value != 4 && value != 5) {
    return fail(ErrorCode::invalid_json, "\"score\" is " + score.dump() + "; a whole number from 1 to 5 was expected", "score");
  }
  rubric.stated = static_cast<int>(value);
  rubric.score = value;
  if (const ReplyToken* token = score_token(reply, object->span, rubric.stated)) {
    if (const auto expected = expected_score(*token)) {
      rubric.score = *expected;
      rubric.weighted = true;
    }
  }
  return rubric;
}

Result<Grounding> read_grounding(const JudgeReply& reply, std::string_view nonce) {
  auto object = read_object(reply, nonce, {"id", "reason", "unsupported_claims", "grounded"}, {"confidence"});
  if (!object) return tl::unexpected(object.error());
  Grounding grounding;
  auto reason = read_text(object->json, "reason");
  if (!reason) return tl::unexpected(reason.error());
  grounding.reason = std::move(*reason);
  auto grounded = read_boolean(object->json, "grounded");
  if (!grounded) return tl::unexpected(grounded.error());
  grounding.grounded = *grounded;
  auto claims = read_texts(object->json, "unsupported_claims", most_statements);
  if (!claims) return tl::unexpected(claims.error());
  grounding.unsupported_claims = std::move(*claims);
  grounding.confidence = read_confidence(object->json);
  if (grounding.grounded && !grounding.unsupported_claims.empty()) {
    return fail(ErrorCode::invalid_json, "\"grounded\" is true, and \"unsupported_claims\" names some", "grounded");
  }
  if (!grounding.grounded && grounding.unsupported_claims.empty()) {
    return fail(ErrorCode::invalid_json, "\"grounded\" is false, and \"unsupported_claims\" names none", "unsupported_claims");
  }
  return grounding;
}

std::optional<double> expected_score(const ReplyToken& at) {
  constexpr double least = 0.01;
  double weighted = 0, total = 0;
  for (const auto& [token, logarithm] : at.top) {
    const std::string_view text = trimmed(token);
    if (text.size() != 1 || text[0] < '1' || text[0] > '5') continue;
    if (!(logarithm <= 1e-6)) return std::nullopt;  // NaN too; APIs round to just above 0
    const double p = agent::extractive::exponential(logarithm);
    if (p < least) continue;
    weighted += (text[0] - '0') * p;
    total += p;
  }
  if (total == 0 || total > 1.01) return std::nullopt;
  return weighted / total;
}

}  // namespace polygraph::judges
