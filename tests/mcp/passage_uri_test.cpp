#include "cli/mcp/passage_uri.hpp"

#include <gtest/gtest.h>

namespace polygraph::cli::mcp {
namespace {

TEST(PassageUri, NamesAPageAndAPassage) {
  EXPECT_EQ(page_uri("storage/volumes"), "polygraph://page/storage/volumes");
  EXPECT_EQ(passage_uri("storage/volumes#003"), "polygraph://passage/storage/volumes/003");
}

TEST(PassageUri, LeadsBackToTheId) {
  for (const std::string id : {"a", "storage/volumes", "night watch", "100%", "a#b", "Größe/日本", "what?", "a%2Fb"}) {
    EXPECT_EQ(id_of_uri(page_uri(id)), id);
    EXPECT_EQ(id_of_uri(passage_uri(id + "#012")), id + "#012");
    EXPECT_EQ(page_uri(id).find_first_of(" #?"), std::string::npos);
  }
}

TEST(PassageUri, KnowsWhatIsNone) {
  for (const char* uri : {"", "polygraph:", "polygraph://passage/", "polygraph://passage/x", "file:///etc/passwd", "polygraph://page/%", "polygraph://page/%4", "polygraph://page/%zz",
                          "polygraph://passages/a/000"}) {
    EXPECT_EQ(id_of_uri(uri), std::nullopt) << uri;
  }
}

}  // namespace
}  // namespace polygraph::cli::mcp
