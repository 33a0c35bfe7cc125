// A review under way: a golden set, what has been decided about its items, and what the set becomes by that. The page and the
// terminal are two faces of it.
//
// Decisions go into the set itself (`verified`, `rejected`, the edit's fields: a person's review) or into a file of their own
// beside it. Either way an edit is told against the item as it was when the review was opened, so any decision can be taken back.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/golden/golden_set.hpp"
#include "wasm/golden/selection.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::golden {

class ReviewDesk {
 public:
  /// Decisions that the set's items hold: `verified` is accepted, `rejected` is rejected.
  static ReviewDesk over_set(Set set);
  /// Decisions of a review file. Those about ids that the set lacks are kept.
  static ReviewDesk over_file(Set set, Review review);

  const Set& set() const noexcept { return set_; }  ///< as it was opened
  const std::map<std::string, Opinion>& decisions() const noexcept { return review_.items; }
  const Opinion* decision(std::string_view id) const;
  std::optional<std::size_t> find(std::string_view id) const;  ///< an item's place

  /// Fails with `not_found`, or with `invalid_json` where the edit makes no valid item; then nothing has changed.
  Result<void> decide(const std::string& id, Opinion opinion);
  /// Takes a decision back; false when there was none.
  bool withdraw(const std::string& id);

  /// The set with every decision in it. Digests of gold chunks are renewed where there is an index.
  Set reviewed(const index::Index* index) const;
  const Review& review() const noexcept { return review_; }

 private:
  Set set_;
  Review review_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

/// The passages that a reviewer sees of an item, each once: the pool, then gold and source outside of it.
std::vector<std::string> passage_ids(const Item& item);

/// What the review page asks for: the items with their passages, what a reviewing model proposes, and the decisions. Passages have no text
/// without an index, or when it lacks them.
std::string review_set_json(const ReviewDesk& desk, std::string_view name, const index::Index* index, const Review* proposals);

/// A decision as the review page sends it: `{decision, edit, reason}`, edit with question, reference_answer and relevant_chunk_ids
/// alone. Fails with `invalid_json` naming the field.
Result<Opinion> parse_decision(std::string_view json);

/// The edit that turns an item into these words and this gold, as `Opinion::edit`; empty: nothing changes.
struct Draft {
  std::string question, reference_answer;
  std::vector<std::string> relevant_chunk_ids;
  bool operator==(const Draft&) const = default;
};
Draft draft_of(const Item& item, const Opinion* decision);
std::string edit_of(const Item& item, const Draft& draft);

/// Drafts that are not decided yet, by item id, and back. Reading leaves out what does not fit.
std::string write_drafts(const std::map<std::string, Draft>& drafts);
std::map<std::string, Draft> read_drafts(std::string_view json);

}  // namespace polygraph::golden
