#include "cli/runs/site_document.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/runs/run_file.hpp"
#include "wasm/golden/golden_set.hpp"
#include "wasm/golden/selection.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;

/// What models answered, each request once.
class Effects {
 public:
  /// [place, ms], or [time, ms] for the time, which is never the same.
  Json compact(const Json& effect) {
    if (effect.at("kind") == "time") return Json::array({effect.at("result").at("time"), effect.at("ms")});
    Json kept = {{"digest", effect.at("digest")}, {"result", effect.at("result")}, {"model", effect.at("model")}, {"tokens", effect.at("tokens")}};
    if (effect.at("finish") != "stop") kept["finish"] = effect.at("finish");
    if (effect.at("cost_usd").is_number()) kept["cost_usd"] = effect.at("cost_usd");
    const auto [known, added] = places_.try_emplace(kept.dump(), all_.size());
    if (added) all_.push_back(std::move(kept));
    return Json::array({known->second, effect.at("ms")});
  }
  const Json& all() const noexcept { return all_; }

 private:
  Json all_ = Json::array();
  std::map<std::string, std::size_t> places_;
};

/// A judge's words quote the answer, and the answer quotes the corpus.
void drop_quotes(Json& evidence) {
  Json kept = Json::array();
  for (const auto& line : evidence) {
    if (!line.get_ref<const std::string&>().starts_with("judge: ")) kept.push_back(line);
  }
  evidence = std::move(kept);
}

void compact(Json& result, Effects& effects) {
  result.erase("generated_answer");
  if (result.contains("metrics")) result["metrics"].erase("judge_reason");
  if (result.contains("diagnosis") && result["diagnosis"].contains("evidence")) drop_quotes(result["diagnosis"]["evidence"]);
  for (auto& chunk : result["retrieved_chunks"]) chunk = {{"id", chunk.at("id")}};
  const Json trace = std::move(result["trace"]);
  result.erase("trace");
  Json run = {{"id", trace.at("id")}, {"started_at", trace.at("started_at")}, {"status", trace.at("status")}, {"effects", Json::array()}};
  for (const auto& step : trace.at("steps")) {
    for (const auto& effect : step.at("effects")) run["effects"].push_back(effects.compact(effect));
  }
  result["run"] = std::move(run);
}

Json golden_item(std::string_view json) {
  Json item = Json::parse(json);
  for (const char* field : {"chunk_digests", "source_chunk_id", "notes", "evidence"}) item.erase(field);
  return item;
}

/// So many items can be run in a browser while somebody watches.
constexpr std::size_t short_runs[] = {5, 10, 30};

Json subsets_of(const golden::Set& set) {
  Json subsets = Json::array();
  for (const std::size_t count : short_runs) {
    if (count < set.items.size()) subsets.push_back({{"name", fmt::format("{} items of all types", count)}, {"ids", golden::stratified_ids(set, count)}});
  }
  const auto gate = golden::gate_ids(set);
  if (gate.size() < set.items.size()) subsets.push_back({{"name", fmt::format("the {} items of the CI gate", gate.size())}, {"ids", gate}});
  return subsets;
}

/// One field a line and one element a line where there are many: a change is seen as one.
void add_lines(std::string& out, const std::string& name, const Json& elements) {
  out += ",\n" + Json(name).dump() + ":[";
  for (std::size_t i = 0; i < elements.size(); ++i) out += (i == 0 ? "\n" : ",\n") + elements[i].dump();
  out += "\n]";
}

}  // namespace

Result<std::string> site_document(const std::vector<std::filesystem::path>& files, const std::vector<report::EvaluatedRun>& runs) {
  const auto& first = runs.front().facts;
  for (const auto& run : runs) {
    const auto different = [&](const std::string& why) { return fail(ErrorCode::mismatch, "the run of " + run.facts.name + ' ' + why, "--site"); };
    if (run.facts.config.empty()) return different("is a pipeline's: the site makes its agent's runs again");
    if (!run.complete()) return different(fmt::format("has {} of {} items: finish it first", run.done, run.facts.items));
    if (run.facts.index_digest != first.index_digest) return different("is over another index than that of " + first.name);
    if (run.facts.golden_digest != first.golden_digest) return different("is over another golden set than that of " + first.name);
  }

  Json golden = Json::array();
  std::string items, program, begun_at, last_item_at, version;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto header = read_run(files[i], [&](const RunLine& line) -> Result<void> {
      if (line.item.repeat > 1) return fail(ErrorCode::mismatch, "the site shows runs without repeats", "--site");
      if (i == 0) {
        golden.push_back(golden_item(line.golden));
        items += std::string(line.golden) + '\n';
      }
      return {};
    });
    if (!header) return tl::unexpected(header.error());
    if (i == 0) program = header->program;
    if (program != header->program) program.clear();
    begun_at = begun_at.empty() ? header->created_at : std::min(begun_at, header->created_at);
    if (i == 0) version = Json::parse(header->identity).at("subject").value("version", std::string());
  }
  auto set = golden::parse(items);
  if (!set) return tl::unexpected(set.error());

  std::string text;
  {
    json::Writer writer([&](std::string_view piece) { text += piece; });
    if (auto written = report::write_matrix(writer, runs); !written) return tl::unexpected(written.error());
  }
  Json matrix = Json::parse(text);
  Effects effects;
  std::string revision;
  for (auto& report : matrix["reports"]) {
    for (auto& result : report["results"]) {
      if (revision.empty()) revision = result.at("trace").value("corpus_revision", std::string());
      last_item_at = std::max(last_item_at, result.at("trace").value("started_at", std::string()));
      compact(result, effects);
    }
    for (auto& failure : report["top_failures"]) drop_quotes(failure["evidence"]);
  }

  const Json made = {{"program", version}, {"program_digest", program}, {"index_digest", first.index_digest}, {"corpus_revision", revision},
                     {"golden", {{"name", first.golden_name}, {"digest", first.golden_digest}, {"source", first.golden_source}, {"subset", first.subset.empty() ? Json() : Json(first.subset)}}},
                     {"k", first.k}, {"begun_at", begun_at}, {"last_item_at", last_item_at}, {"command", "polygraph matrix && polygraph report --site FILE"}};
  std::string out = "{\"kind\":\"matrix\",\"schema\":1,\n\"made\":" + made.dump();
  for (const auto& [name, value] : matrix.items()) {
    if (name == "kind" || name == "schema") continue;
    if (name == "pairs") {
      add_lines(out, name, value);
    } else if (name == "reports") {
      out += ",\n\"reports\":[";
      for (std::size_t i = 0; i < value.size(); ++i) {
        Json head = value[i];
        const Json results = std::move(head["results"]);
        head.erase("results");
        std::string one = head.dump();
        one.pop_back();
        add_lines(one, "results", results);
        out += (i == 0 ? "\n" : ",\n") + one + '}';
      }
      out += "\n]";
    } else {
      out += ",\n" + Json(name).dump() + ':' + value.dump();
    }
  }
  add_lines(out, "golden", golden);
  add_lines(out, "subsets", subsets_of(*set));
  add_lines(out, "effects", effects.all());
  return out + "\n}\n";
}

}  // namespace polygraph::cli
