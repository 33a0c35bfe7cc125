// The JSON of chat endpoints: whatever the bytes, a value or an error; what is taken for an answer has its promised form.
// The input is one body, and also a stream of events, one a line.
#include "fuzz.hpp"
#include "proxy/upstream/chat_body.hpp"

using namespace polygraph;

namespace {

void check(const proxy::Completion& read) {
  FUZZ_CHECK(read.finish == "stop" || read.finish == "length");
  if (read.usage) FUZZ_CHECK(read.usage->in > 0 && read.usage->in + read.usage->out >= read.usage->in && (read.text.empty() || read.usage->out > 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Exact bytes({reinterpret_cast<const char*>(data), size});
  const auto body = proxy::read_completion(bytes.view());
  if (body) check(*body);
  else FUZZ_CHECK(!body.error().message.empty());
  proxy::read_endpoint_error(bytes.view());

  proxy::CompletionStream stream;
  std::string text;
  auto rest = bytes.view();
  bool sound = true;
  while (!rest.empty() && sound) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const auto added = stream.add(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    sound = added.has_value();
    if (added) text += *added;
  }
  const auto gathered = stream.finish();
  FUZZ_CHECK(!gathered || stream.done());
  if (sound && gathered) {
    check(*gathered);
    FUZZ_CHECK(gathered->text == text);
  }
  return 0;
}
