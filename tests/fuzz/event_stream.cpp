// Server-sent events: the same events whole or in pieces, none larger than the limit.
#include <string>
#include <utility>
#include <vector>

#include "fuzz.hpp"
#include "proxy/upstream/event_stream.hpp"

using namespace polygraph;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t limit = 200;
  const fuzz::Exact bytes({reinterpret_cast<const char*>(data), size});
  using Events = std::vector<std::pair<std::string, std::string>>;
  const auto gather = [](Events& events) {
    return [&events](const proxy::StreamEvent& event) {
      FUZZ_CHECK(event.data.size() <= limit);
      FUZZ_CHECK(event.type.size() <= limit && !event.type.empty());
      events.emplace_back(event.type, event.data);
      return true;
    };
  };
  Events whole, pieces;
  proxy::EventStream one(limit), other(limit);
  const bool fits = one.feed(bytes.view(), gather(whole));
  bool fits_in_pieces = true;
  fuzz::Pieces sizes(bytes.view());
  for (std::size_t fed = 0; fed < size && fits_in_pieces;) {
    const auto count = std::min(sizes.next(), size - fed);
    const fuzz::Exact part(bytes.view().substr(fed, count));
    fits_in_pieces = other.feed(part.view(), gather(pieces));
    fed += count;
  }
  FUZZ_CHECK(fits == fits_in_pieces);
  FUZZ_CHECK(whole == pieces);
  return 0;
}
