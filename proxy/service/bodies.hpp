// The bodies of the API's POST requests, read strictly: unknown or doubled fields, wrong types and too long texts are the
// caller's mistake, and each message names the field.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "proxy/http/head_scanner.hpp"
#include "proxy/service/completions.hpp"
#include "proxy/service/settings.hpp"
#include "wasm/agent/config.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::proxy {

template <class T>
using OrRefusal = tl::expected<T, http::Refusal>;

/// `POST /api/complete`: a task with its inputs, or a step of a trace, of which node and inputs are read. `client` is left
/// to the caller.
OrRefusal<TaskRequest> read_complete_body(std::string_view body, const index::Index& index, const ServiceSettings& settings);

struct AskRequest {
  std::string question;
  agent::Config config;
};
/// `POST /api/ask`.
OrRefusal<AskRequest> read_ask_body(std::string_view body, const ServiceSettings& settings);

/// Whether a Content-Type is application/json, whatever its parameters.
bool is_json(std::string_view content_type);

}  // namespace polygraph::proxy
