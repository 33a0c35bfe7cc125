// How every part of Polygraph reports failure: a value or an Error, never an exception across a public function.
//
// The engine neither prints nor aborts. An Error says what went wrong and where (file section, field, line), in words a
// person can act on; a host adds the name of the file and decides about exit codes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace polygraph {

enum class ErrorCode : std::uint8_t {
  invalid_argument,    ///< a caller's value is outside what the function accepts (wrong use)
  invalid_text,        ///< text that must be UTF-8 is not
  invalid_json,        ///< a document is not JSON, or lacks a field, or a field has the wrong type
  unsupported_version, ///< a file of another format version
  corrupt,             ///< a checksum, offset or length does not hold
  truncated,           ///< a file ends before what its header promises
  mismatch,            ///< two things that must belong together do not (index and model, index and trace)
  not_found,           ///< a named thing does not exist
  diverged,            ///< a replay asked for something that its trace does not hold
  model_unavailable,   ///< an embedder or reranker cannot be used; lexical work goes on
  provider_failed,     ///< an LLM provider failed for good
  quota_spent,         ///< a provider's quota is spent; later it will work
  io,                  ///< a file, socket or process failed
  internal,            ///< a bug: please report it
};

/// The code's stable name, as it stands in JSON (`"corrupt"`).
std::string_view name(ErrorCode code) noexcept;
/// The code of a stable name; `internal` for a name that is unknown.
ErrorCode error_code(std::string_view name) noexcept;

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;    ///< what happened, with the value that was met
  std::string field = {}; ///< where: a JSON field, an index section, an option; empty when it does not apply
  std::uint64_t line = 0; ///< 1-based line of the input, 0 when it does not apply

  bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;

/// `return fail(ErrorCode::corrupt, "…", "vectors");`
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string field = {}, std::uint64_t line = 0) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(field), line});
}

}  // namespace polygraph
