#include "proxy/service/question_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace polygraph::proxy {
namespace {

using nlohmann::json;

class QuestionLogTest : public ::testing::Test {
 protected:
  QuestionLogTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "question log XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~QuestionLogTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::unique_ptr<QuestionLog> open(std::uint64_t most_bytes = 1 << 20) {
    auto log = QuestionLog::open(file(), most_bytes);
    EXPECT_TRUE(log) << log.error().message;
    return std::move(*log);
  }
  std::filesystem::path file() const { return folder_ / "questions.log"; }
  static std::vector<json> lines(const std::filesystem::path& path) {
    std::vector<json> out;
    std::ifstream stream(path);
    for (std::string line; std::getline(stream, line);) out.push_back(json::parse(line));
    return out;
  }
  std::filesystem::path folder_;
};

TEST(Masked, HidesAddressesNumbersAndKeys) {
  const std::pair<const char*, const char*> cases[] = {
      {"Mail jane.doe+x@example.org about it", "Mail [e-mail] about it"},
      {"ssh root@build-7: denied", "ssh [e-mail] denied"},
      {"Call +49 170 123 45 67 now", "Call +[number] now"},
      {"(030) 123-4567", "([number]"},
      {"card 4111 1111 1111 1111?", "card [number]?"},
      {"ticket 123456", "ticket [number]"},
      {"from 192.168.100.24 to here", "from [number] to here"},
      {"fe80::1ff:fe23:4567:890a", "[number]"},
      {"born 1984-05-23", "born [number]"},
      {"token gsk_a8f7k2m9x1q4z6w3v5b0 fails", "token [key] fails"},
      {"id=3f2504e04f8911d39a0c0305e82c3301", "[key]"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(masked(text), expected);
}

TEST(Masked, LeavesWhatDocumentationIsAskedFor) {
  for (const char* text : {"How do I limit a container's memory to 512 MB?", "Does docker 20.10.24 listen on port 8080?", "What does --net-alias do?", "exit code 137 after 30 s", "user@", "@ sign",
                           "COMPOSE_PROJECT_NAME and docker-compose.yml", "a_very_long_option_name_without_numbers", "naïve café 日本語", "http://localhost:2375/v1.41/containers", ""}) {
    EXPECT_EQ(masked(text), text);
  }
}

TEST_F(QuestionLogTest, AnEntryHasTheDayAndNothingThatNamesSomebody) {
  const auto log = open();
  ASSERT_TRUE(log->add({"Is bob@example.org \"allowed\"?\n", "refused", "nothing about bob@example.org", {{"Users", "https://docs.example/users"}}}));
  const auto all = lines(file());
  ASSERT_EQ(all.size(), 1U);
  std::vector<std::string> names;
  for (const auto& [name, ignored] : all[0].items()) names.push_back(name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("kind", "schema", "day", "question", "status", "reason", "closest"));
  EXPECT_EQ(all[0]["question"], "Is [e-mail] \"allowed\"?\n");
  EXPECT_EQ(all[0]["reason"], "nothing about [e-mail]");
  EXPECT_EQ(all[0]["day"].get<std::string>().size(), 10U);
  EXPECT_EQ(all[0]["closest"][0]["title"], "Users");
}

TEST_F(QuestionLogTest, IsForItsOwnerAloneAndGoesOnWhereItEnded) {
  open()->add({"one", "answered", ""});
  open()->add({"two", "answered", ""});
  struct stat about {};
  ASSERT_EQ(::stat(file().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
  EXPECT_EQ(lines(file()).size(), 2U);
}

TEST_F(QuestionLogTest, IsBoundedAndKeepsOneOlderFile) {
  constexpr std::uint64_t most = 4096;
  const auto log = open(most);
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(log->add({"question " + std::to_string(i), "refused", ""}));
  const auto older = file().string() + ".1";
  EXPECT_LE(std::filesystem::file_size(file()), most);
  EXPECT_LE(std::filesystem::file_size(older), most);
  EXPECT_EQ(lines(file()).back()["question"], "question 499");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

TEST_F(QuestionLogTest, TwoServersShareAFileAndLoseNothingWhenItIsPutAside) {
  constexpr std::uint64_t most = 8192;
  const auto first = open(most);
  const auto second = open(most);
  std::size_t asked = 0;
  const auto older = file().string() + ".1";
  // Until the file has been put aside once; then some more, which fit: both files together hold all.
  for (int more = 20; more > 0; more -= std::filesystem::exists(older) ? 1 : 0, ++asked) {
    ASSERT_TRUE((asked % 2 == 0 ? first : second)->add({"question " + std::to_string(asked), "refused", ""}));
  }
  EXPECT_EQ(lines(older).size() + lines(file()).size(), asked);
  EXPECT_EQ(lines(file()).size(), 20U);
  EXPECT_LE(std::filesystem::file_size(older), most);
}

TEST_F(QuestionLogTest, AFileThatIsMovedAwayIsMadeAnew) {
  const auto log = open();
  ASSERT_TRUE(log->add({"before", "refused", ""}));
  std::filesystem::rename(file(), folder_ / "kept");
  ASSERT_TRUE(log->add({"after", "refused", ""}));
  EXPECT_EQ(lines(folder_ / "kept").size(), 1U);
  EXPECT_EQ(lines(file()).back()["question"], "after");
}

TEST_F(QuestionLogTest, ThreadsWriteWholeLines) {
  const auto log = open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { for (int n = 0; n < 100; ++n) log->add({std::string(200, 'q'), "refused", ""}); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(lines(file()).size(), 400U);
}

TEST_F(QuestionLogTest, AFileThatCantBeWrittenIsToldOfOnce) {
  const auto nowhere = QuestionLog::open(folder_ / "no" / "such", 1 << 20);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().field, "QUESTION_LOG");
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  auto full = QuestionLog::open("/dev/full", 1 << 20);
  ASSERT_TRUE(full);
  EXPECT_FALSE((*full)->add({"one", "refused", ""}));
  EXPECT_TRUE((*full)->add({"two", "refused", ""}));
}

}  // namespace
}  // namespace polygraph::proxy
