#include "index/chunker.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace polygraph::corpus {
namespace {

using Path = std::vector<std::string>;

/// A passage in the making.
struct Piece {
  Block text;
  Path path;
  std::string anchor;
  std::string heading_line;  ///< to put before the text when it joins another piece; empty when it stands there already
  bool whole = false;        ///< its section was not split
  std::size_t size = 0;      ///< characters of the text
};

constexpr std::string_view between_blocks = "\n\n";

/// [begin, end) in bytes.
struct Range {
  std::size_t begin, end;
};

/// The byte offset at most `limit` characters behind `begin` where a text without any better place is cut: behind the last
/// white space, or else between two code points.
std::size_t hard_cut(std::string_view text, std::size_t begin, std::size_t end, std::size_t limit) {
  std::size_t at = begin, count = 0, space = 0;
  while (at < end) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && count++ == limit) break;
    if (text[at] == ' ' || text[at] == '\n' || text[at] == '\t') space = at + 1;
    ++at;
  }
  if (at == end) return end;
  return space > begin ? space : at;
}

/// Splits a range that is too long into ranges that are not, at the cuts of the lowest rank that helps.
void split(const Block& block, Range range, int rank, const ChunkSizes& sizes, std::vector<Range>& out) {
  const std::string_view text = block.text;
  if (characters(text.substr(range.begin, range.end - range.begin)) <= sizes.block) {
    out.push_back(range);
    return;
  }
  const auto inside = [&](const Cut& cut) { return cut.at > range.begin && cut.at < range.end; };
  const auto first = std::lower_bound(block.cuts.begin(), block.cuts.end(), range.begin + 1,
                                      [](const Cut& cut, std::size_t at) { return cut.at < at; });
  int lowest = finest_rank + 1;
  for (auto cut = first; cut != block.cuts.end() && inside(*cut); ++cut) {
    if (cut->rank >= rank) lowest = std::min(lowest, cut->rank);
  }
  if (lowest > finest_rank) {
    for (std::size_t at = range.begin; at < range.end;) {
      const std::size_t next = hard_cut(text, at, range.end, sizes.packed);
      out.push_back({at, next});
      at = next;
    }
    return;
  }
  std::size_t begin = range.begin;
  for (auto cut = first; cut != block.cuts.end() && inside(*cut); ++cut) {
    if (cut->rank != lowest) continue;
    split(block, {begin, cut->at}, lowest + 1, sizes, out);
    begin = cut->at;
  }
  split(block, {begin, range.end}, lowest + 1, sizes, out);
}

/// A block as pieces of at most `sizes.block` characters.
std::vector<Block> pieces(const Block& block, const ChunkSizes& sizes) {
  if (characters(block.text) <= sizes.block) return {block};
  std::vector<Range> atoms;
  split(block, {0, block.text.size()}, 0, sizes, atoms);
  std::vector<Block> out;
  for (std::size_t i = 0; i < atoms.size();) {
    Range packed = atoms[i];
    std::size_t size = characters(std::string_view(block.text).substr(packed.begin, packed.end - packed.begin));
    for (++i; i < atoms.size(); ++i) {
      const std::size_t more = characters(std::string_view(block.text).substr(atoms[i].begin, atoms[i].end - atoms[i].begin));
      if (size + more > sizes.packed) break;
      size += more;
      packed.end = atoms[i].end;
    }
    Block part = piece(block, packed.begin, packed.end);
    if (!part.empty()) out.push_back(std::move(part));
  }
  return out;
}

void join(Block& text, Block&& next) { append(text, between_blocks, std::move(next), 0); }

std::vector<Piece> pieces(const Section& section, const ChunkSizes& sizes) {
  std::vector<Piece> out;
  for (const Block& block : section.blocks) {
    for (Block& part : pieces(block, sizes)) {
      const std::size_t size = characters(part.text);
      if (!out.empty() && out.back().size + between_blocks.size() + size <= sizes.packed) {
        join(out.back().text, std::move(part));
        out.back().size += between_blocks.size() + size;
      } else {
        out.push_back({std::move(part), section.path, section.anchor, {}, false, size});
      }
    }
  }
  if (out.size() > 1 && out.back().size < sizes.tail) {
    Piece last = std::move(out.back());
    out.pop_back();
    join(out.back().text, std::move(last.text));
    out.back().size += between_blocks.size() + last.size;
  }
  if (!out.empty()) {
    out.front().heading_line = section.heading_line;
    out.front().whole = out.size() == 1;
  }
  return out;
}

Path common_part(const Path& a, const Path& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return {a.begin(), end};
}

bool leads_to(const Path& ancestor, const Path& path) {
  return ancestor.size() <= path.size() && std::equal(ancestor.begin(), ancestor.end(), path.begin());
}

std::size_t joined_size(const Piece& first, const Piece& next) {
  const std::size_t heading = next.heading_line.empty() ? 0 : characters(next.heading_line) + between_blocks.size();
  return first.size + between_blocks.size() + heading + next.size;
}

void join(Piece& first, Piece&& next) {
  first.size = joined_size(first, next);
  if (!next.heading_line.empty()) {
    Block heading;
    heading.text = std::move(next.heading_line);
    join(first.text, std::move(heading));
  }
  join(first.text, std::move(next.text));
  if (first.path.size() > next.path.size()) first.path = common_part(first.path, next.path);
}

/// A heading with nothing under it, not even a subheading, has no passage of its own; its words must not be lost.
bool is_bare_heading(const std::vector<Section>& sections, std::size_t i) {
  if (!sections[i].blocks.empty() || sections[i].heading_line.empty()) return false;
  return i + 1 == sections.size() || !leads_to(sections[i].path, sections[i + 1].path) ||
         sections[i].path.size() == sections[i + 1].path.size();
}

std::string joined(const Path& path) {
  std::string out;
  for (const std::string& part : path) {
    if (!out.empty()) out += " > ";
    out += part;
  }
  return out;
}

}  // namespace

std::string describe(const ChunkSizes& sizes) {
  return "headings; packed " + std::to_string(sizes.packed) + ", block " + std::to_string(sizes.block) + ", tail " +
         std::to_string(sizes.tail) + ", small " + std::to_string(sizes.small) + ", least " + std::to_string(sizes.least) +
         " characters";
}

std::vector<index::ChunkInput> chunk(const std::vector<Section>& sections, const ChunkSizes& sizes) {
  std::vector<Piece> page;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    std::vector<Piece> section = pieces(sections[i], sizes);
    if (is_bare_heading(sections, i)) {
      Piece bare;
      bare.text.text = sections[i].heading_line;
      bare.path = sections[i].path;
      bare.anchor = sections[i].anchor;
      bare.size = characters(bare.text.text);
      bare.whole = true;
      section.push_back(std::move(bare));
    }
    for (Piece& next : section) {
      if (!page.empty() && next.whole && page.back().size < sizes.small && joined_size(page.back(), next) <= sizes.packed) {
        join(page.back(), std::move(next));
      } else {
        page.push_back(std::move(next));
      }
    }
  }

  // What is still too small to stand alone: into the passage that it leads to, else into the one before it.
  for (std::size_t i = 0; i < page.size() && page.size() > 1;) {
    if (page[i].size >= sizes.least) {
      ++i;
      continue;
    }
    const bool forward = i == 0 || (i + 1 < page.size() && page[i].path != page[i + 1].path && leads_to(page[i].path, page[i + 1].path));
    const std::size_t into = forward ? i : i - 1;
    join(page[into], std::move(page[into + 1]));
    page.erase(page.begin() + static_cast<std::ptrdiff_t>(into) + 1);
    i = into;
  }

  std::vector<index::ChunkInput> out;
  out.reserve(page.size());
  for (Piece& piece : page) {
    out.push_back({joined(piece.path), std::move(piece.anchor), std::move(piece.text.text), std::move(piece.text.links)});
  }
  return out;
}

}  // namespace polygraph::corpus
