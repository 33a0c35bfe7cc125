// `polygraph calibrate label`: a person labels answers at the terminal, without seeing what the judge said of them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>

#include "cli/commands/calibrate_judge.hpp"
#include "cli/commands/calibration_files.hpp"
#include "cli/mapped_file.hpp"
#include "wasm/judges/calibration.hpp"

namespace polygraph::cli {
namespace {

using judges::Metric;

struct Options {
  std::string results, labels, metric = "correctness", reviewer;
  std::size_t items = judges::calibration_items;
  std::uint64_t seed = 1;
  bool metric_given = false;
};

std::string now() {
  const std::time_t stamp = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&stamp, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

/// Appends and asks the system to write it: a label must not be made twice.
Result<void> append(const std::string& path, std::string_view line) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << line;
  file.close();
  if (!file) return fail(ErrorCode::io, "can't be written");
  return {};
}

/// What the judge saw, and nothing of what it said.
std::string shown(const JudgedItem& item, Metric metric, std::size_t place, std::size_t total) {
  const auto colours = palette(STDOUT_FILENO);
  const auto heading = [&](std::string_view text) { return fmt::format("\n{}{}{}\n", colours.bold, text, colours.reset); };
  std::string out = fmt::format("\n{}— {} of {} — {}{}\n", colours.dim, place, total, printable(item.id), colours.reset);
  out += heading("Question") + printable(item.question) + "\n";
  if (metric == Metric::correctness) {
    out += heading("Reference answer") + printable(item.reference) + "\n";
  } else {
    for (const auto& passage : item.passages) out += heading("Passage " + printable(passage.id)) + printable(passage.text) + "\n";
  }
  return out + heading("Answer") + printable(item.answer) + "\n\n";
}

constexpr std::string_view keys = "y yes, n no, ? can't tell, s later, b back, q stop";

ExitCode run(const Options& options) {
  auto wanted = judges::metric_of(options.metric);
  if (!wanted || (*wanted != Metric::correctness && *wanted != Metric::groundedness)) {
    return report({ErrorCode::invalid_argument, "\"" + options.metric + "\" is neither correctness nor groundedness", "--metric"});
  }
  Labels labels;
  std::error_code ignored;
  const bool resumed = std::filesystem::exists(options.labels, ignored);
  if (resumed) {
    auto text = read_text(options.labels);
    if (!text) return report(text.error(), options.labels);
    auto read = read_labels(*text);
    if (!read) return report(read.error(), options.labels);
    labels = std::move(*read);
    if (options.metric_given && labels.metric != *wanted) {
      return report({ErrorCode::mismatch, fmt::format("holds labels of {}, not of {}; give another file", judges::name(labels.metric), options.metric), "metric"}, options.labels);
    }
    wanted = labels.metric;
    if (labels.sound_bytes < text->size()) std::filesystem::resize_file(options.labels, labels.sound_bytes, ignored);
    if (labels.needs_line_end) {
      if (auto done = append(options.labels, "\n"); !done) return report(done.error(), options.labels);
    }
  }
  auto text = read_text(options.results);
  if (!text) return report(text.error(), options.results);
  auto results = read_judged(*text, *wanted);
  if (!results) return report(results.error(), options.results);
  if (!resumed) {
    std::vector<judges::ScoredItem> scored;
    for (const auto& item : results->items) scored.push_back({item.id, item.score});
    labels.metric = *wanted;
    labels.seed = options.seed;
    labels.ids = judges::choose_for_calibration(scored, options.seed, options.items);
    if (labels.ids.empty()) return report({ErrorCode::not_found, fmt::format("holds no answer with a verdict on {}", options.metric)}, options.results);
    if (auto done = append(options.labels, labels_header(labels)); !done) return report(done.error(), options.labels);
  }

  std::vector<const JudgedItem*> items;
  for (const auto& id : labels.ids) {
    const auto found = std::find_if(results->items.begin(), results->items.end(), [&](const JudgedItem& item) { return item.id == id; });
    if (found == results->items.end()) {
      say(fmt::format("note: {} is left out: the results hold no verdict on it", printable(id)));
    } else {
      items.push_back(&*found);
    }
  }
  const auto done = [&](const JudgedItem& item) {
    const auto label = labels.labels.find(item.id);
    return label != labels.labels.end() && label->second.answer_digest == answer_digest(item);
  };
  const std::string question = *wanted == Metric::correctness ? "Is the answer correct by the reference?" : "Do the passages support everything that the answer asserts?";
  if (results->items.size() < judges::calibration_items && !resumed) {
    say(fmt::format("note: there are {} answers with a verdict; {} are wanted", results->items.size(), judges::calibration_items));
  }

  std::set<const JudgedItem*> later;
  std::vector<std::size_t> labelled_now;
  for (std::size_t at = 0; at < items.size();) {
    const JudgedItem& item = *items[at];
    if (done(item) || later.contains(&item)) {
      ++at;
      continue;
    }
    print(shown(item, *wanted, at + 1, items.size()));
    std::string key;
    while (key.empty()) {
      say(fmt::format("{} [{}]", question, keys));
      std::string line;
      if (!std::getline(std::cin, line)) {
        key = "q";
        break;
      }
      const auto first = line.find_first_not_of(" \t\r");
      line = first == std::string::npos ? "" : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
      if (line == "yes" || line == "no") line.resize(1);
      if (line.size() == 1 && std::string_view("yn?sbq").find(line[0]) != std::string_view::npos) {
        key = line;
      } else {
        say("\"" + printable(line) + "\" is none of them");
      }
    }
    if (key == "q") break;
    if (key == "s") {
      later.insert(&item);
      continue;
    }
    if (key == "b") {
      if (labelled_now.empty()) {
        say("there is nothing to go back to");
        continue;
      }
      at = labelled_now.back();
      labelled_now.pop_back();
      labels.labels.erase(items[at]->id);  // asked again; the file's last line of an id counts
      continue;
    }
    Label label{key == "?" ? std::nullopt : std::optional(key == "y"), answer_digest(item)};
    if (auto written = append(options.labels, label_line(item.id, label, options.reviewer, now())); !written) return report(written.error(), options.labels);
    labels.labels[item.id] = std::move(label);
    labelled_now.push_back(at++);
  }
  const auto count = std::count_if(items.begin(), items.end(), [&](const JudgedItem* item) { return done(*item); });
  say(fmt::format("{} of {} labelled; {}", count, items.size(),
                  static_cast<std::size_t>(count) == items.size() ? "see `polygraph calibrate report`" : "the same command goes on from here"));
  return ExitCode::done;
}

}  // namespace

void add_calibrate_label(CLI::App& calibrate, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = calibrate.add_subcommand("label", "Label judged answers yourself, without seeing the judge's verdict");
  command->add_option("--results", options->results, "Judged results: an array, JSON Lines, or a report with results")->type_name("FILE")->required();
  command->add_option("--labels", options->labels, "Your labels, JSON Lines; what is there is gone on with")->type_name("FILE")->required();
  auto* metric = command->add_option("--metric", options->metric, "correctness or groundedness")->type_name("NAME")->capture_default_str();
  command->add_option("--items", options->items, "How many, drawn over the bands of the judge's scores")->check(CLI::Range(1, 10000))->capture_default_str();
  command->add_option("--seed", options->seed, "Of the draw")->capture_default_str();
  command->add_option("--reviewer", options->reviewer, "Your name, for the file")->type_name("NAME");
  command->footer("Example:\n  polygraph calibrate label --results results.jsonl --labels labels.jsonl\n\nKeys: " + std::string(keys) +
                  ". Each label is written at once.");
  command->callback([&context, options, metric] {
    options->metric_given = metric->count() > 0;
    context.status = run(*options);
  });
}

}  // namespace polygraph::cli
