// What a stage of making a golden set has done so far, in a file beside its result: one line an item, on disk before the next is
// begun, so that a killed run goes on where it stopped.
//
//   {"kind":"golden_work","schema":1,"identity":{…}}
//   {"item":"a1",…}
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "wasm/error.hpp"

namespace polygraph::cli {

class WorkFile {
 public:
  using Json = nlohmann::ordered_json;

  /// The file `out`.work.jsonl. `identity` is everything that decides what its lines say: with another one the file belongs to another call, and
  /// opening it fails with `mismatch`. A last line that was half written is left out.
  static Result<WorkFile> open(const std::filesystem::path& out, const Json& identity);

  /// What is known of an item; null: nothing.
  const Json* find(std::string_view item) const;
  /// Appends and waits until it is on disk.
  Result<void> append(const std::string& item, Json line);
  std::size_t done() const noexcept { return lines_.size(); }
  const std::filesystem::path& path() const noexcept { return path_; }
  /// The result is written: nothing is to be continued.
  void remove() const;

 private:
  Result<void> write(const std::string& line) const;
  std::filesystem::path path_;
  std::map<std::string, Json, std::less<>> lines_;
};

}  // namespace polygraph::cli
