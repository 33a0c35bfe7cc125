// The rules of diagnosis and comparison a second time, written from their definition over plain JSON, slow and without any of
// the engine's code: what the engine is held against.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace polygraph::plain {

using Json = nlohmann::json;

/// The EvaluationReport of `{dataset_name, pipeline_name, k, results}`, sentences left out, `results` with category, secondary
/// and metrics.
Json report(const Json& file);
/// The ComparisonReport of two such files that share ids, sentences left out.
Json comparison(const Json& a, const Json& b, double quality_tolerance = 0.02, double latency_tolerance_ms = 10);

/// Results made at random, rich in ties and boundary values.
Json random_file(std::mt19937_64& random, std::size_t queries, const std::string& pipeline);

/// Where `actual` differs from what `expected` holds; empty where it does not. Numbers may differ by 1e-9 of their size; what
/// `expected` does not name is not looked at.
std::string difference(const Json& expected, const Json& actual, const std::string& path = "");

}  // namespace polygraph::plain
