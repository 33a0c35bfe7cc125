#include "wasm/golden/remap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/retrieval/tiny_corpus.hpp"

namespace polygraph::golden {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using tests::corpus_of;

constexpr const char* ropes = "Ropes are kept dry in the locker by the mast.";
constexpr const char* ropes_edited = "Ropes are kept dry and coiled in the locker by the mast.";
constexpr const char* lamps = "The red lamp burns at night on the port side.";
constexpr const char* soup = "Fish soup simmers for twenty minutes below the boil.";

tests::TinyCorpus before() { return corpus_of({{"deck", "Deck", "Ropes", ropes}, {"deck", "Deck", "Lamps", lamps}, {"galley", "Galley", "", soup}}); }

/// A set over the index before, digests kept.
Set set_of(const std::string& line) {
  auto set = parse(line);
  EXPECT_TRUE(set) << set.error().message;
  return remapped(before().index, *set, {});
}

constexpr const char* item = R"({"id":"a","type":"answerable","question":"Where are the ropes?","reference_answer":"in the locker by the mast","relevant_chunk_ids":["deck#000","deck#001"],"relevance":{"deck#000":2},"pool_ids":["deck#000","galley#000"]})";

TEST(Against, FindsNothingInTheIndexThatTheSetIsOf) {
  Checked checked;
  checked.set = set_of(item);
  EXPECT_EQ(checked.set.items[0].chunk_digests.at("deck#000"), chunk_digest(ropes));
  EXPECT_THAT(checked.set.items[0].chunk_digests, SizeIs(2)) << "gold has a digest, the pool has none";
  check_against(before().index, checked);
  EXPECT_THAT(checked.warnings, IsEmpty());
  EXPECT_THAT(unknown_gold(before().index, checked.set), IsEmpty());
  EXPECT_THAT(propose_moves(before().index, checked.set, nullptr), IsEmpty());
}

TEST(Against, WarnsOfIdsAndPagesThatAreGoneAndOfTextsThatChanged) {
  const auto now = corpus_of({{"deck", "Deck", "Ropes", ropes_edited}});
  Checked checked;
  checked.set = set_of(item);
  checked.set.items[0].relevant_pages = {"content/manuals/deck.md", "galley"};
  check_against(now.index, checked);
  std::vector<std::string> found;
  for (const auto& each : checked.warnings) found.push_back(each.field + " " + each.message);
  EXPECT_THAT(found, ElementsAre(HasSubstr("relevant_chunk_ids[0] the text of \"deck#000\""), HasSubstr("relevant_chunk_ids[1] the index has no chunk \"deck#001\""),
                                 HasSubstr("pool_ids[1] the index has no chunk"), HasSubstr("relevant_pages[1] the index has no page \"galley\"")));
  const auto unknown = unknown_gold(now.index, checked.set);
  ASSERT_THAT(unknown, SizeIs(2)) << "what stops a run is missing gold alone";
  EXPECT_EQ(unknown[0].item, "a");
}

TEST(Remap, FollowsATextByItsDigest) {
  const auto now = corpus_of({{"deck", "Deck", "Intro", "About the deck and what stands on it."}, {"deck", "Deck", "Ropes", ropes}, {"lights", "Lights", "", lamps}, {"galley", "Galley", "", soup}});
  const Set set = set_of(item);
  const auto moves = propose_moves(now.index, set, nullptr);
  ASSERT_THAT(moves, SizeIs(3));
  EXPECT_EQ(moves[0].from, "deck#000");
  EXPECT_EQ(moves[0].to, "deck#001");
  EXPECT_EQ(moves[0].match, Match::digest);
  EXPECT_FALSE(moves[0].gone) << "its id now names another text";
  EXPECT_EQ(moves[1].from, "deck#001");
  EXPECT_EQ(moves[1].to, "lights#000");
  EXPECT_EQ(moves[2].field, "pool_ids");
  const auto moved = remapped(now.index, set, moves).items[0];
  EXPECT_THAT(moved.relevant_chunk_ids, ElementsAre("deck#001", "lights#000"));
  EXPECT_THAT(moved.pool_ids, ElementsAre("deck#001", "galley#000"));
  EXPECT_EQ(moved.grade("deck#001"), 2U) << "a grade moves along";
  EXPECT_EQ(moved.chunk_digests.at("lights#000"), chunk_digest(lamps));
  Checked checked;
  checked.set = remapped(now.index, set, moves);
  check_against(now.index, checked);
  EXPECT_THAT(checked.warnings, IsEmpty());
}

TEST(Remap, FollowsAnEditedTextByTheTermsOfTheOldOne) {
  const auto old = before();
  const auto now = corpus_of({{"ship", "Ship", "", soup}, {"ship", "Ship", "", ropes_edited}, {"ship", "Ship", "", lamps}});
  const auto moves = propose_moves(now.index, set_of(item), &old.index);
  ASSERT_THAT(moves, SizeIs(4));
  EXPECT_EQ(moves[0].match, Match::similar);
  EXPECT_EQ(moves[0].to, "ship#001");
  // The old text has the terms rope, kept, dry, locker and mast; the new one has "coil" besides: 5 of 6.
  EXPECT_DOUBLE_EQ(moves[0].score, 5.0 / 6);
  EXPECT_EQ(moves[1].match, Match::digest);
}

TEST(Remap, LooksForTheReferenceOnTheSamePageWhereTheOldTextIsUnknown) {
  const auto now = corpus_of({{"deck", "Deck", "", "Nothing of interest."}, {"deck", "Deck", "", ropes_edited}});
  Set set = set_of(item);
  const auto moves = propose_moves(now.index, set, nullptr);
  ASSERT_FALSE(moves.empty());
  EXPECT_EQ(moves[0].match, Match::reference);
  EXPECT_EQ(moves[0].to, "deck#001");
}

TEST(Remap, SaysWhatFoundNoPlaceAndGoesOnNamingIt) {
  const auto now = corpus_of({{"deck", "Deck", "", "Nothing of interest."}});
  const Set set = set_of(R"({"id":"a","type":"vague","question":"Hm?","relevant_chunk_ids":["deck#000","galley#000"]})");
  const auto moves = propose_moves(now.index, set, nullptr);
  ASSERT_THAT(moves, SizeIs(2));
  for (const auto& move : moves) {
    EXPECT_EQ(move.match, Match::none);
    EXPECT_EQ(move.to, "");
  }
  Checked checked;
  checked.set = remapped(now.index, set, moves);
  check_against(now.index, checked);
  EXPECT_THAT(checked.warnings, SizeIs(2));
}

TEST(Remap, MakesOneIdOfTwoThatBecameOneText) {
  const auto now = corpus_of({{"deck", "Deck", "", ropes}});
  Set set = set_of(item);
  set.items[0].pool_ids.clear();
  const std::vector<Move> moves{{"a", 1, "relevant_chunk_ids", "deck#001", "deck#000", true, Match::similar, 0.6}};
  EXPECT_THAT(remapped(now.index, set, moves).items[0].relevant_chunk_ids, ElementsAre("deck#000"));
}

}  // namespace
}  // namespace polygraph::golden
