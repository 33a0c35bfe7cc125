// SHA-256 (FIPS 180-4) over a stream, by OpenSSL: what every model file and every archive is verified with.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "wasm/error.hpp"

struct evp_md_ctx_st;

namespace polygraph::models {

class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> bytes);
  /// 64 lower-case hex digits. Ends the computation.
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

/// The digest of a file's content. `io` when it cannot be read.
Result<std::string> sha256_of(const std::filesystem::path& path);

}  // namespace polygraph::models
