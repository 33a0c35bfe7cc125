#include "wasm/golden/remap.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "wasm/index/page_id.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph::golden {
namespace {

constexpr double least_similarity = 0.5, least_reference = 0.6;

using Terms = std::vector<std::string>;  // sorted, distinct

Terms terms_of(std::string_view text, text::Analysis analysis) {
  Terms out = text::distinct(text::terms(text, analysis));
  std::sort(out.begin(), out.end());
  return out;
}

std::size_t shared(const Terms& a, const Terms& b) {
  std::size_t count = 0;
  for (auto i = a.begin(), k = b.begin(); i != a.end() && k != b.end();) {
    const int order = i->compare(*k);
    count += order == 0;
    if (order <= 0) ++i;
    if (order >= 0) ++k;
  }
  return count;
}

bool has_page(const index::Index& index, const std::string& reference) {
  return index.find_document(index::page_id_of_reference(reference)).has_value() || index.find_document(reference).has_value();
}

/// What is known of the index's chunks, worked out when first asked for.
class Chunks {
 public:
  explicit Chunks(const index::Index& index) : index_(&index) {}

  /// The chunk with this text; of several one of the page, else the first.
  std::optional<index::ChunkNo> with_digest(const std::string& digest, std::string_view page) {
    if (digests_.empty()) {
      for (index::ChunkNo c = 0; c < index_->chunks(); ++c) digests_[chunk_digest(index_->chunk(c).text)].push_back(c);
    }
    const auto found = digests_.find(digest);
    if (found == digests_.end()) return std::nullopt;
    for (const auto chunk : found->second) {
      if (page_of(index_->chunk_id(chunk)) == page) return chunk;
    }
    return found->second.front();
  }

  struct Guess {
    index::ChunkNo chunk;
    double score;
  };
  std::optional<Guess> similar(const std::string& text) {
    const Terms wanted = terms_of(text, index_->metadata().analysis);
    std::optional<Guess> best;
    for (index::ChunkNo c = 0; c < index_->chunks(); ++c) {
      const Terms& held = terms(c);
      const auto common = static_cast<double>(shared(wanted, held));
      const double all = static_cast<double>(wanted.size() + held.size()) - common;
      const double score = all == 0 ? 0 : common / all;
      if (score >= least_similarity && (!best || score > best->score)) best = {c, score};
    }
    return best;
  }
  std::optional<Guess> holding(const std::string& text, std::string_view page) {
    const Terms wanted = terms_of(text, index_->metadata().analysis);
    const auto document = index_->find_document(page);
    if (wanted.empty() || !document) return std::nullopt;
    const auto pages = index_->document(*document);
    std::optional<Guess> best;
    for (index::ChunkNo c = pages.first_chunk; c < pages.first_chunk + pages.chunk_count; ++c) {
      const double score = static_cast<double>(shared(wanted, terms(c))) / static_cast<double>(wanted.size());
      if (score >= least_reference && (!best || score > best->score)) best = {c, score};
    }
    return best;
  }

 private:
  const Terms& terms(index::ChunkNo chunk) {
    if (terms_.empty()) terms_.resize(index_->chunks());
    auto& known = terms_[chunk];
    if (!known) known = terms_of(index_->chunk(chunk).text, index_->metadata().analysis);
    return *known;
  }

  const index::Index* index_;
  std::unordered_map<std::string, std::vector<index::ChunkNo>> digests_;
  std::vector<std::optional<Terms>> terms_;
};

/// Calls `use(field, place, id)` for every chunk id that an item names.
template <class Use>
void each_chunk_id(const Item& item, Use&& use) {
  const auto list = [&](const char* field, const std::vector<std::string>& ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) use(field, std::string(field) + "[" + std::to_string(i) + "]", ids[i]);
  };
  list("relevant_chunk_ids", item.relevant_chunk_ids);
  if (!item.source_chunk_id.empty()) use("source_chunk_id", std::string("source_chunk_id"), item.source_chunk_id);
  list("pool_ids", item.pool_ids);
}

bool changed(const index::Index& index, const Item& item, const std::string& id, index::ChunkNo chunk) {
  const auto kept = item.chunk_digests.find(id);
  return kept != item.chunk_digests.end() && kept->second != chunk_digest(index.chunk(chunk).text);
}

std::string field_name(const Set& set, const std::string& field) {
  return set.form == Form::samples && !field.starts_with("relevant_chunk_ids") ? "extra." + field : field;
}

}  // namespace

std::string_view page_of(std::string_view chunk_id) noexcept { return chunk_id.substr(0, chunk_id.rfind('#')); }

void check_against(const index::Index& index, Checked& checked) {
  const Set& set = checked.set;
  for (const auto& item : set.items) {
    const auto warn = [&](const std::string& field, std::string message) {
      checked.warnings.push_back({item.id, item.line, field_name(set, field), std::move(message)});
    };
    each_chunk_id(item, [&](const char* field, const std::string& place, const std::string& id) {
      const auto chunk = index.find_chunk(id);
      if (!chunk) warn(place, "the index has no chunk \"" + id + "\"");
      else if (field != std::string_view("pool_ids") && changed(index, item, id, *chunk)) warn(place, "the text of \"" + id + "\" is another than when it was judged");
    });
    for (std::size_t i = 0; i < item.relevant_pages.size(); ++i) {
      if (!has_page(index, item.relevant_pages[i])) warn("relevant_pages[" + std::to_string(i) + "]", "the index has no page \"" + item.relevant_pages[i] + "\"");
    }
  }
  std::stable_sort(checked.warnings.begin(), checked.warnings.end(), [](const Problem& a, const Problem& b) { return a.line < b.line; });
}

std::vector<Problem> unknown_gold(const index::Index& index, const Set& set) {
  std::vector<Problem> out;
  for (const auto& item : set.items) {
    for (const auto& id : item.relevant_chunk_ids) {
      if (!index.find_chunk(id)) out.push_back({item.id, item.line, "relevant_chunk_ids", "the index has no chunk \"" + id + "\""});
    }
    for (const auto& page : item.relevant_pages) {
      if (!has_page(index, page)) out.push_back({item.id, item.line, field_name(set, "relevant_pages"), "the index has no page \"" + page + "\""});
    }
  }
  return out;
}

std::string_view name(Match match) noexcept {
  switch (match) {
    case Match::digest: return "digest";
    case Match::similar: return "similar";
    case Match::reference: return "reference";
    case Match::none: return "none";
  }
  return "";
}

std::vector<Move> propose_moves(const index::Index& index, const Set& set, const index::Index* old_index) {
  Chunks chunks(index);
  std::vector<Move> moves;
  for (const auto& item : set.items) {
    each_chunk_id(item, [&](const char* field, const std::string&, const std::string& id) {
      const auto present = index.find_chunk(id);
      std::optional<std::string> old_text;
      if (old_index != nullptr) {
        if (const auto chunk = old_index->find_chunk(id)) old_text = std::string(old_index->chunk(*chunk).text);
      }
      const auto kept = item.chunk_digests.find(id);
      std::string digest = kept == item.chunk_digests.end() ? std::string() : kept->second;
      if (digest.empty() && old_text) digest = chunk_digest(*old_text);
      if (present && (digest.empty() || digest == chunk_digest(index.chunk(*present).text))) return;
      Move move{item.id, item.line, field, id, "", !present, Match::none, 0};
      const auto found = [&](index::ChunkNo chunk, Match match, double score) {
        move.to = index.chunk_id(chunk);
        move.match = match;
        move.score = score;
      };
      const auto same = digest.empty() ? std::nullopt : chunks.with_digest(digest, page_of(id));
      if (same) {
        found(*same, Match::digest, 1);
      } else if (old_text) {
        if (const auto guess = chunks.similar(*old_text)) found(guess->chunk, Match::similar, guess->score);
      } else if (const auto guess = chunks.holding(item.reference_answer + "\n" + item.evidence, page_of(id))) {
        found(guess->chunk, Match::reference, guess->score);
      }
      moves.push_back(std::move(move));
    });
  }
  return moves;
}

Set remapped(const index::Index& index, const Set& set, const std::vector<Move>& moves) {
  std::map<std::pair<std::string, std::string>, std::string> target;  // item and id
  for (const auto& move : moves) {
    if (!move.to.empty()) target[{move.item, move.from}] = move.to;
  }
  Set out = set;
  for (auto& item : out.items) {
    const auto now = [&](const std::string& id) {
      const auto found = target.find({item.id, id});
      return found == target.end() ? id : found->second;
    };
    const auto renamed = [&](std::vector<std::string>& ids) {
      std::vector<std::string> kept;
      std::set<std::string> seen;
      for (const auto& id : ids) {
        if (std::string to = now(id); seen.insert(to).second) kept.push_back(std::move(to));
      }
      ids = std::move(kept);
    };
    std::map<std::string, std::uint32_t> relevance;
    for (const auto& [id, grade] : item.relevance) {
      auto& held = relevance[now(id)];
      held = std::max(held, grade);
    }
    item.relevance = std::move(relevance);
    renamed(item.relevant_chunk_ids);
    renamed(item.pool_ids);
    if (!item.source_chunk_id.empty()) item.source_chunk_id = now(item.source_chunk_id);

    std::map<std::string, std::string> digests;
    std::vector<std::string> kept = item.relevant_chunk_ids;
    if (!item.source_chunk_id.empty()) kept.push_back(item.source_chunk_id);
    for (const auto& id : kept) {
      if (const auto chunk = index.find_chunk(id)) {
        // A text that changed and found no new place keeps its old digest, so that it goes on being named.
        const bool unresolved = changed(index, item, id, *chunk) && target.find({item.id, id}) == target.end() && item.chunk_digests.contains(id) &&
                                std::find_if(moves.begin(), moves.end(), [&](const Move& move) { return move.item == item.id && move.from == id; }) != moves.end();
        digests[id] = unresolved ? item.chunk_digests.at(id) : chunk_digest(index.chunk(*chunk).text);
      } else if (const auto old = item.chunk_digests.find(id); old != item.chunk_digests.end()) {
        digests[id] = old->second;
      }
    }
    item.chunk_digests = std::move(digests);
  }
  return out;
}

}  // namespace polygraph::golden
