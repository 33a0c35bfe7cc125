#include "index/html_encoding.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <iconv.h>

#include "wasm/text/utf8.hpp"

namespace polygraph::corpus {
namespace {

/// Browsers look for a declaration in the first 1,024 bytes; generators that write a long comment before it exist.
constexpr std::size_t declaration_within = 4'096;
/// A text has fewer NULs than one in this many bytes.
constexpr std::size_t nul_every = 200;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// The encoding that a `<meta>` declares, in lower case; empty when none does.
std::string declared(std::string_view bytes) {
  const std::string head = lower(bytes.substr(0, declaration_within));
  for (std::size_t meta = head.find("<meta"); meta != std::string::npos; meta = head.find("<meta", meta + 5)) {
    const std::string_view tag = std::string_view(head).substr(meta, std::min(head.find('>', meta), head.size()) - meta);
    std::size_t at = tag.find("charset");
    if (at == std::string_view::npos) continue;
    at = tag.find_first_not_of(" \t\r\n", at + 7);
    if (at == std::string_view::npos || tag[at] != '=') continue;
    at = tag.find_first_not_of(" \t\r\n\"'", at + 1);
    if (at == std::string_view::npos) continue;
    return std::string(tag.substr(at, std::min(tag.find_first_of(" \t\r\n\"';/", at), tag.size()) - at));
  }
  return {};
}

/// The name iconv knows for a label of the web (WHATWG Encoding, 4.2): there, Latin-1 and ASCII mean windows-1252.
std::string iconv_name(const std::string& label) {
  for (const std::string_view latin : {"iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "l1", "ascii", "us-ascii", "x-cp1252", "cp1252"}) {
    if (label == latin) return "WINDOWS-1252";
  }
  if (label == "shift_jis" || label == "sjis" || label == "x-sjis") return "CP932";
  if (label == "gb2312" || label == "gbk") return "GB18030";
  if (label == "x-mac-roman" || label == "macintosh") return "MACINTOSH";
  return label;
}

std::optional<std::string> converted(std::string_view bytes, const std::string& from) {
  const iconv_t converter = ::iconv_open("UTF-8", from.c_str());
  if (converter == reinterpret_cast<iconv_t>(-1)) return std::nullopt;
  std::string out;
  std::string buffer(1 << 16, '\0');
  char* in = const_cast<char*>(bytes.data());  // iconv's signature; it only reads
  std::size_t left = bytes.size();
  while (left > 0) {
    char* to = buffer.data();
    std::size_t room = buffer.size();
    const std::size_t status = ::iconv(converter, &in, &left, &to, &room);
    const int error = errno;
    out.append(buffer, 0, buffer.size() - room);
    if (status != static_cast<std::size_t>(-1) || error == E2BIG) continue;
    text::append(out, 0xFFFD);
    ++in;
    --left;
  }
  ::iconv_close(converter);
  return out;
}

/// The same with U+FFFD in the place of what is no UTF-8.
std::string mended(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const text::CodePoint point = text::decode(bytes, at);
    if (point.valid) {
      out.append(bytes, at, point.length);
    } else {
      text::append(out, 0xFFFD);
    }
    at += point.length;
  }
  return out;
}

/// Without the control characters that HTML has no use for; the parser would make U+FFFD of them.
std::string without_controls(std::string text) {
  std::erase_if(text, [](char c) { return (c >= 0 && c < 0x20 && c != '\t' && c != '\n' && c != '\f' && c != '\r') || c == 0x7F; });
  return text;
}

}  // namespace

Result<DecodedHtml> decode_html(std::string_view bytes) {
  std::string encoding;
  if (bytes.starts_with("\xEF\xBB\xBF")) {
    bytes.remove_prefix(3);
    encoding = "utf-8";
  } else if (bytes.starts_with("\xFF\xFE")) {
    bytes.remove_prefix(2);
    encoding = "UTF-16LE";
  } else if (bytes.starts_with("\xFE\xFF")) {
    bytes.remove_prefix(2);
    encoding = "UTF-16BE";
  } else {
    const auto nuls = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\0'));
    if (nuls * nul_every > bytes.size()) return fail(ErrorCode::invalid_text, "is not HTML but binary data");
    encoding = declared(bytes);
    // A declaration that could be read was not written in UTF-16.
    if (encoding.starts_with("utf-16") || encoding == "utf8") encoding = "utf-8";
  }
  const std::optional<std::size_t> invalid = text::first_invalid(bytes);
  if (encoding == "utf-8" || (encoding.empty() && !invalid)) {
    if (!invalid) return DecodedHtml{without_controls(std::string(bytes)), {}};
    return DecodedHtml{without_controls(mended(bytes)), "is not UTF-8 at byte " + std::to_string(*invalid) + "; such bytes became U+FFFD"};
  }
  const bool guessed = encoding.empty();
  std::optional<std::string> text = converted(bytes, guessed ? "WINDOWS-1252" : iconv_name(encoding));
  if (!text) return fail(ErrorCode::invalid_text, "declares the encoding \"" + mended(encoding.substr(0, 40)) + "\", which is not known here; save it as UTF-8");
  return DecodedHtml{without_controls(*std::move(text)), guessed ? "names no encoding and is not UTF-8; it was read as windows-1252" : ""};
}

}  // namespace polygraph::corpus
