// The media type of a file by its suffix. Browsers obey it exactly (nosniff), and compile WebAssembly while it streams
// only when it is application/wasm.
#pragma once

#include <string_view>

namespace polygraph::http {

/// `application/octet-stream` for a suffix that is unknown.
std::string_view media_type(std::string_view file_name) noexcept;

/// Whether a name carries a digest of its content, and so never changes: `.` or `-` and 8 or more hex digits before its
/// suffix (`app.0f3a9c12.js`, `engine-0F3A9C12.wasm`).
bool is_hashed_name(std::string_view file_name) noexcept;

}  // namespace polygraph::http
