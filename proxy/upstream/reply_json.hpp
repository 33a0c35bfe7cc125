// What the formats share in reading JSON from outside: checked before it is read, bounded in depth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proxy/upstream/chat_body.hpp"
#include "proxy/upstream/format.hpp"

namespace polygraph::proxy::reply_json {

using Json = nlohmann::json;

/// Discarded for what is no JSON, or nests deeper than any reply does.
Json parsed(std::string_view text);

/// Null where the value is no object, or has no such member, or a null one.
const Json* member(const Json& object, const char* name);
std::string text_member(const Json& object, const char* name);
/// An unsigned integer.
std::optional<std::uint64_t> count_member(const Json& object, const char* name);
/// Of an array member; empty where there is none.
const Json& array_member(const Json& object, const char* name);

/// Nothing where the figures can't be true.
std::optional<Usage> sound_usage(std::optional<std::uint64_t> in, std::optional<std::uint64_t> out, bool has_text);

/// The value of a header field in any case; empty where it is missing or comes twice.
std::string_view field_value(std::span<const Field> fields, std::string_view lower_case_name);

/// `schema` as JSON; fails with `invalid_json` where it is no object.
Result<nlohmann::ordered_json> read_schema(const std::string& schema);

tl::unexpected<Error> invalid(std::string message, std::string field = {});

}  // namespace polygraph::proxy::reply_json
