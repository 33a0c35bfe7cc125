#include "cli/runs/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/mapped_file.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;
using diagnosis::Category;
using diagnosis::EvaluatedQuery;
using diagnosis::Evaluation;
using diagnosis::QueryResult;

constexpr std::string_view evidence_mark = "probe: ";
constexpr std::size_t listed = 5;

/// Whether a query's answer is known or suspected to be wrong, so that its cause is worth asking for.
bool suspect(const EvaluatedQuery& query, const QueryResult& result) {
  if (!query.completed || result.expected_chunk_ids.empty()) return false;
  if (result.refusal_outcome == diagnosis::RefusalOutcome::false_refusal) return true;
  if (query.correct) return !*query.correct;
  switch (query.category) {
    case Category::wrong_chunk_retrieved:
    case Category::wrong_chunk_rank:
    case Category::insufficient_context:
    case Category::retrieved_but_not_grounded:
    case Category::answer_incorrect: return true;
    case Category::pass:
    case Category::latency_outlier:
    case Category::unknown: return false;
  }
  return false;
}

std::vector<std::string> distinct(const std::vector<std::string>& ids) {
  std::vector<std::string> out;
  for (const auto& id : ids) {
    if (std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
  }
  return out;
}

golden::Item item_of(const QueryResult& result) {
  golden::Item item;
  item.id = result.query_id;
  item.question = result.query;
  item.reference_answer = result.expected_answer.value_or("");
  item.relevant_chunk_ids = result.expected_chunk_ids;
  item.query_type = result.query_type.value_or("");
  return item;
}

/// Adds to `texts` what the results themselves hold of the chunks in `wanted`, then what the index holds.
void find_texts(const Evaluation& evaluation, const index::Index* index, std::set<std::string> wanted, ChunkTexts& texts) {
  std::erase_if(wanted, [&](const std::string& id) { return texts.contains(id); });
  for (std::uint32_t i = 0; i < evaluation.queries().size() && !wanted.empty(); ++i) {
    for (auto& chunk : evaluation.result(i).retrieved_chunks) {
      if (chunk.text.empty() || wanted.erase(chunk.id) == 0) continue;
      texts.emplace(std::move(chunk.id), std::move(chunk.text));
    }
  }
  if (index == nullptr) return;
  for (const std::string& id : wanted) {
    if (const auto known = index->find_chunk(id)) texts.emplace(id, index->chunk(*known).text);
  }
}

/// A judge's verdict on correctness; nothing with `why` where it gave none.
Result<std::optional<bool>> correct(JudgeHost& judge, const golden::Item& item, const Answer& answer, std::string& why) {
  constexpr judges::Metric asked[] = {judges::Metric::correctness};
  auto judgement = judge.judge(item, answer, asked);
  if (!judgement) return tl::unexpected(std::move(judgement.error()));
  const judges::ResultFields fields = judges::result_fields(*judgement);
  if (const auto& verdict = judgement->of(judges::Metric::correctness)) why = verdict->reason;
  if (fields.answer_correct) return fields.answer_correct;
  why = "the judge gave no verdict: " + (fields.judge_error ? *fields.judge_error : why);
  return std::optional<bool>();
}

Answer stored_answer(const QueryResult& result) {
  Answer answer;
  answer.result = result;
  if (result.refused.value_or(false)) answer.status = judges::AnswerStatus::refused;
  for (const auto& chunk : result.retrieved_chunks) answer.context.push_back({chunk.id, chunk.text});
  return answer;
}

/// One query, asked again. Fails on what would go wrong with every further one.
Result<QueryProbe> probe_one(const QueryResult& result, Subject& subject, JudgeHost& judge, const ChunkTexts& texts) {
  QueryProbe out;
  out.query_id = result.query_id;
  const golden::Item item = item_of(result);
  const bool known_wrong = result.correct() == false || result.refusal_outcome == diagnosis::RefusalOutcome::false_refusal;
  if (!known_wrong) {
    auto before = correct(judge, item, stored_answer(result), out.reason);
    if (!before) return tl::unexpected(std::move(before.error()));
    if (!*before) {
      out.error = "before: " + out.reason;
      return out;
    }
    out.wrong_before = !**before;
    if (!out.wrong_before) return out;
  }
  std::vector<judges::Passage> gold;
  for (const std::string& id : distinct(result.expected_chunk_ids)) {
    gold.push_back({id, texts.find(id)->second});
    out.gold.push_back(id);
  }
  auto answer = subject.answer_over(item, gold);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  out.answer = answer->result.generated_answer.value_or("");
  if (answer->status == judges::AnswerStatus::failed) {
    out.error = answer->result.error.value_or("the subject failed");
    return out;
  }
  if (answer->status == judges::AnswerStatus::refused) {
    out.refused = true;
    out.right_after = false;
    out.reason = "refused, with the gold chunks before it";
    return out;
  }
  auto after = correct(judge, item, *answer, out.reason);
  if (!after) return tl::unexpected(std::move(after.error()));
  out.right_after = *after;
  if (!out.right_after) out.error = "after: " + out.reason;
  return out;
}

std::string sentence(const QueryProbe& probe) {
  if (!probe.error.empty()) return "not decided (" + probe.error + ")";
  if (!probe.wrong_before) return "the answer is right although retrieval failed";
  const std::string second = probe.refused ? "refused over the gold chunks" : probe.right_after == true ? "right over the gold chunks" : "wrong over the gold chunks, too";
  return "the answer was wrong and is " + second + ": look at " + std::string(name(*probe.points_at()));
}

std::string json_of(const QueryProbe& probe, const ProbeReport& report) {
  const auto points_at = probe.points_at();
  Json out = {{"before", probe.error.starts_with("before: ") ? Json() : Json(probe.wrong_before ? "wrong" : "right")},
              {"after", probe.right_after ? Json(*probe.right_after ? "right" : "wrong") : Json()},
              {"points_at", points_at ? Json(name(*points_at)) : Json()},
              {"gold", probe.gold},
              {"answer", probe.gold.empty() ? Json() : Json(probe.answer)},
              {"refused", probe.refused},
              {"judge_reason", probe.reason},
              {"error", probe.error.empty() ? Json() : Json(probe.error)},
              {"subject", report.subject},
              {"judge", Json::parse(report.judge)}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The result with what its probe found, in place of what an earlier one did.
QueryResult with_probe(QueryResult result, const QueryProbe& probe, const ProbeReport& report) {
  diagnosis::Diagnosis& diagnosis = *result.diagnosis;
  std::erase_if(diagnosis.evidence, [](const std::string& line) { return line.starts_with(evidence_mark); });
  std::erase_if(diagnosis.others, [](const auto& other) { return other.first == "probe"; });
  diagnosis.evidence.push_back(std::string(evidence_mark) + sentence(probe));
  diagnosis.others.emplace_back("probe", json_of(probe, report));
  return result;
}

std::string queries(std::uint64_t count) { return fmt::format("{} {}", count, count == 1 ? "query" : "queries"); }

/// The findings, one sentence each.
std::vector<std::string> findings(const ProbeReport& report) {
  std::vector<std::string> out;
  const auto add = [&](std::uint64_t count, const char* words) {
    if (count > 0) out.push_back(queries(count) + ' ' + words);
  };
  add(report.count(PointsAt::retrieval), "wrong before, right over the gold chunks: retrieval is at fault");
  add(report.count(PointsAt::generation), "wrong before and over the gold chunks, too: generation is at fault");
  add(report.right_before(), "right although retrieval failed");
  add(report.count(std::nullopt), "without a verdict");
  add(report.without_text.size(), "not probed: the text of their gold chunks is known nowhere; --chunks or --index names it");
  add(report.left, "not reached");
  if (out.empty()) out.emplace_back("No answer was wrong, so there was nothing to ask again.");
  return out;
}

std::string who(const ProbeReport& report) {
  const Json judge = Json::parse(report.judge);
  return "Generation by " + report.subject + " over the gold chunks alone, judged by " + judge.value("provider", std::string("?")) + ' ' + judge.value("model", std::string());
}

}  // namespace

std::string_view name(PointsAt points_at) noexcept { return points_at == PointsAt::retrieval ? "retrieval" : "generation"; }

std::optional<PointsAt> QueryProbe::points_at() const noexcept {
  if (!wrong_before || !right_after) return std::nullopt;
  return *right_after ? PointsAt::retrieval : PointsAt::generation;
}

std::uint64_t ProbeReport::count(std::optional<PointsAt> points_at) const noexcept {
  return static_cast<std::uint64_t>(std::count_if(queries.begin(), queries.end(), [&](const QueryProbe& one) { return one.wrong_before && one.points_at() == points_at; }));
}

std::uint64_t ProbeReport::right_before() const noexcept {
  return static_cast<std::uint64_t>(std::count_if(queries.begin(), queries.end(), [](const QueryProbe& one) { return !one.wrong_before; }));
}

Result<ChunkTexts> read_chunk_texts(const std::filesystem::path& file) {
  auto text = read_text(file.string());
  if (!text) return tl::unexpected(std::move(text.error()));
  ChunkTexts out;
  std::uint64_t number = 0;
  for (std::size_t start = text->starts_with("\xef\xbb\xbf") ? 3 : 0; start < text->size();) {
    const std::size_t end = std::min(text->find('\n', start), text->size());
    const std::string_view line(text->data() + start, end - start);
    start = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto wrong = [&](const char* field, const char* message) { return tl::unexpected(Error{ErrorCode::invalid_json, message, field, number}); };
    const Json chunk = Json::parse(line, nullptr, false);
    if (!chunk.is_object()) return wrong("", "expected a JSON object {id, text} on each line");
    const char* const id = chunk.contains("id") ? "id" : "_id";
    if (!chunk.contains(id)) return wrong("id", "is missing");
    if (!chunk[id].is_string()) return wrong(id, "expected a string");
    if (!chunk.contains("text")) return wrong("text", "is missing");
    if (!chunk["text"].is_string()) return wrong("text", "expected a string");
    std::string whole;
    if (chunk.contains("title") && chunk["title"].is_string() && !chunk["title"].get_ref<const std::string&>().empty()) whole = chunk["title"].get<std::string>() + '\n';
    if (!out.emplace(chunk[id].get<std::string>(), whole + chunk["text"].get<std::string>()).second) return wrong(id, "this id stands there twice");
  }
  return out;
}

Result<Probe> probe(const Evaluation& of, Subject& subject, JudgeHost& judge, const ProbeOptions& options, const std::function<bool(std::uint64_t, std::uint64_t)>& go_on) {
  Probe out;
  out.report.subject = subject.name();
  out.report.judge = judge.identity();
  ProbeReport& report = out.report;

  std::vector<std::uint32_t> chosen;
  std::set<std::string> wanted;
  for (std::uint32_t i = 0; i < of.queries().size(); ++i) {
    if (!of.queries()[i].completed) continue;
    const QueryResult result = of.result(i);
    if (!suspect(of.queries()[i], result)) continue;
    chosen.push_back(i);
    wanted.insert(result.expected_chunk_ids.begin(), result.expected_chunk_ids.end());
  }
  ChunkTexts texts = options.texts;
  find_texts(of, options.index, std::move(wanted), texts);
  std::erase_if(chosen, [&](std::uint32_t i) {
    const QueryResult result = of.result(i);
    const bool known = std::all_of(result.expected_chunk_ids.begin(), result.expected_chunk_ids.end(), [&](const std::string& id) { return texts.contains(id); });
    if (!known) report.without_text.push_back(result.query_id);
    return !known;
  });
  const std::size_t most = options.limit == 0 ? chosen.size() : std::min<std::size_t>(options.limit, chosen.size());
  std::map<std::uint32_t, std::size_t> probed;  // number of the query -> its probe
  for (std::size_t done = 0; done < most && go_on(done, most); ++done) {
    auto one = probe_one(of.result(chosen[done]), subject, judge, texts);
    if (!one && one.error().code == ErrorCode::invalid_argument) return tl::unexpected(std::move(one.error()));
    if (!one) {
      report.stopped = std::move(one.error());
      break;
    }
    probed.emplace(chosen[done], report.queries.size());
    report.queries.push_back(std::move(*one));
  }
  report.left = chosen.size() - report.queries.size();

  out.evaluation = Evaluation(of.header(), of.rules());
  for (std::uint32_t i = 0; i < of.queries().size(); ++i) {
    const auto found = probed.find(i);
    auto added = found == probed.end() ? out.evaluation.add(of.result(i), of.queries()[i].json)
                                       : out.evaluation.add(with_probe(of.result(i), report.queries[found->second], report));
    if (!added) return tl::unexpected(std::move(added.error()));
  }
  return out;
}

std::string to_json(const ProbeReport& report) {
  const Json out = {{"subject", report.subject},
                    {"judge", Json::parse(report.judge)},
                    {"probed", report.queries.size()},
                    {"retrieval", report.count(PointsAt::retrieval)},
                    {"generation", report.count(PointsAt::generation)},
                    {"undecided", report.count(std::nullopt)},
                    {"right_before", report.right_before()},
                    {"without_text", report.without_text},
                    {"left", report.left},
                    {"complete", report.left == 0}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string probe_text(const ProbeReport& report, const report::Ink& ink) {
  std::string out = "\n" + std::string(ink.bold) + "Probe" + std::string(ink.reset) + "\n  " + report::wrapped(report::one_line(who(report)), 2, 2) + "\n";
  for (const auto& line : findings(report)) out += "  * " + report::wrapped(line, 4, 4) + "\n";
  std::size_t shown = 0;
  for (const QueryProbe& one : report.queries) {
    if (shown++ == listed) break;
    out += "  " + std::string(ink.bold) + report::shortened(report::one_line(one.query_id), 40) + std::string(ink.reset) + "\n    " +
           report::wrapped(report::one_line(sentence(one)), 4, 4) + "\n";
  }
  if (report.queries.size() > listed) out += fmt::format("  and {} more, each with its answer in the JSON document\n", report.queries.size() - listed);
  return out;
}

std::string probe_markdown(const ProbeReport& report) {
  std::string out = "\n## Probe\n\n" + report::markdown(who(report)) + "\n\n";
  for (const auto& line : findings(report)) out += "- " + report::markdown(line) + "\n";
  if (!report.queries.empty()) out += "\n";
  for (const QueryProbe& one : report.queries) out += "- **" + report::markdown(one.query_id) + "** " + report::markdown(sentence(one)) + "\n";
  return out;
}

}  // namespace polygraph::cli
