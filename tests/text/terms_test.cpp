#include "wasm/text/terms.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wasm/text/stemmer.hpp"

namespace polygraph::text {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> english(std::string_view text) {
  std::vector<std::string> out;
  for (const Term& term : terms(text, Analysis::english)) out.push_back(term.text);
  return out;
}

std::vector<std::string> plain(std::string_view text) {
  std::vector<std::string> out;
  for (const Term& term : terms(text, Analysis::plain)) out.push_back(term.text);
  return out;
}

Term only(std::string_view text, std::string_view word) {
  const std::vector<Term> all = terms(text, Analysis::english);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Term& t) { return t.text == word; });
  EXPECT_NE(found, all.end()) << word;
  return found == all.end() ? Term{} : *found;
}

TEST(Terms, AreLoweredStemmedAndFreeOfStopWords) {
  EXPECT_THAT(english("How do I limit the containers' Memory?"), ElementsAre("limit", "contain", "memori"));
}

TEST(Terms, TheGenitiveVanishes) {
  EXPECT_THAT(english("a container's memory"), ElementsAre("contain", "memori"));
  EXPECT_THAT(english("a container’s memory"), ElementsAre("contain", "memori"));
}

TEST(Terms, AnApostropheBeforeAWordIsNoGenitive) { EXPECT_THAT(english("echo 'start' 'site'"), ElementsAre("echo", "start", "site")); }

TEST(Terms, NegationsSplitIntoWordAndNot) {
  EXPECT_THAT(english("it doesn't start"), ElementsAre("start"));
  EXPECT_THAT(english("it can’t start"), ElementsAre("ca", "start"));
}

TEST(Terms, AnIdentifierCountsWholeAndAsItsParts) {
  EXPECT_THAT(english("docker-compose.yml"), ElementsAre("docker-compose.yml", "docker", "compos", "yml"));
  EXPECT_THAT(english("COMPOSE_PROJECT_NAME"), ElementsAre("compose_project_name", "composeprojectnam", "compos", "project", "name"));
  EXPECT_THAT(english("172.17.0.1"), ElementsAre("172.17.0.1", "172", "17", "0", "1"));
  EXPECT_THAT(english("/etc/docker/daemon.json"), ElementsAre("etc/docker/daemon.json", "etc", "docker", "daemon", "json"));
}

TEST(Terms, StopWordsAreDroppedAmongTheParts) { EXPECT_THAT(english("up-to-date"), ElementsAre("up-to-date", "uptod", "date")); }

TEST(Terms, DashesOfOptionsAndFullStopsDoNotHideTheWord) {
  EXPECT_THAT(english("--rm, -it. --memory=512m"), ElementsAre("rm", "memori", "512m"));
  EXPECT_THAT(english("See daemon.json."), ElementsAre("see", "daemon.json", "daemon", "json"));
  EXPECT_THAT(english("--- ... _ /"), IsEmpty());
}

TEST(Terms, OnlyPurelyAlphabeticTermsAreStemmed) { EXPECT_THAT(english("images2 images"), ElementsAre("images2", "imag")); }

TEST(Terms, CamelCaseCountsWholeAndAsItsParts) {
  EXPECT_THAT(english("DockerHub"), ElementsAre("dockerhub", "docker", "hub"));
  EXPECT_THAT(english("JSONParser"), ElementsAre("jsonpars", "json", "parser"));
  EXPECT_THAT(english("Base64Encoder"), ElementsAre("base64encoder", "base64", "encod"));
  EXPECT_THAT(english("docker/BuildKit.md"), ElementsAre("docker/buildkit.md", "docker", "buildkit", "build", "kit", "md"));
}

TEST(Terms, WordsJoinedByAHyphenOrUnderscoreCountAsOneWord) {
  EXPECT_THAT(english("multi-stage"), ::testing::Contains(english("multistage").front()));
  EXPECT_THAT(english("log_driver"), ::testing::Contains(english("logdriver").front()));
  EXPECT_THAT(english("v1-beta"), ElementsAre("v1-beta", "v1", "beta"));
}

TEST(Terms, PluralsOfAcronymsAndCapitalisedWordsAreNoCamelCase) {
  EXPECT_THAT(english("IDs VMs Docker TLS"), ElementsAre("id", "vms", "docker", "tls"));
}

TEST(Terms, AccentsFoldInEitherForm) {
  EXPECT_THAT(english("Café cafe\u0301 naïve"), ElementsAre("cafe", "cafe", "naiv"));
}

TEST(Terms, LettersOfEveryScriptMakeTerms) {
  EXPECT_THAT(plain("Привет Σίσυφος"), ElementsAre("привет", "σισυφος"));
  EXPECT_THAT(plain("हिन्दी العربية"), ElementsAre("हिन्दी", "العربية"));
}

TEST(Terms, RunsOfCjkBecomeBigrams) {
  EXPECT_THAT(english("容器网络"), ElementsAre("容器", "器网", "网络"));
  EXPECT_THAT(english("docker容器"), ElementsAre("docker", "容器"));
  EXPECT_THAT(english("コンテナ"), ElementsAre("コン", "ンテ", "テナ"));
  EXPECT_THAT(english("도커 컨테이너"), ElementsAre("도커", "컨테", "테이", "이너"));
  EXPECT_THAT(english("網 が"), ElementsAre("網", "が"));
}

TEST(Terms, FullWidthFormsCountAsAscii) { EXPECT_THAT(english("ＡＰＩ２"), ElementsAre("api2")); }

TEST(Terms, HyphensOfTypographyJoinAndSoftHyphensVanish) {
  EXPECT_THAT(english("multi\u2010stage"), ElementsAre("multi-stage", "multistag", "multi", "stage"));
  EXPECT_THAT(english("con\u00ADtainer"), ElementsAre("contain"));
}

TEST(Terms, PlainAnalysisKeepsStopWordsAndEndings) { EXPECT_THAT(plain("The containers"), ElementsAre("the", "containers")); }

TEST(Terms, SpansAreTheSourceOfEachTerm) {
  const std::string text = "Édit the «docker-compose.yml» file";
  for (const Term& term : terms(text, Analysis::plain)) {
    const std::string source = text.substr(term.begin, term.end - term.begin);
    if (term.text == "edit") EXPECT_EQ(source, "Édit");
    else EXPECT_EQ(source, term.text);
  }
}

TEST(Terms, ACapitalCountsUnlessItOnlyOpensTheText) {
  EXPECT_FALSE(only("Docker starts", "docker").capital);
  EXPECT_TRUE(only("Start Docker", "docker").capital);
  EXPECT_TRUE(only("DNS fails", "dns").capital);
  EXPECT_TRUE(only("How does Docker start", "docker").capital);
  EXPECT_TRUE(only("GitHub works", "github").capital);
  EXPECT_FALSE(only("start docker", "docker").capital);
}

TEST(Terms, IdentifiersAndPartsAreMarked) {
  EXPECT_TRUE(only("the docker-compose.yml", "docker-compose.yml").identifier);
  EXPECT_TRUE(only("the docker-compose.yml", "docker-compose.yml").whole);
  EXPECT_FALSE(only("the docker-compose.yml", "docker").whole);
  EXPECT_FALSE(only("the docker-compose.yml", "docker").identifier);
  EXPECT_TRUE(only("port 8080", "8080").identifier);
  EXPECT_TRUE(only("use DockerHub", "dockerhub").identifier);
  EXPECT_FALSE(only("use Docker", "docker").identifier);
}

TEST(Terms, DistinctKeepsTheFirstOccurrenceOrder) {
  EXPECT_THAT(distinct(terms("volume image volumes image mount", Analysis::english)), ElementsAre("volum", "imag", "mount"));
}

TEST(Terms, StopWordsAreThoseOfTheMeasuredDesign) {
  for (const std::string_view word : {"a", "ive", "please", "using", "your", "need", "no", "not"}) EXPECT_TRUE(is_stop_word(word)) << word;
  for (const std::string_view word : {"", "run", "after", "before", "without", "docker"}) EXPECT_FALSE(is_stop_word(word)) << word;
}

/// The definition of the analysis, read literally, for lower-case ASCII text without apostrophes.
std::vector<std::string> definition(std::string_view text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto inside = [&](char c) { return alphanumeric(c) || c == '_' || c == '.' || c == '-' || c == '/'; };
  std::vector<std::string> out;
  const auto count = [&](std::string_view term) {
    if (is_stop_word(term)) return;
    const bool alphabetic = std::all_of(term.begin(), term.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    out.push_back(alphabetic ? stem_english(term) : std::string(term));
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!alphanumeric(text[at])) continue;
    std::size_t end = at + 1;
    for (std::size_t next = at + 1; next < text.size() && inside(text[next]); ++next) {
      if (alphanumeric(text[next])) end = next + 1;
    }
    const std::string_view term = text.substr(at, end - at);
    count(term);
    if (std::any_of(term.begin(), term.end(), [&](char c) { return !alphanumeric(c); })) {
      // Beyond the definition: the joined form.
      if (term.find_first_of("./0123456789") == std::string_view::npos) {
        std::string joined;
        std::copy_if(term.begin(), term.end(), std::back_inserter(joined), alphanumeric);
        out.push_back(stem_english(joined));
      }
      for (std::size_t part = 0; part < term.size();) {
        std::size_t stop = part;
        while (stop < term.size() && alphanumeric(term[stop])) ++stop;
        if (stop > part) count(term.substr(part, stop - part));
        part = stop + 1;
      }
    }
    at = end - 1;
  }
  return out;
}

TEST(Terms, AreTheDefinitionsOnRandomAsciiText) {
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  constexpr std::string_view letters = "aeinorstmgld019_.-/ _.-/  ,:(`\n#|=";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t n = random() % 60; n > 0; --n) text += letters[random() % letters.size()];
    ASSERT_EQ(english(text), definition(text)) << text << ", seed " << seed;
  }
}

}  // namespace
}  // namespace polygraph::text
