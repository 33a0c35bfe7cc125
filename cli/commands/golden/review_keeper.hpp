// Keeps a review's decisions on disk: in the golden set itself or in a file beside it, each written before the next is made.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "wasm/error.hpp"
#include "wasm/golden/review.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::cli {

struct ReviewFiles {
  std::string dataset;
  std::string review;     ///< empty: decisions go into the dataset
  std::string proposals;  ///< of a reviewing model; empty: none
  std::string reviewer;
};

class ReviewKeeper {
 public:
  /// `index` (or null) outlives it. `file_of_error` is the file that an error is about.
  static Result<std::unique_ptr<ReviewKeeper>> open(ReviewFiles files, const index::Index* index, std::string& file_of_error);

  /// Decides and writes; what can't be written is not decided. The same decision again changes nothing. Fails as ReviewDesk::decide
  /// does, with `io`, and with `mismatch` where somebody else changed the file meanwhile. Any thread.
  Result<void> decide(const std::string& id, golden::Opinion opinion);
  /// False where there was no decision.
  Result<bool> withdraw(const std::string& id);
  /// The document of the review page.
  std::string document() const;

  /// For the terminal, on one thread.
  const golden::ReviewDesk& desk() const noexcept { return desk_; }
  const golden::Review* proposals() const noexcept { return files_.proposals.empty() ? nullptr : &proposals_; }
  const std::string& target() const noexcept { return files_.review.empty() ? files_.dataset : files_.review; }
  std::size_t decided() const;

 private:
  Result<void> write();
  /// Makes the change, or leaves everything as it was.
  Result<void> kept(golden::ReviewDesk before);

  ReviewFiles files_;
  const index::Index* index_ = nullptr;
  golden::ReviewDesk desk_;
  golden::Review proposals_;
  std::string on_disk_;  ///< digest of what was read or written last; empty: no file yet
  mutable std::mutex mutex_;
};

/// Serves dist/review.html and its API until a signal comes.
struct ReviewPage {
  std::string page;  ///< the file of the page
  std::uint16_t port = 0;
  bool json = false;
};
Result<void> serve_review(ReviewKeeper& keeper, const ReviewPage& page);

}  // namespace polygraph::cli
