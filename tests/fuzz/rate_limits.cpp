// Rate-limit fields and messages: never a negative or endless wait. The input is `name: value` lines, then a message.
#include <vector>

#include "fuzz.hpp"
#include "proxy/upstream/rate_limits.hpp"

using namespace polygraph;

namespace {

void check(const std::optional<std::chrono::milliseconds>& span) {
  constexpr std::chrono::hours longest{366 * 24};
  if (span) FUZZ_CHECK(span->count() >= 0 && *span <= longest);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Exact bytes({reinterpret_cast<const char*>(data), size});
  std::vector<proxy::Field> fields;
  auto text = bytes.view();
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    fields.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    check(proxy::read_span(fields.back().second));
    check(proxy::read_retry_after(fields.back().second));
  }
  const auto limits = proxy::read_rate_limits(fields);
  check(limits.reset_requests);
  check(limits.reset_tokens);
  check(limits.retry_after);
  if (proxy::named_limit(bytes.view()) != proxy::UpstreamLimit::unknown) FUZZ_CHECK(bytes.view().find("(") != std::string_view::npos);
  proxy::says_too_large(bytes.view());
  return 0;
}
