#include "wasm/text/sentences.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polygraph::text {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Each unit's text behind a letter for its kind: sentence, list item, table row, code, heading.
std::vector<std::string> cut(std::string_view passage) {
  std::vector<std::string> out;
  for (const Unit& unit : units(passage)) {
    out.push_back(std::string(1, "SLTCH"[static_cast<int>(unit.kind)]) + " " + std::string(passage.substr(unit.begin, unit.end - unit.begin)));
  }
  return out;
}

TEST(Units, SentencesEndAtTheirMarks) {
  EXPECT_THAT(cut("Is it running? Yes! It is."), ElementsAre("S Is it running?", "S Yes!", "S It is."));
}

TEST(Units, AbbreviationsDoNotEndASentence) {
  EXPECT_THAT(cut("Use a registry, e.g. Docker Hub, i.e. The default. See Fig. 3 for volumes etc. and more."),
              ElementsAre("S Use a registry, e.g. Docker Hub, i.e. The default.", "S See Fig. 3 for volumes etc. and more."));
  EXPECT_THAT(cut("Windows vs. Linux by J. Smith et al. Say more."), ElementsAre("S Windows vs. Linux by J. Smith et al. Say more."));
}

TEST(Units, EtCeteraBeforeACapitalEndsASentence) { EXPECT_THAT(cut("Images, volumes, etc. They stay."), ElementsAre("S Images, volumes, etc.", "S They stay.")); }

TEST(Units, ANumberedAbbreviationIsAWordElsewhere) { EXPECT_THAT(cut("The answer is no. Use no. 5 then."), ElementsAre("S The answer is no.", "S Use no. 5 then.")); }

TEST(Units, VersionsFileNamesAndUrlsStayWhole) {
  EXPECT_THAT(cut("Install 1.2.3 of docker.io. Edit daemon.json. Open https://docs.docker.com/engine/?a=1. Then stop."),
              ElementsAre("S Install 1.2.3 of docker.io.", "S Edit daemon.json.", "S Open https://docs.docker.com/engine/?a=1.", "S Then stop."));
}

TEST(Units, ASentenceMayOpenWithAnIdentifier) {
  EXPECT_THAT(cut("Restart the engine. daemon.json is read again. `docker info` shows it."),
              ElementsAre("S Restart the engine.", "S daemon.json is read again.", "S `docker info` shows it."));
}

TEST(Units, NothingEndsInsideACodeSpan) {
  EXPECT_THAT(cut("Write `a. B` here. Write ``c` d. E`` there."), ElementsAre("S Write `a. B` here.", "S Write ``c` d. E`` there."));
  EXPECT_THAT(cut("An open ` mark. It closes nothing."), ElementsAre("S An open ` mark.", "S It closes nothing."));
}

TEST(Units, ClosingQuotesBracketsAndEmphasisBelongToTheSentence) {
  EXPECT_THAT(cut("**Note.** He said \"Stop.\" (It did.) Then “Go.” End."),
              ElementsAre("S **Note.**", "S He said \"Stop.\"", "S (It did.)", "S Then “Go.”", "S End."));
}

TEST(Units, EllipsesEndASentenceOnlyWhereTheyFollowAWord) {
  EXPECT_THAT(cut("Wait... Then run docker run [OPTIONS] ... IMAGE now. So… Well."),
              ElementsAre("S Wait...", "S Then run docker run [OPTIONS] ... IMAGE now.", "S So…", "S Well."));
}

TEST(Units, ASentenceMaySpanLinesButNotParagraphs) {
  EXPECT_THAT(cut("One sentence\nover two lines.\n\nNo full stop\n\nNext"), ElementsAre("S One sentence\nover two lines.", "S No full stop", "S Next"));
}

TEST(Units, ChineseAndJapaneseNeedNoBlank) { EXPECT_THAT(cut("日本語です。次の文！「はい。」終わり"), ElementsAre("S 日本語です。", "S 次の文！", "S 「はい。」", "S 終わり")); }

TEST(Units, AFencedCodeBlockIsOneUnitWithItsFences) {
  EXPECT_THAT(cut("Run this. Now:\n\n```console\n$ docker ps\n\n# Heading? No. Code.\n- not a list\n```\n\nDone."),
              ElementsAre("S Run this.", "S Now:", "C ```console\n$ docker ps\n\n# Heading? No. Code.\n- not a list\n```", "S Done."));
}

TEST(Units, AFenceClosesOnlyWithItsOwnCharacterAndLength) {
  EXPECT_THAT(cut("````md\n```sh\nls\n```\n````\nEnd"), ElementsAre("C ````md\n```sh\nls\n```\n````", "S End"));
  EXPECT_THAT(cut("~~~\n```\n~~~\nEnd"), ElementsAre("C ~~~\n```\n~~~", "S End"));
}

TEST(Units, AnOpenFenceReachesToTheEnd) { EXPECT_THAT(cut("```\nls\n\nrm"), ElementsAre("C ```\nls\n\nrm")); }

TEST(Units, ListItemsKeepTheirMarkersAndContinuationLines) {
  EXPECT_THAT(cut("- First. With two sentences.\n  And a line.\n- `--rm`: second\n  * nested\n2. Numbered\n3) Also"),
              ElementsAre("L - First. With two sentences.\n  And a line.", "L - `--rm`: second", "L * nested", "L 2. Numbered", "L 3) Also"));
}

TEST(Units, AnItemsCodeBlockIsAUnitOfItsOwn) {
  EXPECT_THAT(cut("1. Step:\n\n   ```sh\n   ls\n   ```\n\n2. Next\n- ```\n  x\n  ```"),
              ElementsAre("L 1. Step:", "C ```sh\n   ls\n   ```", "L 2. Next", "C ```\n  x\n  ```"));
}

TEST(Units, ADashOrANumberWithoutABlankIsNoListMarker) {
  EXPECT_THAT(cut("--memory limits it"), ElementsAre("S --memory limits it"));
  EXPECT_THAT(cut("1.2.3 is old"), ElementsAre("S 1.2.3 is old"));
}

TEST(Units, EveryTableRowIsAUnit) {
  EXPECT_THAT(cut("| Option | Use. Now |\n|---|---|\n| `-a` | all. Yes |"), ElementsAre("T | Option | Use. Now |", "T |---|---|", "T | `-a` | all. Yes |"));
}

TEST(Units, HeadingsAreMarked) {
  EXPECT_THAT(cut("## Limits. And more\nText."), ElementsAre("H ## Limits. And more", "S Text."));
  EXPECT_THAT(cut("#tag is text"), ElementsAre("S #tag is text"));
}

TEST(Units, RulesSayNothing) { EXPECT_THAT(cut("One.\n\n---\n\nTwo.\n* * *\n"), ElementsAre("S One.", "S Two.")); }

TEST(Units, AnEmptyPassageHasNone) {
  EXPECT_THAT(cut(""), IsEmpty());
  EXPECT_THAT(cut(" \n\t\r\n"), IsEmpty());
}

}  // namespace
}  // namespace polygraph::text
