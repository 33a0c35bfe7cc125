#include "wasm/metrics/trec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "wasm/metrics/ranking.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::metrics {
namespace {

constexpr std::array<std::string_view, 4> qrels_columns = {"query", "iteration", "document", "grade"};
constexpr std::array<std::string_view, 6> run_columns = {"query", "Q0", "document", "rank", "score", "tag"};

bool blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

tl::unexpected<Error> wrong(std::string message, std::string_view column, std::uint64_t line) {
  return fail(ErrorCode::invalid_text, std::move(message), std::string(column), line);
}

std::string quoted(std::string_view value) {
  constexpr std::size_t longest = 80;
  std::string out = "\"";
  out.append(value.substr(0, longest));
  if (value.size() > longest) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();  // no half of a character
    out += "…";
  }
  return out + "\"";
}

/// Calls `use(columns, line)` for each line that is not blank.
template <std::size_t N, class Use>
Result<void> each_row(std::string_view text, const std::array<std::string_view, N>& names, Use&& use) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::array<std::string_view, N> columns;
    std::size_t count = 0;
    for (std::size_t i = 0; i < line.size();) {
      if (blank(line[i])) {
        ++i;
        continue;
      }
      const std::size_t begin = i;
      while (i < line.size() && !blank(line[i])) ++i;
      if (count == N) return wrong("expected " + std::to_string(N) + " columns, and " + quoted(line.substr(begin, i - begin)) + " is one more", "", number);
      columns[count++] = line.substr(begin, i - begin);
    }
    if (count == 0) continue;
    if (const auto bad = text::first_invalid(line)) return wrong("not UTF-8 at byte " + std::to_string(*bad + 1) + " of the line", "", number);
    if (count < N) {
      return wrong("expected " + std::to_string(N) + " columns, found " + std::to_string(count) + "; this one is missing", names[count], number);
    }
    if (auto done = use(columns, number); !done) return done;
  }
  return {};
}

std::optional<std::int64_t> whole_number(std::string_view text) noexcept {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The nearest double to a decimal number; nothing for anything else. libc++ 14 has no from_chars for doubles, and strtod reads the
/// locale and takes more than decimals: so what it may see is checked and its decimal point put in.
std::optional<double> decimal(std::string_view text) {
  std::string copy;
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t begin = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') copy += text[i++];
    return i - begin;
  };
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) copy += text[i++];
  std::size_t significant = digits();
  if (i < text.size() && text[i] == '.') {
    copy += std::localeconv()->decimal_point;
    ++i;
    significant += digits();
  }
  if (significant == 0) return std::nullopt;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    copy += text[i++];
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) copy += text[i++];
    if (digits() == 0) return std::nullopt;
  }
  if (i != text.size()) return std::nullopt;
  return std::strtod(copy.c_str(), nullptr);
}

/// Conversion of a double beyond a float's range is undefined in C++; trec_eval's machines give infinity.
float single(double value) noexcept {
  constexpr double largest = std::numeric_limits<float>::max();
  // Half a unit above the largest float and beyond rounds to infinity.
  constexpr double beyond = largest + 10141204801825835211973625643008.0;
  if (std::abs(value) >= beyond) return value > 0 ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
  return static_cast<float>(std::clamp(value, -largest, largest));
}

struct Scored {
  std::string_view document;
  float score;
  std::uint64_t line;
};

/// The first document that stands twice, at its second line.
template <class Row>
const Row* repeated(std::vector<Row>& rows) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.document != b.document ? a.document < b.document : a.line < b.line; });
  const Row* first = nullptr;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].document == rows[i - 1].document && (first == nullptr || rows[i].line < first->line)) first = &rows[i];
  }
  return first;
}

/// Rows of one query stand together in most files, so that the last one met is looked at first.
template <class Row>
class ByQuery {
 public:
  std::vector<Row>& of(std::string_view query) {
    if (last_ == nullptr || last_->first != query) last_ = &*rows_.try_emplace(query).first;
    return last_->second;
  }
  std::map<std::string_view, std::vector<Row>>& all() noexcept { return rows_; }

 private:
  std::map<std::string_view, std::vector<Row>> rows_;
  std::pair<const std::string_view, std::vector<Row>>* last_ = nullptr;
};

struct Judged {
  std::string_view document;
  std::int64_t grade;
  std::uint64_t line;
};

/// Of all queries' repeated documents the one that the file's reader meets first.
template <class Row>
Result<void> check_repeats(std::map<std::string_view, std::vector<Row>>& queries, const char* what) {
  const Row* first = nullptr;
  std::string_view query;
  for (auto& [id, rows] : queries) {
    const Row* found = repeated(rows);
    if (found != nullptr && (first == nullptr || found->line < first->line)) {
      first = found;
      query = id;
    }
  }
  if (first == nullptr) return {};
  return wrong("document " + quoted(first->document) + " is " + what + " twice for query " + quoted(query), "document", first->line);
}

Measures measures(const GradedList& list, std::span<const std::size_t> ks) {
  Measures out;
  out.reserve(5 * ks.size() + 2);
  const auto each_k = [&](const char* name, double (*measure)(const GradedList&, std::size_t) noexcept) {
    for (const std::size_t k : ks) out.emplace_back(name + std::to_string(k), measure(list, k));
  };
  each_k("recall@", recall_at);
  each_k("precision@", precision_at);
  each_k("hit_rate@", hit_rate_at);
  each_k("mrr@", reciprocal_rank_at);
  each_k("ndcg@", ndcg_at);
  out.emplace_back("mrr", reciprocal_rank(list));
  out.emplace_back("map", average_precision(list));
  return out;
}

}  // namespace

Result<Qrels> parse_qrels(std::string_view text) {
  ByQuery<Judged> queries;
  auto read = each_row(text, qrels_columns, [&](const std::array<std::string_view, 4>& columns, std::uint64_t line) -> Result<void> {
    const auto grade = whole_number(columns[3]);
    if (!grade) return wrong(quoted(columns[3]) + " is no whole number", "grade", line);
    queries.of(columns[0]).push_back({columns[2], *grade, line});
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  if (queries.all().empty()) return wrong("holds no judgement", "", 0);
  if (auto done = check_repeats(queries.all(), "judged"); !done) return tl::unexpected(done.error());
  Qrels qrels;
  for (auto& [id, rows] : queries.all()) {
    std::sort(rows.begin(), rows.end(), [](const Judged& a, const Judged& b) { return a.line < b.line; });
    auto& judgements = qrels.emplace_hint(qrels.end(), id, 0)->second;
    judgements.reserve(rows.size());
    for (const Judged& row : rows) judgements.emplace_back(row.document, row.grade);
  }
  return qrels;
}

Result<TrecRun> parse_run(std::string_view text) {
  ByQuery<Scored> queries;
  auto read = each_row(text, run_columns, [&](const std::array<std::string_view, 6>& columns, std::uint64_t line) -> Result<void> {
    const auto score = decimal(columns[4]);
    if (!score) return wrong(quoted(columns[4]) + " is no number", "score", line);
    queries.of(columns[0]).push_back({columns[2], single(*score), line});
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  if (auto done = check_repeats(queries.all(), "retrieved"); !done) return tl::unexpected(done.error());
  TrecRun run;
  for (auto& [id, rows] : queries.all()) {
    std::sort(rows.begin(), rows.end(), [](const Scored& a, const Scored& b) { return a.score != b.score ? a.score > b.score : a.document > b.document; });
    auto& ranked = run.emplace_hint(run.end(), id, 0)->second;
    ranked.reserve(rows.size());
    for (const Scored& row : rows) ranked.emplace_back(row.document);
  }
  return run;
}

TrecEvaluation evaluate(const Qrels& qrels, const TrecRun& run, std::span<const std::size_t> k) {
  TrecEvaluation out;
  out.k.assign(k.begin(), k.end());
  out.counts.queries = qrels.size();
  out.queries.reserve(qrels.size());
  for (const auto& [id, judgements] : qrels) {
    const auto found = run.find(id);
    const GradedList list = grade(found == run.end() ? std::span<const std::string>() : std::span<const std::string>(found->second), judgements);
    if (found == run.end()) ++out.counts.not_in_run;
    if (list.relevant.empty()) ++out.counts.no_relevant;
    out.queries.emplace_back(id, measures(list, k));
  }
  out.mean = measures({}, k);
  for (const auto& [id, values] : out.queries) {
    for (std::size_t i = 0; i < values.size(); ++i) out.mean[i].second += values[i].second;
  }
  for (auto& [name, value] : out.mean) value /= static_cast<double>(qrels.size());
  for (const auto& [id, ranked] : run) {
    if (!qrels.contains(id)) out.only_in_run.push_back(id);
  }
  return out;
}

}  // namespace polygraph::metrics
