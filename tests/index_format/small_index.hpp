// A small corpus of our own with everything that the format can hold, and an in-place editor for its file.
#pragma once

#include <cstddef>
#include <vector>

#include "wasm/index/format.hpp"
#include "wasm/index/writer.hpp"

namespace polygraph::tests {

/// Three documents (one without chunks), links, several scripts, vectors of 5 dimensions.
index::IndexInput small_corpus();
std::vector<std::byte> small_index();

/// Where the table says that a section is.
index::format::Section section_of(const std::vector<std::byte>& file, index::format::SectionKind kind);

/// Makes lengths, checksums and the table's digest fit the sections again, so that what is tested behind them is reached.
/// Sections keep their bounds.
void seal(std::vector<std::byte>& file);

/// The file with one section's content replaced: offsets, lengths and checksums are those of a whole file.
std::vector<std::byte> with_section(const std::vector<std::byte>& file, index::format::SectionKind kind,
                                    const std::vector<std::byte>& content);

}  // namespace polygraph::tests
