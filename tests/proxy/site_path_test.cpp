#include "proxy/http/site_path.hpp"

#include <gtest/gtest.h>

namespace polygraph::http {
namespace {

TEST(SitePath, DecodesOnce) {
  EXPECT_EQ(site_path("/"), "index.html");
  EXPECT_EQ(site_path("/a/b%20c.txt"), "a/b c.txt");
  EXPECT_EQ(site_path("/%2561"), "%61");
  EXPECT_EQ(site_path("/caf%C3%A9"), "caf\xc3\xa9");
}

TEST(SitePath, RefusesWhateverCouldLeaveTheFolderOrIsNoPlainName) {
  for (const char* path : {"", "a", "/..", "/a/..", "/a/../b", "/.", "/a/.b", "/%2e", "/a/%2E%2e/b", "/a%2fb", "/a%5cb", "/a\\b", "/%00",
                           "/a%0a", "/a/", "//a", "/a//b", "/%", "/%4", "/%g0"}) {
    EXPECT_EQ(site_path(path), std::nullopt) << path;
  }
}

}  // namespace
}  // namespace polygraph::http
