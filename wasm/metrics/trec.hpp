// TREC's files of judgements (qrels) and ranked lists (runs), and the measures of a run, as trec_eval gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::metrics {

/// Judgements by query; the queries by id, each query's documents in the order of the file.
using Qrels = std::map<std::string, std::vector<std::pair<std::string, std::int64_t>>, std::less<>>;
/// Ranked documents by query, best first: by score falling, equal scores by document id falling, as trec_eval ranks. The ranks that
/// a file states are not looked at.
using TrecRun = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Lines `query iteration document grade`, columns separated by blanks or tabs; LF or CRLF, with or without a byte order mark, blank
/// lines skipped. Grades are whole numbers. Fails with `invalid_text` naming line and column (`field`): a column missing or too many, a
/// grade that is none, a document judged twice for a query, bytes that are not UTF-8, no judgement at all.
Result<Qrels> parse_qrels(std::string_view text);

/// Lines `query Q0 document rank score tag`. Scores are compared in single precision, as trec_eval does: two that differ only beyond it are
/// equal. Fails like parse_qrels; a document that a query holds twice is an error. An empty run is one.
Result<TrecRun> parse_run(std::string_view text);

/// A measure's name and value, in the order of `measure_names`.
using Measures = std::vector<std::pair<std::string, double>>;

struct TrecCounts {
  std::size_t queries = 0;      ///< of the qrels: what every mean is over
  std::size_t not_in_run = 0;   ///< of these, without a line in the run: they score 0
  std::size_t no_relevant = 0;  ///< of these, without a relevant document: they score 0
};

struct TrecEvaluation {
  std::vector<std::size_t> k;
  Measures mean;
  std::vector<std::pair<std::string, Measures>> queries;  ///< by id
  TrecCounts counts;
  std::vector<std::string> only_in_run;  ///< queries without judgements, left out
};

/// `recall@k`, `precision@k`, `hit_rate@k`, `mrr@k`, `ndcg@k` for each k, then `mrr` and `map`. `qrels` is not empty, every k positive.
TrecEvaluation evaluate(const Qrels& qrels, const TrecRun& run, std::span<const std::size_t> k);

/// `{"k", "mean", "queries", "counts": {queries, not_in_run, no_relevant, only_in_run}, "only_in_run"}`, one JSON value.
std::string to_json(const TrecEvaluation& evaluation);

}  // namespace polygraph::metrics
