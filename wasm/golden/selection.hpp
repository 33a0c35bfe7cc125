// Which items of a golden set count: by who accepted them, by a list of ids, a number, a fixed subset or a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/golden/golden_set.hpp"

namespace polygraph::golden {

/// `--golden-source`
enum class Source : std::uint8_t {
  ai_reviewed,  ///< accepted or edited in a reviewing model's file, with the edit
  verified,     ///< set by a person in the review
  all,          ///< everything that a person did not reject
};
std::string_view name(Source source) noexcept;
/// Fails with `invalid_argument` naming what is allowed.
Result<Source> parse_source(std::string_view text);

enum class Decision : std::uint8_t { accept, edit, reject };
std::string_view name(Decision decision) noexcept;

struct Opinion {
  Decision decision = Decision::accept;
  std::string edit;  ///< JSON object of the item's fields that change, or a string: the new question; empty for none
  std::string reason, reviewer, reviewed_at;
  std::string unknown;  ///< JSON object: further fields
};

/// A reviewing model's file: `{items: {id: {decision, edit, reason, reviewer, reviewed_at}}}`.
struct Review {
  std::map<std::string, Opinion> items;
  std::string unknown;  ///< JSON object: further fields of the document
};
/// Fails with `invalid_json`; `field` is the path to what is wrong.
Result<Review> parse_review(std::string_view json);
std::string write_review(const Review& review);

/// The item with the edit's fields in place of its own. Fails with `invalid_json` where the edit doesn't fit.
Result<Item> with_edit(const Item& item, const std::string& edit);

struct Selected {
  Set set;
  std::vector<std::string> left_out;        ///< ids of items that do not count
  std::vector<std::string> unknown_reviews; ///< ids that the review names and the set lacks
};
/// A rejected item counts nowhere. `ai_reviewed` without a review fails with `invalid_argument`; one that leaves no item, or an
/// edit that makes an item invalid, with `invalid_json`.
Result<Selected> select(const Set& set, Source source, const Review* review);

/// The items with these ids, in the set's order. Fails with `not_found` naming the ids that the set lacks.
Result<Set> with_ids(const Set& set, const std::vector<std::string>& ids);
/// One id a line, or a JSON array of strings; blank lines, CRLF and a byte order mark are accepted. Fails with `invalid_json` on
/// an id that stands twice, or when there is none.
Result<std::vector<std::string>> parse_ids(std::string_view text);

Set first_items(const Set& set, std::size_t count);

/// The CI gate's items: the first 10 answerable, 3 vague and 7 unanswerable by hash of their ids (fewer where the set has fewer), in
/// the set's order. Adding items to a set changes the choice only where a new one's hash comes first.
std::vector<std::string> gate_ids(const Set& set);

inline constexpr std::size_t judged_subset = 30;
/// `count` items whose types have the shares of the whole set (largest remainder, at least one of each type there is), chosen by hash
/// of seed and id, in the set's order.
std::vector<std::string> stratified_ids(const Set& set, std::size_t count = judged_subset, std::uint64_t seed = 1);

/// Shard `number` of `of`, from 1: `2/5`.
struct Shard {
  std::size_t number = 1, of = 1;
};
Result<Shard> parse_shard(std::string_view text);
/// Every `of`-th item, so that types are spread evenly; the shards of a set hold each item once.
Set in_shard(const Set& set, Shard shard);

}  // namespace polygraph::golden
