#include "wasm/judges/sentences.hpp"

#include <algorithm>
#include <optional>

#include "wasm/text/utf8.hpp"

namespace polygraph::judges {
namespace {

struct Mark {
  std::size_t begin = 0, end = 0;  ///< bytes of the answer, brackets included
  std::string_view id;
};

/// The marks of cited ids, in text order.
std::vector<Mark> marks_of(std::string_view answer, std::span<const CitedSpan> citations) {
  std::vector<Mark> marks;
  for (std::size_t at = answer.find('['); at != std::string_view::npos; at = answer.find('[', at + 1)) {
    for (const CitedSpan& citation : citations) {
      const std::size_t end = at + 1 + citation.chunk_id.size();
      if (citation.chunk_id.empty() || answer.substr(at + 1, citation.chunk_id.size()) != citation.chunk_id || end >= answer.size() || answer[end] != ']') continue;
      marks.push_back({at, end + 1, citation.chunk_id});
      at = end;
      break;
    }
  }
  return marks;
}

/// Letters and digits of any script; marks and punctuation alone are no sentence.
bool says_something(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  });
}

}  // namespace

CitedAnswer cited_answer(std::string_view answer, std::span<const CitedSpan> citations) {
  CitedAnswer out;
  for (const CitedSpan& citation : citations) {
    if (std::find(out.citations.begin(), out.citations.end(), citation) == out.citations.end()) out.citations.push_back(citation);
  }
  const std::vector<Mark> marks = marks_of(answer, out.citations);

  // The text without marks, and for each of its bytes where it stood.
  std::vector<std::size_t> origin;
  std::size_t read = 0;
  const auto copy_to = [&](std::size_t end) {
    for (; read < end; ++read) {
      out.text += answer[read];
      origin.push_back(read);
    }
  };
  for (const Mark& mark : marks) {
    // The blank before a mark goes with it.
    copy_to(mark.begin);
    while (!out.text.empty() && out.text.back() == ' ') {
      out.text.pop_back();
      origin.pop_back();
    }
    read = mark.end;
  }
  copy_to(answer.size());
  std::vector<std::uint32_t> points(answer.size() + 1, 0);  // code points before each byte
  for (std::size_t at = 0; at < answer.size();) {
    const std::size_t length = text::decode(answer, at).length;
    const std::uint32_t before = points[at];
    for (std::size_t i = 1; i <= length; ++i) points[at + i] = before + 1;
    at += length;
  }

  for (const text::Unit& unit : text::units(out.text)) {
    const std::string_view said = std::string_view(out.text).substr(unit.begin, unit.end - unit.begin);
    if (unit.kind == text::UnitKind::heading || !says_something(said)) continue;
    out.sentences.push_back({unit.kind, std::string(said), points[origin[unit.begin]], points[origin[unit.end - 1] + 1], {}});
  }

  const auto before = [&](std::uint32_t point) -> std::optional<std::size_t> {
    std::optional<std::size_t> last;
    for (std::size_t s = 0; s < out.sentences.size() && out.sentences[s].begin <= point; ++s) last = s;
    return last;
  };
  const auto attach = [&](std::size_t sentence, std::size_t citation) {
    auto& list = out.sentences[sentence].citations;
    if (std::find(list.begin(), list.end(), citation) == list.end()) list.push_back(citation);
  };
  for (std::size_t c = 0; c < out.citations.size(); ++c) {
    const CitedSpan& citation = out.citations[c];
    bool attached = false;
    if (citation.end > citation.begin) {
      for (std::size_t s = 0; s < out.sentences.size(); ++s) {
        if (out.sentences[s].begin >= citation.end || out.sentences[s].end <= citation.begin) continue;
        attach(s, c);
        attached = true;
      }
      if (const auto last = before(citation.begin); last && !attached) {
        attach(*last, c);
        attached = true;
      }
    } else {
      for (const Mark& mark : marks) {
        if (mark.id != citation.chunk_id) continue;
        if (const auto last = before(points[mark.begin])) {
          attach(*last, c);
          attached = true;
        }
      }
    }
    if (attached) continue;
    for (std::size_t s = 0; s < out.sentences.size(); ++s) attach(s, c);
  }
  return out;
}

}  // namespace polygraph::judges
