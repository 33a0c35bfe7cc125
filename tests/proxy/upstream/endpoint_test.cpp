#include "proxy/upstream/endpoint.hpp"

#include <gtest/gtest.h>

namespace polygraph::proxy {
namespace {

TEST(Endpoint, IsTakenApart) {
  const auto groq = read_endpoint("https://api.groq.com/openai/v1");
  ASSERT_TRUE(groq);
  EXPECT_TRUE(groq->tls);
  EXPECT_EQ(groq->host, "api.groq.com");
  EXPECT_EQ(groq->port, 443);
  EXPECT_EQ(groq->authority, "api.groq.com");
  EXPECT_EQ(groq->path, "/openai/v1");
  EXPECT_FALSE(groq->is_address);
  const auto v6 = read_endpoint("http://[::1]:8080/v1/");
  ASSERT_TRUE(v6);
  EXPECT_FALSE(v6->tls);
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 8080);
  EXPECT_EQ(v6->authority, "[::1]:8080");
  EXPECT_EQ(v6->path, "/v1");
  EXPECT_TRUE(v6->is_address);
  EXPECT_TRUE(read_endpoint("http://localhost"));
  EXPECT_TRUE(read_endpoint("http://127.0.0.2:11434/v1"));
}

TEST(Endpoint, IsRefusedInAnyOtherForm) {
  for (const auto* url : {"", "api.groq.com", "ftp://api.groq.com", "http://api.groq.com/v1", "http://10.0.0.1/v1", "http://localhost.example/v1",
                          "http://127.0.0.1.example/", "http://[::2]/", "https://", "https:///v1", "https://user:secret@host/v1", "https://host:0/", "https://host:65536/",
                          "https://host:/", "https://host:8x/", "https://host/v1?key=secret", "https://host/v1#a", "https://host/a b", "https://host/\r\nX: y", "https://ho st/",
                          "https://[::1/", "https://[host]/", "https://-host/", "https://h\xc3\xb6st/", "HTTPS://host/", "https://::1/"}) {
    const auto read = read_endpoint(url);
    ASSERT_FALSE(read) << url;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(read.error().field, "upstream");
    EXPECT_EQ(read.error().message.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace polygraph::proxy
