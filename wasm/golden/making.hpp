// Making a golden set, without whoever reads and writes: which chunks are drafted from, what a draft without a language model
// says, what a model's reply means, and what an item becomes by its labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/golden/golden_set.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::golden {

inline constexpr std::uint32_t pool_of_each = 5;  ///< passages of dense and of lexical search

/// Chunk ids of a pool: what the searches found, gold and source, as far as the index has them, each once, in the order of the index,
/// so that no place tells who found it.
std::vector<std::string> pool_ids(const index::Index& index, const Item& item, std::span<const index::ChunkNo> found);

/// How far a passage answers a question.
enum class Answers : std::uint8_t { none, part, all };
std::string_view name(Answers answers) noexcept;
std::optional<Answers> parse_answers(std::string_view text) noexcept;

struct Label {
  Answers answers = Answers::none;
  std::string reason;
};
/// Of the passages P1 … Pn in their order. Fails with `invalid_json` unless each is labelled once.
Result<std::vector<Label>> parse_labels(std::string_view json, std::size_t passages);

/// By chunk id.
using Labels = std::map<std::string, Answers>;

/// The item with the passages that were labelled, as its pool, and those that answer it or a part as its gold, in the pool's order.
/// An unanswerable item gets no gold. Nothing where an answerable one would be left without any.
std::optional<Item> labelled(const index::Index& index, const Item& item, const std::vector<std::string>& pool, const Labels& labels);

/// The pooled chunk that answers an unanswerable item in full; empty: none.
std::string answering_chunk(const std::vector<std::string>& pool, const Labels& labels);

/// Chunks with something to ask about, from every section (the first part of a page's path) in turn, within it by hash of seed and id, from pages
/// that were not drawn yet as long as there are some. Fewer where the index has fewer.
std::vector<index::ChunkNo> sample_chunks(const index::Index& index, std::size_t count, std::uint64_t seed);

struct Drafted {
  std::string question, reference_answer, evidence;
};
/// A model's draft. Fails with `invalid_json`: no question, an answer to what has none, none to what has one.
Result<Drafted> parse_draft(std::string_view json, ItemType type);
/// A draft without a model: from a definition that the chunk gives, else from its heading.
Drafted plain_draft(const index::Index& index, index::ChunkNo chunk, ItemType type);

/// The last heading of the chunk's path, else its page's title.
std::string heading_of(const index::Index& index, index::ChunkNo chunk);

/// The item that a draft becomes, with its chunk as source and, unless it is unanswerable, as gold.
Item drafted_item(const index::Index& index, index::ChunkNo chunk, ItemType type, std::string id, const Drafted& draft);

/// The item with one more line of notes, unless it has that line.
void add_note(Item& item, std::string_view note);

}  // namespace polygraph::golden
