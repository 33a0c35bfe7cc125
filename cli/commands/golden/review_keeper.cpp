#include "cli/commands/golden/review_keeper.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/dataset.hpp"
#include "cli/mapped_file.hpp"
#include "cli/runs/runner.hpp"
#include "cli/whole_file.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;

Result<golden::Review> read_review(const std::string& file) {
  auto text = read_text(file);
  if (!text) return tl::unexpected(text.error());
  return golden::parse_review(*text);
}

/// Empty for a file that isn't there.
std::string digest_on_disk(const std::string& file) {
  auto text = read_text(file);
  return text ? text::digest(*text) : std::string();
}

}  // namespace

Result<std::unique_ptr<ReviewKeeper>> ReviewKeeper::open(ReviewFiles files, const index::Index* index, std::string& file_of_error) {
  auto keeper = std::make_unique<ReviewKeeper>();
  std::error_code ignored;
  if (files.review.empty() && (files.dataset == "-" || fs::is_directory(files.dataset, ignored))) {
    file_of_error = "--dataset";
    return fail(ErrorCode::invalid_argument, "decisions can't be written back there; give --review FILE for them");
  }
  auto set = read_valid_dataset(files.dataset, "", file_of_error);
  if (!set) return tl::unexpected(set.error());
  if (!files.proposals.empty()) {
    file_of_error = files.proposals;
    auto proposals = read_review(files.proposals);
    if (!proposals) return tl::unexpected(proposals.error());
    keeper->proposals_ = std::move(*proposals);
  }
  if (files.review.empty()) {
    keeper->desk_ = golden::ReviewDesk::over_set(std::move(*set));
  } else {
    golden::Review review;
    if (fs::exists(files.review, ignored)) {
      file_of_error = files.review;
      auto read = read_review(files.review);
      if (!read) return tl::unexpected(read.error());
      review = std::move(*read);
    }
    keeper->desk_ = golden::ReviewDesk::over_file(std::move(*set), std::move(review));
  }
  keeper->files_ = std::move(files);
  keeper->index_ = index;
  keeper->on_disk_ = digest_on_disk(keeper->target());
  return keeper;
}

Result<void> ReviewKeeper::decide(const std::string& id, golden::Opinion opinion) {
  const std::lock_guard lock(mutex_);
  const golden::Opinion* had = desk_.decision(id);
  if (had != nullptr && had->decision == opinion.decision && had->edit == opinion.edit && had->reason == opinion.reason) return {};
  opinion.reviewer = files_.reviewer;
  opinion.reviewed_at = utc_now();
  golden::ReviewDesk before = desk_;
  if (auto decided = desk_.decide(id, std::move(opinion)); !decided) return decided;
  return kept(std::move(before));
}

Result<bool> ReviewKeeper::withdraw(const std::string& id) {
  const std::lock_guard lock(mutex_);
  golden::ReviewDesk before = desk_;
  if (!desk_.withdraw(id)) return false;
  if (auto done = kept(std::move(before)); !done) return tl::unexpected(done.error());
  return true;
}

std::string ReviewKeeper::document() const {
  const std::lock_guard lock(mutex_);
  const auto& name = desk_.set().name;
  return golden::review_set_json(desk_, name.empty() ? fs::path(files_.dataset).filename().string() : name, index_, proposals());
}

std::size_t ReviewKeeper::decided() const {
  const std::lock_guard lock(mutex_);
  const auto& items = desk_.set().items;
  return static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [&](const auto& item) { return desk_.decision(item.id) != nullptr; }));
}

Result<void> ReviewKeeper::kept(golden::ReviewDesk before) {
  auto written = write();
  if (!written) desk_ = std::move(before);
  return written;
}

Result<void> ReviewKeeper::write() {
  if (digest_on_disk(target()) != on_disk_) return fail(ErrorCode::mismatch, "was changed by somebody else meanwhile; open the review anew");
  const std::string text = files_.review.empty() ? text_in_its_form(desk_.reviewed(index_)) : golden::write_review(desk_.review());
  if (auto done = write_whole(target(), text); !done) return done;
  on_disk_ = text::digest(text);
  return {};
}

}  // namespace polygraph::cli
