// `polygraph golden review`: a person goes through a golden set item by item, on a page or at the terminal.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "cli/commands/golden/review_keeper.hpp"
#include "cli/commands/golden/subcommands.hpp"
#include "cli/index_store.hpp"
#include "cli/installation.hpp"
#include "cli/mapped_file.hpp"
#include "cli/whole_file.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;
using golden::Decision;
using golden::Draft;

struct Options {
  ReviewFiles files;
  std::string index;
  std::uint16_t port = 0;
  bool verify = false, terminal = false, json = false;
};

constexpr std::string_view keys = "a accept, e edit, r reject, 1…9 toggle a passage, s later, u undo, q quit";

/// The review at the terminal. Changes that are not decided yet are kept in a file beside the decisions, so that quitting loses none.
class Terminal {
 public:
  Terminal(ReviewKeeper& keeper, const index::Index* index) : keeper_(keeper), index_(index), drafts_file_(keeper.target() + ".drafts.json") {
    if (auto text = read_text(drafts_file_)) drafts_ = golden::read_drafts(*text);
  }

  Result<void> run() {
    for (;;) {
      if (at_ >= items().size()) {
        if (steps_.empty()) break;
        say("every item was shown");
        const auto line = key("u undo, q quit", "uq");
        if (!line || *line == "q") break;
        if (auto done = undo(); !done) return done;
        continue;
      }
      if (keeper_.desk().decision(item().id) != nullptr || skipped(at_)) {
        ++at_;
        continue;
      }
      print(shown());
      const auto line = key(keys, "aersuq123456789");
      if (!line || *line == "q") break;
      if (auto done = step(*line); !done) return done;
    }
    return {};
  }

 private:
  struct Step {
    std::size_t at = 0;
    std::optional<Draft> draft;  ///< before the step
    bool decided = false;        ///< the step was a decision
  };

  const std::vector<golden::Item>& items() const { return keeper_.desk().set().items; }
  const golden::Item& item() const { return items()[at_]; }
  bool skipped(std::size_t at) const { return std::find(later_.begin(), later_.end(), at) != later_.end(); }
  std::optional<Draft> kept_draft() const {
    const auto found = drafts_.find(item().id);
    return found == drafts_.end() ? std::nullopt : std::optional(found->second);
  }
  Draft draft() const { return kept_draft().value_or(golden::draft_of(item(), nullptr)); }

  static std::optional<std::string> read_line() {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    const auto first = line.find_first_not_of(" \t\r");
    return first == std::string::npos ? std::string() : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
  }

  static std::optional<std::string> key(std::string_view words, std::string_view allowed) {
    for (;;) {
      say(fmt::format("[{}]", words));
      auto line = read_line();
      if (!line) return std::nullopt;
      const bool with_reason = line->starts_with("r ") || line->starts_with("a ");
      if ((line->size() == 1 || with_reason) && allowed.find(line->front()) != std::string_view::npos) return line;
      if (!line->empty()) say("\"" + printable(*line) + "\" is none of them");
    }
  }

  std::string shown() const {
    const auto colours = palette(STDOUT_FILENO);
    const auto heading = [&](std::string_view text) { return fmt::format("\n{}{}{}\n", colours.bold, text, colours.reset); };
    const Draft now = draft();
    std::string out = fmt::format("\n{}— {} of {}, {} decided — {} ({}){}\n", colours.dim, at_ + 1, items().size(), keeper_.decided(), printable(item().id),
                                  golden::name(item().type), colours.reset);
    out += heading("Question") + printable(now.question) + "\n";
    if (!now.reference_answer.empty()) out += heading("Reference answer") + printable(now.reference_answer) + "\n";
    if (!item().notes.empty()) out += heading("Notes") + printable(item().notes) + "\n";
    std::size_t number = 0;
    for (const auto& id : golden::passage_ids(item())) {
      const bool relevant = std::find(now.relevant_chunk_ids.begin(), now.relevant_chunk_ids.end(), id) != now.relevant_chunk_ids.end();
      const auto chunk = index_ == nullptr ? std::nullopt : index_->find_chunk(id);
      out += heading(fmt::format("{} {} {}", ++number, relevant ? "[x]" : "[ ]", printable(id)));
      if (chunk) out += printable(index_->chunk(*chunk).text) + "\n";
      else out += index_ == nullptr ? "" : "(not in this index)\n";
    }
    if (keeper_.proposals() != nullptr) {
      if (const auto found = keeper_.proposals()->items.find(item().id); found != keeper_.proposals()->items.end()) {
        out += fmt::format("{}proposed: {}{}{}\n", heading("Reviewing model"), golden::name(found->second.decision), found->second.reason.empty() ? "" : ", ",
                           printable(found->second.reason));
      }
    }
    return out + "\n";
  }

  Result<void> step(const std::string& line) {
    const char key = line.front();
    if (key == 's') {
      later_.push_back(at_);
      return {};
    }
    if (key == 'u') return undo();
    if (key == 'e') return edit();
    if (key >= '1' && key <= '9') return toggle(static_cast<std::size_t>(key - '1'));
    golden::Opinion opinion;
    opinion.decision = key == 'r' ? Decision::reject : Decision::accept;
    if (line.size() > 2) opinion.reason = line.substr(2);
    if (key == 'a') {
      opinion.edit = golden::edit_of(item(), draft());
      if (!opinion.edit.empty()) opinion.decision = Decision::edit;
    }
    return decide(std::move(opinion));
  }

  Result<void> decide(golden::Opinion opinion) {
    if (auto done = keeper_.decide(item().id, std::move(opinion)); !done) {
      if (done.error().code != ErrorCode::invalid_json) return done;
      say("that makes no valid item: " + printable(done.error().message));
      return {};
    }
    steps_.push_back({at_, kept_draft(), true});
    return keep(std::nullopt);
  }

  Result<void> toggle(std::size_t place) {
    const auto ids = golden::passage_ids(item());
    if (place >= ids.size()) {
      say(fmt::format("there are {} passages", ids.size()));
      return {};
    }
    Draft now = draft();
    if (std::erase(now.relevant_chunk_ids, ids[place]) == 0) now.relevant_chunk_ids.push_back(ids[place]);
    return change(std::move(now));
  }

  Result<void> edit() {
    Draft now = draft();
    say("question, or nothing to keep it:");
    const auto question = read_line();
    if (!question) return {};
    say("reference answer, or nothing to keep it:");
    const auto reference = read_line();
    if (!question->empty()) now.question = *question;
    if (reference && !reference->empty()) now.reference_answer = *reference;
    return change(std::move(now));
  }

  Result<void> change(Draft now) {
    if (now == draft()) return {};
    steps_.push_back({at_, kept_draft(), false});
    return keep(std::move(now));
  }

  Result<void> undo() {
    if (steps_.empty()) {
      say("there is nothing to undo");
      return {};
    }
    const Step last = std::move(steps_.back());
    steps_.pop_back();
    at_ = last.at;
    std::erase(later_, at_);
    if (last.decided) {
      if (auto withdrawn = keeper_.withdraw(item().id); !withdrawn) return tl::unexpected(withdrawn.error());
    }
    return keep(last.draft);
  }

  Result<void> keep(std::optional<Draft> draft) {
    if (draft) drafts_[item().id] = std::move(*draft);
    else if (drafts_.erase(item().id) == 0) return {};
    std::error_code ignored;
    if (drafts_.empty()) {
      fs::remove(drafts_file_, ignored);
      return {};
    }
    return write_whole(drafts_file_, golden::write_drafts(drafts_));
  }

  ReviewKeeper& keeper_;
  const index::Index* index_;
  std::string drafts_file_;
  std::map<std::string, Draft> drafts_;
  std::vector<Step> steps_;
  std::vector<std::size_t> later_;
  std::size_t at_ = 0;
};

ExitCode run(Context& context, Options& options) {
  std::string file;
  // Without an index there is still something to review: the words and the passages' ids.
  std::unique_ptr<OpenIndex> opened;
  if (auto found = open_index(context.settings, options.index, file)) {
    opened = std::move(*found);
  } else if (!options.index.empty()) {
    return report(found.error(), file);
  } else {
    say("note: there is no index, so passages are shown by their ids; --index FILE gives their texts");
  }
  const index::Index* index = opened == nullptr ? nullptr : &opened->index;
  if (options.files.reviewer.empty()) options.files.reviewer = context.settings.get("USER").value;
  auto keeper = ReviewKeeper::open(options.files, index, file);
  if (!keeper) return report(keeper.error(), file);
  ReviewKeeper& review = **keeper;
  const std::size_t items = review.desk().set().items.size();
  if (options.terminal) {
    if (auto done = Terminal(review, index).run(); !done) return report(done.error(), review.target());
  } else {
    if (auto done = serve_review(review, {(distribution(context.settings) / "review.html").string(), options.port, options.json}); !done) return report(done.error());
  }
  say(fmt::format("{} of {} decided in {}{}", review.decided(), items, printable(review.target()), review.decided() == items ? "" : "; the same command goes on from here"));
  return ExitCode::done;
}

}  // namespace

void add_golden_review(CLI::App& golden, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = golden.add_subcommand("review", "Accept, edit or reject the items of a golden set yourself");
  command->add_option("--dataset", options->files.dataset, "Golden set")->type_name("FILE")->required();
  auto* review = command->add_option("--review", options->files.review, "Keep the decisions in this file, beside the set; what is there is gone on with")->type_name("FILE");
  command->add_flag("--verify", options->verify, "Keep them in the set itself, as verified or rejected (the default)")->excludes(review);
  command->add_option("--proposals", options->files.proposals, "What a reviewing model proposed: shown, never taken over")->type_name("FILE");
  command->add_option("--index", options->index, "Index that the passages are of (default: the one that set-up built)")->type_name("FILE");
  command->add_option("--reviewer", options->files.reviewer, "Your name, for the file (default: USER)")->type_name("NAME");
  command->add_flag("--terminal", options->terminal, "Review here instead of on a page");
  command->add_option("--port", options->port, "Port of the page on 127.0.0.1; 0 takes a free one")->capture_default_str();
  command->add_flag("--json", options->json, "The page's address as one JSON object on stdout");
  command->footer("Examples:\n  polygraph golden review --dataset questions.jsonl\n"
                  "  polygraph golden review --dataset questions.jsonl --review mine.review.json --terminal\n\nKeys: " + std::string(keys) +
                  ".\nA reason may follow a or r. Each step is written at once.");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
