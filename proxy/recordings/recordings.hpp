// Recorded runs: what is played when nothing can be asked live. One file each, DIR/ID.json
// (assets/schemas/recording.schema.json), read once at start.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::proxy {

struct Recording {
  std::string id;  ///< [a-z0-9-], up to 64; the file's name without .json
  std::string question;
  std::vector<std::string> aliases;
  std::string recorded_at;  ///< UTC, ISO 8601 with Z
  std::string made_by;
  std::string generator, grader, rewriter;  ///< models
  std::string index_digest;
  std::string file;   ///< the whole document as it stands on disk
  std::string trace;  ///< its trace, JSON
};

class Recordings {
 public:
  /// Reads every ID.json of `folder`. Dot files, other names, and links that leave the folder are passed over; a file that
  /// is no recording is left out and named in warnings(). Fails with `not_found` or `io` when the folder can't be read.
  static Result<Recordings> load(const std::filesystem::path& folder);

  /// By id.
  const std::vector<Recording>& all() const noexcept { return recordings_; }
  const std::vector<Error>& warnings() const noexcept { return warnings_; }  ///< `field` is the file, then the field within it

  const Recording* find(std::string_view id) const;
  /// The recording of this question or alias: of the index with this digest if there is one, and of those the newest.
  const Recording* find_question(std::string_view question, std::string_view index_digest) const;

 private:
  std::vector<Recording> recordings_;
  std::vector<std::string> keys_;  ///< normalised questions and aliases …
  std::vector<std::size_t> of_;    ///< … and the recording of each
  std::vector<Error> warnings_;
};

/// A recording of `text`, named by `file` for messages. Fails with `invalid_json` and the field.
Result<Recording> parse_recording(std::string text, std::string_view id);

/// What two spellings of one question share: case, runs of white space and marks at the end do not count.
std::string question_key(std::string_view question);

/// Whether `id` may name a recording.
bool is_recording_id(std::string_view id) noexcept;

}  // namespace polygraph::proxy
