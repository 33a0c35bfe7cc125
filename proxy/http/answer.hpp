// An answer as handlers make it: a status, fields, and a body in memory or in a file. The connection adds what every
// answer has (Date, Content-Length, X-Request-Id, the security fields) and writes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "proxy/http/head_scanner.hpp"

namespace polygraph::http {

/// An open file, closed with its last user.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) noexcept : descriptor_(descriptor) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

/// A part of bytes that somebody else may hold too.
struct SharedBytes {
  std::shared_ptr<const std::string> bytes;
  std::size_t offset = 0;
  std::size_t length = 0;
};

/// A part of a file, sent from the page cache without passing through this process.
struct FileBytes {
  std::shared_ptr<const OpenFile> file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct Answer {
  unsigned status = 200;
  std::string fields = {};                                 ///< `Name: value\r\n` each
  std::shared_ptr<const std::string> shared_fields = {};   ///< more of them, prepared once for many answers
  std::variant<std::string, SharedBytes, FileBytes> body = {};
  std::string error = {};                                  ///< the error's code, for the log; empty when it is none
  bool close = false;                                      ///< the connection ends with this answer

  std::uint64_t body_bytes() const;
};

/// `{"error": {"code", "message"}}`, or with `retry_after` (seconds) the field Retry-After as well; never cached.
Answer error_answer(const Refusal& refusal, std::optional<unsigned> retry_after = std::nullopt);
Answer json_answer(unsigned status, std::string body);

/// `"…"` with what JSON must escape escaped.
void append_json_string(std::string& out, std::string_view text);

/// What every answer carries for the browser: isolation (COOP, COEP, CORP), the content security policy whose
/// connect-src is 'self' and `connect_endpoints` (space-separated origins), nosniff, Referrer-Policy, Permissions-Policy.
std::string security_fields(std::string_view connect_endpoints);

}  // namespace polygraph::http
