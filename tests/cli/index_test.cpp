// `index`, `index info`, `index check`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/cli/program.hpp"
#include "tests/index_format/small_index.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Index : public ProgramTest {
 protected:
  Outcome build(const std::string& corpus, const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"index", "--lexical", "--corpus", corpus, "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  std::string path(const char* name) const { return (folder() / name).string(); }
};

TEST_F(Index, OfAFolderReportsWhatItHoldsAsOneJsonValue) {
  const auto built = build("dir:" + handbook(), path("new folder/out.polygraph"), {"--json", "--title", "Ferry handbook", "--licence", "CC0-1.0"});
  ASSERT_EQ(built.status, 0) << built.err;
  const auto report = one_json(built.out);
  EXPECT_EQ(report["documents"], 3);
  EXPECT_GE(report["chunks"], 3);
  EXPECT_EQ(report["skipped"], nlohmann::json::array());
  EXPECT_EQ(report["bytes"], std::filesystem::file_size(path("new folder/out.polygraph")));

  const auto info = run({"index", "info", "--json", path("new folder/out.polygraph")});
  ASSERT_EQ(info.status, 0) << info.err;
  const auto held = one_json(info.out);
  EXPECT_EQ(held["digest"], report["digest"]);
  EXPECT_EQ(held["documents"], 3);
  EXPECT_EQ(held["vectors"], false);
  EXPECT_EQ(held["metadata"]["title"], "Ferry handbook");
  EXPECT_EQ(held["metadata"]["licence"], "CC0-1.0");
}

TEST_F(Index, GivesTheSameBytesAgain) {
  const auto corpus = "dir:" + handbook();
  ASSERT_EQ(build(corpus, path("a.polygraph")).status, 0);
  ASSERT_EQ(build(corpus, path("b.polygraph")).status, 0);
  EXPECT_EQ(read(path("a.polygraph")), read(path("b.polygraph")));
}

TEST_F(Index, TellsPeopleOnStderrAndKeepsStdoutEmpty) {
  const auto built = build("dir:" + handbook(), path("out.polygraph"));
  EXPECT_EQ(built.status, 0);
  EXPECT_THAT(built.out, IsEmpty());
  EXPECT_THAT(built.err, HasSubstr("3 pages"));
  const auto info = run({"index", "info", path("out.polygraph")});
  EXPECT_EQ(info.status, 0);
  EXPECT_THAT(info.out, ContainsRegex("digest +xxh128:"));
  EXPECT_THAT(info.out, HasSubstr("3 pages"));
}

TEST_F(Index, NamesAPageThatIsSkippedAndBuildsTheOthers) {
  handbook();
  write("hand book/broken.md", "# Broken \xff\xfe\n\nNot UTF-8.\n");
  const auto built = build("dir:" + path("hand book"), path("out.polygraph"), {"--json"});
  ASSERT_EQ(built.status, 0) << built.err;
  EXPECT_EQ(one_json(built.out)["documents"], 3);
  ASSERT_EQ(one_json(built.out)["skipped"].size(), 1U);
  EXPECT_THAT(built.err, HasSubstr("broken.md"));
}

TEST_F(Index, OfPagesWithCrLfAndAByteOrderMarkIsThatOfPlainOnes) {
  write("plain/page.md", "---\ntitle: Anchors\n---\n# Anchors\n\nTwo anchors of iron are on the bow of this ferry, each with its chain.\n");
  write("dos/page.md", "\xef\xbb\xbf---\r\ntitle: Anchors\r\n---\r\n# Anchors\r\n\r\nTwo anchors of iron are on the bow of this ferry, each with its chain.\r\n");
  ASSERT_EQ(build("dir:" + path("plain"), path("plain.polygraph")).status, 0);
  ASSERT_EQ(build("dir:" + path("dos"), path("dos.polygraph")).status, 0);
  const auto ask = [&](const char* index) { return run({"search", "--json", "--index", path(index), "anchors"}); };
  auto plain = one_json(ask("plain.polygraph").out), dos = one_json(ask("dos.polygraph").out);
  ASSERT_EQ(plain["results"].size(), 1U);
  EXPECT_EQ(plain["results"], dos["results"]);
  EXPECT_EQ(plain["results"][0]["title"], "Anchors");
}

TEST_F(Index, RefusesAFolderWithoutMarkdown) {
  write("photos/readme.txt", "nothing");
  const auto refused = build("dir:" + path("photos"), path("out.polygraph"));
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr(path("photos")));
  EXPECT_THAT(refused.err, HasSubstr("Markdown"));
  EXPECT_FALSE(std::filesystem::exists(path("out.polygraph")));
}

TEST_F(Index, RefusesCorporaThatAreNotThere) {
  EXPECT_EQ(build("dir:" + path("nowhere"), path("out.polygraph")).status, 3);
  EXPECT_EQ(build("beir:" + path("nowhere"), path("out.polygraph")).status, 3);
  const auto unknown = build("wikipedia", path("out.polygraph"));
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("docker-doc"));
}

TEST_F(Index, NeedsACorpusAndAFileToWrite) {
  const auto no_corpus = run({"index", "--out", path("out.polygraph")});
  EXPECT_EQ(no_corpus.status, 2);
  EXPECT_THAT(no_corpus.err, HasSubstr("--corpus"));
  const auto no_file = run({"index", "--corpus", "dir:" + handbook()});
  EXPECT_EQ(no_file.status, 2);
  EXPECT_THAT(no_file.err, HasSubstr("--out"));
}

TEST_F(Index, OfABuiltSiteCitesItsOwnAddressesWithAnchors) {
  const auto site = std::string("html:") + POLYGRAPH_SOURCE_DIR + "/tests/corpus/sites/sphinx";
  const auto built = build(site, path("site.polygraph"), {"--json"});
  ASSERT_EQ(built.status, 0) << built.err;
  const auto report = one_json(built.out);
  EXPECT_EQ(report["documents"], 4);
  EXPECT_EQ(report["passed_over"].size(), 3U);
  EXPECT_THAT(built.err, HasSubstr("genindex.html: only lists other pages"));
  const auto found = one_json(run({"search", "--json", "--index", path("site.polygraph"), "sail at a speed"}).out);
  EXPECT_EQ(found["results"][0]["url"], "https://ferry.example.org/manual/api.html#ferry.Ferry.sail");
  EXPECT_EQ(run({"index", "check", path("site.polygraph")}).status, 0);
  const auto info = run({"index", "info", path("site.polygraph")});
  EXPECT_THAT(info.out, ContainsRegex("corpus +Ferry Manual documentation \\(html:sphinx\\)"));
  EXPECT_THAT(info.out, ContainsRegex("source +https://ferry.example.org/manual/"));
  EXPECT_THAT(info.out, ContainsRegex("language +en"));
}

TEST_F(Index, OfABuiltSiteNamesThePagesItCannotRead) {
  write("site/good.html", "<main><h1>Soup</h1><p>The galley serves fish soup at noon.</p></main>");
  write("site/words.html", "not a page");
  const auto built = build("html:" + path("site"), path("out.polygraph"), {"--json"});
  ASSERT_EQ(built.status, 0) << built.err;
  EXPECT_EQ(one_json(built.out)["skipped"], nlohmann::json::array({"words.html: is not HTML: no tag stands in it"}));
  write("empty/readme.md", "# Markdown");
  const auto refused = build("html:" + path("empty"), path("other.polygraph"));
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("no HTML page"));
}

TEST_F(Index, ThatIsBuiltOverAnEarlierOneNeedsASoundOne) {
  const auto corpus = "dir:" + handbook();
  for (const auto& file : {path("nowhere.polygraph"), write("broken.polygraph", "not an index").string()}) {
    const auto refused = run({"index", "--corpus", corpus, "--out", path("out.polygraph"), "--previous", file});
    EXPECT_EQ(refused.status, 3);
    EXPECT_THAT(refused.err, HasSubstr(file));
  }
}

TEST_F(Index, ReadsABeirFolder) {
  write("beir/corpus.jsonl",
        "{\"_id\": \"d1\", \"title\": \"Soup\", \"text\": \"The galley serves fish soup at noon, and it is kept hot.\"}\r\n"
        "{\"_id\": \"d2\", \"title\": \"Lights\", \"text\": \"Deck lights burn from dusk to dawn on every ferry.\"}\r\n");
  const auto built = build("beir:" + path("beir"), path("out.polygraph"), {"--json"});
  ASSERT_EQ(built.status, 0) << built.err;
  EXPECT_EQ(one_json(built.out)["documents"], 2);
}

TEST_F(Index, WithoutModelsSaysHowToGetThemAndThatLexicalNeedsNone) {
  const auto refused = run({"index", "--corpus", "dir:" + handbook(), "--out", path("out.polygraph")});
  EXPECT_EQ(refused.status, 5);
  EXPECT_THAT(refused.err, HasSubstr("models fetch"));
  EXPECT_THAT(refused.err, HasSubstr("--lexical"));
}

TEST_F(Index, IsNotWrittenOverAFolderOrADevice) {
  const auto corpus = "dir:" + handbook();
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(build(corpus, path("folder")).status, 2);
  const auto pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto refused = build(corpus, pipe);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--out"));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(Index, ThatCannotBeWrittenIsSaidBeforeTheBuildAndLeavesNothing) {
  write("file", "x");
  const auto refused = build("dir:" + handbook(), path("file/out.polygraph"));
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr(path("file")));
}

TEST_F(Index, OnAFullDiskKeepsTheOldFileAndLeavesNoPart) {
  const auto index = lexical_index();
  const auto before = read(index);
  const auto failed = run({"index", "--lexical", "--corpus", "dir:" + handbook(), "--out", index}, {.max_file_bytes = 1000});
  EXPECT_EQ(failed.status, 3);
  EXPECT_THAT(failed.err, HasSubstr(index));
  EXPECT_EQ(read(index), before);
  for (const auto& entry : std::filesystem::directory_iterator(folder())) EXPECT_THAT(entry.path().string(), Not(HasSubstr("writing")));
}

// --- broken files -----------------------------------------------------------------------------------------------------

TEST_F(Index, CheckCallsAWholeOneSound) {
  const auto index = lexical_index();
  const auto sound = run({"index", "check", index});
  EXPECT_EQ(sound.status, 0);
  EXPECT_THAT(sound.out, HasSubstr("sound (xxh128:"));
  const auto verdict = one_json(run({"index", "check", "--json", index}).out);
  EXPECT_EQ(verdict["valid"], true);
}

TEST_F(Index, CutAnywhereIsRefusedByEveryReader) {
  const auto whole = read(lexical_index());
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{39}, std::size_t{40}, std::size_t{440}, whole.size() / 2, whole.size() - 1}) {
    const auto file = write("cut.polygraph", whole.substr(0, cut)).string();
    const auto checked = run({"index", "check", "--json", file});
    EXPECT_EQ(checked.status, 1) << cut;
    EXPECT_EQ(one_json(checked.out)["valid"], false) << cut;
    const auto searched = run({"search", "--index", file, "soup"});
    EXPECT_EQ(searched.status, 3) << cut;
    EXPECT_THAT(searched.err, HasSubstr("cut.polygraph")) << cut;
    EXPECT_THAT(searched.out, IsEmpty()) << cut;
  }
}

TEST_F(Index, WithOneFlippedBitIsNeverTakenForSound) {
  const auto whole = read(lexical_index());
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 37) {
    auto bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    const auto file = write("flipped.polygraph", bytes).string();
    EXPECT_EQ(run({"index", "check", file}).status, 1) << "byte " << at;
  }
}

TEST_F(Index, OfAnotherVersionSaysWhichItIsAndWhatToDo) {
  auto bytes = read(lexical_index());
  bytes[8] = 9;
  const auto file = write("later.polygraph", bytes).string();
  for (const auto& arguments : {std::vector<std::string>{"index", "info", file}, {"ask", "--index", file, "soup"}}) {
    const auto refused = run(arguments);
    EXPECT_EQ(refused.status, 3);
    EXPECT_THAT(refused.err, HasSubstr("version 9"));
  }
  EXPECT_EQ(run({"index", "check", file}).status, 1);
}

TEST_F(Index, OfAnotherModelIsReportedByCheckWithBothDigests) {
  const auto bytes = tests::small_index();
  const auto file = write("other model.polygraph", {reinterpret_cast<const char*>(bytes.data()), bytes.size()}).string();
  const auto checked = run({"index", "check", file});
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.err, HasSubstr("SHA-256 00ff"));
  EXPECT_THAT(checked.err, ContainsRegex("has [0-9a-f]{64}"));
}

TEST_F(Index, ThatIsMissingAFolderOrAPipeIsUnreadable) {
  std::filesystem::create_directory(path("folder"));
  const auto pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& file : {path("nowhere.polygraph"), path("folder"), pipe}) {
    for (const auto& arguments : {std::vector<std::string>{"index", "info", file}, {"index", "check", file}, {"search", "--index", file, "soup"}}) {
      const auto refused = run(arguments);
      EXPECT_EQ(refused.status, 3) << file;
      EXPECT_THAT(refused.err, HasSubstr(file));
    }
  }
}

TEST_F(Index, ThatSetUpWouldHaveBuiltIsAskedForWhereNoneIsNamed) {
  const auto refused = run({"search", "soup"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("docker-doc.polygraph"));
  EXPECT_THAT(refused.err, HasSubstr("--index"));
  EXPECT_EQ(run({"search", "soup"}, {.environment = {{"POLYGRAPH_INDEX", lexical_index()}}}).status, 0);
}

}  // namespace
}  // namespace polygraph::cli::test
