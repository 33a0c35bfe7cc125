// `polygraph calibrate grader`: fits the weights of the extractive grader to a golden set and says what they are worth on
// questions the fit has not seen.
//
// Questions written to be unanswerable mostly name what the corpus lacks, and a fit on them alone becomes a detector of
// foreign names. So every answerable question is also used with its gold pages taken away: the same question, the same
// index, and no page that answers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "cli/commands/calibrate_judge.hpp"
#include "cli/commands/commands.hpp"
#include "cli/host.hpp"
#include "cli/index_store.hpp"
#include "cli/mapped_file.hpp"
#include "index/page_id.hpp"
#include "wasm/agent/extractive/calibration.hpp"
#include "wasm/agent/extractive/grader.hpp"
#include "wasm/golden/golden_set.hpp"
#include "wasm/metrics/interval.hpp"

namespace polygraph::cli {
namespace {

namespace fit = agent::extractive;
using Json = nlohmann::ordered_json;
using fit::Evidence;

struct Options {
  std::string index, dataset, out;
  double removal_weight = 0.3, accept = 0.8, refuse_sure = 0.85;
  std::size_t folds = 10, rounds = 8;
  std::uint64_t seed = 1;
  bool json = false;
};

constexpr Evidence kinds[] = {Evidence::reranked, Evidence::dense, Evidence::lexical};
constexpr std::string_view kind_names[] = {"reranked", "dense", "lexical"};

std::vector<std::string_view> feature_names(Evidence kind) {
  switch (kind) {
    case Evidence::reranked: return {"s1", "covp", "namemissp"};
    case Evidence::dense: return {"cosz", "covp", "namemissp"};
    case Evidence::lexical: break;
  }
  return {"covp", "namemissp"};
}

/// One question as each kind of evidence sees it.
struct Measured {
  std::string id;
  golden::ItemType type = golden::ItemType::answerable;
  bool removed = false;   ///< its gold pages were taken away
  std::size_t group = 0;
  fit::GraderFeatures features[3];
};

/// Pages that belong into one fold, as a forest (Galler and Fischer 1964).
class Groups {
 public:
  explicit Groups(std::size_t pages) : parent_(pages) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t find(std::size_t page) {
    while (parent_[page] != page) page = parent_[page] = parent_[parent_[page]];
    return page;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(b)] = find(a); }

 private:
  std::vector<std::size_t> parent_;
};

class Measurement {
 public:
  Measurement(const index::Index& index, models::ModelWorker& worker, const retrieval::Config& config)
      : index_(&index), worker_(&worker), config_(config) {
    config_.page_cap = 0;  // pages are taken out here
    config_.list_length = index.chunks();
    lexical_config_ = config_;
    lexical_config_.mode = retrieval::Mode::bm25;
    lexical_config_.use_reranker = false;
  }

  /// Asks the models about a question; measure() then takes pages away.
  Result<void> ask(const std::string& question) {
    question_ = question;
    logits_.clear();
    hybrid_ = std::make_unique<retrieval::Retrieval>(*index_, question, config_);
    if (const auto* tokens = hybrid_->wanted_embedding()) {
      auto vectors = worker_->embed(std::span(&tokens->ids, 1));
      if (!vectors) return tl::unexpected(vectors.error());
      if (auto taken = hybrid_->set_embedding(vectors->front()); !taken) return taken;
    }
    lexical_ = std::make_unique<retrieval::Retrieval>(*index_, question, lexical_config_);
    return {};
  }

  /// The features without the pages `without`.
  Result<void> measure(const std::vector<index::DocumentNo>& without, fit::GraderFeatures (&out)[3]) {
    const auto stays = [&](index::ChunkNo chunk) {
      return std::find(without.begin(), without.end(), index_->chunk(chunk).document) == without.end();
    };
    const auto remaining = [&](const retrieval::Retrieval& retrieval) {
      std::vector<retrieval::Candidate> list;
      for (const auto& candidate : retrieval.ranked()) {
        if (stays(candidate.chunk)) list.push_back(candidate);
      }
      return list;
    };
    std::vector<retrieval::Candidate> list = remaining(*hybrid_);
    const auto cosines = summary(stays);
    out[1] = fit::grader_features(*index_, list, cosines, question_);
    list.resize(std::min<std::size_t>(list.size(), config_.rerank_candidates));
    if (auto scored = score(list); !scored) return scored;
    out[0] = fit::grader_features(*index_, list, cosines, question_);
    out[2] = fit::grader_features(*index_, remaining(*lexical_), std::nullopt, question_);
    return {};
  }

 private:
  Result<void> score(std::vector<retrieval::Candidate>& list) {
    std::vector<agent::TokenPair> pairs;
    std::vector<index::ChunkNo> chunks;
    for (const auto& candidate : list) {
      if (logits_.contains(candidate.chunk)) continue;
      chunks.push_back(candidate.chunk);
      pairs.push_back(agent::token_pair(hybrid_->pair(candidate.chunk)));
    }
    if (!pairs.empty()) {
      auto scores = worker_->score(pairs, 0);
      if (!scores) return tl::unexpected(scores.error());
      for (std::size_t i = 0; i < chunks.size(); ++i) logits_.emplace(chunks[i], static_cast<double>(scores->logits[i]));
    }
    for (auto& candidate : list) candidate.rerank_score = logits_.at(candidate.chunk);
    return {};
  }

  /// As retrieval summarises, over the chunks that stay.
  template <class Stays>
  std::optional<retrieval::DenseSummary> summary(const Stays& stays) const {
    const auto cosines = hybrid_->dense_scores();
    retrieval::DenseSummary out;
    out.max = -1;
    double count = 0, sum = 0, squares = 0;
    for (index::ChunkNo c = 0; c < cosines.size(); ++c) {
      if (!stays(c)) continue;
      out.max = std::max(out.max, cosines[c]);
      sum += cosines[c];
      ++count;
    }
    if (count == 0) return std::nullopt;
    out.mean = sum / count;
    for (index::ChunkNo c = 0; c < cosines.size(); ++c) {
      if (stays(c)) squares += (cosines[c] - out.mean) * (cosines[c] - out.mean);
    }
    out.standard_deviation = std::sqrt(squares / count);
    return out;
  }

  const index::Index* index_;
  models::ModelWorker* worker_;
  retrieval::Config config_, lexical_config_;
  std::string question_;
  std::unique_ptr<retrieval::Retrieval> hybrid_, lexical_;
  std::unordered_map<index::ChunkNo, double> logits_;
};

Result<std::vector<Measured>> measure_all(const index::Index& index, const std::vector<golden::Item>& items, models::ModelWorker& worker,
                                          const retrieval::Config& config) {
  std::vector<Measured> all;
  Groups groups(index.documents());
  Measurement measurement(index, worker, config);
  ProgressLine progress("measuring");
  std::size_t done = 0;
  for (const auto& item : items) {
    if (interrupted()) return fail(ErrorCode::io, "interrupted", "");
    std::vector<index::DocumentNo> gold;
    for (const auto& page : item.relevant_pages) {
      if (const auto found = index.find_document(corpus::page_id_of_reference(page))) gold.push_back(*found);
    }
    const bool answerable = item.type != golden::ItemType::unanswerable;
    if (answerable && gold.empty()) {
      say(fmt::format("note: {} is left out: none of its pages is in the index", item.id));
      continue;
    }
    if (auto asked = measurement.ask(item.question); !asked) return tl::unexpected(asked.error());
    Measured measured{item.id, item.type, false, 0, {}};
    if (auto taken = measurement.measure({}, measured.features); !taken) return tl::unexpected(taken.error());
    for (const auto page : gold) groups.join(gold.front(), page);
    measured.group = answerable ? gold.front() : index.chunk(measured.features[0].best).document;
    all.push_back(measured);
    if (answerable) {
      measured.removed = true;
      if (auto taken = measurement.measure(gold, measured.features); !taken) return tl::unexpected(taken.error());
      all.push_back(std::move(measured));
    }
    progress.update(++done, items.size(), "questions");
  }
  for (auto& each : all) each.group = groups.find(each.group);
  return all;
}

std::vector<double> values(const fit::GraderFeatures& features, Evidence kind) {
  std::vector<double> out;
  const auto named = fit::named(features);
  for (const auto wanted : feature_names(kind)) {
    const auto found = std::find_if(named.begin(), named.end(), [&](const auto& each) { return each.first == wanted; });
    out.push_back(found == named.end() ? 0.0 : found->second);
  }
  return out;
}

struct Calibrated {
  fit::GateWeights gate{};
  double unseen_unsure = 0, unseen_answer = 0;  ///< thresholds on the out-of-fold probabilities
  double auc_in_sample = 0, auc_out_of_fold = 0, auc_removal = 0;
  fit::Shares in_sample, out_of_fold, in_sample_sure, out_of_fold_sure;
};

/// Rounded as the header prints it, so that what is reported is what will run.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

Result<Calibrated> calibrate(const std::vector<Measured>& all, Evidence kind, const Options& options) {
  std::vector<fit::GroupedExample> examples, removal;
  std::vector<fit::Example> plain;
  for (const auto& each : all) {
    fit::GroupedExample example;
    example.example.features = values(each.features[static_cast<std::size_t>(kind)], kind);
    example.example.positive = each.type != golden::ItemType::unanswerable && !each.removed;
    example.example.weight = each.removed ? options.removal_weight : 1.0;
    example.group = each.group;
    example.evaluated = !each.removed;
    plain.push_back(example.example);
    examples.push_back(example);
    example.evaluated = each.type != golden::ItemType::unanswerable;
    removal.push_back(std::move(example));
  }
  auto model = fit::fit_logistic(plain);
  if (!model) return tl::unexpected(model.error());
  auto unseen = fit::out_of_fold(examples, options.folds, options.rounds, options.seed);
  if (!unseen) return tl::unexpected(unseen.error());

  Calibrated out;
  out.gate.bias = rounded(model->bias);
  const auto names = feature_names(kind);
  for (std::size_t f = 0; f < names.size(); ++f) {
    const double weight = rounded(model->weights[f]);
    if (names[f] == "s1") out.gate.s1 = weight;
    if (names[f] == "cosz") out.gate.cosz = weight;
    if (names[f] == "covp") out.gate.covp = weight;
    if (names[f] == "namemissp") out.gate.namemissp = weight;
  }
  std::vector<double> seen;
  for (const auto& each : plain) seen.push_back(model->probability(each.features));
  // The thresholds are those of the model that will run; what they are worth is said by the models of the folds, at the
  // thresholds that reach the same shares there.
  out.gate.unsure = fit::threshold_accepting(examples, seen, options.accept);
  out.gate.answer = std::max(out.gate.unsure, fit::threshold_refusing(examples, seen, options.refuse_sure));
  out.unseen_unsure = fit::threshold_accepting(examples, *unseen, options.accept);
  out.unseen_answer = std::max(out.unseen_unsure, fit::threshold_refusing(examples, *unseen, options.refuse_sure));
  out.auc_in_sample = fit::area_under_curve(examples, seen);
  out.auc_out_of_fold = fit::area_under_curve(examples, *unseen);
  out.auc_removal = fit::area_under_curve(removal, *unseen);
  out.in_sample = fit::shares_at(examples, seen, out.gate.unsure);
  out.out_of_fold = fit::shares_at(examples, *unseen, out.unseen_unsure);
  out.in_sample_sure = fit::shares_at(examples, seen, out.gate.answer);
  out.out_of_fold_sure = fit::shares_at(examples, *unseen, out.unseen_answer);
  return out;
}

std::string share_text(std::size_t hits, std::size_t n) {
  if (n == 0) return "-";
  const auto range = metrics::wilson(hits, n);
  return fmt::format("{}/{} = {:.3f} [{:.3f}, {:.3f}]", hits, n, static_cast<double>(hits) / static_cast<double>(n), range.low, range.high);
}

std::string report_text(std::string_view kind, const Calibrated& result) {
  const auto line = [](std::string_view what, double threshold, const fit::Shares& shares) {
    return fmt::format("  {:<32} p >= {:.3f}  accepted {}   refused {}\n", what, threshold, share_text(shares.accepted, shares.positives),
                       share_text(shares.refused, shares.negatives));
  };
  std::string out = fmt::format("{}: AUC {:.3f} in sample, {:.3f} out of fold; {:.3f} out of fold against the same questions without their pages\n", kind,
                                result.auc_in_sample, result.auc_out_of_fold, result.auc_removal);
  out += fmt::format("  z = {} {:+} s1 {:+} cosz {:+} covp {:+} namemissp\n", result.gate.bias, result.gate.s1, result.gate.cosz, result.gate.covp,
                     result.gate.namemissp);
  out += line("answered, in sample", result.gate.unsure, result.in_sample);
  out += line("answered, out of fold", result.unseen_unsure, result.out_of_fold);
  out += line("without doubt, in sample", result.gate.answer, result.in_sample_sure);
  out += line("without doubt, out of fold", result.unseen_answer, result.out_of_fold_sure);
  return out;
}

Json share_json(std::size_t hits, std::size_t n) {
  if (n == 0) return {{"value", nullptr}, {"n", 0}};
  const auto range = metrics::wilson(hits, n);
  return {{"value", static_cast<double>(hits) / static_cast<double>(n)}, {"n", n}, {"low", range.low}, {"high", range.high}};
}

Json shares_json(const fit::Shares& shares) {
  return {{"accepted", share_json(shares.accepted, shares.positives)}, {"refused", share_json(shares.refused, shares.negatives)}};
}

Json report_json(const Calibrated& result) {
  const auto& gate = result.gate;
  return {{"weights",
           {{"bias", gate.bias}, {"s1", gate.s1}, {"cosz", gate.cosz}, {"covp", gate.covp}, {"namemissp", gate.namemissp},
            {"answer", gate.answer}, {"unsure", gate.unsure}}},
          {"auc", {{"in_sample", result.auc_in_sample}, {"out_of_fold", result.auc_out_of_fold}, {"out_of_fold_removed_pages", result.auc_removal}}},
          {"in_sample", shares_json(result.in_sample)},
          {"out_of_fold", shares_json(result.out_of_fold)},
          {"in_sample_without_doubt", shares_json(result.in_sample_sure)},
          {"out_of_fold_without_doubt", shares_json(result.out_of_fold_sure)}};
}

std::string gate_source(std::string_view name, const fit::GateWeights& gate) {
  return fmt::format("    .{} = {{.bias = {}, .s1 = {}, .cosz = {}, .covp = {}, .namemissp = {}, .answer = {}, .unsure = {}}},\n", name, gate.bias,
                     gate.s1, gate.cosz, gate.covp, gate.namemissp, gate.answer, gate.unsure);
}

/// The header with its weights replaced: everything up to the first gate and from the closing brace on stays.
Result<void> write_header(const std::string& path, const Calibrated (&results)[3]) {
  auto text = read_text(path);
  if (!text) return tl::unexpected(text.error());
  constexpr std::string_view opening = "default_weights = {\n";
  const auto begin = text->find(opening);
  const auto end = begin == std::string::npos ? begin : text->find("\n};", begin);
  if (end == std::string::npos) {
    return fail(ErrorCode::not_found, "holds no \"default_weights = {\" to replace; give the weights.hpp of the source tree", "out");
  }
  std::string weights;
  for (std::size_t k = 0; k < 3; ++k) weights += gate_source(kind_names[k], results[k].gate);
  text->replace(begin + opening.size(), end + 1 - begin - opening.size(), weights);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << *text;
  file.close();
  if (!file) return fail(ErrorCode::io, "can't be written", "out");
  return {};
}

ExitCode run(Context& context, const Options& options) {
  auto config = context.settings.agent_config("tuned");
  if (!config) return report(config.error());
  std::string file;
  auto opened = open_index(context.settings, options.index, file);
  if (!opened) return report(opened.error(), file);
  auto text = read_text(options.dataset);
  if (!text) return report(text.error(), options.dataset);
  auto items = golden::parse(*text);
  if (!items) return report(items.error(), options.dataset);
  Models models(context.settings);
  auto worker = models.worker((*opened)->index);
  if (!worker) return report(worker.error(), file);

  watch_interrupts();
  auto all = measure_all((*opened)->index, items->items, **worker, config->retrieval);
  if (!all) return interrupted() ? ExitCode::interrupted : report(all.error());

  Calibrated results[3];
  Json document = {{"index_digest", (*opened)->index.digest()}, {"removal_weight", options.removal_weight}, {"folds", options.folds},
                   {"rounds", options.rounds}, {"seed", options.seed}};
  for (const Evidence kind : kinds) {
    const auto k = static_cast<std::size_t>(kind);
    auto result = calibrate(*all, kind, options);
    if (!result) return report(result.error(), options.dataset);
    results[k] = *result;
    if (options.json) {
      document[std::string(kind_names[k])] = report_json(*result);
    } else {
      print(report_text(kind_names[k], *result));
    }
  }
  if (options.json) {
    Json examples = Json::array();
    for (const auto& each : *all) {
      Json example = {{"id", each.id}, {"type", golden::name(each.type)}, {"page_removed", each.removed}, {"group", each.group}};
      for (std::size_t k = 0; k < 3; ++k) {
        Json& features = example[std::string(kind_names[k])] = Json::object();
        for (const auto& [name, value] : fit::named(each.features[k])) features[name] = value;
      }
      examples.push_back(std::move(example));
    }
    document["examples"] = std::move(examples);
    print(document.dump(2) + "\n");
  }
  if (!options.out.empty()) {
    if (auto written = write_header(options.out, results); !written) return report(written.error(), options.out);
    say("wrote " + options.out);
  }
  return ExitCode::done;
}

}  // namespace

void add_calibrate(CLI::App& program, Context& context) {
  auto* command = program.add_subcommand("calibrate", "Fit the grader to your own questions; hold the judge to your own labels");
  command->require_subcommand(1);
  add_calibrate_label(*command, context);
  add_calibrate_report(*command, context);
  auto options = std::make_shared<Options>();
  auto* grader = command->add_subcommand("grader", "Fit the extractive grader's weights and report what they are worth out of fold");
  grader->add_option("--index", options->index, "Index file (default: the one that set-up built)")->type_name("FILE");
  grader->add_option("--dataset", options->dataset, "Golden set, JSON Lines with relevant_pages; a split that no report uses")->type_name("FILE")->required();
  grader->add_option("--removal-weight", options->removal_weight, "Weight of a question whose pages were taken away, as an unanswerable one")
      ->check(CLI::Range(0.0, 100.0))->capture_default_str();
  grader->add_option("--accept", options->accept, "Share of answerable questions to answer")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  grader->add_option("--refuse-sure", options->refuse_sure, "Share of unanswerable questions that must not be answered without a visible doubt")
      ->check(CLI::Range(0.0, 1.0))->capture_default_str();
  grader->add_option("--folds", options->folds, "Folds, disjoint by page")->check(CLI::Range(2, 1000))->capture_default_str();
  grader->add_option("--rounds", options->rounds, "Divisions into folds that are averaged")->check(CLI::Range(1, 1000))->capture_default_str();
  grader->add_option("--seed", options->seed, "Of the first division")->capture_default_str();
  grader->add_option("--out", options->out, "weights.hpp to write the weights into")->type_name("FILE");
  grader->add_flag("--json", options->json, "Weights, figures and every example's features as JSON on stdout");
  grader->footer("Example:\n  polygraph calibrate grader --index docs.polygraph --dataset questions.jsonl --out wasm/agent/extractive/weights.hpp");
  grader->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
