#include "tests/index_format/small_index.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "wasm/text/digest.hpp"

namespace polygraph::tests {
namespace {

namespace format = index::format;

void store(std::vector<std::byte>& file, std::size_t at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) file[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
}
void store(std::vector<std::byte>& file, std::size_t at, const text::Digest128& digest) {
  std::transform(digest.begin(), digest.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                 [](std::uint8_t b) { return static_cast<std::byte>(b); });
}
std::size_t entry_at(std::size_t position) { return format::header_bytes + position * format::entry_bytes; }

}  // namespace

index::IndexInput small_corpus() {
  index::IndexInput input;
  input.metadata.corpus = "dir:ferry";
  input.metadata.revision = "1";
  input.metadata.title = "Ferry handbook";
  input.metadata.licence = "CC0-1.0";
  input.metadata.embedder = {"tiny", "00ff", 5, "query: ", 32};
  input.metadata.reranker = {"pairs", "ff00", 0, "", 64};
  input.metadata.chunker = "by hand";
  input.metadata.builder = "test";
  input.metadata.skipped = {"broken.md: not UTF-8"};
  input.documents = {
      {"deck/lights", "Deck lights", "https://ferry.example/deck/lights", "MIT",
       {{"", "", "Set `--night-mode` before the ferry leaves. Lights lights lights.", {{4, 18, "https://ferry.example/night"}}},
        {"Deck lights > Colours", "colours", "Red to port, green to starboard; see colours.yml.", {}}}},
      {"anker", "Anker und Kette", "anker", "",
       {{"Kette > Länge", "länge", "Die Kette des Ankers ist 80 m lang. 錨は重い。", {{0, 3, "kette"}, {36, 39, "../錨"}}}}},
      {"empty", "Nothing yet", "", "", {}},
  };
  for (int i = 0; i < 15; ++i) input.vectors.push_back(static_cast<float>(std::sin(i)) / 2.0F);
  input.vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nferry\nlight\n##s\nanchor\nquery\n:\n";
  return input;
}

std::vector<std::byte> small_index() { return index::write_index(small_corpus()).value(); }

format::Section section_of(const std::vector<std::byte>& file, format::SectionKind kind) {
  const std::byte* entry = file.data() + entry_at(static_cast<std::size_t>(kind) - 1);
  return {format::load_u64(entry + 8), format::load_u64(entry + 16), {}};
}

void seal(std::vector<std::byte>& file) {
  if (file.size() < format::table_end) return;
  for (std::size_t i = 0; i < format::section_count; ++i) {
    const auto section = section_of(file, format::kind_at(i));
    if (section.offset > file.size() || section.length > file.size() - section.offset) continue;
    store(file, entry_at(i) + 24, text::digest128(std::span<const std::byte>(file).subspan(section.offset, section.length)));
  }
  store(file, 24, text::digest128(std::span<const std::byte>(file).subspan(format::header_bytes, format::table_end - format::header_bytes)));
}

std::vector<std::byte> with_section(const std::vector<std::byte>& file, format::SectionKind kind, const std::vector<std::byte>& content) {
  std::vector<std::byte> out(file.begin(), file.begin() + format::table_end);
  for (std::size_t i = 0; i < format::section_count; ++i) {
    out.resize(format::align(out.size()));
    const auto offset = out.size();
    if (format::kind_at(i) == kind) {
      out.insert(out.end(), content.begin(), content.end());
    } else {
      const auto section = section_of(file, format::kind_at(i));
      const auto begin = file.begin() + static_cast<std::ptrdiff_t>(section.offset);
      out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(section.length));
    }
    store(out, entry_at(i) + 8, offset, 8);
    store(out, entry_at(i) + 16, out.size() - offset, 8);
  }
  store(out, 16, out.size(), 8);
  seal(out);
  return out;
}

}  // namespace polygraph::tests
