// Pages of built sites: whatever the bytes are, a page ends in a reason or in passages of plain text, with links inside them
// and no character that hides or turns others.
#include "index/html_page.hpp"

#include "fuzz.hpp"
#include "index/chunker.hpp"
#include "index/html_encoding.hpp"
#include "wasm/text/utf8.hpp"

using namespace polygraph;

namespace {

void check_text(std::string_view text) {
  FUZZ_CHECK(!text::first_invalid(text));
  for (std::size_t at = 0; at < text.size();) {
    const text::CodePoint point = text::decode(text, at);
    at += point.length;
    FUZZ_CHECK(point.value >= 0x20 || point.value == '\n' || point.value == '\t');
    FUZZ_CHECK(point.value < 0x7F || point.value > 0x9F);
    FUZZ_CHECK(point.value < 0x202A || point.value > 0x202E);
    FUZZ_CHECK(point.value < 0x2066 || point.value > 0x2069);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Exact bytes({reinterpret_cast<const char*>(data), size});
  const auto decoded = corpus::decode_html(bytes.view());
  if (!decoded) return 0;
  FUZZ_CHECK(!text::first_invalid(decoded->text));
  const fuzz::Exact html(decoded->text);
  const auto page = corpus::read_html_page(html.view());
  if (!page) {
    FUZZ_CHECK(page.error().code == ErrorCode::invalid_text);
    return 0;
  }
  check_text(page->text.title);
  check_text(page->head_title);
  for (const index::ChunkInput& chunk : corpus::chunk(page->text.sections)) {
    FUZZ_CHECK(!chunk.text.empty());
    check_text(chunk.text);
    check_text(chunk.heading_path);
    check_text(chunk.anchor);
    for (const index::Link& link : chunk.links) {
      FUZZ_CHECK(link.begin < link.end && link.end <= chunk.text.size());
      FUZZ_CHECK((static_cast<unsigned char>(chunk.text[link.begin]) & 0xC0) != 0x80);
      FUZZ_CHECK(link.end == chunk.text.size() || (static_cast<unsigned char>(chunk.text[link.end]) & 0xC0) != 0x80);
    }
  }
  return 0;
}
