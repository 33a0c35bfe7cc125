// `polygraph calibrate report`: how far a judge and a person agree.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands/calibrate_judge.hpp"
#include "cli/commands/calibration_files.hpp"
#include "cli/mapped_file.hpp"
#include "wasm/judges/calibration.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string results, labels;
  bool json = false;
};

Json figure(const std::optional<double>& value, const std::optional<metrics::Interval>& interval, std::uint64_t n) {
  return {{"value", value ? Json(*value) : Json(nullptr)},
          {"n", n},
          {"low", interval ? Json(interval->low) : Json(nullptr)},
          {"high", interval ? Json(interval->high) : Json(nullptr)}};
}

std::string figure_text(const std::optional<double>& value, const std::optional<metrics::Interval>& interval) {
  if (!value) return "—";
  return interval ? fmt::format("{:.3f} [{:.3f}, {:.3f}]", *value, interval->low, interval->high) : fmt::format("{:.3f} [—]", *value);
}

ExitCode run(const Options& options) {
  auto text = read_text(options.labels);
  if (!text) return report(text.error(), options.labels);
  auto labels = read_labels(*text);
  if (!labels) return report(labels.error(), options.labels);
  text = read_text(options.results);
  if (!text) return report(text.error(), options.results);
  auto results = read_judged(*text, labels->metric);
  if (!results) return report(results.error(), options.results);

  std::uint64_t open = 0, unsure = 0, changed = 0, without_verdict = 0;
  std::vector<std::pair<bool, bool>> pairs;
  std::set<std::string> judges_met;
  Json disagreements = Json::array();
  for (const auto& id : labels->ids) {
    const auto label = labels->labels.find(id);
    const auto item = std::find_if(results->items.begin(), results->items.end(), [&](const JudgedItem& each) { return each.id == id; });
    if (label == labels->labels.end()) {
      ++open;
    } else if (item == results->items.end()) {
      ++without_verdict;
    } else if (label->second.answer_digest != answer_digest(*item)) {
      ++changed;
    } else if (!label->second.label) {
      ++unsure;
    } else {
      pairs.emplace_back(*label->second.label, item->verdict);
      judges_met.insert(item->judge);
      if (*label->second.label != item->verdict) disagreements.push_back({{"id", id}, {"person", *label->second.label}, {"judge", item->verdict}});
    }
  }
  const auto counts = judges::confusion_of(pairs);
  const auto found = judges::agreement(counts);
  if (options.json) {
    Json met = Json::array();
    for (const auto& judge : judges_met) met.push_back(judge.empty() ? Json(nullptr) : Json(judge));
    print_json({{"metric", judges::name(labels->metric)},
                {"judges", std::move(met)},
                {"items", labels->ids.size()},
                {"labelled", pairs.size()},
                {"not_labelled", open},
                {"unsure", unsure},
                {"answer_changed", changed},
                {"without_verdict", without_verdict},
                {"accuracy", figure(found.accuracy, found.accuracy_interval, found.n)},
                {"kappa", figure(found.kappa, found.kappa_interval, found.n)},
                {"confusion", {{"person_no", {{"judge_no", counts[0][0]}, {"judge_yes", counts[0][1]}}}, {"person_yes", {{"judge_no", counts[1][0]}, {"judge_yes", counts[1][1]}}}}},
                {"disagreements", std::move(disagreements)}},
               2);
    return ExitCode::done;
  }
  std::string out = fmt::format("{} of {}{}\n\n", judges_met.contains("offline") ? "offline judge: " : "judge: ", judges::name(labels->metric),
                                fmt::format(" over {} answers labelled by a person", found.n));
  out += fmt::format("  accuracy  {}  (Wilson, 95 %)\n", figure_text(found.accuracy, found.accuracy_interval));
  out += fmt::format("  kappa     {}  (Cohen; large sample: Fleiss, Cohen and Everitt 1969, 95 %)\n\n", figure_text(found.kappa, found.kappa_interval));
  out += fmt::format("  {:<12} {:>9} {:>10}\n", "", "judge: no", "judge: yes");
  out += fmt::format("  {:<12} {:>9} {:>10}\n", "person: no", counts[0][0], counts[0][1]);
  out += fmt::format("  {:<12} {:>9} {:>10}\n", "person: yes", counts[1][0], counts[1][1]);
  for (const auto& [count, what] : {std::pair(open, "not labelled yet"), {unsure, "labelled \"can't tell\""}, {changed, "whose answer changed since"}, {without_verdict, "without a verdict now"}}) {
    if (count > 0) out += fmt::format("\n  left out: {} {}", count, what);
  }
  if (found.n > 0 && !found.kappa) out += "\n  kappa is undefined: person and judge gave everything the same label";
  if (found.kappa && !found.kappa_interval) out += "\n  kappa's interval is undefined: a label never changes, or there is no disagreement to estimate it from";
  if (found.n < judges::calibration_items) out += fmt::format("\n  {} labels are wanted", judges::calibration_items);
  if (!out.ends_with('\n')) out += '\n';
  for (const auto& each : disagreements) {
    out += fmt::format("  {}: person {}, judge {}\n", printable(each["id"].get<std::string>()), each["person"].get<bool>() ? "yes" : "no", each["judge"].get<bool>() ? "yes" : "no");
  }
  print(out);
  return ExitCode::done;
}

}  // namespace

void add_calibrate_report(CLI::App& calibrate, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = calibrate.add_subcommand("report", "Compare the judge's verdicts with a person's labels: accuracy, Cohen's kappa, confusion matrix");
  command->add_option("--results", options->results, "The judged results that were labelled")->type_name("FILE")->required();
  command->add_option("--labels", options->labels, "Labels of `calibrate label`")->type_name("FILE")->required();
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->footer("Example:\n  polygraph calibrate report --results results.jsonl --labels labels.jsonl");
  command->callback([&context, options] { context.status = run(*options); });
}

}  // namespace polygraph::cli
