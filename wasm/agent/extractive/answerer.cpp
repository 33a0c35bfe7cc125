#include "wasm/agent/extractive/answerer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "wasm/agent/citations.hpp"
#include "wasm/agent/extractive/question.hpp"
#include "wasm/agent/reply.hpp"
#include "wasm/index/model_text.hpp"
#include "wasm/text/sentences.hpp"
#include "wasm/text/terms.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::agent::extractive {
namespace {

// An answer is read, not searched: four quotes of three passages and what belongs to them, about a screen on a phone.
constexpr std::size_t most_quotes = 4;
constexpr std::size_t most_passages = 3;
constexpr std::size_t most_bytes = 1500;
constexpr std::size_t most_items = 6;          ///< list items or rows that follow an introducing sentence
constexpr std::size_t most_scored = 16;        ///< units that the cross-encoder looks at
constexpr double least_share_of_best = 0.6;    ///< of the best quote's score, by words
constexpr double logit_margin = 3.0;           ///< under the best quote's logit
constexpr double another_part = 0.25;          ///< of what all candidates say of the question: a quote that says so much more may
constexpr double part_share_of_best = 0.3;     ///< … be so much worse by words
constexpr double part_margin = 5.0;            ///< … or by the cross-encoder
constexpr double heading_credit = 0.4;         ///< a term in the heading is said once for all sentences under it
constexpr double before_credit = 0.3;          ///< a term in the sentence before: what "it" and "this" stand for
constexpr double rank_credit = 0.3;            ///< for the first passage, falling as 1 / rank
constexpr double literal_credit = 0.15;        ///< for a name, option, number or code that the question does not hold
constexpr double asked_credit = 0.25;          ///< for the kind of thing that the question asks for

constexpr std::string_view unsure_opening = "I am not sure that this answers the question; it is the closest that I found.";

/// What a unit can hold of an answer beside the question's own words.
struct Bearing {
  bool literal = false;  ///< an identifier or a code span that the question does not hold
  bool number = false;
};

/// A unit of a passage, with what it says of the question.
struct Candidate {
  std::size_t passage = 0;  ///< index into the context
  std::size_t unit = 0;     ///< index into the passage's units
  double score = 0;
  std::vector<bool> holds;  ///< for each question term
  Bearing bearing;
};

struct Passage {
  index::ChunkNo chunk = 0;
  std::string_view text;
  std::vector<text::Unit> units;
  std::vector<bool> heading_holds;
};

/// What kind of thing an English question asks for, read off its question words.
struct Wanted {
  bool number = false;   ///< how much, how long, which version …
  bool literal = false;  ///< how do I, which option, what command …
};

Wanted wanted(std::string_view question) {
  constexpr std::array<std::string_view, 14> of_numbers = {"how many", "how much", "how long", "how big", "how large", "how often", "how old",
                                                           "maximum", "minimum", "default", "limit", "size", "version", "seconds"};
  constexpr std::array<std::string_view, 16> of_literals = {"how do", "how can", "how to", "how would", "how should", "option", "flag", "command", "setting",
                                                            "variable", "file", "folder", "directory", "path", "driver", "name"};
  const std::string words = folded(question);
  const auto says = [&](std::string_view phrase) { return words.find(phrase) != std::string::npos; };
  return {std::any_of(of_numbers.begin(), of_numbers.end(), says), std::any_of(of_literals.begin(), of_literals.end(), says)};
}

std::vector<bool> terms_in(const std::vector<text::Term>& terms, const Question& question, const index::Index& index) {
  std::vector<bool> holds(question.terms().size(), false);
  for (const text::Term& term : terms) {
    for (std::size_t i = 0; i < holds.size(); ++i) {
      const QuestionTerm& asked = question.terms()[i];
      if (asked.number && index.term(*asked.number) == term.text) holds[i] = true;
    }
  }
  return holds;
}

/// Whether byte `at` of a sentence stands inside a code span: an odd number of backticks before it, one more after it.
bool in_code_span(std::string_view text, std::size_t at) {
  return std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '`') % 2 == 1 && text.find('`', at) != std::string_view::npos;
}

/// Whether what begins at `at` is an option: after `-` or `--` that nothing stands before.
bool is_option(std::string_view text, std::size_t at) {
  if (at == 0 || text[at - 1] != '-') return false;
  const std::size_t first_dash = text.find_last_not_of('-', at - 1) + 1;  // 0 where dashes are all there is before
  return first_dash == 0 || std::string_view(" \t\n`(|").find(text[first_dash - 1]) != std::string_view::npos;
}

Bearing bearing_of(std::string_view text, text::UnitKind kind, const std::vector<text::Term>& terms, const Question& question) {
  Bearing bearing;
  const auto asked = [&](const text::Term& term) {
    return std::any_of(question.terms().begin(), question.terms().end(), [&](const QuestionTerm& each) { return each.text == term.text; });
  };
  for (const text::Term& term : terms) {
    if (asked(term)) continue;
    const std::string_view written = text.substr(term.begin, term.end - term.begin);
    const bool digit = std::any_of(written.begin(), written.end(), [](char c) { return c >= '0' && c <= '9'; });
    bearing.number = bearing.number || digit;
    bearing.literal = bearing.literal || in_code_span(text, term.begin) || is_option(text, term.begin) || (term.identifier && !digit) || kind == text::UnitKind::code;
  }
  return bearing;
}

std::string_view text_of(const Passage& passage, std::size_t unit) {
  return passage.text.substr(passage.units[unit].begin, passage.units[unit].end - passage.units[unit].begin);
}

bool introduces(std::string_view text) { return !text.empty() && text.back() == ':'; }

/// Whether a sentence leans on the one before it.
bool leans_back(std::string_view text) {
  constexpr std::array<std::string_view, 17> openings = {"this ", "these ", "it ", "its ", "they ", "their ", "that ", "those ", "such ", "otherwise", "however",
                                                         "instead", "also ", "then ", "in this case", "if so", "to do so"};
  const std::string head = folded(text.substr(0, 16));
  return std::any_of(openings.begin(), openings.end(), [&](std::string_view opening) { return head.starts_with(opening); });
}

bool only_rule(std::string_view row) {
  return std::all_of(row.begin(), row.end(), [](char c) { return c == '|' || c == '-' || c == ':' || c == ' '; });
}

bool is_list_marker(std::string_view text) {
  if (text.size() >= 2 && (text[0] == '-' || text[0] == '*' || text[0] == '+') && text[1] == ' ') return true;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  return digits > 0 && digits + 1 < text.size() && (text[digits] == '.' || text[digits] == ')') && text[digits + 1] == ' ';
}

/// Writes quotes and citations, and keeps the spans in code points.
class Writer {
 public:
  Writer(const index::Index& index, Answer& answer) : index_(&index), answer_(&answer) {}

  void separate(std::string_view separator) {
    if (!answer_->text.empty()) append(separator);
  }
  void append(std::string_view text) {
    answer_->text += text;
    points_ += text::code_points(text);
  }
  void quote(std::string_view text) {
    begin_ = static_cast<std::uint32_t>(points_);
    append(text);
    end_ = static_cast<std::uint32_t>(points_);
  }
  /// Cites `chunk` for the last quote.
  void cite(index::ChunkNo chunk, std::string_view before) {
    Citation citation = citation_of(*index_, chunk);
    append(before);
    append("[" + citation.chunk_id + "]");
    citation.begin = begin_;
    citation.end = end_;
    if (std::find(answer_->cited_ids.begin(), answer_->cited_ids.end(), citation.chunk_id) == answer_->cited_ids.end()) {
      answer_->cited_ids.push_back(citation.chunk_id);
    }
    answer_->citations.push_back(std::move(citation));
  }

 private:
  const index::Index* index_;
  Answer* answer_;
  std::size_t points_ = 0;
  std::uint32_t begin_ = 0, end_ = 0;
};

void best_first(std::vector<Candidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.passage != b.passage ? a.passage < b.passage : a.unit < b.unit;
  });
}

std::vector<Candidate> scored(const std::vector<Passage>& passages, const Question& question, std::string_view asked, const index::Index& index) {
  std::vector<Candidate> candidates;
  if (question.total_idf() <= 0) return candidates;
  const Wanted want = wanted(asked);
  for (std::size_t p = 0; p < passages.size(); ++p) {
    const Passage& passage = passages[p];
    std::vector<bool> before(question.terms().size(), false);
    for (std::size_t u = 0; u < passage.units.size(); ++u) {
      const text::UnitKind kind = passage.units[u].kind;
      const std::string_view text = text_of(passage, u);
      const std::vector<text::Term> terms = text::terms(text, index.metadata().analysis);
      Candidate candidate{p, u, 0, terms_in(terms, question, index), bearing_of(text, kind, terms, question)};
      const std::vector<bool> holds_before = std::exchange(before, candidate.holds);
      if (kind == text::UnitKind::heading || text.size() > most_bytes || only_rule(text)) continue;
      double said = 0;
      for (std::size_t i = 0; i < candidate.holds.size(); ++i) {
        double credit = candidate.holds[i] ? 1.0 : 0.0;
        if (passage.heading_holds[i]) credit = std::max(credit, heading_credit);
        if (holds_before[i]) credit = std::max(credit, before_credit);
        said += credit * question.terms()[i].idf;
      }
      if (said <= 0) continue;
      candidate.score = said / question.total_idf() + rank_credit / static_cast<double>(p + 1);
      if (candidate.bearing.literal || candidate.bearing.number) candidate.score += literal_credit;
      if ((want.number && candidate.bearing.number) || (want.literal && candidate.bearing.literal)) candidate.score += asked_credit;
      candidates.push_back(std::move(candidate));
    }
  }
  best_first(candidates);
  return candidates;
}

/// Whether unit `u` is a sentence or a list item.
bool is_prose(const Passage& passage, std::size_t u) {
  return passage.units[u].kind == text::UnitKind::sentence || passage.units[u].kind == text::UnitKind::list_item;
}

/// The units that are read together with `unit`, itself included, in text order: the code or list that a sentence
/// introduces, the sentence that introduces code or a list item, the sentence that "this" points at.
std::vector<std::size_t> read_with(const Passage& passage, std::size_t unit) {
  std::vector<std::size_t> out;
  const text::UnitKind kind = passage.units[unit].kind;
  const std::string_view text = text_of(passage, unit);
  if (unit > 0 && is_prose(passage, unit - 1)) {
    const bool leans = kind == text::UnitKind::sentence && leans_back(text);
    if (kind == text::UnitKind::code || leans) out.push_back(unit - 1);
  }
  // A list item without what it is an item of, or a step without its list's purpose, is half a sentence.
  if (kind == text::UnitKind::list_item) {
    std::size_t first = unit;
    while (first > 0 && passage.units[first - 1].kind == text::UnitKind::list_item) --first;
    if (first > 0 && is_prose(passage, first - 1) && introduces(text_of(passage, first - 1))) out.push_back(first - 1);
  }
  out.push_back(unit);
  if (kind != text::UnitKind::code && introduces(text)) {
    for (std::size_t u = unit + 1; u < passage.units.size() && u - unit <= most_items; ++u) {
      const text::UnitKind next = passage.units[u].kind;
      const bool code = next == text::UnitKind::code && u == unit + 1;
      if (!code && next != text::UnitKind::list_item && next != text::UnitKind::table_row) break;
      out.push_back(u);
      if (code) break;
    }
  }
  return out;
}

/// The candidates in the order of the cross-encoder; without logits, as they are. Words only choose what it looks at: mixed
/// into its order they made answers worse (share of a reference answer's terms .65 with the logit alone, .61 by words).
std::vector<Candidate> reordered(const std::vector<Candidate>& by_words, std::span<const float> logits) {
  if (logits.empty()) return by_words;
  std::vector<Candidate> out = by_words;
  if (logits.size() < out.size()) out.erase(out.begin() + static_cast<std::ptrdiff_t>(logits.size()), out.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i].score = static_cast<double>(logits[i]);
  best_first(out);
  return out;
}

struct Choice {
  std::vector<std::size_t> passages;     ///< in the order of their best quotes
  std::vector<std::vector<bool>> units;  ///< of each passage of the context
};

/// Which units of which passages are quoted: the best, then those that say more of the question or bear something that an
/// answer may consist of, each with what is read with it. From `floor` down to `part_floor` a quote must say a part of the
/// question that no other says.
Choice choose(const std::vector<Passage>& passages, const std::vector<Candidate>& candidates, const Question& question,
              double floor, double part_floor) {
  Choice choice;
  std::vector<std::vector<bool>>& chosen = choice.units;
  for (const Passage& passage : passages) chosen.emplace_back(passage.units.size(), false);
  std::size_t bytes = 0;
  const auto take = [&](std::size_t p, std::size_t u) {
    if (chosen[p][u]) return true;
    const std::size_t size = text_of(passages[p], u).size();
    if (bytes > 0 && bytes + size > most_bytes) return false;
    chosen[p][u] = true;
    bytes += size;
    return true;
  };
  const auto quotes_from = [&](std::size_t p) { return std::find(chosen[p].begin(), chosen[p].end(), true) != chosen[p].end(); };
  const auto quoted_passages = [&] {
    std::size_t count = 0;
    for (std::size_t p = 0; p < chosen.size(); ++p) count += quotes_from(p) ? 1 : 0;
    return count;
  };
  // The same sentence often stands on several pages.
  const auto repeated = [&](std::string_view text) {
    for (std::size_t p = 0; p < passages.size(); ++p) {
      for (std::size_t u = 0; u < passages[p].units.size(); ++u) {
        if (chosen[p][u] && text_of(passages[p], u) == text) return true;
      }
    }
    return false;
  };
  // What the candidates together say of the question.
  double said = 0;
  for (std::size_t i = 0; i < question.terms().size(); ++i) {
    if (std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& each) { return each.holds[i]; })) said += question.terms()[i].idf;
  }
  std::vector<bool> covered(question.terms().size(), false);
  std::size_t quotes = 0;
  for (const Candidate& candidate : candidates) {
    if (quotes == most_quotes) break;
    const Passage& passage = passages[candidate.passage];
    double adds = 0;
    for (std::size_t i = 0; i < covered.size(); ++i) {
      if (candidate.holds[i] && !covered[i]) adds += question.terms()[i].idf;
    }
    const bool bears = candidate.bearing.literal || candidate.bearing.number;
    if (candidate.score < part_floor) break;
    const bool worth = candidate.score >= floor ? adds > 0 || bears : adds >= another_part * said;
    if (quotes > 0 && !worth) continue;
    if (chosen[candidate.passage][candidate.unit] || repeated(text_of(passage, candidate.unit))) continue;
    if (!quotes_from(candidate.passage) && quoted_passages() == most_passages) continue;
    const bool first = !quotes_from(candidate.passage);
    if (!take(candidate.passage, candidate.unit)) continue;
    if (first) choice.passages.push_back(candidate.passage);
    ++quotes;
    for (std::size_t i = 0; i < covered.size(); ++i) covered[i] = covered[i] || candidate.holds[i];
    for (const std::size_t u : read_with(passage, candidate.unit)) {
      if (!take(candidate.passage, u)) break;
    }
  }
  return choice;
}

/// What stands above a table row in its table: the header row and the rule under it, so that the row is readable.
std::string_view table_head(const Passage& passage, std::size_t unit) {
  std::size_t first = unit;
  while (first > 0 && passage.units[first - 1].kind == text::UnitKind::table_row) --first;
  if (first == unit) return {};
  std::size_t body = first + 1;
  while (body < unit && only_rule(text_of(passage, body))) ++body;
  return passage.text.substr(passage.units[first].begin, passage.units[body].begin - passage.units[first].begin);
}

/// Whether the heading says something of the question that the quoted units don't, or what "it" is in the first of them.
bool leans_on_heading(const Passage& passage, const std::vector<bool>& chosen, const Question& question, const index::Index& index) {
  std::vector<bool> said(question.terms().size(), false);
  bool first = true, leans = false;
  for (std::size_t u = 0; u < chosen.size(); ++u) {
    if (!chosen[u]) continue;
    const std::string_view text = text_of(passage, u);
    if (std::exchange(first, false)) leans = leans_back(text) || passage.units[u].kind != text::UnitKind::sentence;
    const std::vector<bool> holds = terms_in(text::terms(text, index.metadata().analysis), question, index);
    for (std::size_t i = 0; i < said.size(); ++i) said[i] = said[i] || holds[i];
  }
  if (first) return false;
  for (std::size_t i = 0; i < said.size(); ++i) leans = leans || (passage.heading_holds[i] && !said[i]);
  return leans;
}

/// Title and heading path as one line that can stand between asterisks.
std::string bold_heading(const index::Index& index, index::ChunkNo chunk) {
  const index::Chunk view = index.chunk(chunk);
  std::string line(index.document(view.document).title);
  if (!view.heading_path.empty()) line += " > " + std::string(view.heading_path);
  for (char& c : line) {
    if (c == '*' || c == '\n') c = ' ';
  }
  return line;
}

}  // namespace

struct Answerer::State {
  const index::Index* index;
  std::string question_text;
  Question question;
  std::vector<Passage> passages;
  std::vector<Candidate> candidates;  ///< best first
};

Answerer::Answerer(Answerer&&) noexcept = default;
Answerer& Answerer::operator=(Answerer&&) noexcept = default;
Answerer::~Answerer() = default;

Answerer::Answerer(const index::Index& index, std::string_view question_text, const std::vector<index::ChunkNo>& context)
    : state_(new State{&index, std::string(question_text), Question(index, question_text, Pieces::ignore), {}, {}}) {
  for (const index::ChunkNo chunk : context) {
    const index::Chunk view = index.chunk(chunk);
    std::string heading(index.document(view.document).title);
    heading += '\n';
    heading += view.heading_path;
    state_->passages.push_back({chunk, view.text, text::units(view.text), terms_in(text::terms(heading, index.metadata().analysis), state_->question, index)});
  }
  state_->candidates = scored(state_->passages, state_->question, question_text, index);
}

std::vector<text::Encoding> Answerer::pairs(std::size_t max_tokens) const {
  std::vector<text::Encoding> out;
  const text::Vocabulary* vocabulary = state_->index->vocabulary();
  if (vocabulary == nullptr || state_->candidates.size() < 2) return out;
  const text::WordPiece word_piece(*vocabulary);
  for (std::size_t i = 0; i < state_->candidates.size() && i < most_scored; ++i) {
    const Candidate& candidate = state_->candidates[i];
    const Passage& passage = state_->passages[candidate.passage];
    const index::Chunk view = state_->index->chunk(passage.chunk);
    std::string unit;
    for (const std::size_t part : read_with(passage, candidate.unit)) {
      if (!unit.empty()) unit += '\n';
      unit += text_of(passage, part);
    }
    const std::string text = index::model_text(state_->index->document(view.document).title, view.heading_path, unit);
    out.push_back(word_piece.encode_pair(state_->question_text, text, max_tokens));
  }
  return out;
}

Answer Answerer::answer(std::span<const float> logits, bool unsure) const {
  Answer out;
  const index::Index& index = *state_->index;
  const Question& question = state_->question;
  const std::vector<Passage>& passages = state_->passages;
  const std::vector<Candidate> candidates = reordered(state_->candidates, logits);
  if (candidates.empty()) return out;
  const double best = candidates.front().score;
  const Choice choice = logits.empty() ? choose(passages, candidates, question, least_share_of_best * best, part_share_of_best * best)
                                       : choose(passages, candidates, question, best - logit_margin, best - part_margin);

  Writer writer(index, out);
  if (unsure) writer.append(unsure_opening);
  for (const std::size_t p : choice.passages) {
    const Passage& passage = passages[p];
    const std::vector<bool>& chosen = choice.units[p];
    if (leans_on_heading(passage, chosen, question, index)) {
      writer.separate("\n\n");
      writer.append("**" + bold_heading(index, passage.chunk) + "**");
    }
    const text::UnitKind none = text::UnitKind::heading;
    text::UnitKind previous = none;
    for (std::size_t u = 0; u < passage.units.size(); ++u) {
      if (!chosen[u]) continue;
      const text::UnitKind kind = passage.units[u].kind;
      const std::string_view text = text_of(passage, u);
      const bool same_table = kind == text::UnitKind::table_row && previous == kind && u > 0 && chosen[u - 1];
      const bool same_list = kind == text::UnitKind::list_item && previous == kind;
      writer.separate(same_list || same_table ? "\n" : "\n\n");
      if (kind == text::UnitKind::table_row && !same_table) writer.append(table_head(passage, u));
      if (kind == text::UnitKind::list_item && !is_list_marker(text)) writer.append("- ");
      writer.quote(text);
      const bool table_goes_on = kind == text::UnitKind::table_row && u + 1 < passage.units.size() && chosen[u + 1] &&
                                 passage.units[u + 1].kind == text::UnitKind::table_row;
      // A citation inside a fence or a row would become part of it.
      const bool block = kind == text::UnitKind::code || kind == text::UnitKind::table_row;
      if (!table_goes_on) writer.cite(passage.chunk, block ? "\n\n" : " ");
      previous = kind;
    }
  }
  return out;
}

}  // namespace polygraph::agent::extractive
