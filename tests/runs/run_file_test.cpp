#include "cli/runs/run_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <sstream>

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* identity = R"({"config":{"TOP_K":4},"index_digest":"xxh128:1","golden":{"digest":"xxh128:2"},"shard":null})";

constexpr const char* golden = R"({"id":"a","question":",\"result\":"})";

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string result(const std::string& id, double ms = 1.5) {
  return R"({"query_id":")" + id + R"(","query":"a \"judgement\": in it, {\"result\":1}","latency":{"retrieval_ms":)" + std::to_string(ms) +
         R"(},"trace":{"id":"run-)" + std::to_string(ms) + R"(","steps":[{"n":1,"ms":)" + std::to_string(ms) + R"(,"effects":[{"kind":"time","result":)" +
         std::to_string(ms) + R"(},{"kind":"score","result":"AAAA","ms":3}]}]}})";
}

class RunFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "polygraph-run-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  /// Goes on with the run, in this order of items. `ms`: what everything takes.
  void write(const fs::path& file, const std::vector<RunItem>& all, double ms = 1.5, const std::string& of = identity) const {
    auto run = RunFile::open(file, run_header(of, all.size(), "2026-12-01T00:00:00Z"));
    ASSERT_TRUE(run) << run.error().message;
    for (const RunItem& item : all) {
      if (run->has(item)) continue;
      ASSERT_TRUE(run->append(item, golden, result(item.id, ms), R"({"state":"scored"})", "2026-12-01T00:00:01Z"));
    }
  }

  fs::path folder;
  const std::vector<RunItem> items{{"a", 1}, {"b", 1}, {"c \"x\",\"repeat\":9", 1}, {"c \"x\",\"repeat\":9", 2}, {"ü", 1}};
};

TEST_F(RunFileTest, GivesBackWhatWasAppended) {
  const auto file = folder / "run.jsonl";
  write(file, items);
  std::vector<RunItem> found;
  auto header = read_run(file, [&](const RunLine& line) -> Result<void> {
    EXPECT_EQ(line.result, result(line.item.id));
    EXPECT_EQ(line.golden, golden);
    EXPECT_EQ(line.judgement, R"({"state":"scored"})");
    found.push_back(line.item);
    return {};
  });
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(found, items);
  EXPECT_EQ(header->items, items.size());
}

TEST_F(RunFileTest, ContinuedAfterAHalfWrittenLineItHasTheBytesOfARunThatWasNot) {
  const auto whole = folder / "whole.jsonl", cut = folder / "cut.jsonl";
  write(whole, items);
  const std::string bytes = read(whole);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    std::ofstream(cut, std::ios::binary | std::ios::trunc) << bytes.substr(0, length);
    write(cut, items);
    ASSERT_EQ(read(cut), bytes) << "cut at " << length;
  }
}

TEST_F(RunFileTest, AChangedLineIsFoundAndNamed) {
  const auto file = folder / "run.jsonl";
  write(file, items);
  std::string bytes = read(file);
  bytes[bytes.find("AAAA", bytes.find('\n', bytes.find('\n') + 1))] = 'B';
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  auto read = read_run(file, [](const RunLine&) -> Result<void> { return {}; });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::corrupt);
  EXPECT_EQ(read.error().line, 3U);
  EXPECT_FALSE(RunFile::open(file, run_header(identity, items.size(), ""))) << "nothing is appended to a file that is not sound";
}

TEST_F(RunFileTest, AnotherIdentityStartsNoMixture) {
  const auto file = folder / "run.jsonl";
  write(file, items);
  const auto before = read(file);
  auto other = RunFile::open(file, run_header(R"({"config":{"TOP_K":5}})", 5, ""));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::mismatch);
  EXPECT_EQ(read(file), before);
  auto fresh = RunFile::open(file, run_header(R"({"config":{"TOP_K":5}})", 5, ""), true);
  ASSERT_TRUE(fresh) << fresh.error().message;
  EXPECT_EQ(fresh->done(), 0U);
}

TEST_F(RunFileTest, TheOrderOfKeysIsNoOtherIdentity) {
  EXPECT_EQ(run_header(R"({"a":1,"b":{"c":2,"d":3}})", 1, "").digest, run_header(R"({"b":{"d":3,"c":2},"a":1})", 1, "").digest);
  EXPECT_NE(run_header(R"({"a":1})", 1, "").digest, run_header(R"({"a":2})", 1, "").digest);
}

TEST_F(RunFileTest, TwoProcessesDoNotWriteOneRun) {
  const auto file = folder / "run.jsonl";
  auto first = RunFile::open(file, run_header(identity, 1, ""));
  ASSERT_TRUE(first);
  auto second = RunFile::open(file, run_header(identity, 1, ""));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another process"));
}

TEST_F(RunFileTest, ItemsThatFinishedInAnotherOrderAreOrderedAtTheEnd) {
  const auto straight = folder / "straight.jsonl", mixed = folder / "mixed.jsonl";
  write(straight, items);
  {
    auto run = RunFile::open(mixed, run_header(identity, items.size(), "2026-12-01T00:00:00Z"));
    ASSERT_TRUE(run);
    for (const std::size_t i : {4, 1, 0, 3, 2}) ASSERT_TRUE(run->append(items[i], golden, result(items[i].id), R"({"state":"scored"})", "2026-12-01T00:00:01Z"));
    ASSERT_TRUE(run->finish(items));
  }
  EXPECT_EQ(read(mixed), read(straight));
}

TEST_F(RunFileTest, TheDigestLeavesOutWhatWasMeasuredAndNothingElse) {
  const auto fast = folder / "fast.jsonl", slow = folder / "slow.jsonl", other = folder / "other.jsonl";
  write(fast, items, 1);
  write(slow, items, 99);
  EXPECT_NE(read(fast), read(slow));
  EXPECT_EQ(digest_of_run(fast).value(), digest_of_run(slow).value());
  auto run = RunFile::open(other, run_header(identity, items.size(), "2026-12-01T00:00:00Z"));
  for (const RunItem& item : items) ASSERT_TRUE(run->append(item, golden, result(item.id == "b" ? "B" : item.id), "null", ""));
  EXPECT_NE(digest_of_run(fast).value(), digest_of_run(other).value());
}

TEST_F(RunFileTest, AFullDiskLosesOneItemAndNoOther) {
  const auto file = folder / "run.jsonl";
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto run = RunFile::open(file, run_header(identity, items.size(), "2026-12-01T00:00:00Z"));
  ASSERT_TRUE(run->append(items[0], golden, result("a"), R"({"state":"scored"})", "2026-12-01T00:00:01Z"));
  const auto sound = read(file);
  const rlimit full{sound.size() + 40, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  auto failed = run->append(items[1], golden, result("b"), "null", "");
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::io);
  EXPECT_EQ(read(file), sound);
  EXPECT_TRUE(run->append(items[1], golden, result("b"), "null", "")) << "it can be tried again";
}

TEST_F(RunFileTest, PartsOfARunGiveTheBytesOfTheWhole) {
  std::vector<RunItem> all;
  for (int i = 0; i < 7; ++i) {
    for (std::uint32_t repeat = 1; repeat <= 2; ++repeat) all.push_back({"q" + std::to_string(i), repeat});
  }
  const auto whole = folder / "whole.jsonl", merged = folder / "merged.jsonl";
  write(whole, all);
  std::vector<fs::path> parts;
  for (std::size_t number = 3; number >= 1; --number) {
    std::vector<RunItem> part;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i / 2 % 3 == number - 1) part.push_back(all[i]);
    }
    std::string of = identity;
    of.replace(of.find("\"shard\":null"), 12, R"("shard":{"number":)" + std::to_string(number) + R"(,"of":3})");
    parts.push_back(folder / ("part" + std::to_string(number)));
    write(parts.back(), part, 1.5, of);
  }
  std::string named;
  ASSERT_TRUE(merge_runs(parts, merged, "2026-12-01T00:00:00Z", named));
  EXPECT_EQ(read(merged), read(whole));

  auto twice = merge_runs({parts[0], parts[0], parts[1]}, merged, "", named);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::mismatch);
  auto missing = merge_runs({parts[0], parts[1]}, merged, "", named);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::mismatch);
  EXPECT_FALSE(merge_runs({whole}, merged, "", named)) << "a whole run is no part";
  EXPECT_EQ(named, whole);
  const auto part = read(parts[1]);
  auto into_part = merge_runs(parts, parts[1], "", named);
  ASSERT_FALSE(into_part);
  EXPECT_EQ(into_part.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(named, parts[1]);
  EXPECT_EQ(read(parts[1]), part);
}

/// Kills a process that writes items one after the other at random points, as often as it takes to finish.
TEST_F(RunFileTest, AKilledRunGoesOnAndEndsWithTheSameBytes) {
  std::vector<RunItem> many;
  for (int i = 0; i < 400; ++i) many.push_back({"item " + std::to_string(i), 1});
  const auto whole = folder / "whole.jsonl", killed = folder / "killed.jsonl";
  write(whole, many);
  const auto seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 random(seed);
  int kills = 0;
  const auto written = [&] { return fs::exists(killed) ? fs::file_size(killed) : 0; };
  useconds_t longest = 3000;  // grows while nothing is written, so that slow builds get on too
  for (bool over = false; !over;) {
    const auto before = written();
    const pid_t child = ::fork();
    if (child == 0) {
      auto run = RunFile::open(killed, run_header(identity, many.size(), "2026-12-01T00:00:00Z"));
      if (!run) ::_exit(2);
      for (const RunItem& item : many) {
        if (!run->has(item) && !run->append(item, golden, result(item.id), R"({"state":"scored"})", "2026-12-01T00:00:01Z")) ::_exit(3);
      }
      ::_exit(0);
    }
    ::usleep(std::uniform_int_distribution<useconds_t>(200, longest)(random));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    over = WIFEXITED(status);
    if (over) {
      ASSERT_EQ(WEXITSTATUS(status), 0) << "seed " << seed;
    } else {
      ++kills;
      if (written() <= before) longest += longest / 2;
    }
    ASSERT_LT(kills, 5000) << "it makes no progress; seed " << seed;
  }
  EXPECT_EQ(read(killed), read(whole)) << "seed " << seed << ", " << kills << " kills";
}

TEST_F(RunFileTest, ForeignFilesAreLeftAloneEvenWhereTheRunIsToBeginAnew) {
  const auto file = folder / "notes.txt";
  for (const std::string text : {"notes", "notes\nmore\n", "{\"kind\":\"trace\"}\n", "\n", "{\"kind\":\"runs\"}\n", "{\"name\":\"g\",\"samples\":[]}"}) {
    for (const bool fresh : {false, true}) {
      std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
      auto run = RunFile::open(file, run_header(identity, 1, ""), fresh);
      ASSERT_FALSE(run) << text;
      EXPECT_EQ(run.error().code, ErrorCode::invalid_json);
      EXPECT_EQ(read(file), text);
    }
  }
}

TEST_F(RunFileTest, ARunInAnyStateBeginsAnewWhereThatIsAskedFor) {
  const auto file = folder / "run.jsonl";
  write(file, items);
  const auto whole = read(file);
  for (const std::string& text : {whole, whole.substr(0, 5), whole.substr(0, whole.size() - 9), whole + "junk\n", std::string(R"({"kind":"run","schema":99})") + '\n', std::string()}) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
    auto run = RunFile::open(file, run_header(identity, items.size(), "2026-12-01T00:00:00Z"), true);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->done(), 0U);
    EXPECT_EQ(read(file), whole.substr(0, whole.find('\n') + 1));
  }
}

TEST_F(RunFileTest, WhatFailedBeforeIsCountedWhenItGoesOn) {
  const auto file = folder / "run.jsonl";
  const auto header = run_header(identity, 4, "");
  {
    auto run = RunFile::open(file, header);
    ASSERT_TRUE(run->append({"sound", 1}, golden, R"({"query_id":"sound","status":"completed","error":null})", R"({"metrics":{"faithfulness":{"state":"scored"}}})", ""));
    ASSERT_TRUE(run->append({"late", 1}, golden, R"({"query_id":"late","metrics":{"status":"completed"},"status":"failed","error":"no \"reply\""})", "", ""));
    ASSERT_TRUE(run->append({"dumb", 1}, golden, R"({"query_id":"dumb","status":"failed"})", "", ""));
    ASSERT_TRUE(run->append({"odd", 1}, golden, R"({"query_id":"odd","status":"completed"})",
                            R"({"metrics":{"faithfulness":{"state":"scored"},"correctness":{"reason":"judge_error","state":"judge_error"},"groundedness":{"state":"judge_error"}}})", ""));
    EXPECT_EQ(run->failures().failed, 0U) << "of what was there when it was opened";
  }
  auto run = RunFile::open(file, header);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->failures().failed, 2U);
  EXPECT_EQ(run->failures().judge_errors, 1U);
  EXPECT_EQ(run->failures().first, "late: no \"reply\"");
}

}  // namespace
}  // namespace polygraph::cli
