// What a documentation lacks: questions that were refused, grouped by meaning, each group with what was offered instead.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/gaps/clustering.hpp"
#include "wasm/gaps/nearness.hpp"
#include "wasm/json/writer.hpp"
#include "wasm/report/layout.hpp"

namespace polygraph::gaps {

struct Page {
  std::string title, url;
  auto operator<=>(const Page&) const = default;
};

/// One question as it was asked and not answered.
struct Refusal {
  std::string question;
  std::string day;             ///< "2026-12-01"; empty: not known
  std::string reason, detail;  ///< why it was refused, and what the grader said; may be empty
  std::vector<Page> closest;   ///< pages that were offered instead, best first
};

/// How often something stands among a group's refusals.
template <class Thing>
struct Counted {
  Thing thing;
  std::uint64_t count = 0;
};

/// Refusals of the same question: case, doubled blanks and end punctuation do not count. As it was asked first.
struct Question {
  std::string text;
  std::uint64_t count = 0;
  std::string first_seen, last_seen;  ///< days; empty where none is known
  std::vector<std::uint32_t> refusals;
};

/// In the order in which they were asked first.
std::vector<Question> distinct_questions(std::span<const Refusal> refusals);

enum class Kind : std::uint8_t {
  near_miss,     ///< there is a page about it, which does not say it
  out_of_scope,  ///< nothing is near
  unknown,       ///< there was no index to look it up in
};
std::string_view name(Kind kind) noexcept;

struct Gap {
  std::string label;                 ///< the question most like all others of its group
  std::uint64_t count = 0;           ///< refusals
  std::string first_seen, last_seen;
  Kind kind = Kind::unknown;
  std::optional<Nearness> nearness;  ///< of the label
  std::vector<Counted<std::string>> questions;  ///< the label first, then by count
  std::vector<Counted<std::string>> reasons;    ///< by count
  std::vector<Counted<Page>> closest;           ///< by count; at most five
  std::string detail;                ///< what the grader said of the label
  std::uint32_t label_question = 0;  ///< its place among the distinct questions
};

/// Where groups are cut. Among 112 questions, of which 60 ask for different things, these leave every group whole and pure by
/// meaning (so does anything from 0.82 to 0.86), and by words 92 % of the pairs that belong together (tests/gaps/program_test.cpp).
inline constexpr double like_by_meaning = 0.82, like_by_words = 0.35;

/// One gap for each group of questions: by refusals descending, then by distinct questions, then the latest, then by label.
/// `likeness(a, b)` is the cosine of two questions.
std::vector<Gap> gaps_of(std::span<const Refusal> refusals, std::span<const Question> questions, const Groups& groups,
                         const std::function<double(std::uint32_t, std::uint32_t)>& likeness);

struct Report {
  std::string index_digest, corpus;    ///< empty: looked up in none
  Measure grouped_by = Measure::meaning;
  double threshold = like_by_meaning;
  std::string why_words;               ///< why not by meaning; empty where it was
  std::uint64_t asked = 0, refused = 0, failed = 0;  ///< records read
  std::uint64_t distinct = 0;          ///< questions refused
  std::vector<Gap> gaps;
};

void write(json::Writer& writer, const Report& report);        ///< assets/schemas/gaps.schema.json
std::string to_text(const Report& report, std::size_t most, const report::Ink& ink);  ///< 80 columns
std::string to_markdown(const Report& report);

}  // namespace polygraph::gaps
