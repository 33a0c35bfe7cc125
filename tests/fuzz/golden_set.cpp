// Golden sets in every form: whatever is read ends in problems or in a set, and a valid set goes from form to form without
// change.
#include "wasm/golden/golden_set.hpp"

#include "fuzz.hpp"
#include "wasm/golden/table.hpp"
#include "wasm/golden/trec.hpp"

using namespace polygraph;

namespace {

golden::Set read_back(const std::string& text) {
  auto set = golden::parse(text);
  if (!set) std::fprintf(stderr, "%s: %s\n%s\n", set.error().field.c_str(), set.error().message.c_str(), text.c_str());
  FUZZ_CHECK(set);
  return std::move(*set);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Exact bytes({reinterpret_cast<const char*>(data), size});
  const auto checked = golden::read(bytes.view());
  if (!checked) {
    FUZZ_CHECK(checked.error().code == ErrorCode::invalid_text);
    return 0;
  }
  golden::report_json(*checked);
  if (!checked->valid()) return 0;
  const std::string items = golden::write_items(read_back(golden::write_samples(checked->set)));
  FUZZ_CHECK(golden::write_items(read_back(items)) == items);
  FUZZ_CHECK(golden::write_items(read_back(golden::write_samples(read_back(items)))) == items);
  FUZZ_CHECK(golden::digest(read_back(golden::write_samples(read_back(items)))) == golden::digest(read_back(items)));
  golden::write_table(checked->set);
  golden::write_trec(checked->set);
  golden::write_beir(checked->set);
  return 0;
}
