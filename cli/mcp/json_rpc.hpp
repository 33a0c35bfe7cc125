// JSON-RPC 2.0 (https://www.jsonrpc.org/specification) as the Model Context Protocol uses it: one message a line, ids that
// are strings or whole numbers, parameters by name.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace polygraph::cli::mcp {

using Json = nlohmann::ordered_json;

enum class RpcCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal = -32603,
  busy = -32000,                ///< our own: too many calls wait already
  resource_not_found = -32002,  ///< of the Model Context Protocol
};

struct RpcError {
  RpcCode code = RpcCode::internal;
  std::string message;
  Json data = nullptr;  ///< null: none
};

struct Message {
  enum class Kind : std::uint8_t { request, notification, response };
  Kind kind = Kind::request;
  Json id = nullptr;            ///< of a request
  std::string method;           ///< of a request or notification
  Json params = Json::object();
};

/// What is no message, and the id to answer it under: null where it has none that could be used.
struct NoMessage {
  Json id = nullptr;
  RpcError error;
};

/// One JSON text. Fails with parse_error, naming the first byte that is not UTF-8.
tl::expected<Json, RpcError> parse(std::string_view text);

/// Fails with invalid_request or invalid_params.
tl::expected<Message, NoMessage> read_message(const Json& value);

Json result_message(const Json& id, Json result);
Json error_message(const Json& id, const RpcError& error);
Json notification_message(std::string_view method, Json params);

/// One line without its end. Bytes that are not UTF-8 become U+FFFD.
std::string to_line(const Json& message);

}  // namespace polygraph::cli::mcp
