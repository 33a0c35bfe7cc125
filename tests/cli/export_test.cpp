// `export`: the folder that it writes, what it refuses, and that nothing is ever left half written. The built site here is a
// small one with every part that an export looks at; the real one is exported in tests/browser/export.spec.ts.
#include "cli/site/export.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>

#include <map>
#include <regex>
#include <set>
#include <thread>

#include "cli/site/compression.hpp"
#include "proxy/http/media_type.hpp"
#include "proxy/models/sha256.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"

namespace polygraph::cli::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view old_version = "00112233aabbccdd";

std::string sha256(std::string_view bytes) {
  models::Sha256 digest;
  digest.update(std::as_bytes(std::span(bytes)));
  return digest.hex();
}

std::string unescaped(std::string text) {
  text = site::replaced(std::move(text), "&quot;", "\"");
  text = site::replaced(std::move(text), "&lt;", "<");
  return site::replaced(std::move(text), "&amp;", "&");
}

std::string escaped(std::string text) {
  text = site::replaced(std::move(text), "&", "&amp;");
  text = site::replaced(std::move(text), "\"", "&quot;");
  return site::replaced(std::move(text), "<", "&lt;");
}

class Export : public ProgramTest {
 protected:
  Export() {
    const auto asset = [&](const std::string& stem, const std::string& ending, const std::string& content) {
      const auto path = "assets/" + stem + "-" + sha256(content).substr(0, 16) + ending;
      write(built() / path, content);
      return path;
    };
    std::string script;
    for (int i = 0; i < 400; ++i) script += "const line" + std::to_string(i) + " = \"words that repeat and so shrink\";\n";
    const auto page_script = asset("ask", ".js", script);
    write(built() / (page_script + ".br"), site::compressed(site::Coding::brotli, script));
    write(built() / (page_script + ".gz"), "no gzip at all");
    const auto index = read(lexical_index());
    model_ = asset("embedder", ".onnx", std::string(300'000, 'm'));
    record_ = {{"version", old_version},
               {"engine", asset("engine", ".js", "export default () => 1;")},
               {"engine_wasm", asset("engine", ".wasm", "wasm")},
               {"engine_baseline", asset("engine-baseline", ".js", "export default () => 2;")},
               {"engine_baseline_wasm", asset("engine-baseline", ".wasm", "wasm without SIMD")},
               {"ort", {{"mjs", asset("ort", ".js", "ort")}, {"wasm", asset("ort", ".wasm", "ort's")}}},
               {"engine_worker", asset("engine-worker", ".js", "worker")},
               {"model_worker", asset("model-worker", ".js", "models")},
               {"index", {{"url", asset("index", ".polygraph", index)}, {"bytes", index.size()}, {"digest", sha256(index)}, {"built_at", "2026-01-02T03:04:05.000Z"}}},
               {"models", {{{"role", "embedder"}, {"name", "a & b <c>"}, {"url", model_}, {"sha256", std::string(64, 'e')}, {"bytes", 300'000}}}},
               {"examples", asset("examples", ".json", R"({"groups":[{"title":"Ferry","note":"","questions":["Red lamp?"]}]})")},
               {"tasks", asset("tasks", ".json", "{}")}};
    page_script_ = page_script;
    const ordered_json offline = {{"version", old_version}, {"page", "index.html"}, {"others", {"report.html"}}, {"files", {page_script, record_["index"]["url"], record_["examples"]}}, {"runtime", ordered_json::array()}};
    write(built() / "index.html", "<!doctype html>\n<meta charset=\"utf-8\">\n<!--polygraph-policy-->\n<meta name=\"polygraph-site\" content=\"" + escaped(record_.dump()) +
                                      "\">\n<script type=\"module\" src=\"" + page_script + "\"></script>\n");
    write(built() / "report.html", "<!doctype html>\n<meta charset=\"utf-8\">\n<!--polygraph-policy-->\n<meta name=\"site-version\" content=\"" + std::string(old_version) + "\">\n");
    write(built() / "site.json", record_.dump(2) + "\n");
    write(built() / "service-worker.js", "const MANIFEST=" + offline.dump() + ";\n(()=>{self.addEventListener(\"install\",()=>MANIFEST.version)})();\n");
    write("no recordings/.keep", "");
  }

  fs::path built() const { return folder() / "built site"; }
  fs::path out() const { return folder() / "my site"; }

  /// `export` of the site above, by default without the program's own recordings.
  Outcome make(std::vector<std::string> more = {}, const Surroundings& surroundings = {}) {
    std::vector<std::string> all{"export", "--site", built().string()};
    const auto given = [&](const std::string& name) { return std::find(more.begin(), more.end(), name) != more.end(); };
    if (!given("--out")) all.insert(all.end(), {"--out", out().string()});
    if (!given("--recordings") && !given("--record")) all.insert(all.end(), {"--recordings", (folder() / "no recordings").string()});
    all.insert(all.end(), more.begin(), more.end());
    return run(all, surroundings);
  }

  /// Another corpus than the built site's.
  std::string other_index() {
    write("other book/harbour.md", "# Harbour\n\nThe harbour master opens the harbour at dawn and closes it at dusk.\n");
    const auto file = (folder() / "other.polygraph").string();
    const auto made = run({"index", "--lexical", "--corpus", "dir:" + (folder() / "other book").string(), "--out", file});
    EXPECT_EQ(made.status, 0) << made.err;
    return file;
  }

  static std::map<std::string, std::string> tree(const fs::path& of) {
    std::map<std::string, std::string> files;
    for (const auto& each : fs::recursive_directory_iterator(of)) {
      if (each.is_regular_file()) files[each.path().lexically_relative(of).generic_string()] = read(each.path());
    }
    return files;
  }
  static ordered_json record_of(const std::string& page) {
    std::smatch found;
    const std::regex pattern("name=\"polygraph-site\" content=\"([^\"]*)\"");
    return std::regex_search(page, found, pattern) ? ordered_json::parse(unescaped(found[1])) : ordered_json();
  }
  static ordered_json offline_of(const std::string& worker) {
    const auto begin = worker.find('=') + 1;
    return ordered_json::parse(worker.substr(begin, worker.find(";\n") - begin));
  }
  /// Names beside the export that it did not find there.
  std::set<std::string> hidden() const {
    std::set<std::string> names;
    for (const auto& each : fs::directory_iterator(folder())) {
      if (each.path().filename().string().starts_with(".")) names.insert(each.path().filename().string());
    }
    return names;
  }

  ordered_json record_;
  std::string page_script_, model_;
};

TEST_F(Export, TheFolderHoldsTheWholeSiteItsVariantsAndAManifestOfEveryFile) {
  const auto made = make();
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(hidden(), IsEmpty());
  const auto files = tree(out());
  const auto manifest = nlohmann::json::parse(files.at("export.json"));
  EXPECT_EQ(schema_errors(manifest, "export"), "");
  std::set<std::string> listed{"export.json"};
  for (const auto& file : manifest["files"]) {
    const auto& content = files.at(file["path"]);
    EXPECT_EQ(file["sha256"], sha256(content)) << file;
    EXPECT_EQ(file["bytes"], content.size()) << file;
    listed.insert(file["path"]);
  }
  for (const auto& [path, content] : files) {
    EXPECT_TRUE(listed.contains(path)) << path;
    const bool variant_itself = path.ends_with(".br") || path.ends_with(".gz");
    EXPECT_TRUE(!path.starts_with("assets/") || variant_itself || http::is_hashed_name(fs::path(path).filename().string())) << path;
    for (const auto coding : site::codings) {
      const auto variant = files.find(path + std::string(site::suffix(coding)));
      EXPECT_TRUE(variant == files.end() || site::encodes(coding, variant->second, content)) << path;
    }
  }
  for (const auto& path : {page_script_ + ".br", page_script_ + ".gz", std::string("index.html.br"), record_["index"]["url"].get<std::string>() + ".gz"}) {
    EXPECT_TRUE(files.contains(path)) << path;
  }
  EXPECT_EQ(files.at(page_script_ + ".br"), read(built() / (page_script_ + ".br"))) << "a sound variant is carried";
  EXPECT_FALSE(files.contains(model_ + ".br"));
  EXPECT_THAT(files.at("_headers"), HasSubstr("\n/assets/*\n"));
  EXPECT_NE(fs::status(out()).permissions() & fs::perms::others_read, fs::perms::none) << "a server of another user reads it";
}

TEST_F(Export, PagesServiceWorkerAndRecordAgreeOnOneVersionAndCarryThePolicy) {
  ASSERT_EQ(make({"--connect", "https://api.example.org"}).status, 0);
  const auto files = tree(out());
  const auto version = nlohmann::json::parse(files.at("export.json"))["version"].get<std::string>();
  EXPECT_NE(version, old_version);
  const auto record = ordered_json::parse(files.at("site.json"));
  EXPECT_EQ(record["version"], version);
  EXPECT_EQ(record_of(files.at("index.html")), record);
  EXPECT_EQ(record["index"], record_["index"]) << "its own index, with the time that the site gave it";
  EXPECT_EQ(record["models"][0]["name"], "a & b <c>");
  EXPECT_THAT(files.at("report.html"), HasSubstr("content=\"" + version + "\""));
  const auto offline = offline_of(files.at("service-worker.js"));
  EXPECT_EQ(offline["version"], version);
  for (const auto& path : offline["files"]) EXPECT_TRUE(files.contains(path)) << path;
  EXPECT_THAT(offline["files"], Contains(record["recordings"]));
  for (const auto& [path, content] : files) {
    if (path.ends_with(".br") || path.ends_with(".gz")) continue;
    EXPECT_THAT(content, Not(HasSubstr(std::string(old_version)))) << path;
    if (!path.ends_with(".html")) continue;
    EXPECT_THAT(content, HasSubstr("http-equiv=\"Content-Security-Policy\" content=\"default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self' https://api.example.org;")) << path;
  }
  EXPECT_THAT(read(folder() / "handbook.polygraph"), Not(IsEmpty()));
}

TEST_F(Export, TheSameInputGivesTheSameBytesAndAnotherInputAnotherVersion) {
  ASSERT_EQ(make().status, 0);
  ASSERT_EQ(make({"--out", (folder() / "again").string()}).status, 0);
  EXPECT_EQ(tree(out()), tree(folder() / "again"));
  ASSERT_EQ(make({"--out", (folder() / "other").string(), "--connect", "https://api.example.org"}).status, 0);
  EXPECT_NE(ordered_json::parse(read(out() / "site.json"))["version"], ordered_json::parse(read(folder() / "other/site.json"))["version"]);
}

TEST_F(Export, AnotherIndexComesUnderItsOwnNameWithItsOwnQuestions) {
  const auto index = other_index();
  const auto made = make({"--index", index, "--json"}, {.environment = {{"SOURCE_DATE_EPOCH", "1700000000"}}});
  ASSERT_EQ(made.status, 0) << made.err;
  const auto told = one_json(made.out);
  EXPECT_EQ(told["index"]["corpus"], "dir:other book");
  EXPECT_EQ(told["index"]["sha256"], sha256(read(index)));
  auto files = tree(out());
  auto record = ordered_json::parse(files.at("site.json"));
  EXPECT_EQ(record["index"]["digest"], sha256(read(index)));
  EXPECT_EQ(record["index"]["bytes"], fs::file_size(index));
  EXPECT_EQ(record["index"]["built_at"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(files.at(record["index"]["url"]), read(index));
  EXPECT_FALSE(files.contains(record_["index"]["url"])) << "the other index is not carried along";
  EXPECT_THAT(offline_of(files.at("service-worker.js"))["files"], AllOf(Contains(record["index"]["url"]), Contains(record["examples"]), Not(Contains(record_["index"]["url"]))));
  EXPECT_EQ(nlohmann::json::parse(files.at(record["examples"]))["groups"], nlohmann::json::array());
  EXPECT_THAT(made.err, HasSubstr("note: the built site's example questions are of another corpus"));

  const auto examples = write("questions.json", R"({"groups":[{"title":"Harbour","note":"one","questions":["When does it open?"]}]})").string();
  ASSERT_EQ(make({"--index", index, "--examples", examples}).status, 0);
  files = tree(out());
  record = ordered_json::parse(files.at("site.json"));
  EXPECT_EQ(files.at(record["examples"]), read(examples));
}

TEST_F(Export, RecordingsAreCarriedWithAListAndRecordMakesThemAnew) {
  ASSERT_EQ(make({"--record"}).status, 0);
  auto files = tree(out());
  auto record = ordered_json::parse(files.at("site.json"));
  const auto list = nlohmann::json::parse(files.at(record["recordings"]))["recordings"];
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["question"], "Red lamp?");
  const auto file = "assets/" + list[0]["file"].get<std::string>();
  const auto parsed = proxy::parse_recording(files.at(file), "red-lamp");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->index_digest, nlohmann::json::parse(files.at("export.json"))["index"]["digest"]);
  EXPECT_FALSE(fs::exists(out() / "recorded"));

  // Carried by another site over another index: said in the message, and by the page.
  write("runs/red-lamp.json", files.at(file));
  const auto other = make({"--index", other_index(), "--recordings", (folder() / "runs").string()});
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_THAT(other.err, HasSubstr("1 of 1 recorded runs are over another index than this one"));

  // Behind `serve` the page asks its server instead.
  ASSERT_EQ(make({"--api", "--recordings", (folder() / "runs").string()}).status, 0);
  EXPECT_FALSE(ordered_json::parse(read(out() / "site.json")).contains("recordings"));
  const auto refused = make({"--record", "--index", other_index()});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("needs --examples FILE"));
}

TEST_F(Export, AnEvaluationOfTheSiteIsCarriedAndOneOverAnotherIndexIsSaid) {
  const std::string report = R"({"made": {"index_digest": "xxh128:another"}})";
  const auto path = "assets/evaluation-" + sha256(report).substr(0, 16) + ".json";
  write(built() / path, report);
  record_["evaluation"] = path;
  write(built() / "site.json", record_.dump());
  const auto made = make({"--json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(one_json(made.out)["bytes"]["evaluation"], report.size());
  EXPECT_THAT(made.err, HasSubstr("an evaluation over another index (xxh128:another;"));
  EXPECT_EQ(read(out() / path), report);
}

TEST_F(Export, TheLastMessageGivesTheBytesOfEachKindAndJsonTheSame) {
  const auto told = make();
  EXPECT_THAT(told.out, ContainsRegex("exported to .*/my site, version [0-9a-f]{16}\n[0-9]+ files, [0-9.]+ MB: pages [0-9.]+ · engine .* · models 0\\.3 · index .*; a first visit loads [0-9.]+ MB"));
  EXPECT_THAT(told.err, HasSubstr("export: 0 of 1 MB"));
  const auto json = make({"--json", "--base", "docs/ask"});
  const auto document = one_json(json.out);
  EXPECT_EQ(document["base"], "/docs/ask/");
  EXPECT_EQ(document["bytes"]["models"], 300'000);
  std::uint64_t sum = 0, files = 0;
  for (const auto& [path, content] : tree(out())) {
    sum += content.size();
    ++files;
  }
  EXPECT_EQ(document["bytes"]["total"], sum);
  EXPECT_EQ(document["files"], files);
  EXPECT_THAT(read(out() / "_headers"), HasSubstr("\n/docs/ask/index.html\n"));
  EXPECT_THAT(read(out() / "hosting/nginx.conf"), HasSubstr("location /docs/ask/assets/ {"));
}

TEST_F(Export, AnEarlierExportIsReplacedWholeAndAnythingElseIsLeftAlone) {
  ASSERT_EQ(make().status, 0);
  const auto before = tree(out());
  ASSERT_EQ(make({"--index", other_index()}).status, 0);
  EXPECT_NE(tree(out()), before);
  EXPECT_THAT(hidden(), IsEmpty());

  write("my site/CNAME", "docs.example.org");
  const auto foreign = make();
  EXPECT_EQ(foreign.status, 2);
  EXPECT_THAT(foreign.err, HasSubstr("holds files that no export wrote (CNAME)"));
  EXPECT_EQ(read(out() / "CNAME"), "docs.example.org");

  write("notes/plan.txt", "mine");
  const auto notes = make({"--out", (folder() / "notes").string()});
  EXPECT_EQ(notes.status, 2);
  EXPECT_THAT(notes.err, HasSubstr("is not empty and holds no earlier export"));
  const auto file = make({"--out", (folder() / "notes/plan.txt").string()});
  EXPECT_EQ(file.status, 2);
  EXPECT_THAT(file.err, HasSubstr("is no folder"));
  EXPECT_EQ(read(folder() / "notes/plan.txt"), "mine");

  fs::create_directories(folder() / "empty");
  EXPECT_EQ(make({"--out", (folder() / "empty").string()}).status, 0);
  fs::create_directory_symlink(folder() / "empty", folder() / "link");
  EXPECT_EQ(make({"--out", (folder() / "link").string()}).status, 0);
  EXPECT_TRUE(fs::is_symlink(folder() / "link"));
  EXPECT_EQ(make({"--out", "relative/deeper/"}).status, 0);
  EXPECT_TRUE(fs::exists(folder() / "relative/deeper/export.json"));
}

TEST_F(Export, WrongUseIsNamedAndWritesNothing) {
  struct Case {
    int status;
    std::string words;
    std::vector<std::string> arguments;
  };
  const auto broken = write("broken.polygraph", "no index").string();
  const auto no_examples = write("examples.json", R"({"groups": [{"title": 1}]})").string();
  for (const auto& [status, words, arguments] :
       {Case{2, "--base", {"--base", "/docs/../ask"}}, Case{2, "--base", {"--base", "https://example.org/ask"}}, Case{2, "--base", {"--base", "/a b"}},
        Case{2, "--connect", {"--connect", "https://api.example.org/v1; script-src *"}}, Case{3, "broken.polygraph", {"--index", broken}},
        Case{3, "nowhere.polygraph", {"--index", "nowhere.polygraph"}}, Case{3, "examples.json", {"--examples", no_examples}}, Case{3, "runs", {"--recordings", "runs"}},
        Case{2, "would lie in each other", {"--out", (built() / "public").string()}}}) {
    const auto refused = make(arguments);
    EXPECT_EQ(refused.status, status) << words << ": " << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(words));
    EXPECT_THAT(refused.out, IsEmpty());
    EXPECT_FALSE(fs::exists(out()));
    EXPECT_THAT(hidden(), IsEmpty());
  }
  EXPECT_EQ(run({"export"}).status, 2);
  EXPECT_THAT(run({"export", "--help"}).out, HasSubstr("Examples:\n  polygraph export --out"));
}

TEST_F(Export, ABuiltSiteThatIsDamagedOrMissingIsRefusedNamingTheFile) {
  const auto missing = run({"export", "--site", (folder() / "nowhere").string(), "--out", out().string()});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("nowhere"), HasSubstr("there is no built site here; `./polygraph build` makes one")));

  const auto whole = tree(built());
  const auto refused = [&](const std::string& file, const std::string& content, const std::string& words) {
    if (content.empty()) fs::remove(built() / file);
    else write(built() / file, content);
    const auto made = make();
    EXPECT_EQ(made.status, 3) << file << made.out;
    EXPECT_THAT(made.err, HasSubstr(words)) << file;
    EXPECT_FALSE(fs::exists(out())) << file;
    EXPECT_THAT(hidden(), IsEmpty()) << file;
    write(built() / file, whole.at(file));
  };
  refused(page_script_, "const changed = 1;", "does not hold what its name says");
  refused(model_, "", model_);
  refused(record_["index"]["url"], "no index", "index-");
  refused("site.json", "{}", "\"version\" is missing");
  refused("service-worker.js", "(()=>{})();", "service-worker.js");
  EXPECT_EQ(make().status, 0);
}

TEST_F(Export, AFullDiskLeavesWhatWasThereAndNothingElse) {
  ASSERT_EQ(make().status, 0);
  const auto before = tree(out());
  const auto full = make({"--connect", "https://api.example.org"}, {.max_file_bytes = 100'000});
  EXPECT_EQ(full.status, 3);
  EXPECT_THAT(full.err, ContainsRegex("can't write .*embedder-.*: File too large"));
  EXPECT_EQ(tree(out()), before);
  EXPECT_THAT(hidden(), IsEmpty());

  const auto disk = folder() / "small disk";
  fs::create_directories(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=200k") != 0) GTEST_SKIP() << "no disk can be mounted here";
  const auto small = make({"--out", (disk / "site").string()});
  EXPECT_EQ(small.status, 3);
  EXPECT_THAT(small.err, ContainsRegex("[0-9]+ bytes are needed beside .*, and [0-9]+ are free"));
  EXPECT_TRUE(fs::is_empty(disk));
  ::umount(disk.c_str());
}

TEST_F(Export, AFolderThatCannotBeWrittenIsNamed) {
  const auto refused = make({"--out", "/proc/polygraph"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("/proc/polygraph"));
}

TEST_F(Export, AKilledExportLeavesTheOldOneAndTheNextClearsUp) {
  ASSERT_EQ(make().status, 0);
  const auto before = tree(out());
  write(built() / "large.txt", std::string(60'000'000, 'x'));
  auto running = start({"export", "--site", built().string(), "--out", out().string(), "--recordings", (folder() / "no recordings").string()});
  for (int i = 0; i < 2000 && hidden().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  // Another one beside it takes nothing from it.
  ASSERT_THAT(hidden(), Not(IsEmpty()));
  running->signal(SIGKILL);
  running->wait();
  EXPECT_THAT(hidden(), Not(IsEmpty()));
  EXPECT_EQ(tree(out()), before);
  fs::remove(built() / "large.txt");
  ASSERT_EQ(make().status, 0);
  EXPECT_THAT(hidden(), IsEmpty());
  EXPECT_EQ(tree(out()), before);
}

TEST_F(Export, AnInterruptedExportSaysSoAndChangesNothing) {
  write(built() / "large.txt", std::string(60'000'000, 'x'));
  auto running = start({"export", "--site", built().string(), "--out", out().string(), "--recordings", (folder() / "no recordings").string()});
  for (int i = 0; i < 2000 && hidden().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  running->signal(SIGINT);
  const auto ended = running->wait();
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_FALSE(fs::exists(out()));
  EXPECT_THAT(hidden(), IsEmpty());
}

TEST_F(Export, CompressedVariantsDecodeToExactlyTheirFile) {
  std::string bytes;
  for (unsigned i = 0; i < 200'000; ++i) bytes += static_cast<char>('a' + (i % 1000) * (i % 1000) % 7);
  for (const auto& content : {std::string(), std::string("x"), bytes}) {
    for (const auto coding : site::codings) {
      auto variant = site::compressed(coding, content);
      EXPECT_EQ(variant, site::compressed(coding, content));
      EXPECT_TRUE(site::encodes(coding, variant, content));
      EXPECT_FALSE(site::encodes(coding, variant, content + "x"));
      EXPECT_TRUE(content.empty() || !site::encodes(coding, variant, content.substr(1)));
      EXPECT_FALSE(site::encodes(coding, variant + "x", content)) << "bytes behind its end";
      EXPECT_FALSE(site::encodes(coding, variant.substr(0, variant.size() - 1), content)) << "cut";
    }
  }
}

}  // namespace
}  // namespace polygraph::cli::test
