#include "proxy/http/settings.hpp"

#include <gtest/gtest.h>

#include <map>

namespace polygraph::http {
namespace {

Environment with(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Settings, ComeFromTheEnvironmentAndSetWins) {
  const auto settings = read_settings(with({{"PROXY_MAX_HEADERS", "7"}, {"PROXY_IDLE_TIMEOUT_MS", "5"}}), {"MAX_HEADERS=8"});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->limits.max_headers, 8U);
  EXPECT_EQ(settings->limits.idle_timeout, Milliseconds(5));
  EXPECT_EQ(settings->limits.max_target_bytes, 8192U);
}

TEST(Settings, NameWhatIsWrong) {
  for (const char* bad : {"MAX_HEADERS=x", "MAX_HEADERS=", "MAX_HEADERS=-1", "MAX_HEADERS=1.5", "MAX_HEADERS= 1", "MAX_CONNECTIONS=0",
                          "IDLE_TIMEOUT_MS=99999999999999999999"}) {
    const auto settings = read_settings(with({}), {bad});
    ASSERT_FALSE(settings) << bad;
    EXPECT_EQ(settings.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(settings.error().field, std::string(bad).substr(0, std::string(bad).find('=')));
  }
  EXPECT_FALSE(read_settings(with({}), {"NO_SUCH=1"}));
  EXPECT_FALSE(read_settings(with({}), {"MAX_HEADERS"}));
  EXPECT_FALSE(read_settings(with({{"PROXY_MAX_HEADERS", "many"}}), {}));
}

TEST(Settings, TakeOnlyExactOriginsIntoTheSecurityPolicy) {
  const auto settings = read_settings(with({}), {"CONNECT_ENDPOINTS=https://api.example.org, http://127.0.0.1:8000"});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->connect_endpoints, (std::vector<std::string>{"https://api.example.org", "http://127.0.0.1:8000"}));
  for (const char* bad : {"*", "https://*", "https://*.example.org", "https:", "api.example.org", "https://a/", "https://a;script-src *",
                          "https://a b", "https://a:0", "https://a:70000", "https://a:", "ws://a", "https://u@a", "https://a\r\nX: y"}) {
    EXPECT_FALSE(read_settings(with({}), {std::string("CONNECT_ENDPOINTS=") + bad})) << bad;
  }
}

}  // namespace
}  // namespace polygraph::http
