#include "proxy/upstream/response_head.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace polygraph::proxy {
namespace {

using State = ResponseHeadScanner::State;

State scan(const std::string& head) { return ResponseHeadScanner().feed(head); }
std::string with(const std::string& fields) { return "HTTP/1.1 200 OK\r\n" + fields + "\r\n"; }

TEST(ResponseHead, PassesOrdinaryHeadsAndSaysWhatTheyAnnounce) {
  ResponseHeadScanner scanner;
  const auto head = with("Content-Type: application/json\r\ncontent-LENGTH:  12 \r\nX-Empty:\r\nX-Latin: \xe9\r\n");
  ASSERT_EQ(scanner.feed(head + "{\"a\": 1}"), State::complete);
  EXPECT_EQ(scanner.end(), head.size());
  EXPECT_EQ(scanner.status(), 200U);
  EXPECT_EQ(scanner.content_length(), 12U);
  EXPECT_FALSE(scanner.chunked());
  ResponseHeadScanner chunked;
  ASSERT_EQ(chunked.feed("HTTP/1.1 429 \r\nTransfer-Encoding: Chunked\r\n\r\n"), State::complete);
  EXPECT_EQ(chunked.status(), 429U);
  EXPECT_TRUE(chunked.chunked());
  EXPECT_EQ(chunked.content_length(), std::nullopt);
}

TEST(ResponseHead, RefusesEveryDoubtAboutWhereTheBodyEnds) {
  for (const auto* fields : {
           "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
           "Content-Length: 2\r\nContent-Length: 2\r\n", "Content-Length: 2, 2\r\n", "Content-Length: +2\r\n", "Content-Length: -2\r\n",
           "Content-Length: 0x2\r\n", "Content-Length: 2 2\r\n", "Content-Length:\r\n", "Content-Length: 2.0\r\n",
           "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked, identity\r\n",
           "Transfer-Encoding: identity\r\n", "Transfer-Encoding: \"chunked\"\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding:\r\n", "Content-Length : 2\r\n", " Content-Length: 2\r\n", "X: a\r\n Content-Length: 2\r\n", "X: a\r\n\tb\r\n",
           "Content-Length: 2\n", "X: a\rb\r\n", "Content Length: 2\r\n", ": 2\r\n", "no colon\r\n", "X: a\x01\r\n", "X: \x7f\r\n",
       }) {
    EXPECT_EQ(scan(with(fields)), State::refused) << fields;
  }
  EXPECT_EQ(scan(with(std::string("X: a\0b\r\n", 8))), State::refused);
}

TEST(ResponseHead, RefusesWhatItsStatusCannotHave) {
  EXPECT_EQ(scan("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), State::refused);
  EXPECT_EQ(scan("HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n"), State::refused);
  EXPECT_EQ(scan("HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n"), State::refused);
  EXPECT_EQ(scan("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), State::complete);
}

TEST(ResponseHead, RefusesWhatIsNoStatusLine) {
  for (const auto* line : {"HTTP/2 200 OK", "HTTP/1.2 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 099 Low", "HTTP/1.1 600 High", "HTTP/1.1  200 OK",
                           "HTTP/1.1 200", "HTTP/1.1 2x0 OK", "http/1.1 200 OK", "ICY 200 OK", "HTTP/1.1\t200 OK", ""}) {
    EXPECT_EQ(scan(std::string(line) + "\r\n\r\n"), State::refused) << line;
  }
}

TEST(ResponseHead, RefusesWhatIsNoHttpAtItsFirstByte) {
  EXPECT_EQ(scan("{"), State::refused);
  EXPECT_EQ(scan("\x16\x03"), State::refused);
  EXPECT_EQ(scan("HTT"), State::incomplete);
}

TEST(ResponseHead, IsBounded) {
  EXPECT_EQ(scan("HTTP/1.1 200 " + std::string(ResponseHeadScanner::max_head_bytes, 'a')), State::refused);
  std::string fields;
  for (std::size_t i = 0; i < ResponseHeadScanner::max_fields; ++i) fields += "a:b\r\n";
  EXPECT_EQ(scan(with(fields)), State::complete);
  EXPECT_EQ(scan(with(fields + "a:b\r\n")), State::refused);
}

TEST(ResponseHead, SaysTheSameByteByByte) {
  const auto head = with("Content-Length: 2\r\nX: y\r\n");
  ResponseHeadScanner scanner;
  for (std::size_t size = 1; size < head.size(); ++size) ASSERT_EQ(scanner.feed(std::string_view(head).substr(0, size)), State::incomplete) << size;
  EXPECT_EQ(scanner.feed(head), State::complete);
  EXPECT_EQ(scanner.end(), head.size());
}

}  // namespace
}  // namespace polygraph::proxy
