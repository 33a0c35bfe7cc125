// Names and canonical digests of effects. The byte form is private to Polygraph; what matters is that it is unambiguous
// (every variable-length part is preceded by its length) and the same natively and in WebAssembly.
#include "wasm/agent/effect.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "wasm/bits.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::agent {
namespace {

constexpr std::array<std::string_view, 4> kinds = {"embed", "score", "complete", "time"};
constexpr std::array<std::string_view, 3> tasks = {"grade", "rewrite", "generate"};

/// Little-endian integers and length-prefixed strings.
class Canonical {
 public:
  void u64(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>((value >> shift) & 0xFF));
  }
  void u32(std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<char>((value >> shift) & 0xFF));
  }
  void real(double value) { u64(bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    u64(value.size());
    bytes_ += value;
  }
  void tokens(const std::vector<text::TokenId>& ids) {
    u64(ids.size());
    for (const text::TokenId id : ids) u32(static_cast<std::uint32_t>(id));
  }
  void floats(const std::vector<float>& values) {
    u64(values.size());
    for (const float value : values) u32(bit_cast<std::uint32_t>(value));
  }
  std::string digest() const { return text::digest(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace

std::string_view name(EffectKind kind) noexcept { return kinds[static_cast<std::size_t>(kind)]; }
std::string_view name(Task task) noexcept { return tasks[static_cast<std::size_t>(task)]; }

std::string request_digest(const decltype(Effect::request)& request, const DigestContext& context) {
  Canonical canonical;
  canonical.text(name(static_cast<EffectKind>(request.index())));
  if (const auto* embed = std::get_if<EmbedRequest>(&request)) {
    canonical.text(context.embedder);
    canonical.tokens(embed->token_ids);
  } else if (const auto* score = std::get_if<ScoreRequest>(&request)) {
    canonical.text(context.reranker);
    canonical.real(score->budget_ms);
    canonical.u64(score->pairs.size());
    for (const TokenPair& pair : score->pairs) {
      canonical.u32(pair.split);
      canonical.tokens(pair.token_ids);
    }
  } else if (const auto* complete = std::get_if<CompleteRequest>(&request)) {
    canonical.text(context.provider);
    canonical.text(context.index);
    canonical.text(name(complete->task));
    canonical.text(complete->question);
    canonical.u64(complete->chunk_ids.size());
    for (const std::string& id : complete->chunk_ids) canonical.text(id);
    canonical.text(complete->failed_query);
    canonical.text(complete->reason);
    canonical.text(complete->schema);
    canonical.text(complete->repair);
  }
  return canonical.digest();
}

TokenPair token_pair(text::Encoding encoding) {
  const auto second = std::find(encoding.type_ids.begin(), encoding.type_ids.end(), 1);
  return {std::move(encoding.ids), static_cast<std::uint32_t>(second - encoding.type_ids.begin())};
}

std::string result_digest(const EffectResult& result) {
  Canonical canonical;
  canonical.u32(static_cast<std::uint32_t>(result.value.index()));
  if (const auto* embedding = std::get_if<Embedding>(&result.value)) {
    canonical.floats(embedding->vector);
  } else if (const auto* logits = std::get_if<Logits>(&result.value)) {
    canonical.floats(logits->values);
  } else if (const auto* completion = std::get_if<Completion>(&result.value)) {
    canonical.text(completion->text);
  } else if (const auto* time = std::get_if<Time>(&result.value)) {
    canonical.text(time->utc);
    canonical.real(time->ms);
  } else if (const auto* error = std::get_if<Error>(&result.value)) {
    canonical.text(polygraph::name(error->code));
    canonical.text(error->message);
    canonical.text(error->field);
    canonical.u64(error->line);
  }
  canonical.real(result.ms);
  canonical.text(result.model);
  canonical.u64(result.tokens.in);
  canonical.u64(result.tokens.out);
  canonical.u32(result.cost_usd.has_value() ? 1 : 0);
  canonical.real(result.cost_usd.value_or(0));
  canonical.u32(result.cached ? 1 : 0);
  canonical.text(result.finish);
  return canonical.digest();
}

}  // namespace polygraph::agent
