#include "cli/mcp/json_rpc.hpp"

#include <fmt/format.h>

#include "wasm/json/cursor.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::cli::mcp {
namespace {

bool usable_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

}  // namespace

tl::expected<Json, RpcError> parse(std::string_view text) {
  if (const auto bad = text::first_invalid(text)) {
    return tl::unexpected(RpcError{RpcCode::parse_error, fmt::format("the message is not UTF-8 at byte {}", *bad)});
  }
  // It bounds the depth, which the tree's own copying needs.
  json::Cursor cursor(text);
  cursor.raw();
  cursor.finish();
  if (cursor.failed()) return tl::unexpected(RpcError{RpcCode::parse_error, fmt::format("the message is not JSON at byte {}: {}", cursor.offset(), cursor.error().message)});
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return tl::unexpected(RpcError{RpcCode::parse_error, fmt::format("the message is not JSON at byte {}", error.byte)});
  } catch (const Json::exception&) {  // a number beyond double
    return tl::unexpected(RpcError{RpcCode::parse_error, "the message holds a number that is out of range"});
  }
}

tl::expected<Message, NoMessage> read_message(const Json& value) {
  const auto refused = [](Json id, RpcCode code, std::string why) { return tl::unexpected(NoMessage{std::move(id), {code, std::move(why)}}); };
  if (!value.is_object()) return refused(nullptr, RpcCode::invalid_request, "a message is a JSON object");
  const bool has_id = value.contains("id");
  const Json id = has_id && usable_id(value["id"]) ? value["id"] : Json(nullptr);
  if (value.value("jsonrpc", Json()) != "2.0") return refused(id, RpcCode::invalid_request, "jsonrpc must be \"2.0\"");
  Message message;
  if (!value.contains("method")) {
    if (!value.contains("result") && !value.contains("error")) return refused(id, RpcCode::invalid_request, "method is missing");
    message.kind = Message::Kind::response;
    return message;
  }
  if (!value["method"].is_string()) return refused(id, RpcCode::invalid_request, "method must be a string");
  if (has_id && id.is_null()) return refused(nullptr, RpcCode::invalid_request, "id must be a string or a whole number");
  message.kind = has_id ? Message::Kind::request : Message::Kind::notification;
  message.id = id;
  message.method = value["method"].get<std::string>();
  if (value.contains("params")) {
    if (value["params"].is_object()) message.params = value["params"];
    else if (has_id) return refused(id, RpcCode::invalid_params, "params must be an object");
  }
  return message;
}

Json result_message(const Json& id, Json result) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}; }

Json error_message(const Json& id, const RpcError& error) {
  Json body = {{"code", static_cast<int>(error.code)}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}};
}

Json notification_message(std::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

std::string to_line(const Json& message) { return message.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace polygraph::cli::mcp
