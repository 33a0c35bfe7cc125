#include "proxy/telemetry/otlp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

namespace polygraph::telemetry {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

/// A run that retrieves, is graded by a language model and refuses. Times are chosen for exact sums.
json small_trace() {
  return json::parse(R"({
    "kind": "trace", "schema": 1, "id": "run-0123456789abcdef", "question": "Is the \"lamp\" lit?", "status": "refused", "answer": "Not found.",
    "config": {"retrieval_mode": "bm25", "use_reflection": true, "top_k": 4, "rerank_mix": 0.5, "provider": "openai-compatible"},
    "engine": {"version": "0.1.0", "target": "native"}, "index_digest": "xxh128:aa", "corpus_revision": null,
    "models": {"embedder": null, "grader": "small", "generator": null},
    "started_at": "2026-12-01T03:42:36.902Z",
    "steps": [
      {"n": 1, "node": "retrieve", "started_ms": 0.0, "ms": 1.5,
       "data": {"query": "lamp", "candidates": [{"id": "a#0", "rank": 1}, {"id": "b#0", "rank": 2}], "retrieved_ids": ["a#0", "b#0"]},
       "effects": [{"id": 1, "kind": "time", "result": {"time": {"utc": "x", "ms": 1.0}}, "ms": 0.25}]},
      {"n": 2, "node": "grade_context", "started_ms": 1.5, "ms": 20.0,
       "data": {"relevant": false, "reason": "Nothing of a lamp.", "relevant_chunk_ids": [], "probability": null},
       "effects": [
         {"id": 2, "kind": "time", "result": {"time": {"utc": "x", "ms": 2.0}}, "ms": 0.5},
         {"id": 3, "kind": "complete", "task": "grade", "result": {"text": "{\"relevant\": false}"}, "ms": 12.0, "model": "small-2026",
          "tokens": {"in": 120, "out": 9}, "cost_usd": 0.0025, "cached": false, "finish": "stop"}]},
      {"n": 3, "node": "refuse", "started_ms": 21.5, "ms": 0.0, "data": {"reason": "not relevant", "closest": [{"title": "t", "url": "u"}]}, "effects": []}
    ],
    "totals": {"ms": 21.5, "steps": 3, "rewrites": 0, "tokens": {"in": 120, "out": 9}, "cost_usd": 0.0025},
    "stages": {"lexical": "used", "dense": "off"}, "error": null})");
}

json mapped(const json& trace, const MapOptions& options = {}) {
  const auto spans = resource_spans(trace.dump(), options);
  if (!spans) throw std::runtime_error(spans.error().field + ' ' + spans.error().message);
  return json::parse(*spans);
}

const json& spans_of(const json& resource) { return resource.at("scopeSpans").at(0).at("spans"); }

const json& attribute(const json& span, const std::string& key) {
  static const json none;
  for (const auto& each : span.at("attributes")) {
    if (each.at("key") == key) return each.at("value");
  }
  return none;
}

using Attributes = std::map<std::string, json>;

Attributes attributes(const json& of) {
  Attributes all;
  for (const auto& each : of.at("attributes")) all.emplace(each.at("key"), each.at("value"));
  return all;
}

json s(const std::string& text) { return {{"stringValue", text}}; }
json i(const std::string& number) { return {{"intValue", number}}; }
json d(double number) { return {{"doubleValue", number}}; }
json b(bool value) { return {{"boolValue", value}}; }
json strings(const std::vector<std::string>& texts) {
  json values = json::array();
  for (const auto& each : texts) values.push_back(s(each));
  return {{"arrayValue", {{"values", values}}}};
}

/// What the JSON encoding of OTLP requires of a ResourceSpans, wherever it is broken; empty for a sound one.
std::string faults(const json& resource) {
  static const std::set<std::string> span_fields{"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "status"};
  std::ostringstream out;
  const auto hex = [](const json& id, std::size_t length) {
    return id.is_string() && id.get<std::string>().size() == length && id.get<std::string>().find_first_not_of("0123456789abcdef") == std::string::npos &&
           id.get<std::string>().find_first_not_of('0') != std::string::npos;
  };
  const auto number = [](const json& value) {
    return value.is_string() && !value.get<std::string>().empty() && value.get<std::string>().find_first_not_of("0123456789") == std::string::npos;
  };
  const std::function<void(const json&)> check_value = [&](const json& value) {
    if (!value.is_object() || value.size() != 1) {
      out << "an AnyValue of not one member: " << value << '\n';
      return;
    }
    const std::string kind = value.begin().key();
    const auto& content = value.begin().value();
    const bool sound = kind == "stringValue"   ? content.is_string()
                       : kind == "boolValue"   ? content.is_boolean()
                       : kind == "intValue"    ? content.is_string()
                       : kind == "doubleValue" ? content.is_number()
                       : kind == "arrayValue"  ? content.at("values").is_array()
                                               : false;
    if (!sound) out << "a wrong AnyValue: " << value << '\n';
    if (kind == "arrayValue") {
      for (const auto& each : content.at("values")) check_value(each);
    }
  };
  const auto check_attributes = [&](const json& attributes) {
    std::set<std::string> seen;
    for (const auto& each : attributes) {
      if (each.size() != 2 || !each.at("key").is_string() || each.at("key").get<std::string>().empty()) out << "a wrong KeyValue: " << each << '\n';
      if (!seen.insert(each.at("key").get<std::string>()).second) out << "a key twice: " << each << '\n';
      check_value(each.at("value"));
    }
  };
  check_attributes(resource.at("resource").at("attributes"));
  std::map<std::string, const json*> by_id;
  std::set<std::string> traces;
  for (const auto& span : spans_of(resource)) {
    for (const auto& [field, value] : span.items()) {
      if (!span_fields.contains(field)) out << "a span has no field " << field << '\n';
    }
    if (!hex(span.at("traceId"), 32) || !hex(span.at("spanId"), 16)) out << "a wrong id in " << span << '\n';
    if (!by_id.emplace(span.at("spanId"), &span).second) out << "a span's id twice\n";
    traces.insert(span.at("traceId").get<std::string>());
    if (!span.at("kind").is_number_integer() || !number(span.at("startTimeUnixNano")) || !number(span.at("endTimeUnixNano"))) out << "wrong numbers in " << span << '\n';
    check_attributes(span.at("attributes"));
  }
  if (traces.size() != 1) out << traces.size() << " traces\n";
  std::size_t roots = 0;
  for (const auto& [id, span] : by_id) {
    const auto time = [](const json& of, const char* key) { return std::stoll(of.at(key).get<std::string>()); };
    if (time(*span, "startTimeUnixNano") > time(*span, "endTimeUnixNano")) out << "ends before it begins: " << *span << '\n';
    if (!span->contains("parentSpanId")) {
      ++roots;
      continue;
    }
    const auto parent = by_id.find(span->at("parentSpanId"));
    if (parent == by_id.end()) out << "no such parent: " << *span << '\n';
    else if (time(*span, "startTimeUnixNano") < time(*parent->second, "startTimeUnixNano") || time(*span, "endTimeUnixNano") > time(*parent->second, "endTimeUnixNano"))
      out << "leaves its parent's time: " << *span << '\n';
  }
  if (roots != 1) out << roots << " roots\n";
  return out.str();
}

TEST(Otlp, OneRootOneSpanAStepAndOneAGenerationInTheOrderOfTheRun) {
  const auto resource = mapped(small_trace());
  EXPECT_EQ(faults(resource), "");
  EXPECT_EQ(attributes(resource["resource"]), (Attributes{{"service.name", s("polygraph")}, {"service.version", s("0.1.0")}}));
  EXPECT_EQ(resource["scopeSpans"].size(), 1U);
  EXPECT_EQ(resource["scopeSpans"][0]["scope"], (json{{"name", "polygraph"}, {"version", "0.1.0"}}));
  std::vector<std::string> names;
  for (const auto& span : spans_of(resource)) names.push_back(span["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"invoke_agent polygraph", "retrieve", "grade_context", "chat small", "refuse"}));
  const auto& spans = spans_of(resource);
  for (const int step : {1, 2, 4}) EXPECT_EQ(spans[step]["parentSpanId"], spans[0]["spanId"]);
  EXPECT_EQ(spans[3]["parentSpanId"], spans[2]["spanId"]) << "a call is within its step";
  EXPECT_EQ(spans[0]["kind"], 1) << "SPAN_KIND_INTERNAL";
  EXPECT_EQ(spans[3]["kind"], 3) << "SPAN_KIND_CLIENT";
  for (const auto& span : spans) EXPECT_FALSE(span.contains("status")) << "a refusal is no error";
}

// `date -u -d 2026-12-01T03:42:36Z +%s` says 1796096556; the trace adds .902 s, and its steps 1.5 ms, 21.5 ms.
TEST(Otlp, TimesAreTheStartOfTheRunAndTheStepsOwnMilliseconds) {
  const auto resource = mapped(small_trace());
  const auto& spans = spans_of(resource);
  const auto times = [&](int span) { return spans[span]["startTimeUnixNano"].get<std::string>() + ' ' + spans[span]["endTimeUnixNano"].get<std::string>(); };
  EXPECT_EQ(times(0), "1796096556902000000 1796096556923500000");
  EXPECT_EQ(times(1), "1796096556902000000 1796096556903500000");
  EXPECT_EQ(times(2), "1796096556903500000 1796096556923500000");
  EXPECT_EQ(times(3), "1796096556904000000 1796096556916000000") << "after the 0.5 ms of the effect before it, for 12 ms";
  EXPECT_EQ(times(4), "1796096556923500000 1796096556923500000");
}

TEST(Otlp, AGenerationSaysModelTokensCostAndReplyAsTheGenAiConventionsName) {
  const auto resource = mapped(small_trace());
  EXPECT_EQ(attributes(spans_of(resource)[3]),
            (Attributes{{"gen_ai.operation.name", s("chat")},
                                 {"gen_ai.provider.name", s("openai-compatible")},
                                 {"gen_ai.request.model", s("small")},
                                 {"gen_ai.response.model", s("small-2026")},
                                 {"gen_ai.response.finish_reasons", strings({"stop"})},
                                 {"gen_ai.usage.input_tokens", i("120")},
                                 {"gen_ai.usage.output_tokens", i("9")},
                                 {"gen_ai.usage.cost", d(0.0025)},
                                 {"polygraph.cached", b(false)},
                                 {"polygraph.task", s("grade")},
                                 {"polygraph.ms", d(12)},
                                 {"langfuse.observation.type", s("generation")},
                                 {"langfuse.trace.name", s("polygraph")},
                                 {"gen_ai.output.messages",
                                  s(R"([{"role":"assistant","parts":[{"type":"text","content":"{\"relevant\": false}"}],"finish_reason":"stop"}])")},
                                 {"langfuse.observation.output", s("{\"relevant\": false}")}}));
}

TEST(Otlp, AStepSaysWhatItDecided) {
  const auto resource = mapped(small_trace());
  EXPECT_EQ(attributes(spans_of(resource)[1]), (Attributes{{"polygraph.step", i("1")},
                                                                      {"langfuse.observation.type", s("retriever")},
                                                                      {"langfuse.trace.name", s("polygraph")},
                                                                      {"polygraph.retrieve.query", s("lamp")},
                                                                      {"polygraph.retrieve.candidates", i("2")},
                                                                      {"polygraph.retrieve.retrieved_ids", strings({"a#0", "b#0"})},
                                                                      {"langfuse.observation.input", s("lamp")},
                                                                      {"langfuse.observation.output", s(R"(["a#0","b#0"])")}}));
  EXPECT_EQ(attributes(spans_of(resource)[2]), (Attributes{{"polygraph.step", i("2")},
                                                                      {"langfuse.observation.type", s("evaluator")},
                                                                      {"langfuse.trace.name", s("polygraph")},
                                                                      {"polygraph.grade_context.relevant", b(false)},
                                                                      {"polygraph.grade_context.reason", s("Nothing of a lamp.")},
                                                                      {"polygraph.grade_context.relevant_chunk_ids", strings({})},
                                                                      {"langfuse.observation.output", s("Nothing of a lamp.")}}));
}

TEST(Otlp, TheRootSaysQuestionAnswerStatusAndConfiguration) {
  const auto resource = mapped(small_trace());
  const auto& root = spans_of(resource)[0];
  EXPECT_EQ(attribute(root, "langfuse.trace.input"), s("Is the \"lamp\" lit?"));
  EXPECT_EQ(attribute(root, "langfuse.trace.output"), s("Not found."));
  EXPECT_EQ(attribute(root, "polygraph.run.id"), s("run-0123456789abcdef"));
  EXPECT_EQ(attribute(root, "polygraph.status"), s("refused"));
  EXPECT_EQ(attribute(root, "polygraph.config.top_k"), i("4"));
  EXPECT_EQ(attribute(root, "polygraph.config.use_reflection"), b(true));
  EXPECT_EQ(attribute(root, "polygraph.config.rerank_mix"), d(0.5));
  EXPECT_EQ(attribute(root, "polygraph.totals.tokens.in"), i("120"));
  EXPECT_TRUE(attribute(root, "polygraph.corpus_revision").is_null()) << "null is no attribute";
  EXPECT_TRUE(attribute(root, "gen_ai.usage.input_tokens").is_null()) << "its generations' tokens would be counted twice";
}

TEST(Otlp, IdsComeFromTheRunsIdAlone) {
  auto other_words = small_trace(), other_run = small_trace();
  other_words["answer"] = "Found.";
  other_run["id"] = "run-0123456789abcdee";
  const auto one = mapped(small_trace()), again = mapped(other_words), other = mapped(other_run);
  for (std::size_t span = 0; span < 5; ++span) {
    EXPECT_EQ(spans_of(one)[span]["spanId"], spans_of(again)[span]["spanId"]);
    EXPECT_NE(spans_of(one)[span]["spanId"], spans_of(other)[span]["spanId"]);
  }
  EXPECT_EQ(spans_of(one)[0]["traceId"], spans_of(again)[0]["traceId"]);
  EXPECT_NE(spans_of(one)[0]["traceId"], spans_of(other)[0]["traceId"]);
}

TEST(Otlp, ACachedReplyIsNotChargedAgain) {
  auto trace = small_trace();
  trace["steps"][1]["effects"][1]["cached"] = true;
  const auto resource = mapped(trace);
  EXPECT_EQ(faults(resource), "");
  const auto& call = spans_of(resource)[3];
  EXPECT_EQ(attribute(call, "polygraph.cached"), b(true));
  EXPECT_EQ(attribute(call, "gen_ai.usage.input_tokens"), i("0"));
  EXPECT_EQ(attribute(call, "gen_ai.usage.output_tokens"), i("0"));
  EXPECT_EQ(attribute(call, "gen_ai.usage.cost"), d(0));
  EXPECT_EQ(attribute(call, "polygraph.cached.input_tokens"), i("120"));
  EXPECT_EQ(attribute(call, "polygraph.cached.cost"), d(0.0025));
}

TEST(Otlp, AnUnknownPriceIsNoCost) {
  auto trace = small_trace();
  trace["steps"][1]["effects"][1]["cost_usd"] = nullptr;
  const auto resource = mapped(trace);
  EXPECT_TRUE(attribute(spans_of(resource)[3], "gen_ai.usage.cost").is_null());
}

TEST(Otlp, AFailedCallAndAFailedRunAreErrors) {
  auto trace = small_trace();
  trace["status"] = "failed";
  trace["error"] = {{"code", "provider_failed"}, {"message", "upstream answered 500"}};
  trace["steps"][1]["effects"][1]["result"] = {{"error", {{"code", "provider_failed"}, {"message", "upstream answered 500"}}}};
  const auto resource = mapped(trace);
  EXPECT_EQ(faults(resource), "");
  for (const int span : {0, 3}) {
    EXPECT_EQ(spans_of(resource)[span]["status"], (json{{"code", 2}, {"message", "upstream answered 500"}})) << "STATUS_CODE_ERROR";
    EXPECT_EQ(attribute(spans_of(resource)[span], "error.type"), s("provider_failed"));
  }
  EXPECT_TRUE(attribute(spans_of(resource)[3], "gen_ai.response.finish_reasons").is_null());
}

TEST(Otlp, WithoutWordsNobodysWordsAreSent) {
  auto trace = small_trace();
  trace["error"] = {{"code", "internal"}, {"message", "about the lamp"}};
  const auto all = resource_spans(trace.dump()), none = resource_spans(trace.dump(), {.with_words = false});
  ASSERT_TRUE(all && none);
  EXPECT_EQ(faults(json::parse(*none)), "");
  for (const char* words : {"lamp", "Not found", "not relevant", "relevant\\\\\\\": false"}) {
    EXPECT_THAT(*all, HasSubstr(words)) << "else this test proves nothing";
    EXPECT_THAT(*none, Not(HasSubstr(words)));
  }
  EXPECT_THAT(*none, HasSubstr("\"120\""));
  EXPECT_THAT(*none, HasSubstr("a#0"));
}

TEST(Otlp, EveryRecordedRunGivesASoundDocument) {
  std::size_t runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(POLYGRAPH_SOURCE_DIR "/assets/recordings")) {
    const auto recording = json::parse(std::ifstream(entry.path()));
    const auto resource = mapped(recording.at("trace"), {.service = "docs"});
    EXPECT_EQ(faults(resource), "") << entry.path();
    EXPECT_EQ(attribute(resource["resource"], "service.name"), s("docs"));
    std::size_t generations = 0;
    for (const auto& step : recording["trace"]["steps"]) {
      for (const auto& effect : step["effects"]) generations += effect["kind"] == "complete" ? 1 : 0;
    }
    EXPECT_EQ(spans_of(resource).size(), 1 + recording["trace"]["steps"].size() + generations);
    ++runs;
  }
  EXPECT_GT(runs, 0U);
}

TEST(Otlp, ACallThatTookLongerThanItsStepStaysWithinIt) {
  auto trace = small_trace();
  trace["steps"][1]["effects"][1]["ms"] = 900.0;
  const auto resource = mapped(trace);
  EXPECT_EQ(faults(resource), "");
  EXPECT_EQ(attribute(spans_of(resource)[3], "polygraph.ms"), d(900)) << "and says how long it took";
}

TEST(Otlp, DurationsThatAreNoMeasurementMakeNoWrongTimes) {
  for (const double ms : {-5.0, 1e300}) {
    auto trace = small_trace();
    trace["steps"][2]["ms"] = ms;
    trace["steps"][0]["effects"][0]["ms"] = ms;
    EXPECT_EQ(faults(mapped(trace)), "") << ms;
  }
}

TEST(Otlp, WhatIsNoTraceIsRefusedByItsField) {
  EXPECT_EQ(resource_spans("{").error().code, ErrorCode::invalid_json);
  EXPECT_EQ(resource_spans("[]").error().field, "id");
  auto trace = small_trace();
  for (const char* time : {"", "yesterday", "2026-12-01 03:42:36Z", "2026-13-01T03:42:36Z", "2026-02-30T03:42:36Z", "2026-12-01T24:42:36Z", "2026-12-01T03:42:36",
                           "2026-12-01T03:42:36.Z", "2026-12-01T03:42:36.1234567890Z", "2026-12-01T03:42:36.12xZ", "9026-12-01T03:42:36Z", "2026-12-01T-3:42:36Z"}) {
    trace["started_at"] = time;
    EXPECT_EQ(resource_spans(trace.dump()).error().field, "started_at") << time;
  }
}

TEST(Otlp, ATraceOfWrongTypesGivesWhatItHas) {
  auto trace = small_trace();
  trace["steps"] = "none";
  trace["models"] = 7;
  trace["totals"] = json::array();
  EXPECT_EQ(faults(mapped(trace)), "");
  trace["steps"] = json::array({nullptr, {{"node", 3}, {"effects", {{"kind", "complete"}}}}, {{"effects", json::array({{{"kind", "complete"}}})}}});
  const auto resource = mapped(trace);
  EXPECT_EQ(faults(resource), "");
  EXPECT_EQ(spans_of(resource).size(), 5U) << "the root, three steps, one call";
}

TEST(Otlp, TimesWithoutAndWithNineDigitsOfASecondAreRead) {
  auto trace = small_trace();
  trace["started_at"] = "2026-12-01T03:42:36Z";
  EXPECT_EQ(spans_of(mapped(trace))[0]["startTimeUnixNano"], "1796096556000000000");
  trace["started_at"] = "2026-12-01T03:42:36.123456789Z";
  EXPECT_EQ(spans_of(mapped(trace))[0]["startTimeUnixNano"], "1796096556123456789");
  trace["started_at"] = "1970-01-01T00:00:00Z";
  EXPECT_EQ(spans_of(mapped(trace))[0]["startTimeUnixNano"], "0");
}

TEST(Otlp, ARequestHoldsAllThatItIsGiven) {
  EXPECT_EQ(export_request({}), R"({"resourceSpans":[]})");
  const std::vector<std::string> two{R"({"a":1})", R"({"b":2})"};
  EXPECT_EQ(export_request(two), R"({"resourceSpans":[{"a":1},{"b":2}]})");
}

}  // namespace
}  // namespace polygraph::telemetry
