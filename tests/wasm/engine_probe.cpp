// The native engine over a line protocol, in the words of the WebAssembly one (wasm/bindings/embind.cpp), so that a test
// can compare the two replies as text.
//
//   engine_probe INDEX
//
// One JSON request a line on stdin, one reply a line on stdout:
//   {"scores": {"query", "vector": […]}}            as Engine::scores
//   {"analyse": "text"}                             as Engine::analyse
//   {"open": {"part", "length", "flips": [[offset, mask], …]}}  the file's first `length` bytes with bits flipped
#include <cstddef>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "wasm/index/reader.hpp"
#include "wasm/retrieval/retrieval.hpp"
#include "wasm/text/terms.hpp"
#include "wasm/text/wordpiece.hpp"

namespace {

using Json = nlohmann::ordered_json;
using namespace polygraph;

Json failure(const Error& error) {
  return {{"error", {{"code", name(error.code)}, {"message", error.message}, {"field", error.field}, {"line", error.line}}}};
}

Json scores(const index::Index& index, const Json& request) {
  retrieval::Config config;
  config.fusion = retrieval::Fusion::mix;
  retrieval::Retrieval retrieval(index, request["query"].get<std::string>(), config);
  const auto vector = request["vector"].get<std::vector<float>>();
  if (vector.empty()) {
    retrieval.skip_embedding("no vector was given");
  } else if (auto done = retrieval.set_embedding(vector); !done) {
    return failure(done.error());
  }
  Json ranked = Json::array();
  for (const auto& candidate : retrieval.ranked()) ranked.push_back(index.chunk_id(candidate.chunk));
  const auto bm25 = retrieval.bm25_scores();
  const auto dense = retrieval.dense_scores();
  return {{"ok",
           {{"bm25", std::vector<double>(bm25.begin(), bm25.end())},
            {"dense", std::vector<double>(dense.begin(), dense.end())},
            {"ranked", std::move(ranked)}}}};
}

Json analyse(const index::Index& index, const std::string& text) {
  Json ids = Json::array();
  if (const auto* vocabulary = index.vocabulary()) ids = text::WordPiece(*vocabulary).encode(text, 512).ids;
  Json words = Json::array();
  for (const auto& term : text::terms(text, index.metadata().analysis)) words.push_back(term.text);
  return {{"ok", {{"token_ids", std::move(ids)}, {"terms", std::move(words)}}}};
}

Json open(std::vector<std::byte> file, const Json& request) {
  for (const auto& flip : request["flips"]) file.at(flip[0].get<std::size_t>()) ^= static_cast<std::byte>(flip[1].get<unsigned>());
  const bool all = request["part"] == "all";
  const auto bytes = std::span<const std::byte>(file).first(request["length"].get<std::size_t>());
  const auto opened = index::Index::open(bytes, all ? index::Part::all : index::Part::lexical);
  if (!opened) return failure(opened.error());
  return {{"ok",
           {{"digest", opened->digest()},
            {"documents", opened->documents()},
            {"chunks", opened->chunks()},
            {"part", request["part"]},
            {"metadata", Json::parse(index::to_json(opened->metadata()))}}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: engine_probe INDEX\n";
    return 2;
  }
  std::ifstream stream(argv[1], std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(stream), {}};
  const auto view = std::as_bytes(std::span(content));
  const std::vector<std::byte> file(view.begin(), view.end());
  const auto index = index::Index::open(file);
  if (!index) {
    std::cerr << argv[1] << ": " << index.error().message << '\n';
    return 3;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const Json request = Json::parse(line);
    Json reply;
    if (request.contains("scores")) {
      reply = scores(*index, request["scores"]);
    } else if (request.contains("analyse")) {
      reply = analyse(*index, request["analyse"].get<std::string>());
    } else {
      reply = open(file, request["open"]);
    }
    std::cout << reply.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
}
