#include "wasm/index/format.hpp"

#include <algorithm>
#include <string>

namespace polygraph::index::format {
namespace {

constexpr std::array<std::string_view, section_count> names = {"metadata", "documents", "chunks",     "links",   "terms",
                                                               "postings", "idf",       "vocabulary", "vectors", "scales"};

text::Digest128 load_digest(const std::byte* at) noexcept {
  text::Digest128 digest;
  std::transform(at, at + digest.size(), digest.begin(), [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  return digest;
}

}  // namespace

std::string_view name(SectionKind kind) noexcept {
  const auto position = static_cast<std::size_t>(kind) - 1;
  return position < names.size() ? names[position] : "unknown";
}

Result<Table> read_table(std::span<const std::byte> prefix) {
  const std::size_t known = std::min(prefix.size(), magic.size());
  for (std::size_t i = 0; i < known; ++i) {
    if (std::to_integer<std::uint8_t>(prefix[i]) != magic[i]) {
      return fail(ErrorCode::corrupt, "this is not a Polygraph index: its first bytes are others", "header");
    }
  }
  if (prefix.size() >= 12) {
    if (const auto found = load_u32(prefix.data() + 8); found != version) {
      return fail(ErrorCode::unsupported_version,
                  "index format version " + std::to_string(found) + "; this program reads version " + std::to_string(version) +
                      ": build the index again",
                  "header");
    }
  }
  if (prefix.size() < table_end) {
    return fail(ErrorCode::truncated,
                "the file ends after " + std::to_string(prefix.size()) + " bytes, inside its header and section table of " +
                    std::to_string(table_end) + " bytes",
                prefix.size() < header_bytes ? "header" : "section table");
  }
  if (const auto count = load_u32(prefix.data() + 12); count != section_count) {
    return fail(ErrorCode::corrupt, "the header names " + std::to_string(count) + " sections; there must be " +
                                        std::to_string(section_count),
                "header");
  }

  Table table;
  table.file_length = load_u64(prefix.data() + 16);
  table.digest = load_digest(prefix.data() + 24);
  const auto entries = prefix.subspan(header_bytes, section_count * entry_bytes);
  if (text::digest128(entries) != table.digest) {
    return fail(ErrorCode::corrupt, "the section table does not match its checksum", "section table");
  }

  std::uint64_t expected = table_end;
  for (std::size_t i = 0; i < section_count; ++i) {
    const std::byte* entry = entries.data() + i * entry_bytes;
    const std::string field(names[i]);
    if (load_u32(entry) != static_cast<std::uint32_t>(kind_at(i)) || load_u32(entry + 4) != 0) {
      return fail(ErrorCode::corrupt, "entry " + std::to_string(i) + " of the section table is not this section", field);
    }
    Section& section = table.sections[i];
    section.offset = load_u64(entry + 8);
    section.length = load_u64(entry + 16);
    section.checksum = load_digest(entry + 24);
    expected = align(expected);
    if (section.offset != expected) {
      return fail(ErrorCode::corrupt,
                  "the section begins at byte " + std::to_string(section.offset) + ", not at " + std::to_string(expected), field);
    }
    if (section.offset > table.file_length || section.length > table.file_length - section.offset) {
      return fail(ErrorCode::corrupt,
                  "the section's length of " + std::to_string(section.length) + " bytes leads past the end of the file", field);
    }
    expected = section.offset + section.length;
    if (i + 1 == lexical_section_count) table.lexical_end = expected;
  }
  if (expected != table.file_length) {
    return fail(ErrorCode::corrupt,
                "the header promises " + std::to_string(table.file_length) + " bytes, the sections end at " + std::to_string(expected),
                "header");
  }
  return table;
}

}  // namespace polygraph::index::format
