#include "proxy/telemetry/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace polygraph::telemetry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

using Environment = std::map<std::string, std::string>;

Settings read(const Environment& environment) {
  return read_settings([&](const std::string& name) -> Result<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  });
}

TEST(TelemetrySettings, NothingIsOnWithoutKeysOrEndpoint) {
  for (const Environment& environment : {Environment{}, Environment{{"LANGFUSE_HOST", "http://127.0.0.1:1"}, {"OTEL_SERVICE_NAME", "x"}, {"OTEL_EXPORTER_OTLP_HEADERS", "a=b"}}}) {
    const auto settings = read(environment);
    EXPECT_THAT(settings.targets, IsEmpty());
    EXPECT_EQ(settings.fault, "");
  }
}

// printf 'pk-lf-1:sk-lf-2' | base64
TEST(TelemetrySettings, LangfuseIsItsOtlpEndpointWithBothKeysAsBasicAuthentication) {
  const auto settings = read({{"LANGFUSE_PUBLIC_KEY", "pk-lf-1"}, {"LANGFUSE_SECRET_KEY", "sk-lf-2"}});
  ASSERT_EQ(settings.targets.size(), 1U);
  const auto& target = settings.targets[0];
  EXPECT_TRUE(target.endpoint.tls);
  EXPECT_EQ(target.endpoint.host, "cloud.langfuse.com");
  EXPECT_EQ(target.endpoint.path, "/api/public/otel/v1/traces");
  EXPECT_THAT(target.fields, ElementsAre(Pair("Authorization", "Basic cGstbGYtMTpzay1sZi0y"), Pair("x-langfuse-ingestion-version", "4")));
  EXPECT_EQ(target.name, "Langfuse at cloud.langfuse.com");
}

TEST(TelemetrySettings, LangfuseMayBeHostedByOneself) {
  const auto settings = read({{"LANGFUSE_PUBLIC_KEY", "p"}, {"LANGFUSE_SECRET_KEY", "s"}, {"LANGFUSE_HOST", "http://langfuse:3000/"}});
  ASSERT_EQ(settings.targets.size(), 1U) << settings.fault;
  EXPECT_FALSE(settings.targets[0].endpoint.tls);
  EXPECT_EQ(settings.targets[0].endpoint.host, "langfuse");
  EXPECT_EQ(settings.targets[0].endpoint.port, 3000);
  EXPECT_EQ(settings.targets[0].endpoint.path, "/api/public/otel/v1/traces");
}

TEST(TelemetrySettings, OneKeyOfLangfuseNamesTheOther) {
  EXPECT_THAT(read({{"LANGFUSE_PUBLIC_KEY", "p"}}).fault, HasSubstr("LANGFUSE_SECRET_KEY is not set"));
  EXPECT_THAT(read({{"LANGFUSE_SECRET_KEY", "s"}}).fault, HasSubstr("LANGFUSE_PUBLIC_KEY is not set"));
}

TEST(TelemetrySettings, AnEndpointGetsThePathOfTracesAndATracesEndpointIsTakenAsItIs) {
  const auto path = [](const Environment& environment) { return read(environment).targets.at(0).endpoint.path; };
  EXPECT_EQ(path({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"}}), "/v1/traces");
  EXPECT_EQ(path({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://otlp.example/otlp/"}}), "/otlp/v1/traces");
  EXPECT_EQ(path({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://localhost:4318/mine"}}), "/mine");
}

TEST(TelemetrySettings, PlainHttpGoesWhereTheUserSaysHttp) {
  const auto endpoint = [](const std::string& url) { return read({{"OTEL_EXPORTER_OTLP_ENDPOINT", url}}).targets.at(0).endpoint; };
  EXPECT_FALSE(endpoint("http://collector:4318").tls);
  EXPECT_EQ(endpoint("http://collector").port, 80);
  EXPECT_EQ(endpoint("http://collector:443").port, 443);
  EXPECT_EQ(endpoint("https://collector").port, 443);
  EXPECT_TRUE(endpoint("https://collector:4318").tls);
  EXPECT_TRUE(endpoint("http://[::1]:4318").is_address);
}

TEST(TelemetrySettings, HeadersAreDecodedAndThoseOfTracesComeInsteadOfTheOthers) {
  const Environment base{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"}, {"OTEL_EXPORTER_OTLP_HEADERS", "api-key=abc%20d, x=1%3D2 ,,y=a=b"}};
  EXPECT_THAT(read(base).targets.at(0).fields, ElementsAre(Pair("api-key", "abc d"), Pair("x", "1=2"), Pair("y", "a=b")));
  auto both = base;
  both["OTEL_EXPORTER_OTLP_TRACES_HEADERS"] = "only=this";
  EXPECT_THAT(read(both).targets.at(0).fields, ElementsAre(Pair("only", "this")));
}

TEST(TelemetrySettings, HeadersThatWouldBreakTheRequestAreRefusedWithoutRepeatingThem) {
  for (const char* headers : {"canary", "a=canary%0d%0aHost: x", "a=canary%", "a=canary%zz", "a b=canary", "=canary", "host=canary", "Content-Length=canary",
                              "transfer-encoding=canary", "a=canary%00"}) {
    const auto settings = read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"}, {"OTEL_EXPORTER_OTLP_HEADERS", headers}});
    EXPECT_THAT(settings.targets, IsEmpty()) << headers;
    EXPECT_THAT(settings.fault, HasSubstr("OTEL_EXPORTER_OTLP_HEADERS")) << headers;
    EXPECT_THAT(settings.fault, Not(HasSubstr("canary"))) << headers;
  }
}

TEST(TelemetrySettings, AUrlThatCannotBeUsedIsNamedByItsSettingAndNotRepeated) {
  for (const char* url : {"localhost:4318", "grpc://localhost:4317", "https://canary:canary@example.com", "https://example.com?key=canary", "https://", "http://a b"}) {
    const auto settings = read({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url}});
    EXPECT_THAT(settings.targets, IsEmpty()) << url;
    EXPECT_THAT(settings.fault, HasSubstr("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) << url;
    EXPECT_THAT(settings.fault, Not(HasSubstr("canary")));
  }
}

TEST(TelemetrySettings, OneTargetThatCannotBeUsedLeavesTheOther) {
  const auto settings = read({{"LANGFUSE_PUBLIC_KEY", "p"}, {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"}});
  ASSERT_EQ(settings.targets.size(), 1U);
  EXPECT_EQ(settings.targets[0].name, "the OTLP endpoint at localhost:4318");
  EXPECT_NE(settings.fault, "");
}

TEST(TelemetrySettings, BothTargetsMayBeSet) {
  EXPECT_EQ(read({{"LANGFUSE_PUBLIC_KEY", "p"}, {"LANGFUSE_SECRET_KEY", "s"}, {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"}}).targets.size(), 2U);
}

TEST(TelemetrySettings, OpenTelemetrysOwnSwitchesAreHeard) {
  for (const auto& [name, value] : Environment{{"OTEL_SDK_DISABLED", "TRUE"}, {"OTEL_TRACES_EXPORTER", "none"}}) {
    const auto settings = read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"}, {name, value}});
    EXPECT_THAT(settings.targets, IsEmpty()) << name;
    EXPECT_EQ(settings.fault, "") << name;
  }
}

TEST(TelemetrySettings, TheServiceNameIsTaken) {
  EXPECT_EQ(read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"}}).map.service, "polygraph");
  EXPECT_EQ(read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"}, {"OTEL_SERVICE_NAME", "docs"}}).map.service, "docs");
}

TEST(TelemetrySettings, AKeysFileThatCannotBeReadIsNamed) {
  const auto settings = read_settings([](const std::string& name) -> Result<std::string> {
    if (name == "LANGFUSE_SECRET_KEY") return fail(ErrorCode::io, "/no/such: No such file", "LANGFUSE_SECRET_KEY_FILE");
    return name == "LANGFUSE_PUBLIC_KEY" ? std::string("p") : std::string();
  });
  EXPECT_THAT(settings.targets, IsEmpty());
  EXPECT_THAT(settings.fault, HasSubstr("LANGFUSE_SECRET_KEY_FILE: /no/such"));
}

}  // namespace
}  // namespace polygraph::telemetry
