#include <algorithm>

#include "wasm/gaps/gaps.hpp"

namespace polygraph::gaps {
namespace {

using report::one_line;

constexpr std::size_t indent = 7;

std::string plural(std::uint64_t count, std::string_view noun) { return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s"); }

std::string words(Kind kind) {
  switch (kind) {
    case Kind::near_miss: return "near miss";
    case Kind::out_of_scope: return "out of scope";
    case Kind::unknown: break;
  }
  return "not looked up";
}

std::string seen(const Gap& gap) {
  if (gap.first_seen.empty()) return {};
  return gap.first_seen == gap.last_seen ? gap.first_seen : gap.first_seen + " to " + gap.last_seen;
}

std::uint64_t count_of(const Report& report, Kind kind) {
  return static_cast<std::uint64_t>(std::count_if(report.gaps.begin(), report.gaps.end(), [&](const Gap& gap) { return gap.kind == kind; }));
}

std::string summary(const Report& report) {
  std::string out = plural(report.asked, "question") + " asked, " + std::to_string(report.refused) + " refused";
  if (report.failed > 0) out += ", " + std::to_string(report.failed) + " failed";
  out += ": " + plural(report.gaps.size(), "gap");
  if (count_of(report, Kind::unknown) == 0 && !report.gaps.empty()) {
    const auto misses = count_of(report, Kind::near_miss);
    out += " (" + std::to_string(misses) + (misses == 1 ? " near miss, " : " near misses, ") + std::to_string(count_of(report, Kind::out_of_scope)) + " out of scope)";
  }
  out += ". Grouped by " + std::string(name(report.grouped_by)) + " at " + report::fixed(report.threshold, 2);
  if (!report.why_words.empty()) out += ": " + one_line(report.why_words);
  return out + ".";
}

std::string line(std::string_view text) {
  return std::string(indent, ' ') + report::wrapped(text, indent, indent) + "\n";
}

}  // namespace

std::string to_text(const Report& report, std::size_t most, const report::Ink& ink) {
  std::string out = report::wrapped(summary(report), 0, 0) + "\n";
  for (std::size_t i = 0; i < report.gaps.size() && i < most; ++i) {
    const Gap& gap = report.gaps[i];
    out += "\n" + report::right(std::to_string(gap.count), indent - 3) + " × " + std::string(ink.bold) + report::wrapped(one_line(gap.label), indent, indent) + std::string(ink.reset) + "\n";
    std::string about = words(gap.kind);
    if (gap.nearness) about += " (nearest " + report::fixed(gap.nearness->value, 2) + ")";
    if (const auto days = seen(gap); !days.empty()) about += ", " + days;
    out += std::string(ink.dim) + line(about) + std::string(ink.reset);
    for (std::size_t q = 1; q < gap.questions.size() && q <= 3; ++q) out += line("also: " + one_line(gap.questions[q].thing));
    if (gap.questions.size() > 4) out += line("and " + plural(gap.questions.size() - 4, "more question"));
    for (const auto& [reason, count] : gap.reasons) out += line("refused: " + one_line(reason));
    if (!gap.detail.empty()) out += line("grader: " + one_line(gap.detail));
    for (const auto& [page, count] : gap.closest) out += line("found: " + one_line(page.title) + (page.url.empty() ? "" : " " + one_line(page.url)));
  }
  if (report.gaps.size() > most) out += "\n" + plural(report.gaps.size() - most, "more gap") + "; --top shows more, --json and --md all.\n";
  return out;
}

std::string to_markdown(const Report& report) {
  using report::markdown;
  std::string out = "# Documentation gaps\n\n" + markdown(summary(report)) + "\n\n";
  if (!report.corpus.empty()) out += "Looked up in " + markdown(report.corpus) + " (" + markdown(report.index_digest) + ").\n\n";
  if (report.gaps.empty()) return out;
  out += report::row({"Question", "Asked", "Kind", "Seen"}) + "|---|---:|---|---|\n";
  for (const auto& gap : report.gaps) out += report::row({markdown(gap.label), std::to_string(gap.count), words(gap.kind), markdown(seen(gap))});
  for (const auto& gap : report.gaps) {
    out += "\n## " + markdown(gap.label) + "\n\n" + plural(gap.count, "refusal") + ", " + words(gap.kind);
    if (gap.nearness) out += " (nearest by " + std::string(name(gap.nearness->measure)) + ": " + report::fixed(gap.nearness->value, 2) + ")";
    out += ".\n";
    const auto list = [&](std::string_view heading, const auto& things, const auto& text) {
      if (things.empty()) return;
      out += "\n" + std::string(heading) + "\n\n";
      for (const auto& [thing, count] : things) out += "- " + text(thing) + " (" + std::to_string(count) + ")\n";
    };
    list("Asked as:", gap.questions, [](const std::string& text) { return markdown(text); });
    list("Refused because:", gap.reasons, [](const std::string& text) { return markdown(text); });
    list("Found instead:", gap.closest, [](const Page& page) { return markdown(page.title) + (page.url.empty() ? "" : " " + markdown(page.url)); });
  }
  return out;
}

}  // namespace polygraph::gaps
