// An answer as handlers make it: a status, fields, and a body in memory or in a file. The connection adds what every
// answer has (Date, Content-Length, X-Request-Id, the security fields) and writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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

/// What a handler adds to the request's line in the log.
struct LogFields {
  std::string model = {};
  std::optional<bool> cached = {};
  unsigned upstream_status = 0;
  std::string question = {};  ///< only where the operator has it logged
  std::string error = {};     ///< of a stream that ended with an error event
};

/// A body that comes piece by piece, from any thread. The connection takes what is there and is told when there is more;
/// HTTP/1.1 clients get it chunked, HTTP/1.0 clients until the connection closes.
class BodyStream {
 public:
  void write(std::string_view piece);
  /// The last piece was written; `log` is what there is to say of the whole.
  void finish(LogFields log = {});
  /// The body can't be completed: a chunked one ends without its last chunk, so that no client takes a part for the whole.
  void cut(LogFields log = {});

  struct Taken {
    std::string bytes;
    bool finished = false, cut = false;
    LogFields log = {};
  };
  /// For the connection: everything written since the last call. `more` is called once, on a thread of the writer, when
  /// there is more, if there is nothing now.
  Taken take(std::function<void()> more);

 private:
  std::mutex mutex_;
  Taken pending_;
  std::function<void()> more_;
};

struct Answer {
  unsigned status = 200;
  std::string fields = {};                                 ///< `Name: value\r\n` each
  std::shared_ptr<const std::string> shared_fields = {};   ///< more of them, prepared once for many answers
  std::variant<std::string, SharedBytes, FileBytes, std::shared_ptr<BodyStream>> body = {};
  std::string error = {};                                  ///< the error's code, for the log; empty when it is none
  bool close = false;                                      ///< the connection ends with this answer
  LogFields log = {};                                      ///< a stream's comes with its end

  bool streams() const noexcept { return std::holds_alternative<std::shared_ptr<BodyStream>>(body); }
  std::uint64_t body_bytes() const;  ///< 0 for a stream
};

/// `{"error": {"code", "message"}}`, with the members `more` beside them (`,"until":"…"`), or with `retry_after` (seconds) the field Retry-After as well; never cached.
Answer error_answer(const Refusal& refusal, std::optional<unsigned> retry_after = std::nullopt, std::string_view more = {});
/// The body of such an answer, without its line end: an error event carries it too.
std::string error_body(const Refusal& refusal, std::optional<unsigned> retry_after = std::nullopt, std::string_view more = {});
Answer json_answer(unsigned status, std::string body);

/// `"…"` with what JSON must escape escaped; bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// What every answer carries for the browser: isolation (COOP, COEP, CORP), the content security policy whose
/// connect-src is 'self' and `connect_endpoints` (space-separated origins), nosniff, Referrer-Policy, Permissions-Policy.
/// `inline_sources` ('sha256-…', space-separated): scripts and style sheets that stand in a page itself.
std::string security_fields(std::string_view connect_endpoints, std::string_view inline_sources = {});

}  // namespace polygraph::http
