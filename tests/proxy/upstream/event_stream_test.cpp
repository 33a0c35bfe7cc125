#include "proxy/upstream/event_stream.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace polygraph::proxy {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

/// In pieces of `size` bytes.
Events events_of(const std::string& text, std::size_t size) {
  EventStream stream(1000);
  Events events;
  for (std::size_t at = 0; at < text.size(); at += size) {
    EXPECT_TRUE(stream.feed(std::string_view(text).substr(at, size), [&](const StreamEvent& event) {
      events.emplace_back(event.type, event.data);
      return true;
    }));
  }
  return events;
}

TEST(EventStream, ReadsTheSameHoweverItsLinesEndAndItsBytesAreSplit) {
  const Events expected = {{"message", "one"}, {"error", "a\nb"}, {"message", ""}, {"message", " x"}, {"message", "caf\xc3\xa9"}};
  for (const std::string end : {"\n", "\r", "\r\n"}) {
    std::string text = "\xef\xbb\xbf";
    for (const auto* line : {"data: one", "", ": a comment", "", "event: error", "data:a", "id: 7", "data: b", "retry: 9", "", "event: nothing", "", "data",
                             "", "data:  x", "unknown: y", "", "data: caf\xc3\xa9", "", "data: cut"}) {
      text += line + end;
    }
    for (std::size_t size = 1; size <= text.size(); ++size) ASSERT_EQ(events_of(text, size), expected) << size;
  }
}

TEST(EventStream, TakesAByteOrderMarkAtTheBeginningAlone) {
  EXPECT_EQ(events_of("data: a\n\n\xef\xbb\xbf" "data: b\n\n", 3), (Events{{"message", "a"}}));
}

TEST(EventStream, EndsAtAnEventThatIsTooLarge) {
  const auto nothing = [](const StreamEvent&) { return true; };
  for (const auto* line : {"data: ", ": ", "event: ", "x"}) {
    EventStream stream(100);
    EXPECT_FALSE(stream.feed(line + std::string(100, 'x'), nothing)) << line;
    EXPECT_FALSE(stream.feed("\n\n", nothing)) << "it stays at its end";
  }
  EventStream lines(100);
  bool fits = true;
  for (int i = 0; i < 100 && fits; ++i) fits = lines.feed("data: 0123456789\n", nothing);
  EXPECT_FALSE(fits) << "many lines are one event";
  EventStream events(100);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(events.feed("data: 0123456789\n\n", nothing));
}

TEST(EventStream, ReadsNothingMoreOnceItsReaderSaysSo) {
  EventStream stream(100);
  int calls = 0;
  const auto once = [&](const StreamEvent&) { return ++calls < 1; };
  EXPECT_FALSE(stream.feed("data: a\n\ndata: b\n\n", once));
  EXPECT_FALSE(stream.feed("data: c\n\n", once));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace polygraph::proxy
