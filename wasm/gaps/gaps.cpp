#include "wasm/gaps/gaps.hpp"

#include <algorithm>
#include <map>


namespace polygraph::gaps {
namespace {

constexpr std::size_t most_pages = 5;

/// As questions of recorded runs are compared: without case, doubled blanks and end punctuation.
std::string normalized(std::string_view question) {
  std::string out;
  for (const char c : question) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!out.empty() && out.back() != ' ') out += ' ';
  }
  while (!out.empty() && std::string_view(" ?!.").find(out.back()) != std::string_view::npos) out.pop_back();
  return out;
}

template <class Thing>
std::vector<Counted<Thing>> by_count(const std::map<Thing, std::uint64_t>& counts) {
  std::vector<Counted<Thing>> out;
  for (const auto& [thing, count] : counts) out.push_back({thing, count});
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  return out;
}

void see(std::string& first, std::string& last, const std::string& day) {
  if (day.empty()) return;
  if (first.empty() || day < first) first = day;
  if (day > last) last = day;
}

/// The member most like the others, each counted as often as it was asked; of equals the one asked more often, then the first.
std::uint32_t central(std::span<const Question> questions, const std::vector<std::uint32_t>& group, const std::function<double(std::uint32_t, std::uint32_t)>& likeness) {
  // Every pair of a large group would take long, and its middle is found as well by some.
  constexpr std::size_t most_compared = 500;
  const std::size_t compared = std::min(group.size(), most_compared);
  std::uint32_t best = group.front();
  double highest = -1;
  for (std::size_t i = 0; i < compared; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < compared; ++j) {
      if (i != j) sum += static_cast<double>(questions[group[j]].count) * likeness(group[i], group[j]);
    }
    if (sum > highest || (sum == highest && questions[group[i]].count > questions[best].count)) {
      highest = sum;
      best = group[i];
    }
  }
  return best;
}

}  // namespace

std::string_view name(Kind kind) noexcept {
  switch (kind) {
    case Kind::near_miss: return "near_miss";
    case Kind::out_of_scope: return "out_of_scope";
    case Kind::unknown: break;
  }
  return "unknown";
}

std::vector<Question> distinct_questions(std::span<const Refusal> refusals) {
  std::vector<Question> out;
  std::map<std::string, std::size_t> places;
  for (std::uint32_t i = 0; i < refusals.size(); ++i) {
    const auto [place, fresh] = places.emplace(normalized(refusals[i].question), out.size());
    if (fresh) out.push_back({refusals[i].question, 0, {}, {}, {}});
    Question& question = out[place->second];
    ++question.count;
    see(question.first_seen, question.last_seen, refusals[i].day);
    question.refusals.push_back(i);
  }
  return out;
}

std::vector<Gap> gaps_of(std::span<const Refusal> refusals, std::span<const Question> questions, const Groups& groups,
                         const std::function<double(std::uint32_t, std::uint32_t)>& likeness) {
  std::vector<Gap> out;
  for (const auto& group : groups) {
    Gap gap;
    gap.label_question = central(questions, group, likeness);
    gap.label = questions[gap.label_question].text;
    std::map<std::string, std::uint64_t> reasons;
    std::map<Page, std::uint64_t> pages;
    for (const auto member : group) {
      const Question& question = questions[member];
      gap.count += question.count;
      see(gap.first_seen, gap.last_seen, question.first_seen);
      see(gap.first_seen, gap.last_seen, question.last_seen);
      gap.questions.push_back({question.text, question.count});
      for (const auto each : question.refusals) {
        const Refusal& refusal = refusals[each];
        if (!refusal.reason.empty()) ++reasons[refusal.reason];
        for (const auto& page : refusal.closest) ++pages[page];
        if (member == gap.label_question && gap.detail.empty()) gap.detail = refusal.detail;
      }
    }
    std::stable_sort(gap.questions.begin(), gap.questions.end(), [&](const auto& a, const auto& b) {
      const bool first = a.thing == gap.label, second = b.thing == gap.label;
      return first != second ? first : a.count > b.count;
    });
    gap.reasons = by_count(reasons);
    gap.closest = by_count(pages);
    if (gap.closest.size() > most_pages) gap.closest.resize(most_pages);
    out.push_back(std::move(gap));
  }
  std::sort(out.begin(), out.end(), [](const Gap& a, const Gap& b) {
    if (a.count != b.count) return a.count > b.count;
    if (a.questions.size() != b.questions.size()) return a.questions.size() > b.questions.size();
    if (a.last_seen != b.last_seen) return a.last_seen > b.last_seen;
    return a.label < b.label;
  });
  return out;
}

}  // namespace polygraph::gaps
