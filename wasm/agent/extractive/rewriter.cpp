#include "wasm/agent/extractive/rewriter.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "wasm/agent/extractive/question.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph::agent::extractive {
namespace {

constexpr std::size_t feedback_chunks = 3;
constexpr std::size_t terms_per_attempt = 2;
constexpr std::size_t most_added = 12;

struct Feedback {
  index::TermNo number;
  double weight;
};

/// Terms of the best passages by tf · idf, damped by rank, title words twice; without the question's own.
std::vector<Feedback> feedback_terms(const index::Index& index, const Question& question, const retrieval::Retrieval& failed) {
  std::map<index::TermNo, double> weights;
  const auto& ranked = failed.ranked();
  for (std::size_t i = 0; i < ranked.size() && i < feedback_chunks; ++i) {
    const index::Chunk chunk = index.chunk(ranked[i].chunk);
    const double damping = 1.0 / static_cast<double>(i + 1);
    const auto add = [&](std::string_view field, double weight) {
      const std::vector<text::Term> terms = text::terms(field, index.metadata().analysis);
      if (terms.empty()) return;
      // By field length: a long passage must not outweigh the title.
      const double each = weight * damping / static_cast<double>(terms.size());
      for (const text::Term& term : terms) {
        if (!term.whole) continue;
        if (const auto number = index.find_term(term.text)) weights[*number] += each * index.idf(*number);
      }
    };
    add(index.document(chunk.document).title, 0.5);
    add(chunk.heading_path, 0.5);
    add(chunk.text, 1.0);
  }
  for (const QuestionTerm& term : question.terms()) {
    if (term.number) weights.erase(*term.number);
  }
  std::vector<Feedback> out;
  for (const auto& [number, weight] : weights) {
    // A term of one chunk only ties the query to that chunk.
    if (index.document_frequency(number) >= 2) out.push_back({number, weight});
  }
  std::sort(out.begin(), out.end(), [](const Feedback& a, const Feedback& b) { return a.weight != b.weight ? a.weight > b.weight : a.number < b.number; });
  return out;
}

/// The question's own words that the corpus knows, as they were written or as the corpus spells them.
std::string known_words(const index::Index& index, std::string_view text, const Question& question) {
  std::string out;
  std::uint32_t written_to = 0;
  for (const text::Term& term : text::terms(text, index.metadata().analysis)) {
    if (!term.whole || term.begin < written_to) continue;
    const auto known = std::find_if(question.terms().begin(), question.terms().end(), [&](const QuestionTerm& other) { return other.text == term.text; });
    if (known == question.terms().end() || !known->number) continue;
    if (!out.empty()) out += ' ';
    out += known->corrected ? surface(index, *known->number) : std::string(text.substr(term.begin, term.end - term.begin));
    written_to = term.end;
  }
  return out;
}

}  // namespace

std::string rewrite(const index::Index& index, std::string_view question_text, const retrieval::Retrieval& failed, std::uint32_t attempt,
                    std::span<const std::string> earlier) {
  const Question question(index, question_text, Pieces::ignore);
  const std::vector<Feedback> feedback = feedback_terms(index, question, failed);
  std::string query = known_words(index, question_text, question);
  const auto is_new = [&] {
    const std::string now = folded(query);
    return !now.empty() && std::none_of(earlier.begin(), earlier.end(), [&](const std::string& before) { return folded(before) == now; });
  };
  const std::size_t least = terms_per_attempt * attempt;
  for (std::size_t added = 0; added < feedback.size() && added < most_added; ++added) {
    if (added >= least && is_new()) break;
    if (!query.empty()) query += ' ';
    query += surface(index, feedback[added].number);
  }
  return is_new() ? query : failed.query();
}

}  // namespace polygraph::agent::extractive
