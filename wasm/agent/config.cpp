// Presets and named options. Bounds are those that every host (page, command line, proxy) must enforce alike.
#include "wasm/agent/config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>

// Only its shortest double printing: libc++ 14 has none for doubles.
#include <nlohmann/detail/conversions/to_chars.hpp>

namespace polygraph::agent {
namespace {

constexpr std::array<std::string_view, 5> presets = {"baseline", "hybrid", "hybrid_rerank", "full", "tuned"};

constexpr std::array<std::string_view, 3> mode_names = {"dense", "bm25", "hybrid"};
constexpr std::array<std::string_view, 2> fusion_names = {"rrf", "mix"};
constexpr std::array<std::string_view, 3> provider_names = {"extractive", "proxy", "openai-compatible"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string listed(std::span<const std::string_view> names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

/// Shortest text that reads back as the same double. `value` is finite and not negative.
std::string number_text(double value) {
  constexpr double most_exact = 9007199254740992.0;  // 2^53
  if (value < most_exact && value == static_cast<double>(static_cast<std::uint64_t>(value))) {
    return std::to_string(static_cast<std::uint64_t>(value));
  }
  std::array<char, 32> buffer{};
  const char* const end = nlohmann::detail::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

/// The value as a person gave it, short enough for a message.
std::string shown(std::string_view value) {
  constexpr std::size_t longest = 60;
  std::string out = "\"";
  out += value.substr(0, longest);
  out += value.size() > longest ? "…\"" : "\"";
  return out;
}

template <class Enum>
Result<void> set_enum(Enum& target, std::span<const std::string_view> names, std::string_view option, std::string_view value) {
  std::string wanted = lower(value);
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == wanted) {
      target = static_cast<Enum>(i);
      return {};
    }
  }
  return fail(ErrorCode::invalid_argument, std::string(option) + " is " + shown(value) + "; it must be " + listed(names), std::string(option));
}

Result<void> set_bool(bool& target, std::string_view option, std::string_view value) {
  const std::string wanted = lower(value);
  for (const std::string_view yes : {"true", "1", "yes", "on"}) {
    if (wanted == yes) {
      target = true;
      return {};
    }
  }
  for (const std::string_view no : {"false", "0", "no", "off"}) {
    if (wanted == no) {
      target = false;
      return {};
    }
  }
  return fail(ErrorCode::invalid_argument, std::string(option) + " is " + shown(value) + "; it must be true or false", std::string(option));
}

Result<void> set_count(std::uint32_t& target, std::uint32_t least, std::uint32_t most, std::string_view option, std::string_view value) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || number < least || number > most) {
    return fail(ErrorCode::invalid_argument,
                std::string(option) + " is " + shown(value) + "; it must be a whole number from " + std::to_string(least) + " to " +
                    std::to_string(most),
                std::string(option));
  }
  target = number;
  return {};
}

/// Decimal notation only ("12", "0.4"). Own parsing, since libc++ 14 has no from_chars for doubles and strtod reads the locale.
bool parse_decimal(std::string_view value, double& out) {
  constexpr std::size_t longest = 15;  // digits that a double holds exactly
  double number = 0;
  double scale = 1;
  std::size_t digits = 0;
  bool point = false;
  for (const char c : value) {
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9' && digits < longest) {
      number = number * 10 + (c - '0');
      if (point) scale *= 10;
      ++digits;
    } else {
      return false;
    }
  }
  if (digits == 0) return false;
  out = number / scale;
  return true;
}

Result<void> set_real(double& target, double most, std::string_view option, std::string_view value) {
  double number = 0;
  if (!parse_decimal(value, number) || number > most) {
    return fail(ErrorCode::invalid_argument,
                std::string(option) + " is " + shown(value) + "; it must be a number from 0 to " + number_text(most), std::string(option));
  }
  target = number;
  return {};
}

/// One option: how it is set and how it is read back.
struct Option {
  std::string_view name;
  Result<void> (*set)(Config&, std::string_view name, std::string_view value);
  std::string (*get)(const Config&);
};

std::string yes_no(bool value) { return value ? "true" : "false"; }

// Most chunks that a run hands on, and the bound of the proxy's POST /api/ask.
constexpr std::uint32_t most_top_k = 20;
constexpr std::uint32_t most_rewrites = 5;
// Longest input of both models (BERT's position embeddings).
constexpr std::uint32_t most_pair_tokens = 512;

constexpr Option options[] = {
    {"RETRIEVAL_MODE", [](Config& c, std::string_view n, std::string_view v) { return set_enum(c.retrieval.mode, mode_names, n, v); },
     [](const Config& c) { return std::string(mode_names[static_cast<std::size_t>(c.retrieval.mode)]); }},
    {"USE_RERANKER", [](Config& c, std::string_view n, std::string_view v) { return set_bool(c.retrieval.use_reranker, n, v); },
     [](const Config& c) { return yes_no(c.retrieval.use_reranker); }},
    {"USE_REFLECTION", [](Config& c, std::string_view n, std::string_view v) { return set_bool(c.use_reflection, n, v); },
     [](const Config& c) { return yes_no(c.use_reflection); }},
    {"MAX_REWRITES", [](Config& c, std::string_view n, std::string_view v) { return set_count(c.max_rewrites, 0, most_rewrites, n, v); },
     [](const Config& c) { return std::to_string(c.max_rewrites); }},
    {"TOP_K", [](Config& c, std::string_view n, std::string_view v) { return set_count(c.top_k, 1, most_top_k, n, v); },
     [](const Config& c) { return std::to_string(c.top_k); }},
    {"FUSION", [](Config& c, std::string_view n, std::string_view v) { return set_enum(c.retrieval.fusion, fusion_names, n, v); },
     [](const Config& c) { return std::string(fusion_names[static_cast<std::size_t>(c.retrieval.fusion)]); }},
    {"BM25_WEIGHT", [](Config& c, std::string_view n, std::string_view v) { return set_real(c.retrieval.bm25_weight, 1, n, v); },
     [](const Config& c) { return number_text(c.retrieval.bm25_weight); }},
    {"PAGE_CAP", [](Config& c, std::string_view n, std::string_view v) { return set_count(c.retrieval.page_cap, 0, most_top_k, n, v); },
     [](const Config& c) { return std::to_string(c.retrieval.page_cap); }},
    {"CANDIDATES", [](Config& c, std::string_view n, std::string_view v) { return set_count(c.retrieval.depth, 1, 1000, n, v); },
     [](const Config& c) { return std::to_string(c.retrieval.depth); }},
    {"RERANK_CANDIDATES", [](Config& c, std::string_view n, std::string_view v) { return set_count(c.retrieval.rerank_candidates, 1, 100, n, v); },
     [](const Config& c) { return std::to_string(c.retrieval.rerank_candidates); }},
    {"RERANK_MIX", [](Config& c, std::string_view n, std::string_view v) { return set_real(c.retrieval.rerank_mix, 1000, n, v); },
     [](const Config& c) { return number_text(c.retrieval.rerank_mix); }},
    {"RRF_K", [](Config& c, std::string_view n, std::string_view v) { return set_count(c.retrieval.rrf_k, 1, 1000, n, v); },
     [](const Config& c) { return std::to_string(c.retrieval.rrf_k); }},
    {"MAX_PAIR_TOKENS",
     [](Config& c, std::string_view n, std::string_view v) { return set_count(c.retrieval.max_pair_tokens, 16, most_pair_tokens, n, v); },
     [](const Config& c) { return std::to_string(c.retrieval.max_pair_tokens); }},
    {"RERANK_BUDGET_MS", [](Config& c, std::string_view n, std::string_view v) { return set_real(c.retrieval.rerank_budget_ms, 600000, n, v); },
     [](const Config& c) { return number_text(c.retrieval.rerank_budget_ms); }},
    {"PROVIDER", [](Config& c, std::string_view n, std::string_view v) { return set_enum(c.provider, provider_names, n, v); },
     [](const Config& c) { return std::string(provider_names[static_cast<std::size_t>(c.provider)]); }},
};

constexpr auto names_of_options = [] {
  std::array<std::string_view, std::size(options)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = options[i].name;
  return names;
}();

const Option* find_option(std::string_view name) {
  for (const Option& option : options) {
    if (lower(option.name) == lower(name)) return &option;
  }
  return nullptr;
}

tl::unexpected<Error> unknown_option(std::string_view name) {
  return fail(ErrorCode::invalid_argument, "there is no option " + shown(name) + "; there are " + listed(names_of_options), std::string(name));
}

}  // namespace

std::span<const std::string_view> preset_names() noexcept { return presets; }
std::span<const std::string_view> option_names() noexcept { return names_of_options; }

Result<Config> preset(std::string_view name) {
  // The ablations, each with one stage more than the one before.
  Config config;
  config.retrieval.fusion = retrieval::Fusion::rrf;
  config.retrieval.mode = retrieval::Mode::dense;
  config.retrieval.use_reranker = false;
  config.use_reflection = false;
  if (name == "baseline") return config;
  config.retrieval.mode = retrieval::Mode::hybrid;
  if (name == "hybrid") return config;
  config.retrieval.use_reranker = true;
  config.retrieval.rerank_candidates = 20;
  config.retrieval.rerank_mix = 0;
  config.retrieval.max_pair_tokens = most_pair_tokens;
  if (name == "hybrid_rerank") return config;
  config.use_reflection = true;
  if (name == "full") return config;
  // The design that was measured best on the development questions: 10 pairs of at most 256 tokens are what one browser
  // thread scores in 2.3 s; 48 weighs the fused score so that the reranker only settles what is close.
  config.retrieval.fusion = retrieval::Fusion::mix;
  config.retrieval.bm25_weight = 0.4;
  config.retrieval.rerank_candidates = 10;
  config.retrieval.max_pair_tokens = 256;
  config.retrieval.rerank_mix = 48;
  config.retrieval.page_cap = 2;
  if (name == "tuned") return config;
  return fail(ErrorCode::invalid_argument, "there is no configuration " + shown(name) + "; there are " + listed(presets), "config");
}

Result<void> set(Config& config, std::string_view name, std::string_view value) {
  const Option* option = find_option(name);
  if (option == nullptr) return unknown_option(name);
  return option->set(config, option->name, value);
}

Result<std::string> get(const Config& config, std::string_view name) {
  const Option* option = find_option(name);
  if (option == nullptr) return unknown_option(name);
  return option->get(config);
}

}  // namespace polygraph::agent
