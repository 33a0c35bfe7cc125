// Damaged index files: whatever the bytes, opening either fails with an error that names a place or gives an index that
// can be walked from end to end. Run it under AddressSanitizer and UndefinedBehaviorSanitizer (preset `sanitize`).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include "tests/index_format/small_index.hpp"
#include "tests/index_format/walk.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph {
namespace {

using index::Index;
using index::Part;
namespace format = index::format;
using Bytes = std::vector<std::byte>;

/// An exact-size copy: reading one byte past it is an error that AddressSanitizer sees.
struct Exact {
  explicit Exact(std::span<const std::byte> from) : bytes(std::make_unique<std::byte[]>(from.size())), size(from.size()) {
    std::copy(from.begin(), from.end(), bytes.get());
  }
  std::span<const std::byte> view() const { return {bytes.get(), size}; }
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size;
};

/// Opens and walks; says whether it opened.
bool survives(std::span<const std::byte> file, Part part = Part::all) {
  const Exact copy(file);
  const auto index = Index::open(copy.view(), part);
  if (!index) {
    EXPECT_FALSE(index.error().message.empty());
    EXPECT_FALSE(index.error().field.empty()) << index.error().message;
    return false;
  }
  tests::walk(*index);
  return true;
}

TEST(DamagedIndex, CutAtAnyByteIsTruncated) {
  const Bytes file = tests::small_index();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Exact cut(std::span<const std::byte>(file).first(size));
    const auto index = Index::open(cut.view());
    ASSERT_FALSE(index) << "cut at byte " << size;
    EXPECT_EQ(index.error().code, ErrorCode::truncated) << "cut at byte " << size << ": " << index.error().message;
    EXPECT_FALSE(index.error().field.empty());
  }
}

TEST(DamagedIndex, LexicalPartOpensExactlyFromItsExtentOn) {
  const Bytes file = tests::small_index();
  const auto extent = index::extent(file).value();
  ASSERT_LT(extent.lexical, extent.all);
  EXPECT_EQ(extent.all, file.size());
  for (std::size_t size = 0; size <= file.size(); ++size) {
    EXPECT_EQ(survives(std::span(file).first(size), Part::lexical), size >= extent.lexical) << "cut at byte " << size;
  }
}

TEST(DamagedIndex, OneFlippedBitAnywhereIsDetected) {
  Bytes file = tests::small_index();
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << bit % 8);
    file[bit / 8] ^= mask;
    EXPECT_FALSE(survives(file)) << "bit " << bit % 8 << " of byte " << bit / 8;
    file[bit / 8] ^= mask;
  }
  EXPECT_TRUE(survives(file));
}

TEST(DamagedIndex, BytesBehindTheEndAreRefused) {
  Bytes file = tests::small_index();
  file.push_back(std::byte{0});
  EXPECT_FALSE(survives(file));
}

TEST(DamagedIndex, AnotherVersionSaysWhichOneItIs) {
  Bytes file = tests::small_index();
  file[8] = std::byte{7};
  const auto index = Index::open(file);
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::unsupported_version);
  EXPECT_NE(index.error().message.find("version 7"), std::string::npos) << index.error().message;
}

TEST(DamagedIndex, AnotherKindOfFileIsNotCalledTruncated) {
  const std::string html = "<!doctype html><title>404</title>";
  const auto index = Index::open(std::as_bytes(std::span(html)));
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::corrupt);
}

/// One random edit of one of many kinds.
void mutate(Bytes& file, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1)); };
  if (file.empty()) return;
  switch (below(7)) {
    case 0:  // a flipped bit
      file[below(file.size())] ^= static_cast<std::byte>(1U << below(8));
      break;
    case 1:  // another byte
      file[below(file.size())] = static_cast<std::byte>(random());
      break;
    case 2:  // a cut
      file.resize(below(file.size()));
      break;
    case 3: {  // a piece copied over another
      const auto from = below(file.size()), to = below(file.size());
      const auto size = std::min({below(64), file.size() - from, file.size() - to});
      const Bytes piece(file.begin() + static_cast<std::ptrdiff_t>(from), file.begin() + static_cast<std::ptrdiff_t>(from + size));
      std::copy(piece.begin(), piece.end(), file.begin() + static_cast<std::ptrdiff_t>(to));
      break;
    }
    case 4: {  // a piece inserted or taken out
      const auto at = file.begin() + static_cast<std::ptrdiff_t>(below(file.size()));
      const auto size = std::min<std::size_t>(1 + below(16), static_cast<std::size_t>(file.end() - at));
      if (below(2) == 0) {
        file.erase(at, at + static_cast<std::ptrdiff_t>(size));
      } else {
        file.insert(at, size, static_cast<std::byte>(random()));
      }
      break;
    }
    case 5: {  // a field of the table: kind, offset or length
      if (file.size() < format::table_end) break;
      const auto at = format::header_bytes + below(format::section_count) * format::entry_bytes + below(24);
      file[at] = static_cast<std::byte>(random());
      break;
    }
    default: {  // a 32-bit value at its extremes, or near what it was
      if (file.size() < 8) break;
      const auto at = below(file.size() / 4) * 4;
      if (at + 4 > file.size()) break;
      const std::uint32_t old = format::load_u32(file.data() + at);
      const std::uint32_t values[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, old + 1, old - 1, old * 2, old + 0x10000};
      const auto value = values[below(std::size(values))];
      for (std::size_t i = 0; i < 4; ++i) file[at + i] = static_cast<std::byte>(value >> (8 * i));
    }
  }
}

constexpr int mutations = 20'000;

TEST(DamagedIndex, RandomMutationsAreErrorsOrHarmless) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Bytes file = tests::small_index();
  for (int i = 0; i < mutations && !HasFailure(); ++i) {
    Bytes damaged = file;
    for (auto edits = 1 + random() % 3; edits > 0; --edits) mutate(damaged, random);
    if (damaged != file) {
      EXPECT_FALSE(survives(damaged)) << "mutation " << i;
    }
    survives(damaged, Part::lexical);
  }
}

TEST(DamagedIndex, MutationsUnderValidChecksumsAreErrorsOrHarmless) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Bytes file = tests::small_index();
  int opened = 0;
  for (int i = 0; i < mutations && !HasFailure(); ++i) {
    Bytes damaged = file;
    for (auto edits = 1 + random() % 3; edits > 0; --edits) mutate(damaged, random);
    tests::seal(damaged);
    opened += survives(damaged) ? 1 : 0;
    survives(damaged, Part::lexical);
  }
  // Edits of text, vectors and such are harmless, so many must open: otherwise nothing behind the checksums was tested.
  EXPECT_GT(opened, mutations / 100);
}

TEST(DamagedIndex, MutatedSectionsOfAnyLengthAreErrorsOrHarmless) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Bytes file = tests::small_index();
  int opened = 0;
  for (int i = 0; i < mutations && !HasFailure(); ++i) {
    const auto kind = format::kind_at(random() % format::section_count);
    const auto section = tests::section_of(file, kind);
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(section.offset);
    Bytes content(begin, begin + static_cast<std::ptrdiff_t>(section.length));
    for (auto edits = 1 + random() % 2; edits > 0; --edits) mutate(content, random);
    const Bytes damaged = tests::with_section(file, kind, content);
    opened += survives(damaged) ? 1 : 0;
  }
  EXPECT_GT(opened, mutations / 100);
}

/// A section whose content breaks one rule, with valid checksums.
void expect_refused(format::SectionKind kind, const std::function<void(Bytes&)>& damage) {
  const Bytes file = tests::small_index();
  const auto section = tests::section_of(file, kind);
  const auto begin = file.begin() + static_cast<std::ptrdiff_t>(section.offset);
  Bytes content(begin, begin + static_cast<std::ptrdiff_t>(section.length));
  damage(content);
  const Bytes damaged = tests::with_section(file, kind, content);
  const Exact copy(damaged);
  const auto index = Index::open(copy.view());
  ASSERT_FALSE(index) << format::name(kind);
  EXPECT_EQ(index.error().code, ErrorCode::corrupt);
  EXPECT_EQ(index.error().field, format::name(kind)) << index.error().message;
}

TEST(DamagedIndex, EachSectionIsNamedWhenItsStructureIsBroken) {
  using format::SectionKind;
  const auto cut = [](Bytes& content) { content.pop_back(); };
  const auto grow = [](Bytes& content) { content.push_back(std::byte{1}); };
  for (const auto kind : {SectionKind::metadata, SectionKind::documents, SectionKind::chunks, SectionKind::links,
                          SectionKind::idf, SectionKind::vectors, SectionKind::scales}) {
    expect_refused(kind, cut);
    expect_refused(kind, grow);
  }
  expect_refused(SectionKind::terms, [](Bytes& content) { content[4] = std::byte{1}; });
  expect_refused(SectionKind::terms, [](Bytes& content) { content.back() = std::byte{0xFF}; });
  expect_refused(SectionKind::chunks, [](Bytes& content) { content.back() = std::byte{0x80}; });
  expect_refused(SectionKind::postings, [](Bytes& content) { content[0] = std::byte{0}; });
  expect_refused(SectionKind::postings, [](Bytes& content) { content[1] |= std::byte{3}; });
  expect_refused(SectionKind::vocabulary, [](Bytes& content) { content[1] = std::byte{'X'}; });
  expect_refused(SectionKind::vocabulary, [](Bytes& content) { content.clear(); });
  expect_refused(SectionKind::scales, [](Bytes& content) { content[3] = std::byte{0xFF}, content[2] = std::byte{0xFF}; });
}

}  // namespace
}  // namespace polygraph
