// Recorded runs on disk: which files are taken, which are named and left out, and which one a question finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "proxy/recordings/recordings.hpp"

namespace polygraph::proxy {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string here = "xxh128:" + std::string(32, 'a');
const std::string elsewhere = "xxh128:" + std::string(32, 'b');

class RecordingFiles : public ::testing::Test {
 protected:
  RecordingFiles() {
    std::string pattern = (fs::temp_directory_path() / "polygraph-recordings-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = fs::canonical(pattern);
    fs::create_directory(folder());
  }
  ~RecordingFiles() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  fs::path folder() const { return root_ / "recordings"; }
  fs::path outside() const { return root_; }
  static void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

  static ordered_json document(const std::string& id, const std::string& question, const std::string& at = "2026-11-30T12:00:00Z",
                               const std::string& digest = here) {
    return {{"kind", "recording"}, {"schema", 1}, {"id", id}, {"question", question}, {"aliases", ordered_json::array()}, {"recorded_at", at},
            {"made_by", "polygraph record"}, {"models", {{"generator", "g"}, {"grader", "c"}, {"rewriter", "r"}}}, {"index_digest", digest},
            {"trace", {{"kind", "trace"}, {"answer", "65 degrees."}}}};
  }
  void add(const ordered_json& recording) const { write(folder() / (recording.at("id").get<std::string>() + ".json"), recording.dump()); }

  Recordings load() const {
    auto loaded = Recordings::load(folder());
    EXPECT_TRUE(loaded.has_value());
    return loaded.value_or(Recordings());
  }
  static std::vector<std::string> ids(const Recordings& recordings) {
    std::vector<std::string> ids;
    for (const auto& each : recordings.all()) ids.push_back(each.id);
    return ids;
  }

 private:
  fs::path root_;
};

TEST_F(RecordingFiles, AreListedByIdAndKeptAsTheyStandOnDisk) {
  add(document("soup", "How warm is the soup?"));
  const std::string spaced = document("lamp", "What does a red lamp mean?").dump(3) + "\n";
  write(folder() / "lamp.json", spaced);
  const auto recordings = load();
  EXPECT_THAT(ids(recordings), ElementsAre("lamp", "soup"));
  EXPECT_THAT(recordings.warnings(), IsEmpty());
  const Recording* lamp = recordings.find("lamp");
  ASSERT_NE(lamp, nullptr);
  EXPECT_EQ(lamp->file, spaced);
  EXPECT_EQ(lamp->trace, R"({"kind":"trace","answer":"65 degrees."})");
  EXPECT_EQ(lamp->grader, "c");
  EXPECT_EQ(lamp->index_digest, here);
  EXPECT_EQ(recordings.find("../lamp"), nullptr);
  EXPECT_EQ(recordings.find(""), nullptr);
}

TEST_F(RecordingFiles, AreFoundByTheirQuestionInAnySpelling) {
  auto soup = document("soup", "How warm is the soup?");
  soup["aliases"] = {"Soup temperature", " "};
  add(soup);
  const auto recordings = load();
  for (const char* question : {"How warm is the soup?", "how WARM is the soup", "  How  warm\tis the soup ?! ", "How warm is the soup\xEF\xBC\x9F", "soup temperature."}) {
    const auto* found = recordings.find_question(question, here);
    ASSERT_NE(found, nullptr) << question;
    EXPECT_EQ(found->id, "soup");
  }
  for (const char* question : {"How warm is soup?", "How warm is the soup? And the tea?", "", "?", "How-warm is the soup"}) {
    EXPECT_EQ(recordings.find_question(question, here), nullptr) << question;
  }
}

TEST_F(RecordingFiles, OfThisIndexComeFirstThenTheNewest) {
  add(document("a-old", "Soup?", "2026-01-01T00:00:00Z"));
  add(document("b-new", "Soup?", "2026-02-01T00:00:00Z"));
  add(document("c-newer", "soup", "2026-02-01T00:00:00.5Z"));
  add(document("d-newest", "Soup?", "2026-12-01T00:00:00Z", elsewhere));
  const auto recordings = load();
  EXPECT_EQ(recordings.find_question("soup?", here)->id, "c-newer");
  EXPECT_EQ(recordings.find_question("soup?", elsewhere)->id, "d-newest");
  EXPECT_EQ(recordings.find_question("soup?", "xxh128:unknown")->id, "d-newest");
}

TEST_F(RecordingFiles, OneThatIsBrokenIsNamedAndLeftOut) {
  add(document("good", "Soup?"));
  write(folder() / "cut.json", document("cut", "Soup?").dump().substr(0, 60));
  write(folder() / "array.json", "[]");
  write(folder() / "empty.json", "");
  write(folder() / "latin.json", "{\"kind\": \"caf\xE9\"}");
  add([] { auto d = document("kind", "Q"); d["kind"] = "trace"; return d; }());
  add([] { auto d = document("version", "Q"); d["schema"] = 2; return d; }());
  add([] { auto d = document("time", "Q"); d["recorded_at"] = "yesterday"; return d; }());
  add([] { auto d = document("role", "Q"); d["models"].erase("grader"); return d; }());
  add([] { auto d = document("alias", "Q"); d["aliases"] = {1}; return d; }());
  add([] { auto d = document("trace", "Q"); d["trace"] = nullptr; return d; }());
  add([] { auto d = document("blank", "Q"); d["question"] = " "; return d; }());
  write(folder() / "other.json", document("another-id", "Q").dump());
  write(folder() / "Upper.json", document("Upper", "Q").dump());
  const auto recordings = load();
  EXPECT_THAT(ids(recordings), ElementsAre("good"));
  std::vector<std::string> named;
  for (const auto& warning : recordings.warnings()) named.push_back(warning.field);
  EXPECT_THAT(named, ElementsAre("Upper.json", "alias.json: aliases", "array.json", "blank.json: question", "cut.json", "empty.json", "kind.json: kind",
                                 "latin.json", "other.json: id", "role.json: models.grader", "time.json: recorded_at", "trace.json: trace",
                                 "version.json: schema"));
}

TEST_F(RecordingFiles, WhatIsNoFileOfTheFolderIsPassedOver) {
  add(document("good", "Soup?"));
  write(outside() / "secret.json", document("secret", "Secret?").dump());
  fs::create_symlink(outside() / "secret.json", folder() / "secret.json");
  fs::create_symlink("../secret.json", folder() / "relative.json");
  fs::create_symlink(outside() / "nowhere.json", folder() / "dangling.json");
  fs::create_symlink("loop.json", folder() / "loop.json");
  fs::create_directory(folder() / "folder.json");
  ASSERT_EQ(::mkfifo((folder() / "pipe.json").c_str(), 0600), 0);
  write(folder() / ".hidden.json", document("hidden", "Hidden?").dump());
  write(folder() / "notes.txt", "not ours");
  const auto recordings = load();
  EXPECT_THAT(ids(recordings), ElementsAre("good"));
  EXPECT_THAT(recordings.warnings(), IsEmpty());
}

TEST_F(RecordingFiles, ALinkWithinTheFolderAndALinkToTheFolderAreFollowed) {
  write(folder() / "store", document("soup", "Soup?").dump());
  fs::create_symlink("store", folder() / "soup.json");
  fs::create_symlink(folder(), outside() / "link");
  const auto loaded = Recordings::load(outside() / "link");
  ASSERT_TRUE(loaded.has_value());
  EXPECT_THAT(ids(*loaded), ElementsAre("soup"));
}

TEST_F(RecordingFiles, AFolderThatIsMissingIsAnErrorAndAnEmptyOneIsNone) {
  EXPECT_THAT(load().all(), IsEmpty());
  const auto missing = Recordings::load(folder() / "nothing");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().field, HasSubstr("nothing"));
  write(outside() / "file", "");
  EXPECT_FALSE(Recordings::load(outside() / "file").has_value());
}

TEST_F(RecordingFiles, AHostilelyNestedFileIsLeftOut) {
  write(folder() / "deep.json", std::string(1'000'000, '['));
  write(folder() / "nested.json", std::string(200'000, '[') + std::string(200'000, ']'));
  EXPECT_THAT(load().warnings(), SizeIs(2));
}

TEST(ShippedRecordings, AnswerEveryExampleQuestionSayWhoMadeThemAndHoldNoPassages) {
  const fs::path assets = fs::path(POLYGRAPH_SOURCE_DIR) / "assets";
  const auto recordings = Recordings::load(assets / "recordings");
  ASSERT_TRUE(recordings.has_value());
  EXPECT_THAT(recordings->warnings(), IsEmpty());
  const auto examples = ordered_json::parse(std::ifstream(assets / "page" / "examples.json"));
  for (const auto& group : examples.at("groups")) {
    for (const auto& question : group.at("questions")) EXPECT_NE(recordings->find_question(question.get<std::string>(), ""), nullptr) << question;
  }
  for (const auto& recording : recordings->all()) {
    EXPECT_THAT(recording.made_by, HasSubstr("polygraph record"));
    EXPECT_EQ(recording.trace.find("\"passages\""), std::string::npos) << recording.id;
    const auto trace = ordered_json::parse(recording.trace);
    EXPECT_EQ(trace.at("question"), recording.question);
    EXPECT_EQ(trace.at("index_digest"), recording.index_digest);
    EXPECT_TRUE(trace.at("status") == "answered" || trace.at("status") == "refused") << recording.id;
  }
}

TEST(RecordingIds, AreShortPlainAndNothingElse) {
  for (const auto& id : {std::string("a"), std::string("how-do-i-2"), std::string(64, 'z')}) EXPECT_TRUE(is_recording_id(id)) << id;
  for (const auto& id : {std::string(), std::string(65, 'z'), std::string("A"), std::string("a/b"), std::string("..")}) EXPECT_FALSE(is_recording_id(id)) << id;
}

}  // namespace
}  // namespace polygraph::proxy
