// BERT's uncased WordPiece tokenizer, identical to the one that a model's tokenizer.json describes
// (BertNormalizer with clean_text, handle_chinese_chars, strip_accents and lowercase; BertPreTokenizer; WordPiece with
// `##` continuation, [UNK] and max_input_chars_per_word 100; TemplateProcessing [CLS] A [SEP] B [SEP]). As there, a
// special token written out in a text ("[MASK]") is that token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::text {

using TokenId = std::int32_t;

/// A model's vocabulary: token i is line i. Views the bytes it was parsed from, which must outlive it.
class Vocabulary {
 public:
  /// `lines`: the content of vocab.txt, one token a line, `\n` or `\r\n`. Fails with `corrupt` (field "vocabulary") when
  /// a special token ([PAD], [UNK], [CLS], [SEP]) is missing or a token occurs twice.
  static Result<Vocabulary> parse(std::string_view lines);

  std::optional<TokenId> find(std::string_view token) const noexcept;
  std::string_view token(TokenId id) const noexcept;
  std::size_t size() const noexcept { return tokens_.size(); }
  TokenId unk() const noexcept { return unk_; }
  TokenId cls() const noexcept { return cls_; }
  TokenId sep() const noexcept { return sep_; }
  /// Bytes of the longest token.
  std::size_t longest_token() const noexcept { return longest_token_; }

  /// Hash of the table behind `find`: FNV-1a, so that every prefix of a word is hashed in one pass over it.
  static constexpr std::uint64_t hash_seed = 0xCBF29CE484222325u;
  static constexpr std::uint64_t hash_step(std::uint64_t hash, char byte) noexcept {
    return (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001B3u;
  }
  /// `find` with the token's hash already known.
  std::optional<TokenId> find(std::string_view token, std::uint64_t hash) const noexcept;

 private:
  std::size_t slot(std::string_view token, std::uint64_t hash) const noexcept;

  std::vector<std::string_view> tokens_;
  std::vector<TokenId> slots_;  ///< open-addressing hash table over tokens_, -1 where empty
  TokenId unk_ = 0, cls_ = 0, sep_ = 0;
  std::size_t longest_token_ = 0;
};

/// Where a token stands in its text, in bytes: [begin, end). Special tokens have begin == end == 0.
struct TokenSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const TokenSpan&) const = default;
};

struct Encoding {
  std::vector<TokenId> ids;          ///< with [CLS] and [SEP]
  std::vector<TokenId> type_ids;     ///< 0 for the first text and its separators, 1 for the second
  std::vector<TokenSpan> spans;      ///< into the first text where type 0, into the second where type 1
  std::size_t tokens_cut = 0;        ///< how many tokens truncation dropped
};

class WordPiece {
 public:
  /// `vocabulary` must outlive the tokenizer.
  explicit WordPiece(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}

  /// [CLS] text [SEP], at most `max_tokens` (>= 2) ids. Ill-formed UTF-8 is read as U+FFFD, which clean_text drops.
  Encoding encode(std::string_view text, std::size_t max_tokens) const;

  /// [CLS] query [SEP] passage [SEP], at most `max_tokens` (>= 3) ids; only the passage is cut, unless the query alone
  /// leaves no room: then the query is cut to fit and the passage is empty.
  Encoding encode_pair(std::string_view query, std::string_view passage, std::size_t max_tokens) const;

  /// Number of word pieces of `text` without special tokens.
  std::size_t count(std::string_view text) const;

 private:
  const Vocabulary* vocabulary_;
};

}  // namespace polygraph::text
