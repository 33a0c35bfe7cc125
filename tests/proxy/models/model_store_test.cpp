// The cache of models: where it is, and what it says about its files.
#include "proxy/models/model_store.hpp"

#include <cstdlib>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "proxy/models/sha256.hpp"

namespace polygraph::models {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// Sets an environment variable for one test.
class Variable {
 public:
  Variable(const char* variable, const char* value) : name_(variable) {
    if (const char* const old = std::getenv(variable)) old_ = old;
    if (value) ::setenv(variable, value, 1);
    else ::unsetenv(variable);
  }
  ~Variable() {
    if (old_) ::setenv(name_, old_->c_str(), 1);
    else ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(ModelStore, LivesWhereTheEnvironmentSays) {
  const Variable home("HOME", "/home/ada");
  {
    const Variable own("POLYGRAPH_DIR", nullptr), cache("XDG_CACHE_HOME", nullptr);
    EXPECT_EQ(ModelStore::default_root(), "/home/ada/.cache/polygraph");
  }
  {
    const Variable own("POLYGRAPH_DIR", nullptr), cache("XDG_CACHE_HOME", "/var/cache/ada");
    EXPECT_EQ(ModelStore::default_root(), "/var/cache/ada/polygraph");
  }
  {
    const Variable own("POLYGRAPH_DIR", nullptr), cache("XDG_CACHE_HOME", "relative");
    EXPECT_EQ(ModelStore::default_root(), "/home/ada/.cache/polygraph") << "the specification ignores relative paths";
  }
  {
    const Variable own("POLYGRAPH_DIR", "/srv/poly graph"), cache("XDG_CACHE_HOME", "/var/cache/ada");
    EXPECT_EQ(ModelStore::default_root(), "/srv/poly graph");
  }
}

class OneModel : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "model-store-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    Sha256 sha256;
    sha256.update(std::as_bytes(std::span(std::string_view("weights"))));
    Model model;
    model.role = "embedder";
    model.name = "tests/tiny";
    model.files.push_back({"model.onnx", 7, sha256.hex(), "MIT", {}});
    manifest_.models.push_back(model);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void put(const std::string& content) {
    const fs::path path = ModelStore(folder_).path(manifest_.models[0], manifest_.models[0].files[0]);
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  FileState listed() { return ModelStore(folder_).list(manifest_)[0].state; }
  FileState verified() { return ModelStore(folder_).verify(manifest_)[0].state; }

  fs::path folder_;
  Manifest manifest_;
};

TEST_F(OneModel, IsMissingPresentCutOrDamaged) {
  EXPECT_EQ(listed(), FileState::missing);
  EXPECT_EQ(verified(), FileState::missing);
  put("weights");
  EXPECT_EQ(listed(), FileState::present);
  EXPECT_EQ(verified(), FileState::present);
  put("weight");
  EXPECT_EQ(listed(), FileState::wrong_size);
  put("Weights");
  EXPECT_EQ(listed(), FileState::present);
  EXPECT_EQ(verified(), FileState::wrong_digest);
}

TEST_F(OneModel, IsListedForPeopleAndForPrograms) {
  put("weights");
  const auto files = ModelStore(folder_).list(manifest_);
  EXPECT_THAT(to_rows(files), HasSubstr("embedder  tests/tiny  model.onnx     0.0  present       MIT\n"));
  const auto document = to_json(files);
  ASSERT_EQ(document.size(), 1u);
  EXPECT_EQ(document[0]["state"], "present");
  EXPECT_EQ(document[0]["bytes"], 7);
  EXPECT_EQ(document[0]["sha256"], manifest_.models[0].files[0].sha256);
}

TEST_F(OneModel, IsHandedToTheWorkerByRoleEvenWhereItsFileIsMissing) {
  const auto options = ModelStore(folder_).worker_options(manifest_);
  EXPECT_EQ(options.embedder.name, "tests/tiny");
  EXPECT_EQ(options.embedder.path, ModelStore(folder_).path(manifest_.models[0], manifest_.models[0].files[0]));
  EXPECT_TRUE(options.reranker.path.empty());
}

}  // namespace
}  // namespace polygraph::models
