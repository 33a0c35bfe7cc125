#include "wasm/report/run_text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "wasm/json/brackets.hpp"
#include "wasm/json/cursor.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view check_mark = ",\"check\":\"";
constexpr std::size_t digest_length = 39;  // "xxh128:" and 32 digits
constexpr std::string_view line_tail = "\"}";

std::string sorted(const std::string& json) { return nlohmann::json::parse(json).dump(); }

Result<RunHeader> parse_header(std::string_view line) {
  const auto json = json::deeper_than(line, json::max_depth) ? Json(Json::value_t::discarded) : Json::parse(line, nullptr, false);
  const auto text = [&](const char* field) { return json.contains(field) && json.at(field).is_string() ? json.at(field).get<std::string>() : std::string(); };
  if (!json.is_object() || text("kind") != "run") return fail(ErrorCode::invalid_json, "is no run: its first line should be {\"kind\": \"run\", …}", "kind", 1);
  const auto schema = json.find("schema");
  if (schema == json.end() || *schema != run_schema) {
    return fail(ErrorCode::unsupported_version,
                "has schema " + (schema == json.end() ? "none" : schema->dump()) + ", this program reads " + std::to_string(run_schema), "schema", 1);
  }
  const auto identity = json.find("identity");
  if (identity == json.end() || !identity->is_object()) return fail(ErrorCode::invalid_json, "has no identity", "identity", 1);
  const auto items = json.find("items");
  if (items == json.end() || !items->is_number_unsigned()) return fail(ErrorCode::invalid_json, "does not say how many items it has", "items", 1);
  RunHeader header = run_header(identity->dump(), items->get<std::uint64_t>(), text("created_at"));
  header.program = text("program");
  if (header.digest != text("digest")) return fail(ErrorCode::corrupt, "its identity was changed: it no longer has the digest " + text("digest"), "digest", 1);
  return header;
}

/// The line's parts, as line_text() puts them.
Result<RunLine> parse_line(std::string_view line, std::uint64_t number) {
  const auto broken = [&] {
    return fail(ErrorCode::corrupt, "the line was cut or changed: its check does not hold; `--fresh` runs everything again", "check", number);
  };
  const std::size_t tail = check_mark.size() + digest_length + line_tail.size();
  if (line.size() < tail || !line.ends_with(line_tail)) return broken();
  const std::string_view body = line.substr(0, line.size() - tail), mark = line.substr(body.size());
  if (!mark.starts_with(check_mark) || mark.substr(check_mark.size(), digest_length) != text::digest(body)) return broken();

  std::size_t at = 0;
  const auto skip = [&](std::string_view expected) {
    if (body.substr(at, expected.size()) != expected) return false;
    at += expected.size();
    return true;
  };
  const auto count = [&] {
    std::uint64_t value = 0;
    for (; at < body.size() && body[at] >= '0' && body[at] <= '9'; ++at) value = value * 10 + static_cast<std::uint64_t>(body[at] - '0');
    return static_cast<std::size_t>(value);
  };
  std::size_t lengths[4] = {};
  if (!skip("{\"bytes\":[")) return broken();
  for (std::size_t& length : lengths) {
    length = count();
    if (&length != &lengths[3] && !skip(",")) return broken();
  }
  std::string_view parts[4];
  constexpr std::string_view marks[4] = {"],\"item\":", ",\"golden\":", ",\"result\":", ",\"judgement\":"};
  for (int part = 0; part < 4; ++part) {
    if (!skip(marks[part]) || lengths[part] > body.size() - at) return broken();
    parts[part] = body.substr(at, lengths[part]);
    at += lengths[part];
  }
  if (!skip(",\"repeat\":")) return broken();
  const auto id = Json::parse(parts[0], nullptr, false);
  if (!id.is_string()) return broken();
  return RunLine{{id.get<std::string>(), static_cast<std::uint32_t>(count())}, parts[1], parts[2], parts[3]};
}

RunFacts facts_of(const RunHeader& header) {
  const Json identity = Json::parse(header.identity);
  RunFacts facts;
  const auto member = [](const Json& json, const char* field) { return json.is_object() && json.contains(field) ? json[field] : Json(); };
  const auto text = [&](const Json& json, const char* field) {
    const Json value = member(json, field);
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  const Json subject = member(identity, "subject"), golden = member(identity, "golden"), judge = member(identity, "judge");
  facts.identity = header.identity;
  facts.name = text(subject, "name");
  if (const Json k = member(identity, "k"); k.is_number_unsigned()) facts.k = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(k.get<std::uint64_t>(), 1, diagnosis::max_k));
  facts.top_k = facts.k;
  if (const Json config = member(subject, "config"); config.is_object()) {
    facts.config = config.dump();
    const std::string top_k = text(config, "TOP_K");
    std::size_t value = 0;
    if (std::from_chars(top_k.data(), top_k.data() + top_k.size(), value).ec == std::errc() && value > 0) facts.top_k = value;
  }
  facts.index_digest = text(identity, "index_digest");
  facts.golden_name = text(golden, "name");
  facts.golden_digest = text(golden, "digest");
  facts.golden_source = text(golden, "source");
  facts.subset = text(golden, "subset");
  if (judge.is_object()) facts.judge = judge.dump();
  facts.offline_judge = text(judge, "provider") == "offline";
  facts.items = header.items;
  return facts;
}

}  // namespace

bool is_run(std::string_view text) noexcept { return text.starts_with(run_beginning); }

std::string header_line(const RunHeader& header) {
  return Json{{"kind", "run"},        {"schema", run_schema},
              {"digest", header.digest}, {"identity", Json::parse(header.identity)},
              {"items", header.items},   {"created_at", header.created_at}, {"program", header.program}}
             .dump() +
         '\n';
}

std::string line_text(const RunItem& item, std::string_view golden, std::string_view result, std::string_view judgement, std::string_view finished_at) {
  const std::string id = Json(item.id).dump();
  if (judgement.empty()) judgement = "null";
  std::string line = "{\"bytes\":[" + std::to_string(id.size()) + ',' + std::to_string(golden.size()) + ',' + std::to_string(result.size()) + ',' +
                     std::to_string(judgement.size()) + "],\"item\":" + id;
  const auto part = [&](std::string_view name, std::string_view json) { line.append(name).append(json); };
  part(",\"golden\":", golden);
  part(",\"result\":", result);
  part(",\"judgement\":", judgement);
  part(",\"repeat\":", std::to_string(item.repeat));
  part(",\"finished_at\":", Json(finished_at).dump());
  const std::string digest = text::digest(line);
  line += check_mark;
  line += digest;
  line += line_tail;
  return line + '\n';
}

RunHeader run_header(std::string identity, std::uint64_t items, std::string created_at) {
  RunHeader header;
  header.digest = text::digest(sorted(identity));
  header.identity = std::move(identity);
  header.items = items;
  header.created_at = std::move(created_at);
  return header;
}

Result<RunExtent> for_each_line(std::string_view text, const std::function<Result<void>(std::string_view, const RunLine&)>& use) {
  RunExtent lines;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;  // its writer was killed
    const std::string_view line = text.substr(at, end - at);
    ++number;
    if (number == 1) {
      auto header = parse_header(line);
      if (!header) return tl::unexpected(header.error());
      lines.header = std::move(*header);
      lines.header_end = end + 1;
    } else {
      auto parsed = parse_line(line, number);
      if (!parsed) return tl::unexpected(parsed.error());
      if (auto used = use(text.substr(at, end + 1 - at), *parsed); !used) return tl::unexpected(used.error());
    }
    at = end + 1;
    lines.end = at;
  }
  if (number == 0) return fail(ErrorCode::invalid_json, "is no run: it has no line", "kind", 1);
  return lines;
}

Result<RunHeader> read_run(std::string_view text, const std::function<Result<void>(const RunLine&)>& use, const std::function<void(std::size_t)>& passed) {
  constexpr std::size_t often = std::size_t{1} << 24;
  std::size_t told = 0;
  auto lines = for_each_line(text, [&](std::string_view whole, const RunLine& line) {
    const auto at = static_cast<std::size_t>(whole.data() - text.data());
    if (passed && at - told > often) passed(told = at);
    return use(line);
  });
  if (!lines) return tl::unexpected(lines.error());
  return std::move(lines->header);
}

Result<EvaluatedRun> evaluate_run(std::string_view text, const std::function<void(std::size_t)>& passed) {
  // The header comes first: what the lines mean depends on it.
  auto header = read_run(text.substr(0, std::min(text.size(), text.find('\n') + 1)), [](const RunLine&) -> Result<void> { return {}; });
  if (!header) return tl::unexpected(header.error());
  RunEvaluator evaluator(facts_of(*header));
  std::uint64_t line = 1;
  auto read = read_run(
      text,
      [&](const RunLine& one) -> Result<void> {
        ++line;
        auto added = evaluator.add(one.golden, one.result, one.judgement, one.item.repeat);
        if (!added) return fail(added.error().code, "the item \"" + one.item.id + "\": " + added.error().message, added.error().field, line);
        return {};
      },
      passed);
  if (!read) return tl::unexpected(read.error());
  return evaluator.finish([&] {
    if (passed) passed(text.size());
  });
}

}  // namespace polygraph::report
