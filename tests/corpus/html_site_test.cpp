// Built sites: pages in the shape of each generator's output stand in sites/, with CHROME in every place that is no text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "index/builder.hpp"
#include "index/corpus.hpp"
#include "tests/corpus/folder.hpp"

namespace polygraph::corpus {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Corpus open(const std::filesystem::path& path, const CorpusOptions& options = {}) {
  Result<Corpus> corpus = open_corpus("html:" + path.string(), options);
  EXPECT_TRUE(corpus) << (corpus ? "" : corpus.error().message);
  return corpus ? *std::move(corpus) : Corpus{};
}

std::filesystem::path site(const std::string& name) { return std::filesystem::path(POLYGRAPH_SOURCE_DIR) / "tests/corpus/sites" / name; }

const Page& page(const Corpus& corpus, std::string_view id) {
  static const Page none;
  for (const Page& each : corpus.pages) {
    if (each.id == id) return each;
  }
  ADD_FAILURE() << "there is no page " << id;
  return none;
}

std::string text(const Page& page) {
  std::string out;
  for (const Section& section : page.sections) {
    if (!section.heading_line.empty()) out += section.heading_line + "\n\n";
    for (const Block& block : section.blocks) out += block.text + "\n\n";
  }
  return out;
}

std::string html(std::string_view body, std::string_view head = "") {
  return "<!doctype html><html lang=en><head>" + std::string(head) + "</head><body>" + std::string(body) + "</body></html>";
}

/// The text of a site of one page with this body.
std::string text_of(std::string_view body) {
  Folder folder;
  folder.write("index.html", html(body));
  const Corpus corpus = open(folder.path());
  return corpus.pages.empty() ? std::string() : text(corpus.pages.front());
}

struct Generator {
  std::string name, start, start_url, engine_url;
  std::vector<std::string> pages, passed_over;
};

class BuiltBy : public testing::TestWithParam<Generator> {};

TEST_P(BuiltBy, AGeneratorIsReadForItsTextAlone) {
  const Corpus corpus = open(site(GetParam().name));
  const Page& start = page(corpus, GetParam().start);
  EXPECT_EQ(start.title, "Start the engine");
  EXPECT_EQ(start.url, GetParam().start_url);
  const std::string all = text(start);
  EXPECT_TRUE(all.starts_with("The engine starts when the **captain** turns the key, see the engine.\n\n"
                              "## Requirements\n\n- Diesel & water\n- A key\n  1. of iron\n  2. of brass\n\n"
                              "| Part | Count |\n|---|---|\n| Pistons | 8 |\n| Valves | 16 |\n\n"
                              "**Note:** Turn slowly.\n\n**Mind the gap**\n\nThere is a gap.\n\n"
                              "## Install\n\n**npm**\n\n```sh"))
      << all;
  EXPECT_THAT(all, HasSubstr("\nnpm install ferry\nnpm run ferry\n```\n\n**Yarn**\n\n"));
  for (const Page& each : corpus.pages) EXPECT_THAT(text(each), Not(HasSubstr("CHROME"))) << each.id;
}

TEST_P(BuiltBy, AGeneratorKeepsAnchorsAndLinks) {
  const Corpus corpus = open(site(GetParam().name));
  const Page& start = page(corpus, GetParam().start);
  ASSERT_EQ(start.sections.size(), 3u);
  EXPECT_EQ(start.sections[1].anchor, GetParam().name == "sphinx" ? "requirements" : "needs");
  EXPECT_THAT(start.sections[1].path, ElementsAre("Requirements"));
  EXPECT_EQ(start.sections[2].anchor, "install");
  ASSERT_EQ(start.sections[0].blocks.at(0).links.size(), 1u);
  EXPECT_EQ(start.sections[0].blocks[0].links[0].target, GetParam().engine_url + "#oil");
}

TEST_P(BuiltBy, AGeneratorComesInTheOrderOfItsSitemapWithoutListsAndErrorPages) {
  const Corpus corpus = open(site(GetParam().name));
  std::vector<std::string> ids;
  for (const Page& each : corpus.pages) ids.push_back(each.id);
  EXPECT_EQ(ids, GetParam().pages);
  EXPECT_EQ(corpus.passed_over, GetParam().passed_over);
  EXPECT_THAT(corpus.skipped, IsEmpty());
  EXPECT_THAT(corpus.warnings, IsEmpty());
  EXPECT_THAT(corpus.title, HasSubstr("Ferry Manual"));
  EXPECT_EQ(corpus.language, "en");
  EXPECT_EQ(corpus.source_url, "https://ferry.example.org/manual/");
}

TEST_P(BuiltBy, AGeneratorIsServedUnderTheBaseUrlThatIsAskedFor) {
  CorpusOptions options;
  options.base_url = "https://preview.example.net/7";
  const Corpus corpus = open(site(GetParam().name), options);
  const std::string own = "https://ferry.example.org/manual/", asked = "https://preview.example.net/7/";
  const Page& start = page(corpus, GetParam().start);
  EXPECT_EQ(start.url, asked + GetParam().start_url.substr(own.size()));
  EXPECT_EQ(start.sections.at(0).blocks.at(0).links.at(0).target, asked + GetParam().engine_url.substr(own.size()) + "#oil");
}

const std::string base = "https://ferry.example.org/manual/";
INSTANTIATE_TEST_SUITE_P(
    Html, BuiltBy,
    testing::Values(
        Generator{"mkdocs", "guide/start", base + "guide/start/", base + "guide/engine/", {"index", "guide/start", "guide/engine"},
                  {"404.html: is an error page", "tags/index.html: only lists other pages"}},
        Generator{"docusaurus", "docs/guide/start", base + "docs/guide/start", base + "docs/guide/engine", {"docs/guide/engine", "docs/guide/start", "index"},
                  {"404.html: is an error page", "search/index.html: is a search page"}},
        Generator{"vitepress", "guide/start", base + "guide/start.html", base + "guide/engine.html", {"guide/start", "guide/engine", "index"},
                  {"404.html: is an error page"}},
        Generator{"sphinx", "start", base + "start.html", base + "engine.html", {"api", "engine", "index", "start"},
                  {"_modules/ferry.html: stands in _modules, which holds a generator's own files", "genindex.html: only lists other pages",
                   "search.html: is a search page"}},
        Generator{"hugo", "guide/start", base + "guide/start/", base + "guide/engine/", {"guide/start", "index", "guide/engine"},
                  {"404.html: is an error page", "old/index.html: redirects to https://ferry.example.org/manual/guide/start/",
                   "tags/index.html: only lists other pages"}}),
    [](const auto& generator) { return generator.param.name; });

TEST(HtmlSite, TitlesOfCodeKeepTheFilesName) {
  for (const std::string name : {"mkdocs", "docusaurus", "sphinx"}) {
    const Corpus corpus = open(site(name));
    EXPECT_THAT(text(page(corpus, name == "docusaurus" ? "docs/guide/start" : name == "sphinx" ? "start" : "guide/start")),
                HasSubstr("```sh title=\"install.sh\"\nnpm install"))
        << name;
  }
}

TEST(HtmlSite, DefinitionsWithAnAddressAreSectionsOfTheirOwn) {
  const Corpus corpus = open(site("sphinx"));
  std::vector<std::pair<std::string, std::string>> found;
  const auto built = documents(corpus);
  for (const auto& chunk : built.at(0).chunks) found.emplace_back(chunk.heading_path, chunk.anchor);
  EXPECT_THAT(found, ElementsAre(std::pair("class ferry.Ferry", "ferry.Ferry"), std::pair("class ferry.Ferry > sail", "ferry.Ferry.sail"), std::pair("", "")));
  EXPECT_THAT(text(page(corpus, "api")), HasSubstr("###### sail(knots=3)\n\nSail away"));
  EXPECT_THAT(text(page(corpus, "api")), HasSubstr("- **Parameters**: **knots** \xE2\x80\x93 how fast"));
}

TEST(HtmlSite, TaskListsKeysFootnotesAndDefinitionsAreReadable) {
  const Corpus corpus = open(site("mkdocs"));
  const std::string all = text(page(corpus, "guide/start"));
  EXPECT_THAT(all, HasSubstr("- **Diesel**: What the engine drinks."));
  EXPECT_THAT(all, HasSubstr("Press Ctrl+C to stop.[1]"));
  EXPECT_THAT(all, HasSubstr("- [x] done"));
  EXPECT_THAT(all, HasSubstr("1. About feet.\n"));
}

// --- content ----------------------------------------------------------------------------------------------------------

TEST(HtmlPage, WithoutAMainElementIsTheDensestText) {
  EXPECT_EQ(text_of("<div class=top><a href=a>One</a> <a href=b>Two</a></div><table><tr><td width=20><a href=a>Left</a><td>"
                    "<div><p>Here stand the words of this page, of which there are many.</p><p>And more of them, in another paragraph.</p></div></table>"),
            "Here stand the words of this page, of which there are many.\n\nAnd more of them, in another paragraph.\n\n");
}

TEST(HtmlPage, OfManyArticlesKeepsAll) {
  const std::string all = text_of("<main><article><h2>One</h2><p>First words.</article><article><h2>Two</h2><p>Second words.</article></main>");
  EXPECT_THAT(all, HasSubstr("First words."));
  EXPECT_THAT(all, HasSubstr("Second words."));
}

TEST(HtmlPage, AnEmptyMainElementIsNotBelieved) {
  EXPECT_THAT(text_of("<main> <p>.</p></main><div><p>All the words of this page stand outside of it, for whatever reason.</p></div>"), HasSubstr("All the words"));
}

TEST(HtmlPage, ANameAloneRemovesNoText) {
  // Sections that are called like parts of a page, a sidebar with text, a layout class.
  const std::string all = text_of(
      "<main><section id=navigation><h2>Navigation</h2><p>How to steer.</p></section><section id=search class=toc><h2>Search</h2><p>How to find.</p></section>"
      "<aside class=sidebar><p>Words at the side.</p></aside><div class='has-sidebar no-footer'><p>Words in a layout.</p></div>"
      "<div class=menu><p>The menu of the galley: soup and bread.</p></div></main>");
  for (const char* words : {"How to steer.", "How to find.", "Words at the side.", "Words in a layout.", "soup and bread"}) EXPECT_THAT(all, HasSubstr(words));
}

TEST(HtmlPage, HiddenTemplatesAreDroppedAndHiddenPanelsKept) {
  const std::string all = text_of(
      "<main><template><p>T1</p></template><div hidden>T2</div><div style='display: none'>T3</div><div aria-hidden=true>T4</div><script>T5</script>"
      "<style>T6</style><noscript>T7</noscript><dialog>T8</dialog><p>Seen.</p><div role=tabpanel hidden>Panel.</div></main>");
  EXPECT_EQ(all, "Seen.\n\nPanel.\n\n");
}

TEST(HtmlPage, CodeKeepsItsLinesWhateverMakesThem) {
  EXPECT_EQ(text_of("<main><p>x</p><pre><code class='hljs language-c++'>a &lt; b\n\tc</code></pre></main>"), "x\n\n```c++\na < b\n\tc\n```\n\n");
  EXPECT_EQ(text_of("<main><p>x</p><pre>one<br>two</pre></main>"), "x\n\n```\none\ntwo\n```\n\n");
  EXPECT_EQ(text_of("<main><p>x</p><pre><div class=line><span class=lineno>1</span>one</div><div class=line><span class=lineno>2</span></div><div class=line>three</div></pre></main>"),
            "x\n\n```\none\n\nthree\n```\n\n");
  EXPECT_EQ(text_of("<main><p>x</p><pre class='line-numbers'><code>kept</code></pre></main>"), "x\n\n```\nkept\n```\n\n");
  EXPECT_EQ(text_of("<main><p>x</p><pre>``` inside</pre></main>"), "x\n\n````\n``` inside\n````\n\n");
}

TEST(HtmlPage, TablesKeepSpansAndEscapePipes) {
  EXPECT_EQ(text_of("<main><p>x</p><table><caption>Fares</caption><tr><th>From<th>To<th>Price<tr><td rowspan=2>Quay<td>Isle<td>1|2<tr><td colspan=2>none<tr></table></main>"),
            "x\n\n**Fares**\n\n| From | To | Price |\n|---|---|---|\n| Quay | Isle | 1\\|2 |\n| Quay | none | |\n\n");
  EXPECT_EQ(text_of("<main><p>x</p><table><tr><td><ul><li>a<li>b</ul><td>c</table></main>"), "x\n\n| a; b | c |\n|---|---|\n\n");
}

TEST(HtmlPage, AnchorsComeFromWhereverThePagePutsThem) {
  Folder folder;
  folder.write("index.html", html("<main><h1>T</h1><p>0</p><h2 id=own>A</h2><p>1</p><h2><a name=named></a>B</h2><p>2</p><h2>C <a href='#linked'>#</a></h2><p>3</p>"
                                  "<section id=around><h2>D</h2><p>4</p></section><h2>E</h2><p>5</p></main>"));
  std::vector<std::string> anchors;
  const auto site = open(folder.path());
  for (const Section& section : site.pages.at(0).sections) anchors.push_back(section.anchor);
  EXPECT_THAT(anchors, ElementsAre("", "own", "named", "linked", "around", ""));
}

TEST(HtmlPage, WithoutAHeadingIsCalledByItsTitleWithoutTheSitesName) {
  Folder folder;
  for (const char* name : {"a", "b", "c"}) folder.write(std::string(name) + ".html", html("<p>Some words.</p>", "<title>Page " + std::string(name) + " - Part | The Site</title>"));
  const Corpus corpus = open(folder.path());
  EXPECT_EQ(corpus.pages.at(0).title, "Page a - Part");
  EXPECT_EQ(corpus.title, "The Site");
}

// --- sites ------------------------------------------------------------------------------------------------------------

TEST(HtmlSite, ACopyGivesWayToItsCanonicalPage) {
  Folder folder;
  folder.write("a.html", html("<p>Words.</p>", "<link rel=canonical href=https://x.example.org/docs/a.html>"));
  folder.write("print/a.html", html("<p>Words.</p>", "<link rel=canonical href=https://x.example.org/docs/a.html>"));
  folder.write("b.html", html("<p>Other words.</p>", "<link rel=canonical href=https://x.example.org/docs/b.html>"));
  folder.write("old.html", html("<p>Kept: its canonical page is another site's.</p>", "<link rel=canonical href=https://else.example.org/z>"));
  const Corpus corpus = open(folder.path());
  EXPECT_EQ(corpus.pages.size(), 3u);
  EXPECT_THAT(corpus.passed_over, ElementsAre("print/a.html: is a copy of a.html, its canonical page"));
  EXPECT_EQ(page(corpus, "a").url, "https://x.example.org/docs/a.html");
}

TEST(HtmlSite, ATemplateThatNamesOneCanonicalPageEverywhereIsNotBelieved) {
  Folder folder;
  for (const char* name : {"index", "a", "b", "c"}) folder.write(std::string(name) + ".html", html("<p>Words of " + std::string(name) + "</p>", "<link rel=canonical href=https://x.example.org/>"));
  const Corpus corpus = open(folder.path());
  EXPECT_EQ(corpus.pages.size(), 4u);
  EXPECT_THAT(corpus.warnings, ElementsAre(HasSubstr("3 pages name index.html as their canonical page")));
}

TEST(HtmlSite, NoindexIsFollowedUnlessEveryPageSaysIt) {
  Folder some, all;
  some.write("a.html", html("<p>Words.</p>"));
  some.write("b.html", html("<p>Words.</p>", "<meta name=robots content='noindex'>"));
  EXPECT_THAT(open(some.path()).passed_over, ElementsAre(HasSubstr("b.html: asks not to be indexed")));
  all.write("a.html", html("<p>Words.</p>", "<meta name=robots content='noindex, nofollow'>"));
  EXPECT_EQ(open(all.path()).pages.size(), 1u);
  EXPECT_THAT(open(all.path()).warnings, ElementsAre(HasSubstr("noindex")));
}

TEST(HtmlSite, OfSeveralLanguagesReadsOne) {
  Folder folder;
  folder.write("a.html", "<html lang=en-US><p>English words.</p>");
  folder.write("b.html", "<html lang=en-GB><p>English words.</p>");
  folder.write("de/a.html", "<html lang=de><p>Deutsche Worte.</p>");
  folder.write("c.html", "<html><p>Who knows.</p>");
  const Corpus english = open(folder.path());
  EXPECT_EQ(english.language, "en");
  EXPECT_EQ(english.pages.size(), 3u);
  EXPECT_THAT(english.passed_over, ElementsAre(HasSubstr("de/a.html: is in the language de")));
  CorpusOptions german;
  german.language = "de";
  EXPECT_EQ(open(folder.path(), german).pages.size(), 2u);
  german.language = "fr";  // no page states it: the template may not know
  EXPECT_EQ(open(folder.path(), german).pages.size(), 4u);
}

TEST(HtmlSite, EncodingsAreThoseABrowserWouldTake) {
  Folder folder;
  folder.write("utf8.html", "<p>caf\xC3\xA9");
  folder.write("bom.html", "\xEF\xBB\xBF<p>caf\xC3\xA9");
  folder.write("latin.html", "<meta charset='ISO-8859-1'><p>caf\xE9 \x80");
  folder.write("guessed.html", "<p>caf\xE9");
  folder.write("utf16.html", std::string_view("\xFF\xFE<\0p\0>\0c\0a\0f\0\xE9\0", 16));
  folder.write("koi.html", "<meta http-equiv=Content-Type content='text/html; charset=koi8-r'><p>\xCB\xC1\xC6\xC5");
  folder.write("wrong.html", "<meta charset=utf-8><p>caf\xE9");
  folder.write("unknown.html", "<meta charset=klingon><p>caf\xE9");
  folder.write("binary.html", std::string(500, '\0'));
  const Corpus corpus = open(folder.path());
  std::map<std::string, std::string> texts;
  for (const Page& each : corpus.pages) texts[each.id] = text(each);
  EXPECT_EQ(texts, (std::map<std::string, std::string>{{"utf8", "caf\xC3\xA9\n\n"}, {"bom", "caf\xC3\xA9\n\n"}, {"latin", "caf\xC3\xA9 \xE2\x82\xAC\n\n"},
                                                       {"guessed", "caf\xC3\xA9\n\n"}, {"utf16", "caf\xC3\xA9\n\n"},
                                                       {"koi", "\xD0\xBA\xD0\xB0\xD1\x84\xD0\xB5\n\n"}, {"wrong", "caf\xEF\xBF\xBD\n\n"}}));
  EXPECT_THAT(corpus.skipped, ElementsAre("binary.html: is not HTML but binary data", HasSubstr("unknown.html: declares the encoding \"klingon\"")));
  EXPECT_THAT(corpus.warnings, ElementsAre(HasSubstr("guessed.html: names no encoding"), HasSubstr("wrong.html: is not UTF-8 at byte 26")));
}

TEST(HtmlSite, NamesEveryPageThatItCannotUse) {
  Folder folder, outside;
  outside.write("x.html", "<p>Secret.");
  folder.write("good.html", "<p>Words.");
  folder.write("empty.html", " \n");
  folder.write("words.html", "google-site-verification: 1234");
  folder.write("shell.html", "<html><body><nav>Only links</nav><div id=app></div><script src=x.js></script>");
  folder.write("huge.html", std::string((16u << 20) + 1, 'x'));
  folder.write("deep.html", [] { std::string deep; for (int i = 0; i < 100'000; ++i) deep += "<div>"; return deep; }());
  folder.write("wide.html", [] { std::string wide = "<p"; for (int i = 0; i < 100'000; ++i) wide += " a" + std::to_string(i); return wide + ">x"; }());
  folder.write("bomb.html", [] { std::string bomb; for (int i = 0; i < 900; ++i) bomb += "<b id=b" + std::to_string(i) + ">"; for (int i = 0; i < 10'000; ++i) bomb += "<p>x"; return bomb; }());
  std::filesystem::create_symlink(outside / "x.html", folder / "leaves.html");
  const Corpus corpus = open(folder.path());
  EXPECT_EQ(corpus.pages.size(), 1u);
  EXPECT_THAT(corpus.skipped, ElementsAre("bomb.html: has more than 2000000 elements", "deep.html: nests more than 1000 elements", "empty.html: is empty",
                                          "huge.html: is larger than 16 MB", "leaves.html: is a link that leads out of the folder",
                                          "shell.html: has no text outside of its navigation", "wide.html: has a tag with more than 1000 attributes",
                                          "words.html: is not HTML: no tag stands in it"));
}

TEST(HtmlSite, WithoutAPageIsAClearError) {
  Folder folder;
  folder.write("a.md", "# Markdown");
  const auto none = open_corpus("html:" + folder.path().string());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, testing::AllOf(HasSubstr(folder.path().string()), HasSubstr("no HTML page"), HasSubstr("dir:PATH")));
  folder.write("404.html", "<p>Not found.");
  EXPECT_THAT(open_corpus("html:" + folder.path().string()).error().message, HasSubstr("1 passed over, the first: 404.html: is an error page"));
  EXPECT_THAT(open_corpus("html:/no/such/site").error().message, HasSubstr("/no/such/site"));
  EXPECT_FALSE(open_corpus("html:"));
}

TEST(HtmlSite, MayBeOneFile) {
  Folder folder;
  folder.write("a.html", "<h1>A</h1><p>Words.");
  folder.write("b.html", "<p>Others.");
  EXPECT_EQ(open(folder / "a.html").pages.size(), 1u);
}

TEST(HtmlSite, WithoutAnAddressOfItsOwnHasRelativeOnes) {
  Folder folder;
  folder.write("index.html", html("<p>Start: <a href=/sub/guide/a/#x>a</a> <a href='javascript:alert(1)'>bad</a> <a href=https://o.example.org/>out</a> <a href=../../up>up</a> <a href=file.pdf>pdf</a></p>"));
  folder.write("guide/a/index.html", html("<p>A: <a href=../../>home</a> <a href=#y>here</a></p>"));
  const Corpus corpus = open(folder.path());
  const auto targets = [&](std::string_view id) {
    std::vector<std::string> out;
    for (const auto& link : page(corpus, id).sections.at(0).blocks.at(0).links) out.push_back(link.target);
    return out;
  };
  EXPECT_THAT(targets("index"), ElementsAre("guide/a/#x", "https://o.example.org/", "file.pdf"));
  EXPECT_THAT(targets("guide/a"), ElementsAre("./", "guide/a/#y"));
}

TEST(HtmlSite, HostileTextIsPlainText) {
  const std::string all = text_of(
      "<main><h1>&lt;script&gt;alert(1)&lt;/script&gt;</h1><p>&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; a\x01\x1b[31m b\xE2\x80\xAE evil \xE2\x81\xA6x\xE2\x81\xA9\xEF\xBB\xBF"
      " \xF3\xA0\x81\xA1tag &#0; &#xD800; &#x202e;q</p><pre>\xE2\x80\x8Bif (x\xE2\x80\xAE) \x07</pre><script>bad()</script><p onclick=bad()>ok</main>");
  EXPECT_EQ(all, "</script><img src=x onerror=alert(1)> a[31m b evil x tag \xEF\xBF\xBD \xEF\xBF\xBD q\n\n```\nif (x) \n```\n\nok\n\n");
}

TEST(HtmlSite, BuiltAgainWithoutAChangedWordHasTheSameRevision) {
  Folder folder;
  folder.write("a.html", html("<p>Words.</p>", "<script src=app.1234.js></script>"));
  const std::string before = open(folder.path()).revision;
  folder.write("a.html", html("<p>Words.</p>", "<script src=app.5678.js></script>"));
  EXPECT_EQ(open(folder.path()).revision, before);
  folder.write("a.html", html("<p>Other words.</p>"));
  EXPECT_NE(open(folder.path()).revision, before);
}

TEST(HtmlSite, BrokenMarkupIsReadAsABrowserDoes) {
  EXPECT_EQ(text_of("<main><p>one <b>two<p>three</b> four<ul><li>a<li>b</main></div></div>"), "one **two**\n\n**three** four\n\n- a\n- b\n\n");
}

}  // namespace
}  // namespace polygraph::corpus
