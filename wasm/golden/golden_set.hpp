// Golden sets: questions with what a good answer rests on, in one internal form for every form they are read from.
//
// Two forms are at home here. *Items* (agent evaluation): JSON Lines, one item a line. *Samples* (pipeline diagnosis): one
// JSON document `{name, version, samples}`. Between them nothing is lost: what an item has and a sample has no field for
// stands in the sample's `extra`, what a sample has and an item has no field for stands in the item's `extra`, and either
// comes back to its place. Tables (CSV, TSV), TREC and BEIR files are read into the same form (table.hpp, trec.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::golden {

enum class ItemType : std::uint8_t { answerable, vague, unanswerable };
inline constexpr ItemType item_types[] = {ItemType::answerable, ItemType::vague, ItemType::unanswerable};
std::string_view name(ItemType type) noexcept;

/// Which optional fields a file named, one bit each in the order they are written, so that an empty one comes back empty
/// and a missing one missing. Items made by a program need none of it: what is not empty is written.
struct Presence {
  std::uint32_t given = 0, null = 0;
  bool should_refuse_missing = false;
  bool operator==(const Presence&) const = default;
};

struct Item {
  std::string id;
  ItemType type = ItemType::answerable;
  std::string question;
  std::string reference_answer;
  std::vector<std::string> relevant_chunk_ids;
  std::vector<std::string> relevant_pages;              ///< page ids, or file paths under the corpus root
  bool should_refuse = false;
  std::string kind, evidence;                           ///< free text
  std::string source_chunk_id;                          ///< the chunk that the question was drafted from
  std::vector<std::string> pool_ids;                    ///< the chunks that were judged for this question
  std::map<std::string, std::uint32_t> relevance;       ///< chunk id → grade, where relevance is graded; 1 for gold without one
  std::map<std::string, std::string> chunk_digests;     ///< gold chunk id → chunk_digest() of its text when it was judged
  bool verified = false, rejected = false;              ///< by a person
  std::string reviewer, reviewed_at, notes;
  std::string query_type;    ///< as the samples form has it; the type's name where nothing else was said
  std::string unknown;       ///< JSON object: fields of an item that nobody here knows; empty for none
  std::string extra;         ///< JSON object: fields of a sample without a counterpart in an item; empty for none
  Presence presence;
  std::uint64_t line = 0;    ///< where the item stands in its file, from 1; 0 when it came from no line

  /// 1 or its grade for a gold chunk, 0 for any other.
  std::uint32_t grade(std::string_view chunk_id) const;
};

enum class Form : std::uint8_t { items, samples, table, trec, beir };
std::string_view name(Form form) noexcept;

struct Set {
  std::string name, version;  ///< empty where the form has none
  std::string extra;          ///< JSON object: further fields of the samples document; empty for none
  Form form = Form::items;    ///< that it was read from
  std::vector<Item> items;
};

/// One finding. `item` is the item's id, `field` as the file's form calls it; empty, or line 0, where there is none.
struct Problem {
  std::string item;
  std::uint64_t line = 0;
  std::string field, message;
  bool operator==(const Problem&) const = default;
};

/// A set as far as it could be read, and everything that is wrong with it, in the order of its lines.
struct Checked {
  Set set;
  std::vector<Problem> errors, warnings;
  bool valid() const noexcept { return errors.empty(); }
};

/// Reads items, samples or a table, told apart by their content; a byte order mark, CRLF and blank lines are accepted.
/// Everything in it is checked, fields as assets/schemas/golden_items.schema.json or golden_samples.schema.json has them and
/// what no schema can say (such as ids that occur once), and all problems are found at once. Fails only with `invalid_text`,
/// when the file isn't text.
Result<Checked> read(std::string_view text);

/// A valid set or the first error: `invalid_json` with line and field, its message naming the item and how many more there are.
Result<Set> parse(std::string_view text);
/// The same for what was read already.
Result<Set> valid_set(Checked checked);

/// The checks of `read` on a set that a program made or changed.
Checked check(Set set);

/// `{valid, name, version, counts, errors: [{item, line, field, message}], warnings}`
std::string report_json(const Checked& checked);

/// JSON Lines, one item a line.
std::string write_items(const Set& set);
std::string write_item(const Item& item);
/// `{name, version, samples}`, indented by two spaces.
std::string write_samples(const Set& set);

/// Why RAGDiag 0.1.0 would refuse a set's samples: one entry for each item that it has no place for.
struct Refused {
  std::string item, reason;
};
/// The set without those items, and which they were.
struct ForRagdiag {
  Set set;
  std::vector<Refused> left_out;
};
ForRagdiag for_ragdiag(const Set& set);

/// What an item keeps of a gold chunk's text, to tell later whether it changed: `text::digest` of it.
std::string chunk_digest(std::string_view text);

/// Identifies what an evaluation uses of a set: its name and version, and each item's id, type, question, reference, gold with
/// grades, pages, query type and kind, in order. Notes, reviews and the file's form do not count.
std::string digest(const Set& set);

}  // namespace polygraph::golden
