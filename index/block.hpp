// A block of a page: the text of one paragraph, list, table or code fence, with what is needed to cut it later.
//
// Every reader (Markdown, BEIR) reduces its pages to sections of blocks; the chunker knows nothing else. All offsets are
// bytes into the block's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/index/writer.hpp"

namespace polygraph::corpus {

/// A place where a block may be cut if it is too long as a whole. The lowest rank that helps is used: the items of a list
/// before the paragraphs of an item, those before the lines of a code fence or the sentences of a paragraph.
struct Cut {
  std::size_t at = 0;
  int rank = 0;
};

/// The rank of line ends in code and of sentence ends: below every structural one.
inline constexpr int finest_rank = 100;

/// The lines between two fence lines. A piece that begins or ends inside gets fence lines of its own.
struct Fence {
  std::size_t begin = 0;  ///< of the first code line
  std::size_t end = 0;    ///< of the closing fence line
  std::string opening;    ///< "```console", with its indentation
  std::string closing;
};

struct Block {
  std::string text;
  std::vector<index::Link> links;
  std::vector<Cut> cuts;       ///< in text order
  std::vector<Fence> fences;
  std::string continuation{};  ///< what opens every piece but the first: the header rows of a table

  bool empty() const noexcept { return text.empty(); }
};

/// A stretch of a page under one heading.
struct Section {
  std::vector<std::string> path;  ///< headings that lead here, its own last; empty above the first heading
  std::string heading_line;       ///< "## Install `buildx`"; empty above the first heading
  std::string anchor;             ///< without '#'; empty for the page itself
  std::vector<Block> blocks;      ///< none of them empty
};

/// Appends `next` to `block`, after `separator`; a cut of `rank` falls between them, and the cuts inside `next` are
/// `deeper` ranks lower than they were.
void append(Block& block, std::string_view separator, Block&& next, int rank, int deeper = 1);

/// The block with `first` before its first line and `rest` before every other line that is not empty.
Block indented(Block&& block, std::string_view first, std::string_view rest);

/// Without white space around it (indentation of the first line stays) and without the indentation that all lines share.
void tidy(Block& block);

/// [begin, end) of a block as a block of its own, without cuts: fence lines and table header completed, links clipped.
Block piece(const Block& block, std::size_t begin, std::size_t end);

/// Number of Unicode code points of `text`: what "characters" means in every size of the chunker.
std::size_t characters(std::string_view text) noexcept;

}  // namespace polygraph::corpus
