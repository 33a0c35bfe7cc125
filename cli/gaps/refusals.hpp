// What was asked and not answered, from the files that say so: traces, runs of `run`, recorded runs, the server's question
// log. Each is JSON values one after the other (lines, or laid out), or an array of them; kinds may be mixed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"
#include "wasm/gaps/gaps.hpp"

namespace polygraph::cli {

class Refusals {
 public:
  /// Reads one document. Fails with `invalid_json`, the line, and the field; what was read before stays.
  Result<void> read(std::string_view document);

  /// Takes in what only the whole tells: a question of the log whose passages were not relevant counts once a day, and not
  /// where it was answered that day (the browser rewrites it and asks again).
  void finish();

  std::uint64_t asked = 0, failed = 0;
  std::vector<gaps::Refusal> refused;

 private:
  struct Unsettled {
    gaps::Refusal refusal;
    bool answered = false;
  };
  Result<void> take(std::string_view json);
  std::vector<Unsettled> unsettled_;
};

}  // namespace polygraph::cli
