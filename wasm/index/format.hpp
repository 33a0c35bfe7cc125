// The index file's layout, shared by its writer and its reader.
//
// Everything is little-endian. Sections stand in the order of SectionKind, each on a multiple of 8 bytes, with zero bytes
// between them; the file ends with its last section. The first seven are all that lexical search needs, so a prefix of
// the file is already usable.
//
//   header   40 bytes
//      0  u8[8]   magic: 0x89 "PLY" CR LF 0x1A LF (a transfer that rewrites line ends or strips bit 7 breaks it, as in PNG)
//      8  u32     format version
//     12  u32     number of sections
//     16  u64     length of the file
//     24  u8[16]  XXH3-128 of the section table, canonical form: the identity of the index
//   section table   40 bytes per section
//      0  u32     kind
//      4  u32     0
//      8  u64     offset from the start of the file
//     16  u64     length in bytes
//     24  u8[16]  XXH3-128 of the section, canonical form
//
// A *string table* of n strings is u32 offsets[n + 1], beginning with 0 and never falling, then the strings' bytes (UTF-8)
// without separators.
//
//   metadata    JSON, see metadata.hpp
//   documents   u32 n; u32 first_chunk[n + 1]; string table of 4n: id, title, url, licence. Ids strictly rising.
//   chunks      u32 n; string table of 3n: heading path, anchor, text
//   links       u32 n; u32 first_link[chunks + 1]; u32 (begin, end)[n]; string table of n: target
//   terms       u32 n; u32 posting_offset[n + 1]; string table of n, strictly rising in byte order
//   postings    per term: LEB128 df, then df postings in chunk order, each LEB128 (gap << 2 | code), gap >= 1 counted from
//               the term's previous chunk (from -1 for the first); code 0: once in the body and nowhere else; code 1:
//               body only, LEB128 tf follows; code 2: LEB128 tf of body, title and heading follow.
//               Field lengths are the sums of these tf, so they are not stored.
//   idf         u32 n; u32 0; u32 df[n], padded to 8 bytes; f64 idf[n]: one entry for df = 0 and one for each df that
//               occurs, df rising and idf falling. (A query takes no logarithm: C libraries differ in its last bit.)
//   vocabulary  the models' vocab.txt; may be empty when there are no vectors
//   vectors     i8[chunks * dimensions], or empty
//   scales      f32[chunks], or empty: vector = row * scale
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "wasm/bits.hpp"
#include "wasm/error.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::index::format {

inline constexpr std::array<std::uint8_t, 8> magic = {0x89, 'P', 'L', 'Y', '\r', '\n', 0x1A, '\n'};
inline constexpr std::uint32_t version = 1;

inline constexpr std::size_t header_bytes = 40;
inline constexpr std::size_t entry_bytes = 40;
inline constexpr std::size_t alignment = 8;

enum class SectionKind : std::uint32_t { metadata = 1, documents, chunks, links, terms, postings, idf, vocabulary, vectors, scales };
inline constexpr std::size_t section_count = 10;
inline constexpr std::size_t lexical_section_count = 7;
inline constexpr std::size_t table_end = header_bytes + section_count * entry_bytes;

inline constexpr std::size_t strings_per_document = 4;
inline constexpr std::size_t strings_per_chunk = 3;

/// Longest vector: products of two int8 sum up in an int32 without overflow (65,536 * 128 * 128 = 2^30).
inline constexpr std::uint32_t max_dimensions = 65'536;

/// As it stands in an error's `field`.
std::string_view name(SectionKind kind) noexcept;
inline SectionKind kind_at(std::size_t position) noexcept { return static_cast<SectionKind>(position + 1); }

constexpr std::uint64_t align(std::uint64_t offset) noexcept { return (offset + (alignment - 1)) / alignment * alignment; }

inline std::uint32_t load_u32(const std::byte* at) noexcept {
  return std::to_integer<std::uint32_t>(at[0]) | std::to_integer<std::uint32_t>(at[1]) << 8 |
         std::to_integer<std::uint32_t>(at[2]) << 16 | std::to_integer<std::uint32_t>(at[3]) << 24;
}
inline std::uint64_t load_u64(const std::byte* at) noexcept {
  return std::uint64_t{load_u32(at)} | std::uint64_t{load_u32(at + 4)} << 32;
}

struct Section {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  text::Digest128 checksum{};
};

struct Table {
  std::array<Section, section_count> sections;  ///< in file order
  std::uint64_t lexical_end = 0;                ///< bytes that the lexical sections need
  std::uint64_t file_length = 0;
  text::Digest128 digest{};
};

/// Header and table of a file that begins with `prefix`; needs table_end bytes. Every section then lies inside
/// [0, file_length), in order and without overlap. Whether `prefix` holds the sections is for the caller to check.
Result<Table> read_table(std::span<const std::byte> prefix);

}  // namespace polygraph::index::format
