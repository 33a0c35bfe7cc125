// What a call cost, by the dated price list assets/prices.json.
#pragma once

#include <optional>
#include <string_view>

#include "wasm/agent/effect.hpp"

namespace polygraph::proxy {

/// USD, or nothing where the list has no price for this model at this endpoint (`upstream_url`'s host).
std::optional<double> cost_usd(std::string_view upstream_url, std::string_view model, const agent::Tokens& tokens);

/// The host of an http or https URL, in small letters, without user and port; empty where there is none.
std::string host_of(std::string_view url);

}  // namespace polygraph::proxy
