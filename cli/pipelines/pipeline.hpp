// A pipeline under evaluation: somebody else's retrieval and generation, in any language, behind one interface.
//
// What goes wrong in a pipeline is a result of that query, never the end of the run: calls return a value or a Failed, and a
// pipeline that crashed or hung is started again for the next call.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::pipelines {

struct Chunk {
  std::string id, text;         ///< either may be empty; two chunks may share an id: both are kept, in their places
  std::optional<double> score;
  std::string metadata;         ///< a JSON object; empty: none

  bool operator==(const Chunk&) const = default;
};

/// What a pipeline wrote beside its reply while a call was under way. With several calls at once nobody knows whose it was,
/// and each of them gets it.
struct Log {
  std::string errors;           ///< the end of its stderr, at most 8 KiB, as UTF-8
  std::string stray;            ///< the first line on stdout that was no reply, cut to 200 bytes
  std::size_t stray_lines = 0;  ///< how many there were
};

struct Retrieved {
  std::vector<Chunk> chunks;
  double ms = 0;                ///< from the request's last byte written to its reply read
  Log log;
};

struct Usage {
  std::optional<std::uint64_t> tokens_in, tokens_out;
  std::optional<double> cost_usd;
};

struct Generated {
  std::string answer;
  std::optional<bool> refused;                        ///< nothing: it did not say
  std::optional<std::vector<std::string>> citations;  ///< ids of chunks
  std::optional<Usage> usage;
  double ms = 0;
  Log log;
};

struct Failed {
  /// `Timeout`, `Crash`, `StartFailed`, `BadJson`, `WrongShape`, `TooLarge`, `HttpStatus`, `ConnectionFailed`, `Stopped`, or
  /// the type that the pipeline gave to its own error (`ValueError`).
  std::string type;
  std::string message = {};     ///< with the end of stderr where that may explain it
  std::string file = {};        ///< where the pipeline's own error arose, if it said so
  std::uint64_t line = 0;
  double ms = 0;                ///< until it failed
  Log log = {};
};

template <class T>
using Outcome = tl::expected<T, Failed>;

/// Thread-safe. Its end is the end of its process, and of that one's children.
class Pipeline {
 public:
  virtual ~Pipeline() = default;
  /// As it calls itself, otherwise its file, command or URL.
  virtual const std::string& name() const noexcept = 0;
  /// False for one that said at the start that it only retrieves.
  virtual bool generates() const noexcept = 0;
  virtual Outcome<Retrieved> retrieve(std::string_view query, unsigned k) = 0;
  virtual Outcome<Generated> generate(std::string_view query, std::span<const Chunk> chunks) = 0;
  /// For an interrupt, from any thread: calls under way, and those that come later, fail with `Stopped`. Does not wait.
  virtual void stop() noexcept = 0;
};

struct Options {
  std::chrono::milliseconds call_limit{60'000};
  std::chrono::milliseconds start_limit{60'000};    ///< until a command has said hello: it may load models
  std::size_t max_reply_bytes = std::size_t{16} << 20;
  unsigned concurrency = 1;                         ///< calls under way at once; further callers wait
  std::string python = "python3", node = "node";    ///< a path, or a name looked up in PATH
  std::filesystem::path shims = {};                 ///< the folder of polygraph_pipeline.py; empty: nothing but cmd: and http
  std::filesystem::path program = {};               ///< of Polygraph, told to the shipped pipelines; empty: they look for it
  std::string ca_file = {};                         ///< for https; empty: the system's bundle
};

/// Where the shims are: `pipelines` in `distribution`, or `assets/pipelines` beside it in a checkout.
std::filesystem::path shim_folder(const std::filesystem::path& distribution);

/// The pipelines that come with Polygraph, by the names that open() takes: dense, hybrid, hybrid_rerank.
std::span<const std::string_view> shipped_pipelines();

/// `cmd:COMMAND` (for /bin/sh), a file *.py, *.mjs or *.js, `http://…` or `https://…`, or the name of a shipped pipeline.
/// Starts it and waits for its hello. Fails with `invalid_argument` for anything else, `not_found` for a missing file or
/// interpreter, and `io` for one that can't be loaded: `field` is then the file and `line` the line of its own error.
Result<std::unique_ptr<Pipeline>> open(std::string_view pipeline, const Options& options);

}  // namespace polygraph::pipelines
