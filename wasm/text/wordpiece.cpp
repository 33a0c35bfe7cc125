#include "wasm/text/wordpiece.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "wasm/text/unicode/properties.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::text {
namespace {

constexpr std::size_t max_word_characters = 100;  ///< a longer word is [UNK] (max_input_chars_per_word)
constexpr std::string_view continuation = "##";
constexpr std::array<std::string_view, 5> special_tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

constexpr bool is_ascii_punctuation(char32_t c) noexcept {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
}

bool is_punctuation(char32_t c) noexcept {
  return c < 0x80 ? is_ascii_punctuation(c) : (unicode::properties(c) & unicode::punctuation) != 0;
}

struct Pieces {
  std::vector<TokenId> ids;
  std::vector<TokenSpan> spans;
};

/// Turns one text into word pieces in a single pass: normalises, splits into words, and matches each word.
class Splitter {
 public:
  explicit Splitter(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    hashes_.reserve(vocabulary.longest_token());
  }

  Pieces split(std::string_view text) {
    // Special tokens are found in the raw text; what stands between them is normalised piece by piece.
    std::size_t begin = 0;
    for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at)) {
      const auto special = special_at(text.substr(at));
      if (!special) {
        ++at;
        continue;
      }
      segment(text, begin, at);
      const auto [id, length] = *special;
      emit(id, {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + length)});
      at += length;
      begin = at;
    }
    segment(text, begin, text.size());
    return std::move(pieces_);
  }

 private:
  struct Character {
    std::uint32_t at;  ///< byte offset in word_
    TokenSpan source;
  };

  /// A combining mark that waits for canonical ordering.
  struct Waiting {
    char32_t code_point;
    std::uint8_t combining_class;
    bool replaces;  ///< stands for a source character of its own; false for the tail of a decomposition
    bool kept;      ///< false for the marks that strip_accents removes
  };

  std::optional<std::pair<TokenId, std::size_t>> special_at(std::string_view text) const noexcept {
    for (const std::string_view token : special_tokens) {
      if (!text.starts_with(token)) continue;
      if (const auto id = vocabulary_.find(token)) return std::pair{*id, token.size()};
    }
    return std::nullopt;
  }

  void segment(std::string_view text, std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end;) {
      const CodePoint point = decode(text.substr(0, end), at);
      const TokenSpan source{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + point.length)};
      at += point.length;
      character(point.value, source);
    }
    order_waiting();
    finish_word();
  }

  void character(char32_t c, TokenSpan source) {
    if (c < 0x80) {
      const bool white = c == ' ' || c == '\t' || c == '\n' || c == '\r';
      if (!white && (c < ' ' || c == 0x7F)) return;  // clean_text drops the other controls
      order_waiting();
      if (white) {
        finish_word();
      } else {
        add(unicode::fold(c).code_points[0], source);
      }
      last_source_ = source;
      return;
    }
    const std::uint8_t flags = unicode::properties(c);
    if (flags & unicode::drop) return;
    if (flags & unicode::space) {
      order_waiting();
      finish_word();
      last_source_ = source;
      return;
    }
    if (flags & unicode::mark) {
      if (const std::uint8_t combining = unicode::combining_class(c); combining != 0) {
        wait({c, combining, true, false}, source);
      } else {
        order_waiting();
        last_source_ = source;
      }
      return;
    }
    if (flags & unicode::ideograph) {
      order_waiting();
      finish_word();
    }
    const unicode::Folded folded = unicode::fold(c);
    for (std::uint8_t i = 0; i < folded.count; ++i) {
      const char32_t part = folded.code_points[i];
      if (const std::uint8_t combining = unicode::combining_class(part); combining != 0) {
        wait({part, combining, i == 0, true}, source);
      } else {
        order_waiting();
        add(part, source);
        last_source_ = source;
      }
    }
    if (flags & unicode::ideograph) finish_word();
  }

  void wait(Waiting mark, TokenSpan source) {
    if (mark.replaces) waiting_sources_.push_back(source);
    any_kept_ = any_kept_ || mark.kept;
    waiting_.push_back(mark);
  }

  /// Canonical ordering (The Unicode Standard, D109) of the marks since the last starter. The reference reads source
  /// offsets off after ordering: the n-th reordered mark gets the place of the n-th mark as written. So do we.
  void order_waiting() {
    if (waiting_.empty()) return;
    if (any_kept_) {
      std::stable_sort(waiting_.begin(), waiting_.end(),
                       [](const Waiting& a, const Waiting& b) { return a.combining_class < b.combining_class; });
      std::size_t next = 0;
      for (const Waiting& mark : waiting_) {
        if (mark.replaces) last_source_ = waiting_sources_[next++];
        if (mark.kept) add(mark.code_point, last_source_);
      }
    }
    if (!waiting_sources_.empty()) last_source_ = waiting_sources_.back();
    waiting_.clear();
    waiting_sources_.clear();
    any_kept_ = false;
  }

  /// One normalised character that is not white space.
  void add(char32_t c, TokenSpan source) {
    if (is_punctuation(c)) {
      finish_word();
      append_to_word(c, source);
      finish_word();
    } else {
      append_to_word(c, source);
    }
  }

  void append_to_word(char32_t c, TokenSpan source) {
    word_end_ = source.end;
    ++word_characters_;
    if (word_characters_ > max_word_characters) return;  // it will be [UNK]: only its extent matters
    characters_.push_back({static_cast<std::uint32_t>(word_.size()), source});
    append(word_, c);
  }

  void finish_word() {
    if (word_characters_ == 0) return;
    if (word_characters_ > max_word_characters || !match_word()) {
      emit(vocabulary_.unk(), {characters_.front().source.begin, word_end_});
    }
    word_.resize(continuation.size());
    characters_.clear();
    word_characters_ = 0;
  }

  /// Greedy longest match, left to right; false, with nothing emitted, when some piece is not in the vocabulary.
  bool match_word() {
    const std::size_t emitted = pieces_.ids.size();
    for (std::size_t first = 0; first < characters_.size();) {
      // The piece is looked up in place: what precedes it is used up and makes room for `##`.
      std::size_t begin = characters_[first].at;
      if (first > 0) {
        begin -= continuation.size();
        continuation.copy(word_.data() + begin, continuation.size());
      }
      const std::size_t reach = std::min(word_.size() - begin, vocabulary_.longest_token());
      hashes_.clear();
      std::uint64_t hash = Vocabulary::hash_seed;
      for (std::size_t i = 0; i < reach; ++i) {
        hash = Vocabulary::hash_step(hash, word_[begin + i]);
        hashes_.push_back(hash);
      }
      std::size_t last = characters_.size();
      std::optional<TokenId> found;
      for (; last > first; --last) {
        const std::size_t length = (last < characters_.size() ? characters_[last].at : word_.size()) - begin;
        if (length > reach) continue;
        found = vocabulary_.find(std::string_view(word_).substr(begin, length), hashes_[length - 1]);
        if (found) break;
      }
      if (!found) {
        pieces_.ids.resize(emitted);
        pieces_.spans.resize(emitted);
        return false;
      }
      emit(*found, {characters_[first].source.begin, characters_[last - 1].source.end});
      first = last;
    }
    return true;
  }

  void emit(TokenId id, TokenSpan span) {
    pieces_.ids.push_back(id);
    pieces_.spans.push_back(span);
  }

  const Vocabulary& vocabulary_;
  Pieces pieces_;
  std::string word_ = std::string(continuation.size(), '#');  ///< room for `##`, then the word, normalised
  std::vector<Character> characters_;
  std::size_t word_characters_ = 0;  ///< may exceed characters_.size(), which stops at the limit
  std::uint32_t word_end_ = 0;       ///< end in the source
  std::vector<std::uint64_t> hashes_;
  std::vector<Waiting> waiting_;
  std::vector<TokenSpan> waiting_sources_;
  bool any_kept_ = false;
  TokenSpan last_source_;
};

void append_pieces(Encoding& encoding, const Pieces& pieces, std::size_t count, TokenId type) {
  const auto n = static_cast<std::ptrdiff_t>(count);
  encoding.ids.insert(encoding.ids.end(), pieces.ids.begin(), pieces.ids.begin() + n);
  encoding.spans.insert(encoding.spans.end(), pieces.spans.begin(), pieces.spans.begin() + n);
  encoding.type_ids.resize(encoding.ids.size(), type);
}

void append_special(Encoding& encoding, TokenId id, TokenId type) {
  encoding.ids.push_back(id);
  encoding.spans.push_back({});
  encoding.type_ids.push_back(type);
}

}  // namespace

Result<Vocabulary> Vocabulary::parse(std::string_view lines) {
  const auto corrupt = [](std::string message, std::uint64_t line = 0) {
    return fail(ErrorCode::corrupt, std::move(message), "vocabulary", line);
  };
  Vocabulary vocabulary;
  vocabulary.tokens_.reserve(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')) + 1);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    std::string_view token = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    if (token.ends_with('\r')) token.remove_suffix(1);
    vocabulary.tokens_.push_back(token);
    vocabulary.longest_token_ = std::max(vocabulary.longest_token_, token.size());
  }

  std::size_t slots = 16;
  while (slots < 2 * vocabulary.tokens_.size()) slots *= 2;
  vocabulary.slots_.assign(slots, -1);
  for (std::size_t i = 0; i < vocabulary.tokens_.size(); ++i) {
    const std::string_view token = vocabulary.tokens_[i];
    std::uint64_t hash = hash_seed;
    for (const char byte : token) hash = hash_step(hash, byte);
    TokenId& slot = vocabulary.slots_[vocabulary.slot(token, hash)];
    if (slot >= 0) {
      return corrupt("The token \"" + std::string(token) + "\" stands in lines " + std::to_string(slot + 1) + " and " +
                         std::to_string(i + 1) + "; a vocabulary holds each token once.",
                     i + 1);
    }
    slot = static_cast<TokenId>(i);
  }

  for (const auto& [token, id] : {std::pair{"[PAD]", static_cast<TokenId*>(nullptr)}, std::pair{"[UNK]", &vocabulary.unk_},
                                  std::pair{"[CLS]", &vocabulary.cls_}, std::pair{"[SEP]", &vocabulary.sep_}}) {
    const auto found = vocabulary.find(token);
    if (!found) return corrupt(std::string("The vocabulary lacks the special token ") + token + ".");
    if (id != nullptr) *id = *found;
  }
  return vocabulary;
}

/// The slot that holds `token`, or the empty one where it belongs. At most half of the slots are taken.
std::size_t Vocabulary::slot(std::string_view token, std::uint64_t hash) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::size_t>(hash ^ hash >> 32) & mask;
  while (slots_[at] >= 0 && tokens_[static_cast<std::size_t>(slots_[at])] != token) at = (at + 1) & mask;
  return at;
}

std::optional<TokenId> Vocabulary::find(std::string_view token, std::uint64_t hash) const noexcept {
  if (slots_.empty()) return std::nullopt;
  const TokenId id = slots_[slot(token, hash)];
  return id >= 0 ? std::optional(id) : std::nullopt;
}

std::optional<TokenId> Vocabulary::find(std::string_view token) const noexcept {
  std::uint64_t hash = hash_seed;
  for (const char byte : token) hash = hash_step(hash, byte);
  return find(token, hash);
}

std::string_view Vocabulary::token(TokenId id) const noexcept {
  return id >= 0 && static_cast<std::size_t>(id) < tokens_.size() ? tokens_[static_cast<std::size_t>(id)]
                                                                  : std::string_view{};
}

Encoding WordPiece::encode(std::string_view text, std::size_t max_tokens) const {
  constexpr std::size_t specials = 2;
  const Pieces pieces = Splitter(*vocabulary_).split(text);
  const std::size_t room = max_tokens > specials ? max_tokens - specials : 0;
  const std::size_t kept = std::min(pieces.ids.size(), room);

  Encoding encoding;
  append_special(encoding, vocabulary_->cls(), 0);
  append_pieces(encoding, pieces, kept, 0);
  append_special(encoding, vocabulary_->sep(), 0);
  encoding.tokens_cut = pieces.ids.size() - kept;
  return encoding;
}

Encoding WordPiece::encode_pair(std::string_view query, std::string_view passage, std::size_t max_tokens) const {
  constexpr std::size_t specials = 3;
  const Pieces first = Splitter(*vocabulary_).split(query);
  const Pieces second = Splitter(*vocabulary_).split(passage);
  const std::size_t room = max_tokens > specials ? max_tokens - specials : 0;
  const std::size_t first_kept = std::min(first.ids.size(), room);
  const std::size_t second_kept = std::min(second.ids.size(), room - first_kept);

  Encoding encoding;
  append_special(encoding, vocabulary_->cls(), 0);
  append_pieces(encoding, first, first_kept, 0);
  append_special(encoding, vocabulary_->sep(), 0);
  append_pieces(encoding, second, second_kept, 1);
  append_special(encoding, vocabulary_->sep(), 1);
  encoding.tokens_cut = first.ids.size() - first_kept + second.ids.size() - second_kept;
  return encoding;
}

std::size_t WordPiece::count(std::string_view text) const { return Splitter(*vocabulary_).split(text).ids.size(); }

}  // namespace polygraph::text
