#include "index/corpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include "index/builder.hpp"
#include "index/page_files.hpp"
#include "index/page_id.hpp"
#include "tests/corpus/folder.hpp"

namespace polygraph::corpus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string gzipped(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Corpus open(const Folder& folder, const CorpusOptions& options = {}) {
  Result<Corpus> corpus = open_corpus("dir:" + folder.path().string(), options);
  EXPECT_TRUE(corpus) << (corpus ? "" : corpus.error().message);
  return corpus ? *std::move(corpus) : Corpus{};
}

std::vector<std::string> ids(const Corpus& corpus) {
  std::vector<std::string> out;
  for (const Page& page : corpus.pages) out.push_back(page.id);
  return out;
}

TEST(PageId, IsThePathWithoutExtensionAndIndexPagesStandForTheirFolder) {
  EXPECT_EQ(page_id("engine/run.md"), "engine/run");
  EXPECT_EQ(page_id("extend/config.md.gz"), "extend/config");
  EXPECT_EQ(page_id("guide/page.html"), "guide/page");
  EXPECT_EQ(page_id("engine/_index.md"), "engine");
  EXPECT_EQ(page_id("engine/README.md"), "engine");
  EXPECT_EQ(page_id("index.md"), "index");
  EXPECT_EQ(page_id("README.md.gz"), "index");
  EXPECT_EQ(page_id("my_index.md"), "my_index");
}

TEST(PageId, OfAGoldenSetsFileIsTheCorpussId) {
  EXPECT_EQ(page_id_of_reference("content/manuals/engine/logging/drivers/local.md"), "engine/logging/drivers/local");
  EXPECT_EQ(page_id_of_reference("content/manuals/engine/_index.md"), "engine");
  EXPECT_EQ(page_id_of_reference("./guide/start.md"), "guide/start");
  EXPECT_EQ(page_id_of_reference("engine/logging"), "engine/logging");
}

TEST(OpenCorpus, NamesTheKnownCorporaWhenTheNameIsUnknown) {
  const auto corpus = open_corpus("wiki:/somewhere");
  ASSERT_FALSE(corpus);
  EXPECT_EQ(corpus.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(corpus.error().message, testing::AllOf(HasSubstr("wiki:/somewhere"), HasSubstr("docker-doc"), HasSubstr("dir:PATH"), HasSubstr("html:PATH"), HasSubstr("beir:DIR")));
  EXPECT_FALSE(open_corpus("dir:"));
}

TEST(OpenCorpus, AFolderWithoutMarkdownIsAClearError) {
  Folder folder;
  folder.write("a.txt", "text");
  const auto corpus = open_corpus("dir:" + folder.path().string());
  ASSERT_FALSE(corpus);
  EXPECT_EQ(corpus.error().code, ErrorCode::not_found);
  EXPECT_THAT(corpus.error().message, HasSubstr("holds no Markdown page"));
  EXPECT_THAT(open_corpus("dir:/no/such/folder").error().message, HasSubstr("/no/such/folder"));
}

TEST(UrlPath, EncodesWhatAUrlCantHold) {
  EXPECT_EQ(url_path("engine/run"), "engine/run");
  EXPECT_EQ(url_path("user guide/100%/was?.was#1"), "user%20guide/100%25/was%3F.was%231");
  EXPECT_EQ(url_path("f\xC3\xBCr"), "f%C3%BCr");
}

TEST(OpenCorpus, EncodesAFileNameInItsUrlButNotInItsId) {
  Folder folder;
  folder.write("user guide.md", "# Guide\n\ntext");
  const Corpus corpus = open(folder);
  EXPECT_THAT(ids(corpus), ElementsAre("user guide"));
  EXPECT_EQ(corpus.pages[0].url, "user%20guide/");
}

TEST(OpenCorpus, ReadsPlainAndGzippedPagesInAFixedOrder) {
  Folder folder;
  folder.write("b.md", "\xEF\xBB\xBF# Bee\r\n\r\ntext\r\n");
  folder.write("a/_index.md", "# Folder\n\ntext");
  folder.write("c.md.gz", gzipped("# See\n\ntext"));
  folder.write(".hidden/x.md", "no");
  folder.write("node_modules/x.md", "no");
  const Corpus corpus = open(folder);
  EXPECT_THAT(ids(corpus), ElementsAre("a", "b", "c"));
  EXPECT_EQ(corpus.pages[1].title, "Bee");
  EXPECT_EQ(corpus.pages[2].title, "See");
  EXPECT_EQ(corpus.pages[0].url, "a/");
  EXPECT_EQ(corpus.name, "dir:" + folder.path().filename().string());
}

TEST(OpenCorpus, NamesAndCountsEveryPageThatItCannotUse) {
  Folder folder, outside;
  outside.write("secret.md", "# Secret\n\ntext");
  folder.write("good.md", "text");
  folder.write("bad.md.gz", "not gzip at all");
  std::string cut = gzipped(std::string(5'000, 'x') + "# Long\n\ntext with some words in it");
  cut.resize(cut.size() / 2);
  folder.write("cut.md.gz", cut);
  folder.write("latin.md", "caf\xE9");
  folder.write("utf16.md", std::string_view("\xFF\xFEh\0i\0", 6));
  folder.write("empty.md", "<!-- nothing -->\n");
  folder.write("huge.md", std::string(page_size_limit + 1, 'x'));
  std::filesystem::create_symlink(outside / "secret.md", folder / "leaves.md");
  std::filesystem::create_directory_symlink(folder.path(), folder / "loop");
  std::filesystem::create_symlink(folder / "gone", folder / "dangling.md");
  const Corpus corpus = open(folder);
  EXPECT_THAT(ids(corpus), ElementsAre("good"));
  EXPECT_THAT(corpus.skipped, testing::UnorderedElementsAre(
                                  "bad.md.gz: is not a gzip file", "cut.md.gz: is a gzip file that ends too early", "latin.md: is not UTF-8 (byte 3)",
                                  "utf16.md: is UTF-16; save it as UTF-8", "empty.md: has no text", "huge.md: is larger than 16 MB",
                                  "leaves.md: is a link that leads out of the folder", "loop: is a link to a folder, which is not followed",
                                  "dangling.md: is a link that leads nowhere"));
  EXPECT_EQ(corpus.counts.skipped, corpus.skipped.size());
}

TEST(OpenCorpus, AnUnreadablePageIsSkipped) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  Folder folder;
  folder.write("good.md", "text");
  folder.write("locked.md", "text");
  std::filesystem::permissions(folder / "locked.md", std::filesystem::perms::none);
  EXPECT_THAT(open(folder).skipped, ElementsAre(HasSubstr("locked.md: cannot be opened")));
}

TEST(OpenCorpus, APageWithBrokenFrontMatterIsIndexedAndCounted) {
  Folder folder;
  folder.write("page.md", "---\ntitle: [\n---\n# Body\n\ntext");
  const Corpus corpus = open(folder);
  EXPECT_THAT(ids(corpus), ElementsAre("page"));
  EXPECT_EQ(corpus.counts.front_matter_broken, 1u);
  EXPECT_THAT(corpus.warnings, ElementsAre(HasSubstr("page.md: its front matter is not valid YAML")));
}

TEST(OpenCorpus, TwoFilesOfOnePageKeepDifferentIds) {
  Folder folder;
  folder.write("guide.md", "one");
  folder.write("guide/_index.md", "two");
  folder.write("guide/index.md", "three");
  EXPECT_THAT(ids(open(folder)), ElementsAre("guide", "guide/_index", "guide/index"));
}

TEST(OpenCorpus, AHugoCheckoutReadsItsManualsIncludesAndParams) {
  Folder folder;
  folder.write("content/manuals/engine/_index.md", "---\ntitle: Engine\nown: page\n---\n{{% include \"note.md\" %}}\n\nv{{% param \"version\" %}} {{% param own %}} {{% param lost %}}\n\n[up](/manuals/engine/run.md#x) [out](/reference/cli/run.md)");
  folder.write("content/manuals/engine/run.md", "text");
  folder.write("content/includes/note.md", "---\ntitle: hidden\n---\nIncluded words.");
  folder.write("content/other/page.md", "not a manual");
  folder.write("hugo_params.json", "{\"version\": \"9.9\"}");
  folder.write("LICENSE", "Apache License\nVersion 2.0, January 2004\n");
  CorpusOptions options;
  options.base_url = "https://docs.example.org";
  const Corpus corpus = open(folder, options);
  EXPECT_THAT(ids(corpus), ElementsAre("engine", "engine/run"));
  const auto& blocks = corpus.pages[0].sections.at(0).blocks;
  EXPECT_EQ(blocks.at(0).text, "Included words.");
  EXPECT_EQ(blocks.at(1).text, "v9.9 page");
  EXPECT_EQ(blocks.at(2).links.at(0).target, "https://docs.example.org/engine/run/#x");
  EXPECT_EQ(blocks.at(2).links.at(1).target, "https://docs.example.org/reference/cli/run/");
  EXPECT_EQ(corpus.licence, "Apache-2.0");
  EXPECT_EQ(corpus.counts.shortcodes_unresolved, 1u);
  EXPECT_EQ(corpus.pages[0].url, "https://docs.example.org/engine/");
}

TEST(OpenCorpus, AnIncludeCannotLeaveItsFolder) {
  Folder folder;
  folder.write("content/manuals/a.md", "x {{% include \"../../secret.md\" %}}");
  folder.write("content/includes/ok.md", "ok");
  folder.write("secret.md", "secret words");
  const Corpus corpus = open(folder);
  EXPECT_EQ(corpus.pages.at(0).sections.at(0).blocks.at(0).text, "x");
  EXPECT_EQ(corpus.counts.shortcodes_unresolved, 1u);
}

TEST(OpenCorpus, LinksLeadToPagesAndScriptsAreDropped) {
  Folder folder;
  folder.write("a/one.md", "[two](../b/two.md#part) [self](#here) [bad](javascript:alert(1)) [mail](mailto:x@example.org) [gone](../../up.md)");
  folder.write("b/two.md", "text");
  const Corpus corpus = open(folder);
  std::vector<std::string> targets;
  for (const index::Link& link : corpus.pages.at(0).sections.at(0).blocks.at(0).links) targets.push_back(link.target);
  EXPECT_THAT(targets, ElementsAre("b/two/#part", "a/one/#here", "mailto:x@example.org"));
}

TEST(OpenCorpus, TheRevisionChangesWithAnyFile) {
  Folder folder;
  folder.write("a.md", "one");
  const std::string before = open(folder).revision;
  EXPECT_EQ(open(folder).revision, before);
  folder.write("a.md", "two");
  EXPECT_NE(open(folder).revision, before);
}

TEST(DockerDoc, LeavesTheApiVersionsOutAndKnowsPublicUrls) {
  Folder folder;
  folder.write("api/v1.24.md.gz", gzipped("# API\n\ntext"));
  folder.write("api/version-history.md", "text");
  folder.write("reference/commandline/container_prune.md", "text");
  folder.write("reference/builder.md.gz", gzipped("text"));
  folder.write("extend/index.md", "text");
  folder.write("contributing/test.md.gz", gzipped("text"));
  CorpusOptions options;
  options.docker_doc = folder.path();
  const Result<Corpus> corpus = open_corpus("docker-doc", options);
  ASSERT_TRUE(corpus);
  std::map<std::string, std::string> urls;
  for (const Page& page : corpus->pages) urls[page.id] = page.url;
  EXPECT_EQ(urls, (std::map<std::string, std::string>{
                      {"api/version-history", "https://docs.docker.com/reference/api/engine/version-history/"},
                      {"contributing/test", "https://github.com/moby/moby/blob/v20.10.24/docs/contributing/test.md"},
                      {"extend", "https://docs.docker.com/engine/extend/"},
                      {"reference/builder", "https://docs.docker.com/reference/dockerfile/"},
                      {"reference/commandline/container_prune", "https://docs.docker.com/reference/cli/docker/container/prune/"}}));
  EXPECT_TRUE(corpus->revision.starts_with("xxh128:"));
}

TEST(DockerDoc, ItsRevisionIsThePackagesVersion) {
  Folder folder;
  folder.write("status", "Package: docker\nStatus: install ok installed\nVersion: 1\n\nPackage: docker-doc\nStatus: install ok installed\nVersion: 20.10.24+dfsg1-1\n\nPackage: gone\nStatus: deinstall ok config-files\nVersion: 2\n");
  EXPECT_EQ(debian_version(folder / "status", "docker-doc"), "20.10.24+dfsg1-1");
  EXPECT_EQ(debian_version(folder / "status", "gone"), "");
  EXPECT_EQ(debian_version(folder / "missing", "docker-doc"), "");
}

TEST(DockerDoc, AMissingPackageIsAClearError) {
  CorpusOptions options;
  options.docker_doc = "/no/such/docker-doc";
  EXPECT_THAT(open_corpus("docker-doc", options).error().message, HasSubstr("install Debian's package docker-doc"));
}

TEST(Beir, KeepsIdsAndSkipsBadLinesByNumber) {
  Folder folder;
  folder.write("corpus.jsonl",
               "{\"_id\": \"MED-1#a b\", \"title\": \"T\", \"text\": \"One.\\n\\nTwo.\", \"metadata\": {\"url\": \"https://example.org/1\"}}\n"
               "not json\n"
               "{\"_id\": 7, \"text\": \"x\"}\n"
               "\n"
               "{\"_id\": \"2\", \"title\": \"only a title\", \"text\": \"\"}\r\n"
               "{\"_id\": \"3\", \"title\": \"\", \"text\": \" \"}\n"
               "{\"_id\": \"2\", \"text\": \"again\"}\n"
               "{\"_id\": \"4\", \"text\": [\"x\"]}\n"
               "{\"_id\": \"5\", \"text\": \"caf\xE9\"}");
  const Result<Corpus> corpus = open_corpus("beir:" + folder.path().string());
  ASSERT_TRUE(corpus) << corpus.error().message;
  EXPECT_THAT(ids(*corpus), ElementsAre("MED-1#a b", "2"));
  EXPECT_EQ(corpus->pages[0].url, "https://example.org/1");
  EXPECT_EQ(documents(*corpus).at(0).chunks.at(0).text, "One.\n\nTwo.");
  EXPECT_EQ(documents(*corpus).at(1).chunks.at(0).text, "only a title");
  EXPECT_THAT(corpus->skipped, ElementsAre("corpus.jsonl line 2: is not a JSON object", "corpus.jsonl line 3: its \"_id\" must be a string that is not empty",
                                           "corpus.jsonl line 6: document 3 has neither text nor title", "corpus.jsonl line 7: document 2 stands there already",
                                           "corpus.jsonl line 8: its \"text\" must be a string", "corpus.jsonl line 9: is not UTF-8"));
}

TEST(Beir, AFolderWithoutCorpusIsAClearError) {
  Folder folder;
  EXPECT_THAT(open_corpus("beir:" + folder.path().string()).error().message, HasSubstr("corpus.jsonl cannot be opened"));
}

}  // namespace
}  // namespace polygraph::corpus
