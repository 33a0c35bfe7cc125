// The strict layer in front of Beast: fed whole or in pieces it says the same, and whatever it lets pass Beast takes to
// end at the same byte, with a body of the same length.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>

#include "fuzz.hpp"
#include "proxy/http/head_scanner.hpp"

using namespace polygraph;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using State = http::HeadScanner::State;
  namespace beast_http = boost::beast::http;
  // Small enough for a fuzzer to reach.
  static const http::Limits limits = [] {
    http::Limits small;
    small.max_target_bytes = 64;
    small.max_header_bytes = 512;
    small.max_headers = 8;
    small.max_body_bytes = 1000;
    return small;
  }();
  const fuzz::Exact bytes({reinterpret_cast<const char*>(data), size});

  http::HeadScanner whole(limits), pieces(limits);
  const auto verdict = whole.feed(bytes.view());
  auto in_pieces = State::incomplete;
  fuzz::Pieces sizes(bytes.view());
  for (std::size_t fed = 0; fed < size && in_pieces == State::incomplete;) {
    fed = std::min(size, fed + sizes.next());
    const fuzz::Exact part(bytes.view().substr(0, fed));
    in_pieces = pieces.feed(part.view());
  }
  FUZZ_CHECK(verdict == in_pieces);
  if (verdict == State::refused) {
    FUZZ_CHECK(whole.refusal().status == pieces.refusal().status);
    FUZZ_CHECK(whole.refusal().code == pieces.refusal().code);
    FUZZ_CHECK(whole.refusal().status >= 400 && whole.refusal().status < 600);
  }
  if (verdict != State::complete) return 0;
  FUZZ_CHECK(whole.begin() == pieces.begin() && whole.end() == pieces.end() && whole.body_bytes() == pieces.body_bytes());

  // Beast sees the head with all that follows it, and must stop by itself where the scanner does.
  beast_http::request_parser<beast_http::empty_body> parser;
  parser.header_limit(4096);
  parser.body_limit(boost::none);
  boost::system::error_code error;
  const auto rest = bytes.view().substr(whole.begin());
  const auto used = parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
  FUZZ_CHECK(error != beast_http::error::need_more);
  if (error) return 0;  // Beast is stricter here: refused all the same
  FUZZ_CHECK(parser.is_header_done());
  FUZZ_CHECK(used == whole.end() - whole.begin());
  FUZZ_CHECK(parser.content_length().value_or(0) == whole.body_bytes());
  FUZZ_CHECK(!parser.chunked());
  FUZZ_CHECK(parser.get().count(beast_http::field::host) <= 1);
  FUZZ_CHECK(parser.get().target().starts_with('/'));
  return 0;
}
