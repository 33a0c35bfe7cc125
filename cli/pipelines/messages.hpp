// The pipeline protocol's messages: requests out, replies in. A reply is data from outside: any bytes may come, and what is
// wrong with it is said by field, expectation and value.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "cli/pipelines/pipeline.hpp"

namespace polygraph::pipelines {

inline constexpr int protocol_version = 1;
inline constexpr std::size_t max_depth = 64;

/// JSON objects without their closing brace, so that an id may follow.
std::string hello_request(unsigned concurrency);
std::string retrieve_request(std::string_view query, unsigned k);
std::string generate_request(std::string_view query, std::span<const Chunk> chunks);

/// A JSON value, or why it is none: malformed, not UTF-8, nested deeper than max_depth.
tl::expected<nlohmann::json, std::string> parse(std::string_view text);

/// Each fails with `WrongShape`, or with the error that the pipeline reported.
Outcome<Retrieved> read_retrieved(const nlohmann::json& reply);
Outcome<Generated> read_generated(const nlohmann::json& reply);

/// The error that a reply reports; nothing where it holds none.
std::optional<Failed> reported_error(const nlohmann::json& reply);

/// `value` as an error shows it: its type and, cut, itself.
std::string shown(const nlohmann::json& value);

/// The first `bytes` of a text, or its last ones, cut between characters; always UTF-8.
std::string first_of(std::string_view text, std::size_t bytes);
std::string last_of(std::string_view text, std::size_t bytes);

}  // namespace polygraph::pipelines
