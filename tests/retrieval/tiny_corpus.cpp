#include "tests/retrieval/tiny_corpus.hpp"

namespace polygraph::tests {

TinyCorpus corpus_of(const std::vector<Passage>& passages, const std::vector<std::vector<float>>& rows) {
  index::IndexInput input;
  for (const auto& passage : passages) {
    if (input.documents.empty() || input.documents.back().id != passage.page) {
      input.documents.push_back({passage.page, passage.title, "/" + passage.page, "", {}});
    }
    input.documents.back().chunks.push_back({passage.heading_path, "", passage.text, {}});
  }
  for (const auto& row : rows) input.vectors.insert(input.vectors.end(), row.begin(), row.end());
  if (!rows.empty()) {
    input.metadata.embedder = {"tiny", "", static_cast<std::uint32_t>(rows.front().size()), "ask: ", 16};
    input.vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nask\n:\nred\nblue\nfish\n";
  }
  auto file = index::write_index(input).value();
  auto index = index::Index::open(file).value();
  return {std::move(file), std::move(index)};  // moving the vector leaves its bytes where they are
}

TinyCorpus corpus_of_texts(const std::vector<std::string>& passages, const std::vector<std::vector<float>>& rows) {
  std::vector<Passage> pages;
  for (std::size_t i = 0; i < passages.size(); ++i) {
    const auto number = std::to_string(1'000 + i);
    pages.push_back({"p" + number.substr(1), "", "", passages[i]});
  }
  return corpus_of(pages, rows);
}

std::vector<std::string> texts(const index::Index& index, const std::vector<index::ChunkNo>& chunks) {
  std::vector<std::string> found;
  for (const auto c : chunks) found.emplace_back(index.chunk(c).text);
  return found;
}

}  // namespace polygraph::tests
