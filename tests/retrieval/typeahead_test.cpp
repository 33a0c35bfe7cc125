// Passages while somebody types.
#include "wasm/retrieval/typeahead.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/retrieval/tiny_corpus.hpp"
#include "wasm/retrieval/promotion.hpp"

namespace polygraph {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using tests::corpus_of;
using tests::corpus_of_texts;

std::vector<index::ChunkNo> typed(const tests::TinyCorpus& corpus, std::string_view query) {
  std::vector<index::ChunkNo> chunks;
  for (const auto& hit : retrieval::typeahead(corpus.index, query, 10)) chunks.push_back(hit.chunk);
  return chunks;
}

TEST(Typeahead, TheLastWordIsAPrefixWhileItIsTyped) {
  const auto corpus = corpus_of_texts({"Containers are isolated.", "Networks join hosts."});
  for (const char* query : {"c", "co", "conta", "contai", "contain", "containe", "container", "containers", "are conta"}) {
    EXPECT_THAT(typed(corpus, query), ElementsAre(0U)) << query;
  }
}

TEST(Typeahead, AFinishedWordIsNoPrefix) {
  const auto corpus = corpus_of_texts({"Containers are isolated.", "Networks connect."});
  EXPECT_THAT(typed(corpus, "net "), IsEmpty());
  EXPECT_THAT(typed(corpus, "net"), ElementsAre(1U));
}

TEST(Typeahead, OneTypoIsForgivenInWordsOfFiveLettersOrMore) {
  const auto corpus = corpus_of_texts({"Containers use networking.", "Ship sails."});
  for (const char* query : {"contianer ", "containre ", "cntainer ", "conntainers ", "kontainer ", "networkng ", "netwroking "}) {
    EXPECT_THAT(typed(corpus, query), ElementsAre(0U)) << query;
  }
  EXPECT_THAT(typed(corpus, "shup "), IsEmpty()) << "four letters";
  EXPECT_THAT(typed(corpus, "conttaimer "), IsEmpty()) << "two typos";
}

TEST(Typeahead, ATypoStandsBelowAnExactHit) {
  const auto corpus = corpus_of_texts({"Catching catching catching.", "One long sentence about many things that at its end names caching."});
  EXPECT_THAT(typed(corpus, "caching "), ElementsAre(1U, 0U));
  EXPECT_THAT(typed(corpus, "catching "), ElementsAre(0U, 1U));
}

TEST(Typeahead, AWholeWordStandsAboveAPrefix) {
  const auto corpus = corpus_of_texts({"Portability portability portability.", "One long sentence about many things that names a port."});
  EXPECT_THAT(typed(corpus, "port"), ElementsAre(1U, 0U));
}

TEST(Typeahead, HyphenatedJoinedCamelCaseAndUnderscoreWordsFindEachOther) {
  const auto corpus = corpus_of_texts({"Install the add-on.", "Call woocommerce_init early.", "The HostConfig object.", "Nothing."});
  EXPECT_THAT(typed(corpus, "addon "), ElementsAre(0U));
  EXPECT_THAT(typed(corpus, "addons "), ElementsAre(0U));
  EXPECT_THAT(typed(corpus, "add-on "), ElementsAre(0U));
  EXPECT_THAT(typed(corpus, "init "), ElementsAre(1U));
  EXPECT_THAT(typed(corpus, "woocommerce "), ElementsAre(1U));
  EXPECT_THAT(typed(corpus, "hostconfig "), ElementsAre(2U));
  EXPECT_THAT(typed(corpus, "host "), ElementsAre(2U));
  EXPECT_THAT(typed(corpus, "config "), ElementsAre(2U));
  const auto joined = corpus_of_texts({"Install the addon."});
  EXPECT_THAT(typed(joined, "add-on "), ElementsAre(0U));
}

TEST(Typeahead, CjkTextIsFoundByItsBigrams) {
  const auto corpus = corpus_of_texts({"コンテナを停止する方法", "ネットワークの設定", "容器的网络设置"});
  EXPECT_THAT(typed(corpus, "停止"), ElementsAre(0U));
  EXPECT_THAT(typed(corpus, "容器"), ElementsAre(2U));
  EXPECT_THAT(typed(corpus, "ネットワーク"), ElementsAre(1U));
}

TEST(Typeahead, AHeadingEqualToTheQueryComesFirst) {
  const auto corpus = corpus_of({{"a", "Storage", "Volumes > Back up a volume", "Run tar."},
                                 {"b", "Other", "", "Back up a volume. Back up a volume. Volume, volume, back up."}});
  EXPECT_THAT(typed(corpus, "Back Up a Volume"), ElementsAre(0U, 1U));
}

TEST(Typeahead, ChunksThatHoldAnIdentifierLiterallyStandAboveTheOthers) {
  const auto corpus = corpus_of_texts({"project name compose project name compose project name", "Set COMPOSE_PROJECT_NAME=x.", "compose"});
  const auto hits = typed(corpus, "COMPOSE_PROJECT_NAME");
  ASSERT_FALSE(hits.empty());
  EXPECT_EQ(hits.front(), 1U);
}

TEST(Typeahead, ANaturalQuestionAlwaysReturnsSomething) {
  const auto corpus = corpus_of_texts({"Volumes keep data.", "Networks connect containers."});
  EXPECT_EQ(typed(corpus, "how do I keep my data when the container is removed?").size(), 2U);
  EXPECT_THAT(typed(corpus, "what is it?"), Not(IsEmpty()));
  EXPECT_THAT(typed(corpus, "why zeppelin?"), Not(IsEmpty()));
  EXPECT_THAT(typed(corpus, "qqqqqqqq"), IsEmpty());
}

TEST(Typeahead, MarksTheWordsThatMatched) {
  const auto corpus = corpus_of_texts({"Stop the running containers, then run docker-compose.yml."});
  const std::string_view text = corpus.index.chunk(0).text;
  const auto marked = [&](std::string_view query) {
    std::vector<std::string> words;
    const auto hits = retrieval::typeahead(corpus.index, query, 1);
    for (const auto& [begin, end] : hits.at(0).marks) words.emplace_back(text.substr(begin, end - begin));
    return words;
  };
  EXPECT_THAT(marked("container "), ElementsAre("containers"));
  EXPECT_THAT(marked("conta"), ElementsAre("containers"));
  EXPECT_THAT(marked("contianer "), ElementsAre("containers"));
  EXPECT_THAT(marked("run "), ElementsAre("running", "run"));
  EXPECT_THAT(marked("docker-compose.yml"), ElementsAre("docker-compose.yml"));
}

TEST(Typeahead, GivesNoMoreThanTheLimitAndTakesAnyInput) {
  const auto corpus = corpus_of_texts({"red fish", "red fish", "red fish"});
  EXPECT_EQ(retrieval::typeahead(corpus.index, "red", 2).size(), 2U);
  EXPECT_TRUE(retrieval::typeahead(corpus.index, "red", 0).empty());
  EXPECT_TRUE(retrieval::typeahead(corpus.index, "", 5).empty());
  EXPECT_TRUE(retrieval::typeahead(corpus.index, "\xFF\xFE", 5).empty());
  retrieval::typeahead(corpus.index, std::string(100'000, 'x'), 5);
}

TEST(SoleIdentifier, IsAQueryOfOneNameThatNoProseWouldHold) {
  for (const char* query : {"daemon.json", "--memory", "COMPOSE_PROJECT_NAME", "172.17.0.1", "docker-compose.yml", "HostConfig", "ENOENT2",
                            " `daemon.json` ", "daemon.json?", "key=value"}) {
    EXPECT_TRUE(retrieval::sole_identifier(query)) << query;
  }
  EXPECT_EQ(retrieval::sole_identifier("\"daemon.json\"?"), "daemon.json");
  for (const char* query : {"", "?", "docker", "Docker", "docker run", "how do I edit daemon.json", "--", "."}) {
    EXPECT_FALSE(retrieval::sole_identifier(query)) << query;
  }
}

TEST(LiteralSearch, FindsEveryOccurrenceInEitherCase) {
  const retrieval::LiteralSearch search("aBa");
  const std::string_view text = "ABABA xx aba";
  EXPECT_EQ(search.find(text), 0U);
  EXPECT_EQ(search.find(text, 1), 2U);
  EXPECT_EQ(search.find(text, 3), 9U);
  EXPECT_EQ(search.find(text, 10), std::string_view::npos);
  EXPECT_EQ(search.find(""), std::string_view::npos);
  EXPECT_EQ(retrieval::LiteralSearch("x").find("aax"), 2U);
}

}  // namespace
}  // namespace polygraph
