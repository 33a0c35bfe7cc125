// The language models' endpoints that the command line knows: where they are, whose key they get, which models they are
// asked for; and a caller for each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/settings.hpp"
#include "proxy/calls/caller.hpp"
#include "proxy/calls/known_limits.hpp"
#include "wasm/error.hpp"

namespace polygraph::cli {

struct Provider {
  std::string name;                ///< groq, openai, openai-compatible, anthropic, gemini, ollama
  proxy::Upstream upstream;
  std::string key_variable;        ///< where the key came from, or is to come from
  std::string url_variable;
  std::string ledger_prefix;
  std::optional<proxy::ModelLimits> limits;  ///< until the endpoint names them
  proxy::ModelLimits most = proxy::no_limits;  ///< REQUESTS_PER_MINUTE and the like, as set
  bool groq() const noexcept { return upstream.format == proxy::ApiFormat::groq; }
};

/// Fails with `invalid_argument` and the variable as its field: an unknown provider, no key where the endpoint asks for one,
/// a URL or a limit that is none; with `not_found` or `io` for a key's file. A key is only ever sent to the endpoint that it is for.
Result<Provider> provider_of(const Settings& settings, std::string_view name);

/// The model of a variable (`JUDGE_MODEL`): as set, else Groq's default there, else that of `otherwise` where one is named.
/// Fails with `invalid_argument` and the variable as its field.
Result<std::string> model_of(const Settings& settings, const Provider& provider, const std::string& variable, const std::string& otherwise = {});

struct CallerChoices {
  std::string store = {};               ///< Redis; empty: POLYGRAPH_STORE, else SQLite in POLYGRAPH_DIR
  bool use_cache = true;           ///< --no-cache clears it
  bool wait = false;               ///< --wait: for the next day of a quota
  unsigned concurrency = 4;
};

/// Fails as provider_of does, and with `io` where the ledger can't be opened. Waits of some seconds are said on stderr; an
/// interrupt (watch_interrupts()) ends what blocks.
Result<std::unique_ptr<proxy::Caller>> make_caller(const Settings& settings, const Provider& provider, const CallerChoices& choices = {});

/// Redis or SQLite as CallerChoices says. `make`: whether a missing ledger is made; otherwise it is `not_found`.
Result<std::unique_ptr<proxy::Store>> open_store(const Settings& settings, const std::string& store, const std::string& state, bool make);

/// A failure as a command reports it: its field is the variable that is to be changed.
Error to_error(const proxy::ModelFailure& failure, const Provider& provider, const std::string& model_variable);

}  // namespace polygraph::cli
