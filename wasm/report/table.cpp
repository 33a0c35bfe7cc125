#include "wasm/report/table.hpp"

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <vector>

#include "wasm/report/gate.hpp"
#include "wasm/report/layout.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph::report {
namespace {

using metrics::MetricValue;

constexpr std::string_view begin_mark = "<!-- polygraph:results -->", end_mark = "<!-- /polygraph:results -->";
constexpr std::size_t line_width = 80;
constexpr std::size_t name_width = 26, cell_width = 22;               // two runs: an interval and its count under each value
constexpr std::size_t narrow_name_width = 24, narrow_cell_width = 11;  // up to five: intervals of two decimals
constexpr std::string_view judged[] = {"faithfulness", "answer_relevancy", "correctness", "groundedness", "citation_precision", "citation_recall", "end_to_end_accuracy"};

bool is_judged(std::string_view metric) { return std::find(std::begin(judged), std::end(judged), metric) != std::end(judged); }

std::string decimal(double value, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value == 0 ? 0.0 : value);
  std::string text = buffer;
  // A host that has set a locale of its own writes another point.
  const std::string_view point = std::localeconv()->decimal_point;
  if (const auto at = text.find(point); at != std::string::npos) text.replace(at, point.size(), ".");
  return text;
}

/// A p-value is never 0, however small.
std::string p_value(double p) {
  constexpr double least = 0.00005;  // half of the last digit that is written
  return p < least ? "< 0.0001" : decimal(p, 4);
}

int decimals_of(std::string_view metric, double value) {
  if (metric == "cost_mean_usd") return 5;
  if (metric.starts_with("latency_")) return value < 10 ? 1 : 0;  // a pipeline may take less than a millisecond
  if (metric == "tokens_mean" || metric == "rewrites") return 0;
  return metric.starts_with("steps_") ? 2 : 3;
}

std::string shown(std::string_view metric, double value) { return decimal(value, decimals_of(metric, value)); }

struct Row {
  std::string metric, label;
  std::vector<const MetricValue*> cells;
};

/// Whether a short table leaves the metric out: another cut-off says the same, or nothing was called.
bool is_detail(const Row& row, std::size_t top_k) {
  const std::size_t at = row.metric.find('@');
  if (at != std::string::npos) {
    const std::string k = row.metric.substr(at + 1);
    const bool wide = row.metric.starts_with("recall") || row.metric.starts_with("hit_rate");
    return k != std::to_string(top_k) && !(wide && k == "10");
  }
  if (row.metric.starts_with("latency_")) return row.metric != "latency_p50_ms" && row.metric != "latency_p95_ms";
  const bool free = row.metric == "tokens_mean" || row.metric == "cost_mean_usd" || row.metric == "rewrites";
  return free && std::all_of(row.cells.begin(), row.cells.end(), [](const MetricValue* cell) { return cell == nullptr || cell->value.value_or(0) == 0; });
}

std::vector<Row> rows_of(std::span<const EvaluatedRun> runs, bool all) {
  std::vector<Row> rows;
  std::set<std::string> seen;
  for (const EvaluatedRun& run : runs) {
    for (const auto& [metric, value] : run.summary.metrics) {
      if (!seen.insert(metric).second) continue;
      bool anywhere = false, offline = false;
      Row row{metric, metric, {}};
      for (const EvaluatedRun& each : runs) {
        const MetricValue* cell = each.summary.find(metric);
        row.cells.push_back(cell);
        anywhere = anywhere || (cell != nullptr && (cell->value || cell->judge_error > 0));
        offline = offline || each.facts.offline_judge;
      }
      if (!anywhere || (!all && is_detail(row, runs.front().facts.top_k))) continue;
      if (is_judged(metric) && offline) row.label = "offline judge: " + metric;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

/// The best value of a row, where several runs have one and they differ.
std::optional<double> best(const Row& row) {
  std::optional<double> best;
  double worst = 0;
  std::size_t values = 0;
  for (const MetricValue* cell : row.cells) {
    if (cell == nullptr || !cell->value) continue;
    const double value = *cell->value;
    if (values++ == 0) {
      best = worst = value;
      continue;
    }
    if (more_is_better(row.metric) ? value > *best : value < *best) best = value;
    if (more_is_better(row.metric) ? value < worst : value > worst) worst = value;
  }
  return values < 2 || is_news(row.metric) || best == worst ? std::nullopt : best;
}

std::string over(const MetricValue& cell) {
  std::string text = "n = " + std::to_string(cell.n);
  if (cell.judge_error > 0) text += ", " + std::to_string(cell.judge_error) + " judge errors";
  if (cell.failed > 0) text += ", " + std::to_string(cell.failed) + " failed";
  return text;
}

/// A name in a cell: what Markdown reads as something else is escaped.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '>' || c == '*' || c == '`' || c == '[' || c == ']' || c == '\\' || c == '_') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

/// How much of the first retrievals was never judged, with the first few of it.
std::string unjudged_sentence(const EvaluatedRun& run) {
  constexpr std::size_t named = 3;
  std::size_t count = 0;
  std::string first;
  for (const Unjudged& each : run.unjudged) {
    for (const std::string& id : each.chunk_ids) {
      if (++count <= named) first += (first.empty() ? "" : ", ") + each.query_id + " " + id;
    }
  }
  return run.facts.name + ": " + std::to_string(count) + (count == 1 ? " passage" : " passages") + " of the first " + std::to_string(run.facts.top_k) + " retrieved for " +
         std::to_string(run.unjudged.size()) + (run.unjudged.size() == 1 ? " item was" : " items were") + " never judged and count as not relevant (" + first +
         (count > named ? " …" : "") + "); `report --json` names all, `golden extend` has them labelled.";
}

std::string column_head(const EvaluatedRun& run) { return run.facts.name; }

std::size_t points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}
std::string padded_left(std::string text, std::size_t width) {
  const std::size_t has = points(text);
  return has >= width ? text : std::string(width - has, ' ') + text;
}
std::string padded(std::string text, std::size_t width) {
  const std::size_t has = points(text);
  return has >= width ? text : text + std::string(width - has, ' ');
}

std::string quoted(std::string_view text, std::size_t most) {
  std::string cut(text.substr(0, most));
  while (!cut.empty() && cut.size() < text.size() && (static_cast<unsigned char>(text[cut.size()]) & 0xc0U) == 0x80U) cut.pop_back();
  if (cut.size() < text.size()) cut += " …";
  return escaped(cut);
}

std::string step_line(const agent::Step& step) {
  std::string line = std::to_string(step.n) + ". " + std::string(agent::name(step.node())) + " (" + decimal(step.ms, 0) + " ms)";
  if (const auto* retrieved = std::get_if<agent::Retrieved>(&step.data)) {
    line += ": \"" + quoted(retrieved->query, 160) + "\" → ";
    for (std::size_t i = 0; i < retrieved->retrieved_ids.size(); ++i) line += (i > 0 ? ", " : "") + escaped(retrieved->retrieved_ids[i]);
  } else if (const auto* graded = std::get_if<agent::Graded>(&step.data)) {
    line += std::string(": ") + (graded->relevant ? "relevant" : "not relevant") + ", " + quoted(graded->reason, 200);
  } else if (const auto* rewritten = std::get_if<agent::Rewritten>(&step.data)) {
    line += ": \"" + quoted(rewritten->to, 160) + "\"" + (rewritten->repeated ? ", a query of before" : "");
  } else if (const auto* generated = std::get_if<agent::Generated>(&step.data)) {
    line += ": " + std::to_string(generated->cited_ids.size()) + " passages cited" + (generated->declined ? ", declined" : "");
  } else if (const auto* refused = std::get_if<agent::Refused>(&step.data)) {
    line += ": " + quoted(refused->reason, 200);
  }
  return line;
}

/// A name over a column, in lines of at most `width`; cut behind `_`, `-` or `.` where it has one.
std::vector<std::string> name_lines(std::string_view name, std::size_t width) {
  std::vector<std::string> lines;
  while (points(name) > width) {
    std::size_t end = 0;
    for (std::size_t taken = 0; taken < width; ++taken) {
      do ++end;
      while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U);
    }
    if (const std::size_t mark = name.substr(0, end).find_last_of("_-."); mark != std::string_view::npos && mark > 0) end = mark + 1;
    lines.emplace_back(name.substr(0, end));
    name.remove_prefix(end);
  }
  lines.emplace_back(name);
  return lines;
}

std::string without_end_blanks(std::string line) {
  while (line.ends_with(' ')) line.pop_back();
  return line + '\n';
}

/// What stands under a value, one line of cells each; a line where nothing does is left out.
struct Beneath {
  std::string label;
  std::vector<std::string> cells;
};

/// The interval of each cell and, where a row has one count only, that once.
std::vector<Beneath> narrow_lines(const Row& row, std::size_t first, std::size_t count) {
  Beneath intervals, counts;
  std::set<std::uint64_t> different;
  for (std::size_t i = first; i < first + count; ++i) {
    const MetricValue* cell = row.cells[i];
    const bool has = cell != nullptr && cell->value && cell->low && cell->high;
    std::string interval;
    if (has) {
      const int decimals = row.metric == "cost_mean_usd" ? 5 : std::min(2, decimals_of(row.metric, *cell->value));
      interval = decimal(*cell->low, decimals) + "–" + decimal(*cell->high, decimals);
      different.insert(cell->n);
    }
    intervals.cells.push_back(points(interval) < narrow_cell_width ? interval : std::string());
    counts.cells.push_back(has ? "n " + std::to_string(cell->n) : "");
  }
  if (different.size() == 1) intervals.label = "  n = " + std::to_string(*different.begin());
  return different.size() > 1 ? std::vector{intervals, counts} : std::vector{intervals};
}

std::vector<Beneath> wide_lines(const Row& row, std::size_t first, std::size_t count) {
  Beneath under;
  for (std::size_t i = first; i < first + count; ++i) {
    const MetricValue* cell = row.cells[i];
    const bool has = cell != nullptr && cell->value && cell->low && cell->high;
    under.cells.push_back(has ? '[' + shown(row.metric, *cell->low) + ", " + shown(row.metric, *cell->high) + "] " + std::to_string(cell->n) : "");
  }
  return {under};
}

}  // namespace

std::string markdown_table(std::span<const EvaluatedRun> runs, const TableOptions& options) {
  std::string out = "| metric |", rule = "|---|";
  for (const EvaluatedRun& run : runs) {
    out += ' ' + escaped(column_head(run)) + " |";
    rule += "---:|";
  }
  out += '\n' + rule + '\n';
  for (const Row& row : rows_of(runs, options.all)) {
    out += "| " + escaped(row.label) + " |";
    const auto top = best(row);
    for (const MetricValue* cell : row.cells) {
      if (cell == nullptr || !cell->value) {
        out += " — |";
        continue;
      }
      const std::string value = shown(row.metric, *cell->value);
      out += ' ' + (top && *top == *cell->value ? "**" + value + "**" : value);
      if (options.intervals && cell->low && cell->high) out += " [" + shown(row.metric, *cell->low) + ", " + shown(row.metric, *cell->high) + ']';
      if (options.counts) out += " (" + over(*cell) + ')';
      out += " |";
    }
    out += '\n';
  }
  return out;
}

std::string text_table(std::span<const EvaluatedRun> runs, const TableOptions& options) {
  const bool wide = name_width + runs.size() * cell_width <= line_width;
  const std::size_t label_width = wide ? name_width : narrow_name_width;
  const std::size_t most = wide ? runs.size() : (line_width - label_width) / narrow_cell_width;
  const std::vector<Row> rows = rows_of(runs, options.all);
  std::string out;
  for (std::size_t first = 0; first < runs.size(); first += most) {
    const std::size_t count = std::min(most, runs.size() - first);
    const std::size_t width = wide ? cell_width : (line_width - label_width) / count;
    if (first > 0) out += '\n';
    std::vector<std::vector<std::string>> heads;
    std::size_t head_lines = 0;
    for (const EvaluatedRun& run : runs.subspan(first, count)) {
      heads.push_back(name_lines(column_head(run), width - 2));
      head_lines = std::max(head_lines, heads.back().size());
    }
    for (std::size_t line = 0; line < head_lines; ++line) {
      std::string text = padded("", label_width);
      for (const auto& head : heads) {
        const std::size_t missing = head_lines - head.size();
        text += padded_left(line < missing ? "" : head[line - missing], width);
      }
      out += without_end_blanks(std::move(text));
    }
    for (const Row& row : rows) {
      std::string values = padded(row.label, label_width);
      if (points(row.label) > label_width) {
        out += row.label + '\n';
        values = padded("", label_width);
      }
      const auto top = best(row);
      for (std::size_t i = first; i < first + count; ++i) {
        const MetricValue* cell = row.cells[i];
        const bool has = cell != nullptr && cell->value;
        values += padded_left(has ? shown(row.metric, *cell->value) + (top && *top == *cell->value ? "*" : " ") : "— ", width);
      }
      out += without_end_blanks(std::move(values));
      for (const Beneath& beneath : wide ? wide_lines(row, first, count) : narrow_lines(row, first, count)) {
        if (std::all_of(beneath.cells.begin(), beneath.cells.end(), [](const std::string& cell) { return cell.empty(); })) continue;
        std::string text = padded(beneath.label, label_width);
        for (const std::string& cell : beneath.cells) text += padded_left(wide ? cell : cell + ' ', width);
        out += without_end_blanks(std::move(text));
      }
    }
  }
  return out;
}

std::string notes(std::span<const EvaluatedRun> runs) {
  std::vector<std::string> lines;
  const auto note = [&](std::string line) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  };
  for (const EvaluatedRun& run : runs) {
    const RunFacts& facts = run.facts;
    std::string line = std::to_string(run.ids.size()) + " items of " + facts.golden_name;
    if (facts.golden_source == "ai_reviewed") line += ", accepted by a reviewing model, not yet by a person (ai_reviewed)";
    if (facts.golden_source == "verified") line += ", each verified by a person";
    if (facts.golden_source == "all") line += ", everything that was not rejected";
    if (!facts.subset.empty()) line += "; subset: " + facts.subset;
    note(line + '.');
    if (facts.offline_judge) {
      note("Offline judge: the cross-encoder that also ranks, with lexical overlap. A stand-in without a key, no judge of quality.");
    } else if (!facts.judge.empty() && !facts.judge_calibrated) {
      note("Uncalibrated judge: no person has labelled a sample of its verdicts.");
    }
    if (!run.unjudged.empty()) note(unjudged_sentence(run));
    if (!run.complete()) note(facts.name + " is incomplete: " + std::to_string(run.done) + " of " + std::to_string(facts.items) + " are there.");
    if (run.report().failed_queries > 0) note(facts.name + ": " + std::to_string(run.report().failed_queries) + " of " + std::to_string(run.report().total_queries) + " failed.");
  }
  bool same = true;
  for (const EvaluatedRun& run : runs) same = same && run.facts.golden_digest == runs.front().facts.golden_digest && run.ids == runs.front().ids;
  if (!same) note("The columns are not over the same items: compare them by `polygraph compare`.");
  note("Values with their 95 % interval (Wilson's for rates, bootstrap for means) and what they are over; — is undefined or not measured.");
  std::string out;
  for (const auto& line : lines) out += line + '\n';
  return out;
}

std::string failure_cases(const EvaluatedRun& run) {
  std::string out;
  for (const FailureCase& failure : run.failures) {
    const diagnosis::QueryResult result = run.evaluation().result(failure.number);
    out += "**" + escaped(failure.kind) + "** · " + escaped(failure.query_id) + ": " + quoted(failure.query, 300) + "\n\n";
    if (result.expected_answer) out += "- expected: " + quoted(*result.expected_answer, 300) + '\n';
    if (!result.expected_chunk_ids.empty()) {
      out += "- gold: ";
      for (std::size_t i = 0; i < result.expected_chunk_ids.size(); ++i) out += (i > 0 ? ", " : "") + escaped(result.expected_chunk_ids[i]);
      out += '\n';
    }
    if (result.error) out += "- error: " + quoted(*result.error, 300) + '\n';
    if (result.generated_answer) out += std::string("- ") + (result.refused.value_or(false) ? "refused" : "answered") + ": " + quoted(*result.generated_answer, 300) + '\n';
    if (result.diagnosis) out += "- " + escaped(name(result.diagnosis->category)) + ": " + quoted(result.diagnosis->reason, 300) + ' ' + escaped(result.diagnosis->action) + '\n';
    if (!result.trace.empty()) {
      if (const auto trace = trace::parse(result.trace)) {
        out += "- trace:\n";
        for (const agent::Step& step : trace->steps) out += "  " + step_line(step) + '\n';
      }
    }
    out += '\n';
  }
  return out;
}

namespace {

/// What a paired test finds between a run and the first one.
struct Found {
  const EvaluatedRun* run = nullptr;
  std::vector<TestedMetric> significant;
};

std::vector<Found> found_by_tests(std::span<const EvaluatedRun> runs) {
  constexpr double level = 0.05;
  std::vector<Found> out;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    Found found{&runs[i], {}};
    for (auto& tested : compare(runs.front(), runs[i]).metrics) {
      if (tested.test.p_holm && tested.test.delta && *tested.test.p_holm < level) found.significant.push_back(std::move(tested));
    }
    out.push_back(std::move(found));
  }
  return out;
}

std::string difference(const TestedMetric& tested) {
  const auto& [metric, test] = tested;
  return shown(metric, *test.delta) + (test.interval ? " [" + shown(metric, test.interval->low) + ", " + shown(metric, test.interval->high) + ']' : "");
}

constexpr std::string_view none_found = ": no difference that a paired test finds at p < 0.05 after Holm's correction.";
constexpr std::string_view some_found = ": significant at p < 0.05 after Holm's correction";

}  // namespace

std::string tests_table(std::span<const EvaluatedRun> runs) {
  std::string out;
  for (const Found& found : found_by_tests(runs)) {
    out += "**" + escaped(found.run->facts.name) + "** against " + escaped(runs.front().facts.name);
    if (found.significant.empty()) {
      out += std::string(none_found) + "\n\n";
      continue;
    }
    out += std::string(some_found) + "\n\n| metric | difference | p | items |\n|---|---:|---:|---:|\n";
    for (const auto& tested : found.significant) {
      out += "| " + escaped(tested.name) + " | " + difference(tested) + " | " + p_value(*tested.test.p_holm) + " | " + std::to_string(tested.test.n) + " |\n";
    }
    out += '\n';
  }
  return out;
}

std::string tests_text(std::span<const EvaluatedRun> runs) {
  std::string out;
  for (const Found& found : found_by_tests(runs)) {
    const std::string names = one_line(found.run->facts.name) + " against " + one_line(runs.front().facts.name);
    out += wrapped(names + std::string(found.significant.empty() ? none_found : some_found), 2, 0) + '\n';
    for (const auto& tested : found.significant) {
      out += "  " + left(shortened(tested.name, 25), 26) + right(difference(tested), 30) + right("p " + p_value(*tested.test.p_holm), 11) + right("n " + std::to_string(tested.test.n), 9) + '\n';
    }
  }
  return out;
}

std::string notes_text(std::span<const EvaluatedRun> runs) {
  std::string out;
  const std::string lines = notes(runs);
  for (std::size_t start = 0; start < lines.size();) {
    const std::size_t end = lines.find('\n', start);
    out += wrapped(one_line(std::string_view(lines).substr(start, end - start)), 2, 0) + '\n';
    start = end + 1;
  }
  return out;
}

Result<std::string> with_section(std::string_view text, std::string_view section) {
  const auto once = [&](std::string_view mark) -> Result<std::size_t> {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) return fail(ErrorCode::not_found, "has no line " + std::string(mark) + ": put both markers where the results are to stand");
    if (text.find(mark, at + 1) != std::string_view::npos) return fail(ErrorCode::not_found, "has the marker " + std::string(mark) + " twice");
    return at;
  };
  const auto begin = once(begin_mark), end = once(end_mark);
  if (!begin) return tl::unexpected(begin.error());
  if (!end) return tl::unexpected(end.error());
  if (*end < *begin) return fail(ErrorCode::not_found, "has its markers in the wrong order");
  std::string out(text.substr(0, *begin + begin_mark.size()));
  out += "\n\n";
  out += section;
  if (!out.ends_with('\n')) out += '\n';
  out += '\n';
  out += text.substr(*end);
  return out;
}

}  // namespace polygraph::report
