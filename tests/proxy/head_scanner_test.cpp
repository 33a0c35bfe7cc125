#include "proxy/http/head_scanner.hpp"

#include <gtest/gtest.h>

#include <random>

namespace polygraph::http {
namespace {

TEST(HeadScanner, EndsAtTheEmptyLineAndLeavesWhatFollows) {
  const Limits limits;
  HeadScanner scanner(limits);
  const std::string head = "POST /api/ask HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
  EXPECT_EQ(scanner.feed(head + "abcGET"), HeadScanner::State::complete);
  EXPECT_EQ(scanner.begin(), 0U);
  EXPECT_EQ(scanner.end(), head.size());
  EXPECT_EQ(scanner.body_bytes(), 3U);
}

TEST(HeadScanner, SkipsOneEmptyLineBeforeARequestAndNoSecond) {
  const Limits limits;
  HeadScanner one(limits), two(limits);
  EXPECT_EQ(one.feed("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), HeadScanner::State::complete);
  EXPECT_EQ(one.begin(), 2U);
  EXPECT_EQ(two.feed("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), HeadScanner::State::refused);
}

TEST(HeadScanner, SaysTheSameHoweverTheBytesArriveAndNeverReadsPastThem) {
  // Random damage to a good head: in one piece and byte by byte, on a buffer of exact size so that a sanitizer sees overreads.
  const Limits limits;
  const std::string good = "GET /a%20b?c HTTP/1.1\r\nHost: example.org:80\r\nContent-Length: 12\r\nX-Y: z z\r\n\r\n";
  std::mt19937 random(7);
  const std::string bytes = std::string("\r\n \t:/\0,;aZ0%\x7f\xff", 15);
  int complete = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string head = good;
    for (auto changes = random() % 3; changes > 0; --changes) head[random() % head.size()] = bytes[random() % bytes.size()];
    HeadScanner whole(limits), pieces(limits);
    const std::vector<char> exact(head.begin(), head.end());
    const auto once = whole.feed({exact.data(), exact.size()});
    auto state = HeadScanner::State::incomplete;
    for (std::size_t size = 1; size <= exact.size() && state == HeadScanner::State::incomplete; ++size) {
      state = pieces.feed({exact.data(), size});
    }
    ASSERT_EQ(once, state) << head;
    if (once == HeadScanner::State::complete) {
      ++complete;
      ASSERT_EQ(whole.end(), pieces.end());
    } else if (once == HeadScanner::State::refused) {
      ASSERT_EQ(whole.refusal().status, pieces.refusal().status) << head;
    }
  }
  EXPECT_GT(complete, 5'000);
}

}  // namespace
}  // namespace polygraph::http
