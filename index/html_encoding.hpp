// The bytes of an HTML file as UTF-8, by the rules that browsers follow.
#pragma once

#include <string>
#include <string_view>

#include "wasm/error.hpp"

namespace polygraph::corpus {

struct DecodedHtml {
  std::string text;      ///< UTF-8, without control characters other than white space
  std::string warning;   ///< what was not as it should be; reads behind a file's name, empty when nothing is
};

/// A byte order mark tells; else `<meta charset>` near the beginning; else UTF-8 where the bytes are, and windows-1252 where
/// they are not (WHATWG HTML, 13.2.3.2). What is no character of the encoding becomes U+FFFD. Fails with `invalid_text` for
/// an encoding that this system does not know, and for bytes that are no text.
Result<DecodedHtml> decode_html(std::string_view bytes);

}  // namespace polygraph::corpus
