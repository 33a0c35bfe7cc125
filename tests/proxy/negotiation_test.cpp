#include "proxy/http/negotiation.hpp"

#include <gtest/gtest.h>

namespace polygraph::http {
namespace {

TEST(AcceptEncoding, FollowsWeightsAndPrefersBrotliAtEqualOnes) {
  const auto both = [](std::string_view field) { return choose_coding(field, true, true, true); };
  EXPECT_EQ(both("gzip, br"), Coding::br);
  EXPECT_EQ(both("gzip;q=1.0, br;q=0.999"), Coding::gzip);
  EXPECT_EQ(both("BR ; Q=0.2"), Coding::br);
  EXPECT_EQ(both("x-gzip"), Coding::gzip);
  EXPECT_EQ(both("*"), Coding::br);
  EXPECT_EQ(both("br;q=0, *"), Coding::gzip);
  EXPECT_EQ(both("identity, br;q=0.5"), Coding::identity);
  EXPECT_EQ(both("identity;q=0.5, gzip;q=0.5"), Coding::gzip);
  EXPECT_EQ(both("br;q=0, gzip;q=0.000"), Coding::identity);
  EXPECT_EQ(both("deflate"), Coding::identity);
  EXPECT_EQ(both(""), Coding::identity);
  EXPECT_EQ(choose_coding("", false, true, true), Coding::identity);
  EXPECT_EQ(choose_coding("br, gzip", true, false, true), Coding::gzip);
}

TEST(AcceptEncoding, LeavesOutAnElementWithAWeightThatIsNone) {
  for (const char* field : {"br;q=2", "br;q=1.001", "br;q=", "br;q=0.1234", "br;q=-1", "br;q=.5", "br;level=4", "br;q=1e0"}) {
    EXPECT_EQ(choose_coding(field, true, true, true), Coding::identity) << field;
  }
}

TEST(IfNoneMatch, ComparesWeaklyAndSurvivesNonsense) {
  EXPECT_TRUE(matches_any("\"a\"", "\"a\""));
  EXPECT_TRUE(matches_any("W/\"a\"", "\"a\""));
  EXPECT_TRUE(matches_any("\"x\" , W/\"y,z\",\"a\"", "\"a\""));
  EXPECT_FALSE(matches_any("\"x,\"a\"", "\"a\""));
  EXPECT_FALSE(matches_any("a", "\"a\""));
  EXPECT_FALSE(matches_any("\"a", "\"a\""));
  EXPECT_FALSE(matches_any("w/\"a\"", "\"a\""));
  EXPECT_FALSE(matches_any(", , W/", "\"a\""));
}

TEST(Range, OfAnEmptyFileIsNeverSatisfiable) {
  EXPECT_EQ(choose_range("bytes=0-", 0).kind, RangeChoice::unsatisfiable);
  EXPECT_EQ(choose_range("bytes=-5", 0).kind, RangeChoice::unsatisfiable);
}

}  // namespace
}  // namespace polygraph::http
