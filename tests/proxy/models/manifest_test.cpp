// The model manifest: the project's own, and documents that are wrong in one place.
#include "proxy/models/manifest.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace polygraph::models {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json minimal() {
  const std::string digest(64, 'a');
  return {{"version", 1},
          {"models",
           {{{"role", "embedder"},
             {"name", "tests/tiny"},
             {"licence", "MIT"},
             {"dimensions", 4},
             {"pooling", "cls"},
             {"normalised", true},
             {"max_tokens", 16},
             {"files",
              {{{"name", "model.onnx"},
                {"bytes", 10},
                {"sha256", digest},
                {"licence", "MIT"},
                {"sources", {{{"url", "https://example.org/model.onnx"}}}}}}}}}}};
}

Error error_of(const json& document) {
  const auto manifest = Manifest::parse(document.dump(), "tiny.json");
  EXPECT_FALSE(manifest);
  return manifest ? Error{} : manifest.error();
}

TEST(Manifest, TheProjectsOwnNamesBothModelsWithAllTheirFiles) {
  const auto manifest = Manifest::read(POLYGRAPH_SOURCE_DIR "/assets/models.json");
  ASSERT_TRUE(manifest) << manifest.error().message;
  const Model* const embedder = manifest->find("embedder");
  ASSERT_TRUE(embedder);
  EXPECT_EQ(embedder->dimensions, 384u);
  EXPECT_EQ(embedder->max_tokens, 512u);
  EXPECT_TRUE(embedder->normalised);
  EXPECT_EQ(embedder->query_prefix, "Represent this sentence for searching relevant passages: ");
  ASSERT_TRUE(embedder->file("model.onnx"));
  EXPECT_EQ(embedder->file("model.onnx")->sha256, "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743");
  const Model* const reranker = manifest->find("reranker");
  ASSERT_TRUE(reranker);
  EXPECT_EQ(reranker->file("model.onnx")->sha256, "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1");
  for (const Model& model : manifest->models) {
    for (const char* const name : {"model.onnx", "vocab.txt", "tokenizer.json"}) {
      const ModelFile* const file = model.file(name);
      ASSERT_TRUE(file) << model.role << " " << name;
      ASSERT_EQ(file->sources.size(), 2u);
      EXPECT_TRUE(std::holds_alternative<WheelSource>(file->sources[0]));
      EXPECT_TRUE(std::holds_alternative<PackageSource>(file->sources[1]));
    }
  }
}

TEST(Manifest, AMinimalOneIsRead) {
  const auto manifest = Manifest::parse(minimal().dump(), "tiny.json");
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(std::get<UrlSource>(manifest->models[0].files[0].sources[0]).url, "https://example.org/model.onnx");
  EXPECT_EQ(manifest->find("reranker"), nullptr);
}

TEST(Manifest, AMissingFieldIsNamedWithItsFullPath) {
  json document = minimal();
  document["models"][0]["files"][0].erase("sha256");
  const Error error = error_of(document);
  EXPECT_EQ(error.code, ErrorCode::invalid_json);
  EXPECT_EQ(error.field, "models[0].files[0].sha256");
  EXPECT_THAT(error.message, HasSubstr("tiny.json: `models[0].files[0].sha256` is missing"));
}

TEST(Manifest, AValueOfTheWrongTypeIsNamed) {
  json document = minimal();
  document["models"][0]["files"][0]["bytes"] = "ten";
  EXPECT_EQ(error_of(document).field, "models[0].files[0].bytes");
  document = minimal();
  document["models"] = "none";
  EXPECT_EQ(error_of(document).field, "models");
  document = minimal();
  document["models"][0]["files"][0]["sources"] = {3};
  EXPECT_EQ(error_of(document).field, "models[0].files[0].sources[0]");
}

TEST(Manifest, ADigestThatIsNoDigestIsRefused) {
  json document = minimal();
  document["models"][0]["files"][0]["sha256"] = std::string(64, 'A');
  EXPECT_THAT(error_of(document).message, HasSubstr("64 lower-case hexadecimal digits"));
}

TEST(Manifest, AFileNameThatLeadsOutOfTheCacheIsRefused) {
  for (const char* const name : {"../../.bashrc", "a/b", "..", "."}) {
    json document = minimal();
    document["models"][0]["files"][0]["name"] = name;
    EXPECT_EQ(error_of(document).field, "models[0].files[0].name") << name;
  }
}

TEST(Manifest, AnUnknownOrRepeatedRoleIsRefused) {
  json document = minimal();
  document["models"][0]["role"] = "judge";
  EXPECT_EQ(error_of(document).field, "models[0].role");
  document = minimal();
  document["models"].push_back(document["models"][0]);
  EXPECT_EQ(error_of(document).field, "models[1].role");
}

TEST(Manifest, AnotherVersionIsRefused) {
  json document = minimal();
  document["version"] = 2;
  EXPECT_EQ(error_of(document).code, ErrorCode::unsupported_version);
}

TEST(Manifest, WhatIsNoJsonIsRefused) {
  const auto manifest = Manifest::parse("version: 1", "tiny.json");
  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.error().code, ErrorCode::invalid_json);
  EXPECT_EQ(Manifest::read("/no/such/models.json").error().code, ErrorCode::io);
}

}  // namespace
}  // namespace polygraph::models
