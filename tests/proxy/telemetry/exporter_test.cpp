// The sender against a receiver on a real socket. A limit of ten minutes here stands for "not waited for": a test that did wait
// for it would be ended by ctest.
#include "proxy/telemetry/exporter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>

#include <nlohmann/json.hpp>

#include "scripted_upstream.hpp"
#include "tests/proxy/telemetry/collector.hpp"

namespace polygraph::telemetry {
namespace {

using nlohmann::json;
using testing::closed_port;
using testing::Collector;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::chrono::minutes never{10};
constexpr std::chrono::milliseconds soon{50};
constexpr const char* secret_canary = "sk-lf-canary-7c01";

std::string trace(int number) {
  return json{{"id", "run-" + std::to_string(number)}, {"question", "q"}, {"status", "answered"}, {"answer", "a"}, {"started_at", "2026-12-01T03:42:36.902Z"},
              {"steps", json::array({{{"node", "retrieve"}, {"started_ms", 0.0}, {"ms", 1.0}}})}}.dump();
}

/// The runs that the bodies of all requests hold, in order.
std::vector<std::string> runs_of(const Collector& collector) {
  std::vector<std::string> runs;
  for (const auto& request : collector.received()) {
    const auto body = json::parse(request.body);
    for (const auto& resource : body.at("resourceSpans")) {
      for (const auto& attribute : resource.at("scopeSpans").at(0).at("spans").at(0).at("attributes")) {
        if (attribute.at("key") == "polygraph.run.id") runs.push_back(attribute.at("value").at("stringValue"));
      }
    }
  }
  return runs;
}

class Warnings {
 public:
  std::function<void(const std::string&)> hear() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

Settings read(std::map<std::string, std::string> environment) {
  auto settings = read_settings([&](const std::string& name) -> Result<std::string> { return environment[name]; });
  settings.last_wait = never;
  settings.time_limit = never;
  return settings;
}

Settings langfuse(const std::string& url) { return read({{"LANGFUSE_PUBLIC_KEY", "pk-lf-canary"}, {"LANGFUSE_SECRET_KEY", secret_canary}, {"LANGFUSE_HOST", url}}); }
Settings otlp(const std::string& url) { return read({{"OTEL_EXPORTER_OTLP_ENDPOINT", url}}); }

class Export : public ::testing::Test {
 protected:
  std::shared_ptr<Exporter> make(Settings settings) { return Exporter::create(std::move(settings), warnings_.hear()); }
  /// Exports `count` traces and ends the exporter.
  void export_all(Settings settings, int count) {
    const auto exporter = make(std::move(settings));
    ASSERT_NE(exporter, nullptr);
    for (int each = 1; each <= count; ++each) exporter->add(trace(each));
  }
  /// The one warning; fails the test where there is none, or are more, or where it shows a key.
  std::string warning() const {
    const auto lines = warnings_.lines();
    EXPECT_EQ(lines.size(), 1U);
    if (lines.empty()) return "";
    EXPECT_THAT(lines[0], Not(HasSubstr("canary")));
    EXPECT_THAT(lines[0], StartsWith("traces are not exported: "));
    return lines[0];
  }

  Warnings warnings_;
};

TEST_F(Export, IsOffWithoutItsSettingsAndNothingIsConnectedTo) {
  const Collector collector;
  EXPECT_EQ(make(read({{"LANGFUSE_HOST", collector.url()}, {"OTEL_SERVICE_NAME", "x"}})), nullptr);
  EXPECT_EQ(make(read({{"OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()}, {"OTEL_SDK_DISABLED", "true"}})), nullptr);
  EXPECT_EQ(collector.connections(), 0U);
  EXPECT_THAT(warnings_.lines(), IsEmpty());
}

TEST_F(Export, ConnectsToNothingBeforeThereIsATrace) {
  const Collector collector;
  { const auto exporter = make(langfuse(collector.url())); }
  EXPECT_EQ(collector.connections(), 0U);
}

TEST_F(Export, ATraceReachesLangfuseAsJsonWithBothKeys) {
  const Collector collector;
  export_all(langfuse(collector.url()), 1);
  ASSERT_EQ(collector.received().size(), 1U) << "the end waits for what is queued";
  const auto request = collector.received()[0];
  EXPECT_THAT(request.head, StartsWith("POST /api/public/otel/v1/traces HTTP/1.1\r\n"));
  EXPECT_THAT(request.head, HasSubstr("\r\nHost: 127.0.0.1:" + std::to_string(collector.port()) + "\r\n"));
  EXPECT_THAT(request.head, HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(request.head, HasSubstr("\r\nAuthorization: Basic cGstbGYtY2FuYXJ5OnNrLWxmLWNhbmFyeS03YzAx\r\n")) << "printf 'pk-lf-canary:sk-lf-canary-7c01' | base64";
  const std::vector<std::string> spans{*resource_spans(trace(1))};
  EXPECT_EQ(request.body, export_request(spans));
  EXPECT_THAT(request.body, Not(HasSubstr("canary")));
  EXPECT_THAT(warnings_.lines(), IsEmpty());
}

TEST_F(Export, ATraceReachesAnyOtlpEndpointWithItsHeaders) {
  const Collector collector;
  export_all(read({{"OTEL_EXPORTER_OTLP_ENDPOINT", collector.url("/otlp")}, {"OTEL_EXPORTER_OTLP_HEADERS", "api-key=abc%20d"}}), 1);
  ASSERT_EQ(collector.received().size(), 1U);
  EXPECT_THAT(collector.received()[0].head, AllOf(StartsWith("POST /otlp/v1/traces HTTP/1.1\r\n"), HasSubstr("\r\napi-key: abc d\r\n")));
}

TEST_F(Export, EveryTraceArrivesOnceAndInOrder) {
  const Collector collector;
  export_all(otlp(collector.url()), 100);
  std::vector<std::string> expected;
  for (int each = 1; each <= 100; ++each) expected.push_back("run-" + std::to_string(each));
  EXPECT_EQ(runs_of(collector), expected);
  EXPECT_LT(collector.received().size(), 100U) << "what waits together is sent together";
  EXPECT_THAT(warnings_.lines(), IsEmpty());
}

TEST_F(Export, BothReceiversGetIt) {
  const Collector one, two;
  export_all(read({{"LANGFUSE_PUBLIC_KEY", "p"}, {"LANGFUSE_SECRET_KEY", "s"}, {"LANGFUSE_HOST", one.url()}, {"OTEL_EXPORTER_OTLP_ENDPOINT", two.url()}}), 1);
  EXPECT_EQ(runs_of(one), runs_of(two));
  EXPECT_EQ(runs_of(one).size(), 1U);
}

TEST_F(Export, AReceiverThatFailsDoesNotKeepTheOtherFromIt) {
  const Collector one({"status:500"}), two;
  export_all(read({{"LANGFUSE_PUBLIC_KEY", "p"}, {"LANGFUSE_SECRET_KEY", "s"}, {"LANGFUSE_HOST", one.url()}, {"OTEL_EXPORTER_OTLP_ENDPOINT", two.url()}}), 1);
  EXPECT_EQ(runs_of(two).size(), 1U);
  EXPECT_THAT(warning(), HasSubstr("Langfuse"));
}

TEST_F(Export, AnErrorOfTheReceiverIsOneWarningWithoutWhatItSaid) {
  for (const std::string body : {"", secret_canary, "{\"message\":\"canary\"}"}) {
    const Collector collector({"status:500:" + body, "status:401:" + body, "status:500:" + body});
    Warnings warnings;
    {
      const auto exporter = Exporter::create(langfuse(collector.url()), warnings.hear());
      for (int number = 1; number <= 70; ++number) exporter->add(trace(number));
    }
    EXPECT_GE(collector.received().size(), 3U) << "70 traces are more than two requests, and a failure does not end the sending";
    ASSERT_EQ(warnings.lines().size(), 1U);
    EXPECT_THAT(warnings.lines()[0], AllOf(HasSubstr("it answered 500"), HasSubstr("127.0.0.1"), Not(HasSubstr("canary"))));
  }
}

TEST_F(Export, AClosedConnectionIsOneWarning) {
  const Collector collector({"close"});
  export_all(langfuse(collector.url()), 70);
  EXPECT_THAT(warning(), HasSubstr("no answer"));
  EXPECT_GE(collector.received().size(), 3U);
}

TEST_F(Export, ARefusedConnectionIsOneWarning) {
  export_all(langfuse("http://127.0.0.1:" + std::to_string(closed_port())), 70);
  EXPECT_THAT(warning(), HasSubstr("no connection"));
}

TEST_F(Export, ARedirectIsNotFollowed) {
  const Collector elsewhere;
  const Collector collector({"status:307"}, elsewhere.url("/api/public/otel/v1/traces"));
  export_all(langfuse(collector.url()), 1);
  EXPECT_EQ(elsewhere.connections(), 0U) << "the keys would go with it";
  EXPECT_THAT(warning(), HasSubstr("it answered 307"));
}

TEST_F(Export, AReceiverThatStandsStillIsNotWaitedForAtTheEnd) {
  for (const char* how : {"stall", "trickle"}) {
    const Collector collector({how});
    Warnings warnings;
    auto settings = langfuse(collector.url());
    settings.last_wait = soon;
    auto exporter = Exporter::create(std::move(settings), warnings.hear());
    exporter->add(trace(1));
    ASSERT_TRUE(collector.wait_for(1));
    exporter->add(trace(2));
    exporter.reset();
    ASSERT_EQ(warnings.lines().size(), 1U);
    EXPECT_THAT(warnings.lines()[0], AllOf(HasSubstr("2 traces were not sent before the end"), Not(HasSubstr("canary"))));
  }
}

TEST_F(Export, AfterItsTimeARequestIsGivenUpAndTheNextIsSent) {
  const Collector collector({"stall", "ok"});
  auto settings = langfuse(collector.url());
  settings.time_limit = std::chrono::milliseconds(200);
  auto exporter = make(std::move(settings));
  exporter->add(trace(1));
  ASSERT_TRUE(collector.wait_for(1));
  exporter->add(trace(2));
  exporter.reset();
  EXPECT_EQ(runs_of(collector), (std::vector<std::string>{"run-1", "run-2"}));
  EXPECT_THAT(warning(), HasSubstr("its time was over"));
}

TEST_F(Export, AFullQueueTakesNoMoreAndDelaysNobody) {
  const Collector collector({"stall"});
  auto settings = langfuse(collector.url());
  settings.last_wait = soon;
  settings.max_queued = 2;
  auto exporter = make(std::move(settings));
  exporter->add(trace(1));
  ASSERT_TRUE(collector.wait_for(1));
  for (int each = 2; each <= 10; ++each) exporter->add(trace(each));
  exporter.reset();
  EXPECT_THAT(warning(), HasSubstr("10 traces were not sent")) << "one under way, two queued, seven left out";
}

TEST_F(Export, AnAddressThatAnswersNobodyIsNotWaitedForAtTheEnd) {
  // RFC 5737 keeps these addresses for documentation: whatever stands behind them here, none of them answers.
  auto settings = langfuse("http://192.0.2.1:9");
  settings.last_wait = soon;
  export_all(std::move(settings), 1);
  EXPECT_THAT(warning(), Not(IsEmpty()));
}

TEST_F(Export, ANameThatIsNotFoundIsOneWarningAndNotWaitedForAtTheEnd) {
  auto settings = langfuse("https://name.invalid");
  settings.last_wait = soon;
  export_all(std::move(settings), 3);
  EXPECT_THAT(warning(), Not(IsEmpty()));
}

TEST_F(Export, SpansThatWereRejectedAreAWarning) {
  const Collector collector({R"(ok:{"partialSuccess":{"rejectedSpans":"2","errorMessage":"canary"}})"});
  export_all(langfuse(collector.url()), 1);
  EXPECT_THAT(warning(), HasSubstr("rejected some of the spans"));
}

TEST_F(Export, AnswersThatSayNothingOfRejectionAreFine) {
  for (const char* body : {"", "{}", "[]", "no JSON", R"({"partialSuccess":{}})", R"({"partialSuccess":null})", R"({"partialSuccess":{"rejectedSpans":"0"}})",
                           R"({"partialSuccess":{"rejectedSpans":0}})"}) {
    const Collector collector({std::string("ok:") + body});
    export_all(langfuse(collector.url()), 1);
    EXPECT_THAT(warnings_.lines(), IsEmpty()) << body;
  }
}

TEST_F(Export, AnAnswerWithoutEndIsNoReasonToReadOn) {
  const Collector collector({"ok:" + std::string(300'000, ' ')});
  export_all(langfuse(collector.url()), 1);
  EXPECT_THAT(warnings_.lines(), IsEmpty()) << "the status said that it was taken";
}

TEST_F(Export, WhatIsNoTraceIsLeftOutAndTheOthersAreSent) {
  const Collector collector;
  {
    const auto exporter = make(langfuse(collector.url()));
    exporter->add("canary");
    exporter->add(trace(1));
  }
  EXPECT_EQ(runs_of(collector), std::vector<std::string>{"run-1"});
  warning();
}

TEST_F(Export, ASettingThatCannotBeUsedIsOneWarningAndTheOtherTargetGetsIt) {
  const Collector collector;
  export_all(read({{"LANGFUSE_PUBLIC_KEY", "pk-canary"}, {"OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()}}), 1);
  EXPECT_THAT(warning(), HasSubstr("LANGFUSE_SECRET_KEY"));
  EXPECT_EQ(runs_of(collector).size(), 1U);
}

TEST_F(Export, GoesOverTlsToAHostWhoseCertificateIsSound) {
  const proxy::testing::ScriptedUpstream server;
  auto settings = read({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", server.url() + "/chat/completions"}, {"OTEL_EXPORTER_OTLP_HEADERS", "api-key=canary"}});
  settings.ca_file = server.ca_file();
  export_all(std::move(settings), 1);
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(server.counts().handshakes, 1U);
  EXPECT_THAT(server.requests()[0].head, HasSubstr("api-key: canary"));
  const std::vector<std::string> spans{*resource_spans(trace(1))};
  EXPECT_EQ(server.requests()[0].body, export_request(spans));
}

TEST_F(Export, SendsNothingToAHostWhoseCertificateIsNot) {
  for (const auto kind : {proxy::testing::CertificateKind::expired, proxy::testing::CertificateKind::other_host, proxy::testing::CertificateKind::unknown_ca}) {
    const proxy::testing::ScriptedUpstream server({.certificate = kind, .ca_file = {}});
    auto settings = read({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", server.url() + "/chat/completions"}, {"OTEL_EXPORTER_OTLP_HEADERS", "api-key=canary"}});
    settings.ca_file = server.ca_file();
    Warnings warnings;
    { Exporter::create(std::move(settings), warnings.hear())->add(trace(1)); }
    EXPECT_THAT(server.requests(), IsEmpty());
    ASSERT_EQ(warnings.lines().size(), 1U);
    EXPECT_THAT(warnings.lines()[0], AllOf(HasSubstr("certificate was refused"), Not(HasSubstr("canary"))));
  }
}

}  // namespace
}  // namespace polygraph::telemetry
