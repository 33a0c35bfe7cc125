// The questions that were asked, and what became of them: off unless QUESTION_LOG names a file, and made to hold nobody's
// data. A line has the day, not the time; no address, no id of a request, a client or a run. What looks like an e-mail
// address, a telephone or other long number, an IP address or a key is masked. What people write in words is kept.
//
//   {"kind": "question", "schema": 1, "day": "2026-12-01", "question", "status", "reason", "closest": [{"title", "url"}]}
//
// status: answered, refused or failed of a whole run; not_relevant where only a grader's verdict is known (/api/complete).
// The file and one older one, FILE.1, hold at most QUESTION_LOG_BYTES each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/agent/run.hpp"
#include "wasm/error.hpp"

namespace polygraph::proxy {

/// `text` (UTF-8) with "[e-mail]", "[number]" and "[key]" in place of what looks like one: any word with an @ inside; six
/// digits in a row, or seven with blanks, dots, hyphens, slashes or brackets between; a word of 20 or more letters and
/// digits that has both.
std::string masked(std::string_view text);

struct AskedQuestion {
  std::string question;
  std::string_view status;
  std::string reason;                        ///< of a refusal
  std::vector<agent::Closest> closest = {};  ///< pages that were offered instead
};

/// Of a run that ended.
AskedQuestion asked_question(const agent::Run& run);

class QuestionLog {
 public:
  /// Opens or makes the file, for its owner alone. Fails with `io`.
  static Result<std::unique_ptr<QuestionLog>> open(std::filesystem::path file, std::uint64_t most_bytes);
  ~QuestionLog();
  QuestionLog(const QuestionLog&) = delete;
  QuestionLog& operator=(const QuestionLog&) = delete;

  /// Masks and writes one line. False when it could not be written; the first time after one that could, so that it is
  /// told of once. Any thread.
  bool add(const AskedQuestion& asked);

 private:
  QuestionLog(std::filesystem::path file, std::uint64_t most_bytes) : file_(std::move(file)), most_bytes_(most_bytes) {}
  bool reopen();
  bool write(std::string_view line);
  /// The newest file is open and locked, or false.
  bool lock_with_room_for(std::size_t bytes);

  std::mutex mutex_;
  std::filesystem::path file_;
  std::uint64_t most_bytes_;
  int descriptor_ = -1;
  bool failing_ = false;
};

}  // namespace polygraph::proxy
