// Brings the models that a manifest names and a store lacks: downloads, verifies by SHA-256, puts into place.
//
// Promises: only what is missing or damaged is fetched; an interrupted download goes on where it stopped (HTTP ranges,
// RFC 9110 section 14), also in a later run; a file appears under its name only whole and verified (renamed into place);
// two programs that fetch at once do not disturb each other, the second waits for the first.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "proxy/models/manifest.hpp"
#include "proxy/models/model_store.hpp"
#include "wasm/error.hpp"

namespace polygraph::models {

struct FetchProgress {
  std::string what;         ///< the URL's file name, or the package
  std::uint64_t bytes = 0;  ///< so far, with what an earlier run had
  std::uint64_t total = 0;  ///< 0 when nobody said
};

struct FetchOptions {
  int tries = 3;                           ///< of one source, while it makes no headway
  std::chrono::milliseconds backoff{1'000};  ///< before the second try; doubled for each further one
  std::chrono::seconds stall{30};          ///< without a byte for this long a connection counts as dead
  std::string python = "python3";          ///< whose pip downloads packages
  std::function<void(const FetchProgress&)> progress;
  /// What a person should know while it goes on ("trying the next source: …"); one line without its end.
  std::function<void(const std::string&)> note;
  /// Asked now and then; true ends the work with `io` and keeps what was received.
  std::function<bool()> cancelled;
};

/// Fetches what is missing; gives the paths that were put into place. Errors say which file and which host, and what to do:
///   mismatch           wrong digest: expected and received; the file was deleted, so the next try starts afresh
///   corrupt            an archive that is no zip or lacks the file
///   model_unavailable  no network, an HTTP status, a stalled or cut connection
///   io                 the disk is full (needed and free bytes), or a folder that cannot be written
Result<std::vector<std::filesystem::path>> fetch(const Manifest& manifest, const ModelStore& store, const FetchOptions& options);

}  // namespace polygraph::models
