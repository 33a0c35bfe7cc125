#include "cli/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "cli/mapped_file.hpp"

extern char** environ;

namespace polygraph::cli {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view unquote(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

}  // namespace

Result<Settings> Settings::load(const std::filesystem::path& env_file) {
  Settings settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view pair = *entry;
    if (const auto equals = pair.find('='); equals != std::string_view::npos) {
      settings.environment_.emplace(pair.substr(0, equals), pair.substr(equals + 1));
    }
  }
  std::error_code ignored;
  if (!std::filesystem::exists(env_file, ignored)) return settings;
  auto text = read_text(env_file.string(), std::size_t{1} << 20);
  if (!text) return tl::unexpected(text.error());
  std::uint64_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    ++number;
    const auto end = rest.find('\n');
    std::string_view line = trim(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("export ")) line = trim(line.substr(7));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return fail(ErrorCode::invalid_json, "expected NAME=value", "", number);
    }
    settings.file_.insert_or_assign(std::string(trim(line.substr(0, equals))), std::string(unquote(trim(line.substr(equals + 1)))));
  }
  return settings;
}

Result<void> Settings::set(std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return fail(ErrorCode::invalid_argument, fmt::format("expected NAME=VALUE, got \"{}\"", assignment), "--set");
  }
  const std::string name = upper(assignment.substr(0, equals));
  const auto agent_names = agent::option_names();
  std::vector<std::string_view> names(agent_names.begin(), agent_names.end());
  for (const auto& known : known_settings()) {
    // Command lines are seen by everybody on a machine.
    if (known.secret && known.name == name) {
      return fail(ErrorCode::invalid_argument, fmt::format("a key is never an option: set the environment variable {0}, or {0}_FILE", name), "--set");
    }
    if (known.option) names.push_back(known.name);
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return fail(ErrorCode::invalid_argument, fmt::format("unknown setting \"{}\"; known are {}", name, fmt::join(names, ", ")), "--set");
  }
  options_.insert_or_assign(name, std::string(assignment.substr(equals + 1)));
  return {};
}

SettingValue Settings::get(const std::string& name) const {
  if (const auto it = options_.find(name); it != options_.end()) return {it->second, "option"};
  if (const auto it = environment_.find(name); it != environment_.end()) return {it->second, "environment"};
  if (const auto it = file_.find(name); it != file_.end()) return {it->second, ".env"};
  return {"", "default"};
}

std::filesystem::path Settings::home() const {
  if (const auto own = get("POLYGRAPH_DIR"); !own.value.empty()) return own.value;
  if (const auto cache = get("XDG_CACHE_HOME"); !cache.value.empty()) return std::filesystem::path(cache.value) / "polygraph";
  if (const auto user = get("HOME"); !user.value.empty()) return std::filesystem::path(user.value) / ".cache" / "polygraph";
  return std::filesystem::temp_directory_path() / "polygraph";
}

std::span<const std::string_view> llm_providers() noexcept {
  static constexpr std::array<std::string_view, 6> names = {"groq", "openai", "openai-compatible", "anthropic", "gemini", "ollama"};
  return names;
}

bool is_llm_provider(std::string_view name) noexcept {
  const auto names = llm_providers();
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<agent::Config> Settings::agent_config(const std::string& preset) const {
  auto config = agent::preset(preset);
  if (!config) return config;
  for (const std::string_view name : agent::option_names()) {
    const SettingValue setting = get(std::string(name));
    if (setting.source == "default") continue;
    // To the agent all who complete its tasks over a network with the user's key are one; which, provider.hpp knows.
    const bool endpoint = name == "PROVIDER" && is_llm_provider(setting.value);
    if (auto done = agent::set(*config, name, endpoint ? "openai-compatible" : setting.value); !done) {
      Error error = done.error();
      error.field = fmt::format("{} ({})", name, setting.source);
      if (name == "PROVIDER") error.message += fmt::format("; at the command line also {}", fmt::join(llm_providers(), ", "));
      return tl::unexpected(error);
    }
  }
  return config;
}

const std::vector<KnownSetting>& known_settings() {
  static const std::vector<KnownSetting> settings = {
      {"POLYGRAPH_DIR", "where models, caches and built indexes are kept", "polygraph in the user's cache folder"},
      {"POLYGRAPH_INDEX", "the index used without --index", "the one that set-up built"},
      {"POLYGRAPH_WORKER", "the model worker's script", "dist/model-worker.mjs beside the program's checkout"},
      {"POLYGRAPH_NODE", "the Node.js program that runs the model worker", "node"},
      {"POLYGRAPH_THREADS", "threads of the model worker", "the number of cores"},
      {"POLYGRAPH_STORE", "Redis for limits, cache and ledger of several machines, redis://HOST:PORT/DB", "SQLite in POLYGRAPH_DIR"},
      {.name = "OPENAI_BASE_URL", .meaning = "endpoint of PROVIDER=openai-compatible and openai", .fallback = "https://api.openai.com/v1, or Groq's where only its key is set", .option = true},
      {.name = "OPENAI_API_KEY", .meaning = "its key; not asked for on this machine", .fallback = "(not set)", .secret = true},
      {"OPENAI_API_KEY_FILE", "a file that holds it", "(not set)"},
      {.name = "GROQ_API_KEY", .meaning = "key of Groq's endpoint, and of the proxy", .fallback = "(not set)", .secret = true},
      {"GROQ_API_KEY_FILE", "a file that holds it", "(not set)"},
      {.name = "GROQ_BASE_URL", .meaning = "endpoint of PROVIDER=groq", .fallback = "https://api.groq.com/openai/v1", .option = true},
      {.name = "ANTHROPIC_API_KEY", .meaning = "key of PROVIDER=anthropic", .fallback = "(not set)", .secret = true},
      {"ANTHROPIC_API_KEY_FILE", "a file that holds it", "(not set)"},
      {.name = "ANTHROPIC_BASE_URL", .meaning = "its endpoint", .fallback = "https://api.anthropic.com", .option = true},
      {.name = "GEMINI_API_KEY", .meaning = "key of PROVIDER=gemini", .fallback = "(not set)", .secret = true},
      {"GEMINI_API_KEY_FILE", "a file that holds it", "(not set)"},
      {.name = "GEMINI_BASE_URL", .meaning = "its endpoint", .fallback = "https://generativelanguage.googleapis.com/v1beta", .option = true},
      {.name = "OLLAMA_HOST", .meaning = "endpoint of PROVIDER=ollama", .fallback = "http://127.0.0.1:11434", .option = true},
      {.name = "GENERATOR_MODEL", .meaning = "writes answers", .fallback = "openai/gpt-oss-120b at Groq", .option = true},
      {.name = "GRADER_MODEL", .meaning = "grades passages", .fallback = "openai/gpt-oss-20b at Groq, GENERATOR_MODEL elsewhere", .option = true},
      {.name = "REWRITER_MODEL", .meaning = "rewrites queries", .fallback = "openai/gpt-oss-20b at Groq, GENERATOR_MODEL elsewhere", .option = true},
      {.name = "JUDGE_MODEL", .meaning = "judges answers", .fallback = "qwen/qwen3.8-27b at Groq", .option = true},
      {.name = "REQUESTS_PER_MINUTE", .meaning = "a model's limit", .fallback = "30 at Groq, elsewhere what the endpoint says", .option = true},
      {.name = "REQUESTS_PER_DAY", .meaning = "a model's limit", .fallback = "1000 at Groq, elsewhere what the endpoint says", .option = true},
      {.name = "TOKENS_PER_MINUTE", .meaning = "a model's limit", .fallback = "8000 at Groq, elsewhere what the endpoint says", .option = true},
      {.name = "TOKENS_PER_DAY", .meaning = "a model's limit", .fallback = "200000 at Groq, elsewhere what the endpoint says", .option = true},
      {.name = "LANGFUSE_PUBLIC_KEY", .meaning = "with the secret key: Langfuse gets the traces", .fallback = "(not set)", .secret = true},
      {.name = "LANGFUSE_SECRET_KEY", .meaning = "its secret key", .fallback = "(not set)", .secret = true},
      {"LANGFUSE_SECRET_KEY_FILE", "a file that holds it", "(not set)"},
      {"LANGFUSE_HOST", "where Langfuse is", "https://cloud.langfuse.com"},
      {"OTEL_EXPORTER_OTLP_ENDPOINT", "an OTLP/HTTP collector that gets the traces, at /v1/traces of it", "(not set)"},
      {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "the same by its whole URL", "(not set)"},
      {.name = "OTEL_EXPORTER_OTLP_HEADERS", .meaning = "name=value,… for it: its key", .fallback = "(not set)", .secret = true},
      {.name = "OTEL_EXPORTER_OTLP_TRACES_HEADERS", .meaning = "the same, instead", .fallback = "(not set)", .secret = true},
      {"OTEL_SERVICE_NAME", "what traces are sent under", "polygraph"},
  };
  return settings;
}

}  // namespace polygraph::cli
