// The static site as a client sees it.
#include <filesystem>
#include <map>
#include <set>

#include "tests/proxy/server_fixture.hpp"

namespace polygraph::http::testing {
namespace {

class StaticSite : public ServerTest {};

TEST_F(StaticSite, ServesIndexAtTheRootWithEveryFieldABrowserNeeds) {
  Settings settings;
  settings.connect_endpoints = {"https://api.example.org"};
  start(settings);
  const auto reply = get("/");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "<!doctype html><title>Ask</title>");
  EXPECT_EQ(reply.field("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(reply.field("x-content-type-options"), "nosniff");
  EXPECT_EQ(reply.field("referrer-policy"), "no-referrer");
  EXPECT_EQ(reply.field("cross-origin-opener-policy"), "same-origin");
  EXPECT_EQ(reply.field("cross-origin-embedder-policy"), "require-corp");
  EXPECT_EQ(reply.field("cross-origin-resource-policy"), "same-origin");
  EXPECT_FALSE(reply.field("permissions-policy").empty());
  EXPECT_FALSE(reply.field("date").empty());
  EXPECT_EQ(reply.field("cache-control"), "no-cache");
  EXPECT_EQ(reply.field("accept-ranges"), "bytes");
  EXPECT_EQ(reply.field("content-security-policy"),
            "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self' "
            "https://api.example.org; img-src 'self' data:; style-src 'self'; object-src 'none'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'");
}

TEST_F(StaticSite, GivesEveryAnswerAnIdOfItsOwn) {
  start();
  std::set<std::string> ids;
  for (const char* target : {"/", "/", "/nothing", "/api/nothing", "/healthz"}) ids.insert(get(target, "X-Request-Id: mine\r\n").field("x-request-id"));
  EXPECT_EQ(ids.size(), 5U);
  EXPECT_FALSE(ids.contains("mine"));
}

TEST_F(StaticSite, TypesFilesByTheirSuffix) {
  const std::map<std::string, std::string> types = {
      {"a.wasm", "application/wasm"},         {"a.mjs", "text/javascript; charset=utf-8"}, {"a.js", "text/javascript; charset=utf-8"},
      {"a.json", "application/json"},         {"a.onnx", "application/octet-stream"},      {"a.polygraph", "application/octet-stream"},
      {"a.svg", "image/svg+xml"},             {"a.webmanifest", "application/manifest+json"}, {"a.css", "text/css; charset=utf-8"},
      {"a.unknown", "application/octet-stream"}, {"noSuffix", "application/octet-stream"},  {"A.HTML", "text/html; charset=utf-8"}};
  for (const auto& [name, type] : types) put(name, "x");
  start();
  for (const auto& [name, type] : types) EXPECT_EQ(get("/" + name).field("content-type"), type) << name;
}

TEST_F(StaticSite, MarksOnlyHashedNamesImmutable) {
  const std::map<std::string, bool> names = {{"app.0f3a9c12.js", true},   {"engine-0F3A9C12ab.wasm", true}, {"app.0f3a9c1.js", false},
                                             {"app_0f3a9c12.js", false},  {"0f3a9c12.js", false},           {"app-0f3a9c1g.js", false},
                                             {"app-0f3a9c12", false},     {"app.js", false}};
  for (const auto& [name, immutable] : names) put(name, "x");
  start();
  for (const auto& [name, immutable] : names) {
    EXPECT_EQ(get("/" + name).field("cache-control"), immutable ? "public, max-age=31536000, immutable" : "no-cache") << name;
  }
}

TEST_F(StaticSite, SendsTheVariantThatTheClientPrefers) {
  put("app.js", "plain text of the script");
  put("app.js.br", "BROTLI");
  put("app.js.gz", "GZIP!");
  put("alone.js", "x");
  start();
  const auto plain = get("/app.js");
  const auto br = get("/app.js", "Accept-Encoding: gzip, deflate, br, zstd\r\n");
  const auto gzip = get("/app.js", "Accept-Encoding: br;q=0.5, gzip;q=0.8\r\n");
  const auto refused = get("/app.js", "Accept-Encoding: br;q=0, *;q=0\r\n");
  const auto split = get("/app.js", "Accept-Encoding: deflate\r\nAccept-Encoding: gzip\r\n");
  EXPECT_EQ(plain.body, "plain text of the script");
  EXPECT_EQ(plain.field("content-encoding"), "");
  EXPECT_EQ(br.body, "BROTLI");
  EXPECT_EQ(br.field("content-encoding"), "br");
  EXPECT_EQ(gzip.field("content-encoding"), "gzip");
  EXPECT_EQ(refused.field("content-encoding"), "");
  EXPECT_EQ(split.field("content-encoding"), "gzip");
  for (const auto* reply : {&plain, &br, &gzip, &refused}) {
    EXPECT_EQ(reply->field("vary"), "Accept-Encoding");
    EXPECT_EQ(reply->field("content-type"), "text/javascript; charset=utf-8");
  }
  EXPECT_EQ((std::set{plain.field("etag"), br.field("etag"), gzip.field("etag")}).size(), 3U);
  EXPECT_EQ(get("/alone.js").field("vary"), "");
}

TEST_F(StaticSite, AnswersNotModifiedToAClientThatHasTheFile) {
  start();
  const auto etag = get("/").field("etag");
  ASSERT_EQ(etag.front(), '"');
  for (const auto& condition : {etag, "W/" + etag, "\"other, with comma\", " + etag, std::string("*")}) {
    const auto reply = get("/", "If-None-Match: " + condition + "\r\n");
    EXPECT_EQ(reply.status, 304) << condition;
    EXPECT_EQ(reply.field("etag"), etag);
    EXPECT_EQ(reply.field("cache-control"), "no-cache");
    EXPECT_EQ(reply.field("content-length"), "");
    EXPECT_EQ(reply.body, "");
  }
  EXPECT_EQ(get("/", "If-None-Match: \"other\"\r\n").status, 200);
}

TEST_F(StaticSite, NoticesWithinTwoSecondsThatAFileWasReplaced) {
  start();
  const auto before = get("/").field("etag");
  put("new", "<!doctype html><title>Rebuilt</title>");
  std::filesystem::rename(site_ / "new", site_ / "index.html");
  std::this_thread::sleep_for(1200ms);
  const auto after = get("/", "If-None-Match: " + before + "\r\n");
  EXPECT_EQ(after.status, 200);
  EXPECT_EQ(after.body, "<!doctype html><title>Rebuilt</title>");
}

TEST_F(StaticSite, SendsOneRangeAndRefusesOnePastTheEnd) {
  put("digits", "0123456789");
  start();
  const auto middle = get("/digits", "Range: bytes=2-4\r\n");
  EXPECT_EQ(middle.status, 206);
  EXPECT_EQ(middle.body, "234");
  EXPECT_EQ(middle.field("content-range"), "bytes 2-4/10");
  EXPECT_EQ(get("/digits", "Range: bytes=7-\r\n").body, "789");
  EXPECT_EQ(get("/digits", "Range: bytes=-3\r\n").body, "789");
  EXPECT_EQ(get("/digits", "Range: bytes=-300\r\n").body, "0123456789");
  EXPECT_EQ(get("/digits", "Range: bytes=8-99999999999999999999999\r\n").body, "89");
  for (const char* past : {"bytes=10-", "bytes=-0", "bytes=99999999999999999999999-"}) {
    const auto reply = get("/digits", std::string("Range: ") + past + "\r\n");
    EXPECT_EQ(reply.status, 416) << past;
    EXPECT_EQ(reply.field("content-range"), "bytes */10");
    EXPECT_NE(reply.body.find("\"bad_range\""), std::string::npos);
  }
  for (const char* whole : {"bytes=0-1,3-4", "bytes=4-2", "items=0-1", "bytes=a-b", "bytes=", "bytes"}) {
    EXPECT_EQ(get("/digits", std::string("Range: ") + whole + "\r\n").status, 200) << whole;
  }
}

TEST_F(StaticSite, SendsARangeOnlyOfTheFileThatIfRangeNames) {
  put("digits", "0123456789");
  start();
  const auto etag = get("/digits").field("etag");
  EXPECT_EQ(get("/digits", "Range: bytes=0-0\r\nIf-Range: " + etag + "\r\n").status, 206);
  EXPECT_EQ(get("/digits", "Range: bytes=0-0\r\nIf-Range: W/" + etag + "\r\n").status, 200);
  EXPECT_EQ(get("/digits", "Range: bytes=0-0\r\nIf-Range: \"old\"\r\n").status, 200);
  EXPECT_EQ(get("/digits", "Range: bytes=0-0\r\nIf-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n").status, 200);
}

TEST_F(StaticSite, AnswersHeadWithTheFieldsOfGetAndNoBody) {
  put("large.onnx", std::string(1'000'000, 'm'));
  start();
  for (const char* target : {"/", "/large.onnx", "/nothing"}) {
    auto connection = client();
    connection.send(std::string("HEAD ") + target + " HTTP/1.1\r\nHost: a\r\nRange: bytes=0-0\r\nConnection: close\r\n\r\n");
    const auto head = connection.reply(true);
    ASSERT_TRUE(head);
    EXPECT_EQ(connection.rest(), "");
    const auto full = get(target);
    EXPECT_EQ(head->status, full.status);
    EXPECT_EQ(head->field("content-length"), full.field("content-length"));
    EXPECT_EQ(head->field("etag"), full.field("etag"));
  }
}

TEST_F(StaticSite, FindsNothingOutsideItsFolderNorInDotFilesNorFolders) {
  put("docs/page.html", "page");
  put(".env", "secret");
  put("docs/.git/config", "secret");
  put("with space.txt", "spaced");
  start();
  for (const char* target :
       {"/../secret", "/..", "/docs/../index.html", "/%2e%2e/secret", "/%2E%2E%2Fsecret", "/..%2fsecret", "/docs%2fpage.html",
        "/%252e%252e/secret", "/..%5csecret", "/..\\secret", "/docs\\page.html", "/index.html%00", "/%00", "/index.html%00.js",
        "/.env", "/%2eenv", "/docs/.git/config", "/docs", "/docs/", "//index.html", "/docs//page.html", "/./index.html",
        "/index.html/", "/index.html/x", "/%zz", "/%", "/%2", "/%c0%ae%c0%ae/secret", "/etc/passwd", "/proc/self/environ"}) {
    const auto reply = get(target);
    EXPECT_EQ(reply.status, 404) << target;
    EXPECT_EQ(reply.body.find("secret\""), std::string::npos) << target;
  }
  EXPECT_EQ(get("/docs/page.html").body, "page");
  EXPECT_EQ(get("/docs/page.html?query=1/../..").body, "page");
  EXPECT_EQ(get("/with%20space.txt").body, "spaced");
}

TEST_F(StaticSite, FollowsLinksInsideItsFolderOnly) {
  put("docs/page.html", "page");
  put(".hidden", "secret");
  std::filesystem::create_directories(folder_ / "outside");
  std::filesystem::copy_file(site_ / ".hidden", folder_ / "outside/secret.txt");
  namespace fs = std::filesystem;
  fs::create_symlink("docs/page.html", site_ / "relative.html");
  fs::create_symlink(site_ / "docs/page.html", site_ / "absolute.html");
  fs::create_symlink("../outside/secret.txt", site_ / "escape.txt");
  fs::create_directory_symlink(folder_ / "outside", site_ / "folder");
  fs::create_symlink(".hidden", site_ / "unhidden.txt");
  fs::create_symlink("nowhere", site_ / "broken.txt");
  fs::create_symlink("../outside/secret.txt", site_ / "index.html.gz");
  start();
  EXPECT_EQ(get("/relative.html").body, "page");
  EXPECT_EQ(get("/absolute.html").body, "page");
  for (const char* target : {"/escape.txt", "/folder/secret.txt", "/unhidden.txt", "/broken.txt"}) EXPECT_EQ(get(target).status, 404) << target;
  EXPECT_EQ(get("/", "Accept-Encoding: gzip\r\n").field("content-encoding"), "") << "a variant that leaves the folder is none";
}

TEST_F(StaticSite, SaysWhyUnderTheApiAndStoresNothing) {
  start();
  const auto reply = get("/api/nothing");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.field("content-type"), "application/json");
  EXPECT_EQ(reply.field("cache-control"), "no-store");
  EXPECT_EQ(reply.body, "{\"error\":{\"code\":\"not_found\",\"message\":\"there is no such route\"}}\n");
}

}  // namespace
}  // namespace polygraph::http::testing
