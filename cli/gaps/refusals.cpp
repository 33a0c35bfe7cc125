#include "cli/gaps/refusals.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "wasm/json/cursor.hpp"
#include "wasm/trace/json_reader.hpp"

namespace polygraph::cli {
namespace {

using trace::Json;
using trace::JsonReader;

constexpr std::size_t day_length = 10;

std::string day_of(const std::string& time) { return time.substr(0, day_length); }

/// The text at `key`, or none where it is null or missing.
std::string optional_text(const JsonReader& at, const char* key) { return at.find(key) == nullptr ? std::string() : at.text_or_null(key); }

std::vector<gaps::Page> pages(const JsonReader& at) {
  std::vector<gaps::Page> out;
  if (at.find("closest") == nullptr) return out;
  at.objects("closest", [&](const JsonReader& page) { out.push_back({page.text("title"), page.text("url")}); });
  return out;
}

/// Of a trace that ended in a refusal.
gaps::Refusal refusal_of(const JsonReader& trace) {
  gaps::Refusal out{trace.text("question"), day_of(optional_text(trace, "started_at")), {}, {}, {}};
  trace.objects("steps", [&](const JsonReader& step) {
    if (step.text("node") != "refuse") return;
    const auto data = step.object("data");
    out.reason = data.text("reason");
    out.detail = optional_text(data, "last_grader_reason");
    out.closest = pages(data);
  });
  return out;
}

}  // namespace

Result<void> Refusals::read(std::string_view document) {
  if (document.starts_with("\xef\xbb\xbf")) document.remove_prefix(3);
  json::Cursor at(document);
  const auto one = [&] {
    if (at.kind() != json::Kind::object) {
      at.wrong("an object");
      return;
    }
    const std::string_view text = at.raw();
    if (at.failed()) return;
    if (auto taken = take(text); !taken) at.fail(taken.error().message);
  };
  while (!at.failed() && at.more()) {
    if (at.kind() == json::Kind::array) at.array([&](std::size_t) { one(); });
    else one();
  }
  if (at.failed()) return tl::unexpected(at.error());
  return {};
}

Result<void> Refusals::take(std::string_view text) {
  const Json value = Json::parse(text, nullptr, false);  // the cursor has checked it
  std::optional<Error> error;
  const JsonReader at(value, "", error);
  const std::string kind = at.find("kind") != nullptr && at.find("kind")->is_string() ? at.text("kind") : "";
  if (kind == "run") return {};  // a run's header; its items follow
  if (kind == "question") {
    const std::string status = at.text("status"), day = optional_text(at, "day");
    gaps::Refusal refusal{at.text("question"), day, optional_text(at, "reason"), {}, pages(at)};
    if (!error && status == "not_relevant") {
      unsettled_.push_back({std::move(refusal), false});
    } else if (!error && status == "answered") {
      ++asked;
      unsettled_.push_back({std::move(refusal), true});
    } else if (!error && (status == "refused" || status == "failed")) {
      ++asked;
      if (status == "failed") ++failed;
      else refused.push_back(std::move(refusal));
    } else if (!error) {
      error = Error{ErrorCode::invalid_json, fmt::format("status \"{}\" is none of answered, refused, failed, not_relevant", status), "status"};
    }
  } else {
    // A trace by itself, or that of a recorded run, or of an item of a run.
    const bool item = at.find("result") != nullptr && at.find("item") != nullptr;
    const JsonReader result = item ? at.object("result") : at;
    const bool inner = result.find("trace") != nullptr && result.find("trace")->is_object();
    const JsonReader trace = inner ? result.object("trace") : result;
    if (!inner && result.find("query") != nullptr) {
      // A query result without a trace: a pipeline's.
      ++asked;
      const std::string status = result.text("status");
      if (!error && status != "completed") ++failed;
      const Json* said = result.find("refused");
      if (!error && status == "completed" && said != nullptr && said->is_boolean() && said->get<bool>()) refused.push_back({result.text("query"), {}, {}, {}, {}});
    } else if (trace.find("steps") == nullptr || trace.find("question") == nullptr) {
      return fail(ErrorCode::invalid_json, "is neither a trace, nor an item of a run, nor a line of the question log");
    } else {
      ++asked;
      const std::string status = trace.text("status");
      if (!error && status == "failed") ++failed;
      if (!error && status == "refused") refused.push_back(refusal_of(trace));
    }
  }
  if (error) return tl::unexpected(*error);
  return {};
}

void Refusals::finish() {
  std::set<std::pair<std::string, std::string>> settled;
  for (const auto& [refusal, answered] : unsettled_) {
    if (answered) settled.emplace(refusal.question, refusal.day);
  }
  for (auto& [refusal, answered] : unsettled_) {
    if (answered || !settled.emplace(refusal.question, refusal.day).second) continue;
    ++asked;
    refused.push_back(std::move(refusal));
  }
  unsettled_.clear();
}

}  // namespace polygraph::cli
