#include "index/block.hpp"

#include <algorithm>

#include "wasm/text/utf8.hpp"

namespace polygraph::corpus {
namespace {

std::uint32_t offset(std::size_t at) noexcept { return static_cast<std::uint32_t>(at); }

/// One edit of a block's lines: bytes [at, at + removed) give way to `inserted`.
struct LineEdit {
  std::size_t at = 0;
  std::size_t removed = 0;
  std::string_view inserted;
};

/// Applies edits at line starts, in text order, and moves every offset with its text. A link that begins at a line start
/// keeps its words (it begins behind what was inserted); cuts and fences stay at the start of the line.
Block edited(Block&& block, const std::vector<LineEdit>& edits) {
  std::string text;
  text.reserve(block.text.size() + edits.size() * 4);
  std::size_t copied = 0;
  std::vector<std::size_t> line_starts;  // new offset of each edit's line
  for (const LineEdit& edit : edits) {
    text.append(block.text, copied, edit.at - copied);
    line_starts.push_back(text.size());
    text += edit.inserted;
    copied = edit.at + edit.removed;
  }
  text.append(block.text, copied, std::string::npos);

  const auto moved = [&](std::size_t old, bool behind_insertion) {
    // the last edit at or before `old`
    const auto next = std::upper_bound(edits.begin(), edits.end(), old,
                                       [](std::size_t value, const LineEdit& edit) { return value < edit.at; });
    if (next == edits.begin()) return old;
    const auto index = static_cast<std::size_t>(next - edits.begin()) - 1;
    const LineEdit& edit = edits[index];
    if (old == edit.at && !behind_insertion) return line_starts[index];
    const std::size_t past = std::max(old, edit.at + edit.removed) - (edit.at + edit.removed);
    return line_starts[index] + edit.inserted.size() + past;
  };
  for (index::Link& link : block.links) {
    link.begin = offset(moved(link.begin, true));
    link.end = offset(std::max<std::size_t>(moved(link.end, false), link.begin));
  }
  for (Cut& cut : block.cuts) cut.at = moved(cut.at, false);
  for (Fence& fence : block.fences) {
    fence.begin = moved(fence.begin, false);
    fence.end = moved(fence.end, false);
  }
  block.text = std::move(text);
  return std::move(block);
}

template <class Visit>
void each_line(std::string_view text, Visit visit) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    visit(begin, text.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool blank(std::string_view line) noexcept { return line.find_first_not_of(" \t") == std::string_view::npos; }

}  // namespace

std::size_t characters(std::string_view text) noexcept {
  // Counts the bytes that open a code point; every text here has been checked to be UTF-8.
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

void append(Block& block, std::string_view separator, Block&& next, int rank, int deeper) {
  if (next.text.empty()) return;
  if (!block.text.empty()) {
    block.text += separator;
    block.cuts.push_back({block.text.size(), rank});
  }
  const std::size_t shift = block.text.size();
  block.text += next.text;
  for (index::Link& link : next.links) {
    link.begin += offset(shift);
    link.end += offset(shift);
    block.links.push_back(std::move(link));
  }
  for (const Cut& cut : next.cuts) {
    block.cuts.push_back({cut.at + shift, cut.rank >= finest_rank ? finest_rank : std::min(cut.rank + deeper, finest_rank - 1)});
  }
  for (Fence& fence : next.fences) {
    fence.begin += shift;
    fence.end += shift;
    block.fences.push_back(std::move(fence));
  }
}

Block indented(Block&& block, std::string_view first, std::string_view rest) {
  std::vector<LineEdit> edits;
  each_line(block.text, [&](std::size_t at, std::string_view line) {
    if (at == 0) {
      edits.push_back({at, 0, first});
    } else if (!line.empty()) {
      edits.push_back({at, 0, rest});
    }
  });
  Block result = edited(std::move(block), edits);
  for (Fence& fence : result.fences) {
    fence.opening.insert(0, rest);
    fence.closing.insert(0, rest);
  }
  return result;
}

void tidy(Block& block) {
  // Empty lines in front, then white space behind.
  std::size_t front = 0;
  while (true) {
    const std::size_t end = block.text.find('\n', front);
    if (end == std::string::npos || !blank(std::string_view(block.text).substr(front, end - front))) break;
    front = end + 1;
  }
  if (front > 0) block = edited(std::move(block), {{0, front, {}}});
  const std::size_t last = block.text.find_last_not_of(" \t\n");
  block.text.resize(last == std::string::npos ? 0 : last + 1);
  std::erase_if(block.links, [&](index::Link& link) {
    link.end = std::min(link.end, offset(block.text.size()));
    return link.begin >= link.end;
  });

  std::size_t shared = std::string::npos;
  each_line(block.text, [&](std::size_t, std::string_view line) {
    if (!blank(line)) shared = std::min(shared, line.find_first_not_of(' '));
  });
  if (shared == 0 || shared == std::string::npos) return;
  std::vector<LineEdit> edits;
  each_line(block.text, [&](std::size_t at, std::string_view line) {
    const std::size_t removed = std::min(shared, std::min(line.find_first_not_of(' '), line.size()));
    edits.push_back({at, removed, {}});
  });
  block = edited(std::move(block), edits);
}

Block piece(const Block& block, std::size_t begin, std::size_t end) {
  Block result;
  if (begin > 0) result.text = block.continuation;
  const Fence* open_at_end = nullptr;
  for (const Fence& fence : block.fences) {
    if (fence.begin < begin && begin < fence.end) result.text += fence.opening + "\n";
    if (fence.begin < end && end < fence.end) open_at_end = &fence;
  }
  const std::size_t shift = result.text.size();
  result.text.append(block.text, begin, end - begin);
  for (const index::Link& link : block.links) {
    const std::size_t from = std::max<std::size_t>(link.begin, begin), to = std::min<std::size_t>(link.end, end);
    if (from < to) result.links.push_back({offset(from - begin + shift), offset(to - begin + shift), link.target});
  }
  if (open_at_end != nullptr) {
    if (!result.text.ends_with('\n')) result.text += '\n';
    result.text += open_at_end->closing;
  }
  tidy(result);
  return result;
}

}  // namespace polygraph::corpus
