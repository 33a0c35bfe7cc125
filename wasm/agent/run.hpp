// The record of one run: every step with its decision and its effects. A trace is this record as JSON (wasm/trace).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "wasm/agent/config.hpp"
#include "wasm/agent/effect.hpp"
#include "wasm/retrieval/retrieval.hpp"

namespace polygraph::agent {

enum class Node : std::uint8_t { retrieve, grade_context, rewrite_query, generate, refuse };
enum class Status : std::uint8_t { running, answered, refused, failed };

struct Retrieved {
  std::string query;
  std::vector<retrieval::Candidate> candidates;
  std::vector<std::string> candidate_ids;  ///< ids of `candidates`, in their order
  std::vector<std::string> retrieved_ids;  ///< the first TOP_K that go on
};

struct Graded {
  bool relevant = false;
  std::string reason;
  std::vector<std::string> relevant_chunk_ids;
  std::vector<std::string> graded_ids;
  std::vector<std::string> dropped_ids;    ///< named by the grader, not among graded_ids
  std::optional<double> probability;       ///< extractive grader: that the context holds the answer
  bool unsure = false;                     ///< extractive grader: between its two thresholds; the answer says so
  std::vector<std::pair<std::string, double>> features;  ///< extractive grader: name and value
};

struct Rewritten {
  std::string from, to;
  std::uint32_t attempt = 0;
  bool repeated = false;                   ///< equal to an earlier query: the loop ends
};

struct Generated {
  std::vector<std::string> context_ids, cited_ids;
  std::vector<std::string> dropped_ids;    ///< cited, but not in the context: taken out of the text
  bool declined = false;
  std::string draft;                       ///< what was generated, before the citation check
};

struct Closest {
  std::string title, url;
};

struct Refused {
  std::string reason;
  std::string last_grader_reason;
  std::vector<Closest> closest;
};

struct RecordedEffect {
  Effect effect;
  EffectResult result;
};

struct Step {
  std::uint32_t n = 0;  ///< 1, 2, …
  double started_ms = 0;  ///< since the run began
  double ms = 0;
  std::variant<Retrieved, Graded, Rewritten, Generated, Refused> data;
  std::vector<RecordedEffect> effects;
  Node node() const noexcept { return static_cast<Node>(data.index()); }
};

struct Citation {
  std::string chunk_id, title, url;
  std::uint32_t begin = 0, end = 0;  ///< code points of the answer that the citation stands for
};

/// What the steps before `until_step` ran under, in a run that was forked from another.
struct Earlier {
  std::string run_id;            ///< the run that was forked
  std::uint32_t until_step = 0;  ///< its configuration holds for the steps before this one
  Config config;
  std::string embedder_missing, reranker_missing;
};

struct Run {
  std::string id;  ///< digest of question, configuration, index and start
  std::string question;
  Config config;
  Status status = Status::running;
  std::string answer;
  std::string index_digest, corpus_revision;
  std::string embedder, reranker, grader, rewriter, generator;  ///< models; empty where none was used
  std::string started_at;
  std::string embedder_missing, reranker_missing;  ///< why a stage was never asked for (Options); empty: it could be
  std::vector<Earlier> earlier;  ///< by until_step; empty unless forked
  std::vector<Step> steps;
  std::vector<Citation> citations;
  double total_ms = 0;
  retrieval::Stages stages;
  std::optional<Error> error;
};

/// Sums over a run. Tokens and cost are those of `complete` effects; without a price for one of them there is no cost.
struct Totals {
  std::uint32_t steps = 0, rewrites = 0;
  Tokens tokens;
  std::optional<double> cost_usd;
};
Totals totals(const Run& run);

std::string_view name(Node node) noexcept;
std::string_view name(Status status) noexcept;

}  // namespace polygraph::agent
