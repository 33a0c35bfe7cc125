// Between an Item and its JSON object, and between an item's object and a sample's. Every form is read through the item's
// object, so that fields are read and checked in one place.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "wasm/golden/golden_set.hpp"

namespace polygraph::golden {

using Json = nlohmann::ordered_json;  // keys keep their order

/// How deep a value may be nested: more would only be an attempt on the stack.
inline constexpr std::size_t max_depth = 100;

/// The value, or discarded where `text` is no JSON or nested too deep.
Json parse_json(std::string_view text);
std::string to_text(const Json& value);

std::optional<ItemType> item_type(std::string_view name) noexcept;

std::string_view trimmed(std::string_view text) noexcept;
inline bool blank(std::string_view text) noexcept { return trimmed(text).empty(); }

/// Calls `visit(name, value, bit)` for every optional field of an item, in the order they are written.
template <class ItemOrConst, class Visit>
void each_optional_field(ItemOrConst& item, Visit&& visit) {
  std::uint32_t bit = 1;
  const auto field = [&](const char* name, auto& value) {
    visit(name, value, bit);
    bit <<= 1;
  };
  field("reference_answer", item.reference_answer);
  field("relevant_chunk_ids", item.relevant_chunk_ids);
  field("relevant_pages", item.relevant_pages);
  field("should_refuse", item.should_refuse);
  field("kind", item.kind);
  field("evidence", item.evidence);
  field("source_chunk_id", item.source_chunk_id);
  field("pool_ids", item.pool_ids);
  field("relevance", item.relevance);
  field("chunk_digests", item.chunk_digests);
  field("verified", item.verified);
  field("rejected", item.rejected);
  field("reviewer", item.reviewer);
  field("reviewed_at", item.reviewed_at);
  field("notes", item.notes);
}

Json item_to_json(const Item& item);
/// A sample's object of an item's, and back. Both take any object; what has the wrong type is moved as it is.
Json sample_of_item(const Json& item);
Json item_of_sample(const Json& sample);
/// What the samples form calls a field of an item.
std::string sample_field(std::string_view item_field);

/// Where an item's fields stand.
struct Lines {
  std::uint64_t item = 0;
  std::map<std::string, std::uint64_t, std::less<>> fields = {};  ///< by the form's own names
  std::uint64_t of(const std::string& field) const;
};

/// Collects the items of a set and everything that is wrong with them.
class Reader {
 public:
  explicit Reader(Form form) { checked_.set.form = form; }

  /// Reads an item's object.
  void add(const Json& object, const Lines& lines);
  void error(Problem problem) { checked_.errors.push_back(std::move(problem)); }
  void warning(Problem problem) { checked_.warnings.push_back(std::move(problem)); }
  Set& set() noexcept { return checked_.set; }
  /// Checks the set as a whole. Call last.
  Checked finish();

 private:
  friend Checked check(Set set);
  class Place;
  void check_item(const Item& item, std::uint32_t unreadable, const Place& place);
  void check_ids(const std::vector<std::string>& ids, const char* field, const Place& place);
  Checked checked_;
};

/// Warns of questions that say nearly the same.
void find_near_duplicates(const Set& set, std::vector<Problem>& warnings);

}  // namespace polygraph::golden
