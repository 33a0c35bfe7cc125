// A run of 100,000 items is reported and gated within 512 MB of memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fmt/format.h>

#include "cli/runs/run_file.hpp"
#include "tests/cli/program.hpp"

namespace polygraph::cli::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr long most_kilobytes = 512 * 1024;
#if defined(__SANITIZE_ADDRESS__)
constexpr bool measured = false;  // its shadow is no memory of the program's own
#else
constexpr bool measured = true;
#endif
constexpr std::uint64_t count = measured ? 100'000 : 1'000;

class LargeRun : public ProgramTest {
 protected:
  /// Real lines, the passages' text and the trace included, under ids of their own.
  std::filesystem::path large() {
    const auto golden = write("golden.jsonl",
                              R"({"id":"soup","type":"answerable","question":"At what temperature is the fish soup kept?","reference_answer":"65 degrees","relevant_chunk_ids":["galley/soup#000"],"pool_ids":["galley/soup#000"],"should_refuse":false}
{"id":"tax","type":"unanswerable","question":"What is the income tax rate of Portugal?","should_refuse":true}
)");
    const auto small = folder() / "small.jsonl", file = folder() / "large.jsonl";
    const auto done = run({"run", "--index", lexical_index(), "--dataset", golden.string(), "--set", "RETRIEVAL_MODE=bm25", "--set", "USE_RERANKER=false", "--out", small.string()});
    EXPECT_EQ(done.status, 0) << done.err;
    struct Line {
      std::string golden, result;
    };
    std::vector<Line> lines;
    const auto header = read_run(small, [&](const RunLine& line) -> Result<void> {
      lines.push_back({std::string(line.golden), std::string(line.result)});
      return {};
    });
    EXPECT_TRUE(header);
    const auto renamed = [](std::string text, const std::string& field, const std::string& id) {
      const std::string begin = "\"" + field + "\":\"";
      const auto at = text.find(begin) + begin.size();
      return text.replace(at, text.find('"', at) - at, id);
    };
    auto whole = RunFile::open(file, run_header(header->identity, count, header->created_at));
    EXPECT_TRUE(whole);
    for (std::uint64_t i = 0; i < count; ++i) {
      const Line& line = lines[i % lines.size()];
      const std::string id = fmt::format("item-{}", i);
      EXPECT_TRUE(whole->append({id, 1}, renamed(line.golden, "id", id), renamed(line.result, "query_id", id), "", header->created_at));
    }
    return file;
  }
};

TEST_F(LargeRun, IsReportedAndGatedWithin512Megabytes) {
  const auto dist = std::filesystem::path(POLYGRAPH_SOURCE_DIR) / "dist";
  if (!std::filesystem::exists(dist / "report.html")) GTEST_SKIP() << "dist/report.html is not built: `node web/build.mjs pages`";
  const auto file = large(), md = folder() / "report.md", html = folder() / "report.html";
  const auto shown = run({"report", file.string(), "--md", md.string(), "--html", html.string()}, {.environment = {{"POLYGRAPH_DIST", dist.string()}}});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr(fmt::format("{} items", count)));
  EXPECT_THAT(read(md), HasSubstr("| recall@4 |"));
  EXPECT_GT(std::filesystem::file_size(html), std::filesystem::file_size(file) / 2) << "every result is on the page";
  const auto gate = run({"gate", "--results", file.string(), "--thresholds", write("t.json", R"({"min": {"hit_rate@4": 1}, "max": {"false_refusal_rate": 0}})").string()});
  EXPECT_EQ(gate.status, 0) << gate.out << gate.err;
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);  // the largest of the programs that ended
  if (measured) {
    EXPECT_LE(usage.ru_maxrss, most_kilobytes);
  }
  std::printf("%ld MB at most for %ju MB of results\n", usage.ru_maxrss / 1024, static_cast<std::uintmax_t>(std::filesystem::file_size(file) >> 20U));
}

}  // namespace
}  // namespace polygraph::cli::test
