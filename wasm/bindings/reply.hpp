// What every method of the boundary answers: {"ok": …} or {"error": {"code", "message", "field", "line"}}, as JSON text.
#pragma once

#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "wasm/error.hpp"

namespace polygraph::bindings {

using Json = nlohmann::ordered_json;

inline std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }
inline std::string ok(Json value) { return dump(Json{{"ok", std::move(value)}}); }
/// For a value that is JSON text already.
inline std::string ok_text(const std::string& json) { return "{\"ok\":" + json + "}"; }
inline std::string failure(const Error& error) {
  return dump({{"error", {{"code", name(error.code)}, {"message", error.message}, {"field", error.field}, {"line", error.line}}}});
}

/// Runs `work`; whatever still escapes it is a bug or a full memory, and is reported as such.
template <class Work>
std::string guarded(Work&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failure({ErrorCode::internal, "out of memory"});
  } catch (const std::exception& error) {
    return failure({ErrorCode::internal, error.what()});
  }
}

}  // namespace polygraph::bindings
