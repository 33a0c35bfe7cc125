// What evaluations, comparisons and diagnoses leave behind in `.polygraph/`: the latest of each
// and a history, as JSON and Markdown. A file is whole or not there; what can't be kept costs a warning, never the result.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/settings.hpp"
#include "wasm/error.hpp"
#include "wasm/json/writer.hpp"

namespace polygraph::cli {

enum class Kept : std::uint8_t { evaluations, comparisons, diagnoses };
std::string_view name(Kept kind) noexcept;

class KeptResults {
 public:
  /// In POLYGRAPH_DIR where it is set anywhere, otherwise in `.polygraph` of the working folder.
  explicit KeptResults(const Settings& settings);

  const std::filesystem::path& folder() const noexcept { return folder_; }

  /// Keeps a document: `json` writes it, indented; `markdown` is its text. Says a warning on stderr where that fails.
  void keep(Kept kind, const std::function<void(json::Writer&)>& json, std::string_view markdown) const;

  /// JSON files of the history, newest first.
  std::vector<std::filesystem::path> history(Kept kind) const;

  /// The file of `latest`, `HEAD` (the newest of the history), `HEAD~1` (the one before), …, with `KIND/` in front for another
  /// kind than evaluations (`diagnoses/HEAD~2`). Without it, evaluations are meant, or diagnoses where there are none. Nothing for
  /// any other name; fails with `not_found` when there is no such result.
  std::optional<Result<std::filesystem::path>> named(const std::string& name) const;

  /// Deletes all but the newest `keep` of the history; how many results went. Fails with `io`.
  Result<std::uint64_t> prune(Kept kind, std::size_t keep) const;

 private:
  std::filesystem::path folder_;
};

/// Writes a file beside its target and renames it, so that nobody sees half of it. Fails with `io`.
Result<void> write_atomically(const std::filesystem::path& file, const std::function<void(const json::Sink&)>& write);

}  // namespace polygraph::cli
