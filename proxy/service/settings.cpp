#include "proxy/service/settings.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace polygraph::proxy {
namespace {

template <class Number, class Set>
http::ExtraSetting number(std::string name, std::uint64_t min, std::uint64_t max, std::uint64_t now, std::string meaning, Set set) {
  return {std::move(name), std::to_string(now), std::move(meaning), [=](std::string_view text) -> std::optional<std::string> {
            std::uint64_t value = 0;
            const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
            if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() || value < min || value > max) {
              return "is \"" + std::string(text) + "\": it must be a whole number from " + std::to_string(min) + " to " + std::to_string(max);
            }
            set(static_cast<Number>(value));
            return std::nullopt;
          }};
}

/// What a model may be called: it goes into JSON, logs and metrics.
bool is_model_name(std::string_view text) {
  constexpr std::size_t longest = 128;
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/' || c == ':';
  });
}

http::ExtraSetting model(std::string name, std::string& target, std::string meaning) {
  return {std::move(name), target, std::move(meaning), [&target](std::string_view text) -> std::optional<std::string> {
            if (!is_model_name(text)) return "is \"" + std::string(text) + "\": it must be a model's name such as openai/gpt-oss-20b";
            target = text;
            return std::nullopt;
          }};
}

}  // namespace

std::size_t ServiceSettings::max_tokens(agent::Task task) const {
  switch (task) {
    case agent::Task::grade: return max_tokens_grade;
    case agent::Task::rewrite: return max_tokens_rewrite;
    case agent::Task::generate: break;
  }
  return max_tokens_generate;
}

bool ServiceSettings::allows(std::string_view name) const {
  const auto all = all_models();
  return std::find(all.begin(), all.end(), name) != all.end();
}

std::vector<std::string> ServiceSettings::all_models() const {
  std::vector<std::string> all;
  const auto add = [&](const std::string& name) {
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  };
  add(models.generator);
  add(models.grader);
  add(models.rewriter);
  for (const auto& name : allowed_models) add(name);
  return all;
}

std::vector<http::ExtraSetting> extra_settings(ServiceSettings& s) {
  constexpr std::uint64_t day_ms = 24ULL * 60 * 60 * 1000, many = 1'000'000'000'000, tokens = 1'000'000;
  std::vector<http::ExtraSetting> all;
  all.push_back(number<std::int64_t>("UPSTREAM_DEADLINE_MS", 1, day_ms, static_cast<std::uint64_t>(s.upstream_deadline.count()), "queueing, calls and waits of one task; past it 503",
                           [&s](std::int64_t v) { s.upstream_deadline = std::chrono::milliseconds(v); }));
  all.push_back(number<std::size_t>("UPSTREAM_MAX_BYTES", 1024, 1ULL << 30, s.upstream_max_bytes, "of a reply; past it 502",
                           [&s](std::size_t v) { s.upstream_max_bytes = v; }));
  all.push_back(number<unsigned>("UPSTREAM_CONCURRENCY", 1, 1000, s.upstream_concurrency, "calls at once",
                           [&s](unsigned v) { s.upstream_concurrency = v; }));
  all.push_back(number<std::size_t>("UPSTREAM_QUEUE", 0, 100'000, s.upstream_queue, "tasks that may wait, served client by client; past it 503",
                           [&s](std::size_t v) { s.upstream_queue = v; }));
  all.push_back(number<std::uint64_t>("REQUESTS_PER_MINUTE", 0, many, s.limits.requests_per_minute, "of a model; past it 503 with the time to come back",
                           [&s](std::uint64_t v) { s.limits.requests_per_minute = v; }));
  all.push_back(number<std::uint64_t>("REQUESTS_PER_DAY", 0, many, s.limits.requests_per_day, "of a model",
                           [&s](std::uint64_t v) { s.limits.requests_per_day = v; }));
  all.push_back(number<std::uint64_t>("TOKENS_PER_MINUTE", 0, many, s.limits.tokens_per_minute, "of a model",
                           [&s](std::uint64_t v) { s.limits.tokens_per_minute = v; }));
  all.push_back(number<std::uint64_t>("TOKENS_PER_DAY", 0, many, s.limits.tokens_per_day, "of a model",
                           [&s](std::uint64_t v) { s.limits.tokens_per_day = v; }));
  all.push_back(number<std::uint64_t>("CLIENT_BURST", 1, many, s.client_burst, "POST requests of a client at once; past it 429",
                           [&s](std::uint64_t v) { s.client_burst = v; }));
  all.push_back(number<std::uint64_t>("CLIENT_PER_MINUTE", 1, many, s.client_per_minute, "that a client gets back",
                           [&s](std::uint64_t v) { s.client_per_minute = v; }));
  all.push_back(model("GENERATOR_MODEL", s.models.generator, "writes the answer"));
  all.push_back(model("GRADER_MODEL", s.models.grader, "judges the passages"));
  all.push_back(model("REWRITER_MODEL", s.models.rewriter, "writes another query"));
  all.push_back({"ALLOWED_MODELS", "these three", "models that a request may name; past it 400", [&s](std::string_view text) -> std::optional<std::string> {
                   s.allowed_models.clear();
                   while (!text.empty()) {
                     const auto comma = text.find(',');
                     auto item = text.substr(0, comma);
                     text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
                     while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
                     while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
                     if (item.empty()) continue;
                     if (!is_model_name(item)) return "holds \"" + std::string(item) + "\": list models' names with commas between them";
                     s.allowed_models.emplace_back(item);
                   }
                   return std::nullopt;
                 }});
  all.push_back(number<std::size_t>("MAX_TOKENS_GRADE", 1, tokens, s.max_tokens_grade, "of a reply",
                           [&s](std::size_t v) { s.max_tokens_grade = v; }));
  all.push_back(number<std::size_t>("MAX_TOKENS_REWRITE", 1, tokens, s.max_tokens_rewrite, "of a reply",
                           [&s](std::size_t v) { s.max_tokens_rewrite = v; }));
  all.push_back(number<std::size_t>("MAX_TOKENS_GENERATE", 1, tokens, s.max_tokens_generate, "of a reply",
                           [&s](std::size_t v) { s.max_tokens_generate = v; }));
  all.push_back(number<std::size_t>("MAX_QUESTION_CHARS", 1, 100'000, s.max_question_chars, "of every text field; past it 400",
                           [&s](std::size_t v) { s.max_question_chars = v; }));
  all.push_back(number<std::size_t>("MAX_CHUNKS", 1, 1000, s.max_chunks, "passages of one task; past it 400",
                           [&s](std::size_t v) { s.max_chunks = v; }));
  all.push_back(number<unsigned>("LOG_QUESTIONS", 0, 1, 0, "1: questions are written to the log",
                           [&s](unsigned v) { s.log_questions = v != 0; }));
  all.push_back({"QUESTION_LOG", "none", "file for the questions alone, what became of them and the day, without clients; numbers and addresses masked; for `polygraph gaps`",
                 [&s](std::string_view text) -> std::optional<std::string> {
                   s.question_log = text;
                   return std::nullopt;
                 }});
  all.push_back(number<std::uint64_t>("QUESTION_LOG_BYTES", 65'536, 1ULL << 40, s.question_log_bytes, "of that file, and of FILE.1, the only older one kept",
                           [&s](std::uint64_t v) { s.question_log_bytes = v; }));
  return all;
}

}  // namespace polygraph::proxy
