#include "cli/provider.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/console.hpp"
#include "cli/secret.hpp"
#include "proxy/calls/known_limits.hpp"
#include "proxy/tasks/prices.hpp"
#include "proxy/tasks/tasks.hpp"

namespace polygraph::cli {
namespace {

using proxy::ApiFormat;

constexpr std::string_view openai_url = "https://api.openai.com/v1";
constexpr std::string_view groq_url = "https://api.groq.com/openai/v1";
constexpr std::string_view anthropic_url = "https://api.anthropic.com";
constexpr std::string_view gemini_url = "https://generativelanguage.googleapis.com/v1beta";
constexpr std::string_view ollama_url = "http://127.0.0.1:11434";

constexpr std::string_view groq_judge = "qwen/qwen3.8-27b";

/// An evaluation's answers with their token probabilities: 100,000 of some 10 KB.
constexpr std::uint64_t cache_bytes = 1U << 30U;

bool is_loopback(std::string_view host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

struct Key {
  Secret secret;
  std::string url;
  bool groq = false;
};

/// Of PROVIDER=openai-compatible: Groq's key is for Groq alone.
Result<Key> compatible(const Settings& settings) {
  auto openai = secret(settings, "OPENAI_API_KEY");
  if (!openai) return tl::unexpected(openai.error());
  const std::string named = settings.get("OPENAI_BASE_URL").value;
  const std::string host = proxy::host_of(named);
  const bool groq_named = proxy::dialect_of(named) == proxy::Dialect::groq;
  if (groq_named || (named.empty() && openai->value.empty())) {
    auto groq = secret(settings, "GROQ_API_KEY");
    if (!groq) return tl::unexpected(groq.error());
    if (!groq->value.empty()) return Key{std::move(*groq), named.empty() ? std::string(groq_url) : named, true};
    if (openai->value.empty()) {
      return fail(ErrorCode::invalid_argument, "PROVIDER=openai-compatible needs a key: set GROQ_API_KEY, or OPENAI_API_KEY with OPENAI_BASE_URL",
                  groq_named ? "GROQ_API_KEY" : "OPENAI_API_KEY");
    }
  }
  if (openai->value.empty() && !is_loopback(host)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} asks for a key: set OPENAI_API_KEY or OPENAI_API_KEY_FILE", named), "OPENAI_API_KEY");
  }
  return Key{std::move(*openai), named.empty() ? std::string(openai_url) : named, groq_named};
}

/// Of the others: one key variable, one URL variable. A server on this machine needs no key.
Result<Key> of_variables(const Settings& settings, std::string_view provider, const std::string& key_variable, const std::string& url_variable,
                         std::string_view url) {
  auto key = secret(settings, key_variable);
  if (!key) return tl::unexpected(key.error());
  const std::string named = settings.get(url_variable).value;
  if (key->value.empty() && !is_loopback(proxy::host_of(named))) {
    return fail(ErrorCode::invalid_argument, fmt::format("PROVIDER={0} needs a key: set {1} or {1}_FILE", provider, key_variable), key_variable);
  }
  return Key{std::move(*key), named.empty() ? std::string(url) : named};
}

/// OLLAMA_HOST as Ollama itself reads it: with or without scheme and port; the address it listens on everywhere is here.
std::string ollama_host(std::string host) {
  if (host.empty()) return std::string(ollama_url);
  if (host.find("://") == std::string::npos) host = "http://" + host;
  const auto authority = host.find("://") + 3;
  constexpr std::string_view everywhere = "0.0.0.0";
  if (host.compare(authority, everywhere.size(), everywhere) == 0) host.replace(authority, everywhere.size(), "127.0.0.1");
  while (host.ends_with('/')) host.pop_back();
  const auto bracket = host.find(']', authority);
  const auto colon = host.find(':', bracket == std::string::npos ? authority : bracket);
  if (colon == std::string::npos && host.find('/', authority) == std::string::npos && host.starts_with("http://")) host += ":11434";
  return host;
}

Result<void> read_limits(const Settings& settings, proxy::ModelLimits& limits) {
  struct Limit {
    const char* name;
    std::uint64_t proxy::ModelLimits::*field;
  };
  for (const auto& limit : {Limit{"REQUESTS_PER_MINUTE", &proxy::ModelLimits::requests_per_minute}, Limit{"REQUESTS_PER_DAY", &proxy::ModelLimits::requests_per_day},
                            Limit{"TOKENS_PER_MINUTE", &proxy::ModelLimits::tokens_per_minute}, Limit{"TOKENS_PER_DAY", &proxy::ModelLimits::tokens_per_day}}) {
    const auto setting = settings.get(limit.name);
    if (setting.value.empty()) continue;
    std::uint64_t value = 0;
    const auto* end = setting.value.data() + setting.value.size();
    const auto read = std::from_chars(setting.value.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || value == 0) {
      return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" is no limit; a number from 1 on is", setting.value), fmt::format("{} ({})", limit.name, setting.source));
    }
    limits.*limit.field = value;
  }
  return {};
}

}  // namespace

Result<Provider> provider_of(const Settings& settings, std::string_view name) {
  Provider provider;
  provider.name = name;
  Result<Key> key = Key{};
  if (name == "openai-compatible") {
    provider.url_variable = "OPENAI_BASE_URL";
    key = compatible(settings);
    if (key && key->groq) provider.upstream.format = ApiFormat::groq;
  } else if (name == "openai") {
    provider.url_variable = "OPENAI_BASE_URL";
    key = of_variables(settings, name, "OPENAI_API_KEY", provider.url_variable, openai_url);
  } else if (name == "groq") {
    provider.url_variable = "GROQ_BASE_URL";
    provider.upstream.format = ApiFormat::groq;
    key = of_variables(settings, name, "GROQ_API_KEY", provider.url_variable, groq_url);
  } else if (name == "anthropic") {
    provider.url_variable = "ANTHROPIC_BASE_URL";
    provider.upstream.format = ApiFormat::anthropic;
    key = of_variables(settings, name, "ANTHROPIC_API_KEY", provider.url_variable, anthropic_url);
  } else if (name == "gemini") {
    provider.url_variable = "GEMINI_BASE_URL";
    provider.upstream.format = ApiFormat::gemini;
    key = of_variables(settings, name, "GEMINI_API_KEY", provider.url_variable, gemini_url);
  } else if (name == "ollama") {
    provider.url_variable = "OLLAMA_HOST";
    provider.upstream.format = ApiFormat::ollama;
    key = Key{{"", "OLLAMA_HOST"}, ollama_host(settings.get("OLLAMA_HOST").value)};
  } else {
    return fail(ErrorCode::invalid_argument, fmt::format("there is no provider \"{}\"; there are {}", name, fmt::join(llm_providers(), ", ")), "PROVIDER");
  }
  if (!key) return tl::unexpected(key.error());
  provider.upstream.url = std::move(key->url);
  provider.upstream.key = std::move(key->secret.value);
  provider.key_variable = std::move(key->secret.variable);
  // Groq's names stand as the server writes them, so that both count against the same quota.
  if (provider.groq()) provider.limits = proxy::ModelLimits{};
  else provider.ledger_prefix = (name == "openai-compatible" ? proxy::host_of(provider.upstream.url) : provider.name) + ":";
  if (auto read = read_limits(settings, provider.most); !read) return tl::unexpected(read.error());
  if (auto checked = proxy::check(provider.upstream); !checked) {
    Error error = checked.error();
    error.field = error.field == "key" ? provider.key_variable : provider.url_variable;
    return tl::unexpected(error);
  }
  return provider;
}

Result<std::string> model_of(const Settings& settings, const Provider& provider, const std::string& variable, const std::string& otherwise) {
  if (auto value = settings.get(variable).value; !value.empty()) return value;
  if (provider.groq()) {
    const proxy::TaskModels defaults;
    if (variable == "GENERATOR_MODEL") return defaults.generator;
    if (variable == "GRADER_MODEL") return defaults.grader;
    if (variable == "REWRITER_MODEL") return defaults.rewriter;
    if (variable == "JUDGE_MODEL") return std::string(groq_judge);
  }
  if (!otherwise.empty()) {
    if (auto value = settings.get(otherwise).value; !value.empty()) return value;
  }
  return fail(ErrorCode::invalid_argument, fmt::format("name a model of {}; `polygraph models list --provider {}` lists them", provider.upstream.url, provider.name), variable);
}

Result<std::unique_ptr<proxy::Store>> open_store(const Settings& settings, const std::string& store, const std::string& state, bool make) {
  proxy::StoreOptions options;
  options.cache_bytes = cache_bytes;
  const std::string url = !store.empty() ? store : state.empty() ? settings.get("POLYGRAPH_STORE").value : std::string();
  if (!url.empty()) {
    auto opened = proxy::open_redis_store(url, options);
    if (!opened) return fail(opened.error().code, opened.error().message, store.empty() ? "POLYGRAPH_STORE" : "--store");
    return opened;
  }
  const auto folder = state.empty() ? settings.home() / "state" : std::filesystem::path(state);
  const auto file = folder / "polygraph.sqlite";
  std::error_code ignored;
  if (!make && !std::filesystem::is_regular_file(file, ignored)) return fail(ErrorCode::not_found, "there is no ledger " + file.string(), "--state");
  return proxy::open_sqlite_store(folder, options);
}

Result<std::unique_ptr<proxy::Caller>> make_caller(const Settings& settings, const Provider& provider, const CallerChoices& choices) {
  auto store = open_store(settings, choices.store, {}, true);
  if (!store) return tl::unexpected(store.error());
  proxy::CallerOptions options;
  options.provider = provider.name;
  options.upstream = provider.upstream;
  options.store = std::move(*store);
  options.ledger_prefix = provider.ledger_prefix;
  options.limits = provider.limits;
  options.most = provider.most;
  options.use_cache = choices.use_cache;
  options.wait = choices.wait;
  options.concurrency = choices.concurrency;
  options.note = [](const std::string& note) { say("note: " + printable(note)); };
  options.cancelled = [] { return interrupted(); };
  return proxy::Caller::create(std::move(options));
}

Error to_error(const proxy::ModelFailure& failure, const Provider& provider, const std::string& model_variable) {
  std::string field = "provider", message = failure.message;
  if (failure.refused_for == proxy::RefusedFor::key) field = provider.key_variable;
  else if (failure.refused_for == proxy::RefusedFor::model || failure.kind == proxy::FailureKind::refused) field = model_variable;
  else if (failure.kind == proxy::FailureKind::store) field = "store";
  if (failure.refused_for == proxy::RefusedFor::model) message += fmt::format("; `polygraph models list --provider {}` lists those that are", provider.name);
  return {failure.code(), std::move(message), std::move(field)};
}

}  // namespace polygraph::cli
