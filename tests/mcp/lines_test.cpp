#include "cli/mcp/stdio.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

namespace polygraph::cli::mcp {
namespace {

using ::testing::ElementsAre;

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
  ~Pipe() {
    close_reading();
    close_writing();
  }
  void close_reading() { close(0); }
  void close_writing() { close(1); }
  void write(std::string_view text) const { EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size())); }

 private:
  void close(std::size_t end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
};

struct LinesTest : ::testing::Test {
  Pipe in, out;
  std::atomic<bool> interrupt{false};
  Lines lines{in.ends[0], out.ends[1], [this] { return interrupt.load(); }};
  std::vector<std::string> got;
  unsigned too_long = 0;

  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }
  Lines::Ended read() {
    return lines.read([this](std::string_view line) { got.emplace_back(line); }, [this] { ++too_long; });
  }
};

TEST_F(LinesTest, ComeOneByOneUntilTheInputEnds) {
  in.write("\xef\xbb\xbf" "one\ntwo\r\n\n\xef\xbb\xbfthree");
  in.close_writing();
  EXPECT_EQ(read().end, Lines::End::closed);
  EXPECT_THAT(got, ElementsAre("one", "two\r", "", "\xef\xbb\xbfthree"));
}

TEST_F(LinesTest, ThatAreTooLongAreToldOfOnceAndPassedOver) {
  std::thread writer([this] {
    in.write("before\n");
    for (std::size_t written = 0; written < 3 * most_line_bytes; written += 4096) in.write(std::string(4096, 'x'));
    in.write("\nafter\n");
    in.close_writing();
  });
  EXPECT_EQ(read().end, Lines::End::closed);
  writer.join();
  EXPECT_EQ(too_long, 1U);
  EXPECT_THAT(got, ElementsAre("before", "after"));
}

TEST_F(LinesTest, OfTheGreatestLengthAreTaken) {
  std::thread writer([this] {
    in.write(std::string(most_line_bytes, 'x') + "\n");
    in.close_writing();
  });
  EXPECT_EQ(read().end, Lines::End::closed);
  writer.join();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got.front().size(), most_line_bytes);
  EXPECT_EQ(too_long, 0U);
}

TEST_F(LinesTest, AWriterWhoseReaderWentAwayEndsTheReading) {
  out.close_reading();
  EXPECT_TRUE(lines.reader_gone());
  lines.write("nobody reads it");
  EXPECT_EQ(lines.write_failure(), EPIPE);
  EXPECT_EQ(read().end, Lines::End::reader_gone);
}

TEST_F(LinesTest, AClientThatReadsNothingBlocksNobodyForEver) {
  std::thread writer([this] { lines.write(std::string(1 << 20, 'x')); });  // more than a pipe holds
  interrupt = true;
  writer.join();
}

TEST_F(LinesTest, LongLinesAreWrittenWholeAndOneAfterTheOther) {
  const std::string a(300'000, 'a'), b(300'000, 'b');
  std::thread first([&] { lines.write(a); }), second([&] { lines.write(b); });
  std::string all;
  std::array<char, 65536> buffer;
  while (all.size() < a.size() + b.size() + 2) {
    const auto read = ::read(out.ends[0], buffer.data(), buffer.size());
    ASSERT_GT(read, 0);
    all.append(buffer.data(), static_cast<std::size_t>(read));
  }
  first.join();
  second.join();
  EXPECT_TRUE(all == a + "\n" + b + "\n" || all == b + "\n" + a + "\n");
}

}  // namespace
}  // namespace polygraph::cli::mcp
