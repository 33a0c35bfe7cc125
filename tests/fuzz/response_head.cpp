// An answer's head: fed whole or in pieces the same verdict, and Beast takes what passes to end at the same byte, with a
// body of the same length.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>

#include "fuzz.hpp"
#include "proxy/upstream/response_head.hpp"

using namespace polygraph;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using State = proxy::ResponseHeadScanner::State;
  namespace beast_http = boost::beast::http;
  const fuzz::Exact bytes({reinterpret_cast<const char*>(data), size});

  proxy::ResponseHeadScanner whole, pieces;
  const auto verdict = whole.feed(bytes.view());
  auto in_pieces = State::incomplete;
  fuzz::Pieces sizes(bytes.view());
  for (std::size_t fed = 0; fed < size && in_pieces == State::incomplete;) {
    fed = std::min(size, fed + sizes.next());
    const fuzz::Exact part(bytes.view().substr(0, fed));
    in_pieces = pieces.feed(part.view());
  }
  FUZZ_CHECK(verdict == in_pieces);
  if (verdict == State::refused) FUZZ_CHECK(!whole.why().empty() && whole.why() == pieces.why());
  if (verdict != State::complete) return 0;
  FUZZ_CHECK(whole.end() == pieces.end() && whole.status() == pieces.status());
  FUZZ_CHECK(whole.status() >= 100 && whole.status() < 600);

  beast_http::response_parser<beast_http::empty_body> parser;
  parser.header_limit(64 * 1024);
  parser.body_limit(boost::none);
  boost::system::error_code error;
  const auto used = parser.put(boost::asio::buffer(bytes.view().data(), size), error);
  FUZZ_CHECK(error != beast_http::error::need_more);
  if (error) return 0;
  FUZZ_CHECK(parser.is_header_done());
  FUZZ_CHECK(used == whole.end());
  FUZZ_CHECK(parser.get().result_int() == whole.status());
  FUZZ_CHECK(parser.chunked() == whole.chunked());
  const auto length = parser.content_length();
  FUZZ_CHECK(length.has_value() == whole.content_length().has_value());
  if (length) FUZZ_CHECK(*length == *whole.content_length());
  return 0;
}
