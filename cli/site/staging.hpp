// A folder that is built beside its place and put there whole: whoever looks at the place sees the old folder or the new one,
// never a part of either, also when the disk fills up, the program is killed, or two of them run at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "wasm/error.hpp"

namespace polygraph::cli::site {

class Staging {
 public:
  /// Makes an empty folder beside `target`, whose parent folders are made too. What killed programs left there is removed.
  /// Fails with `io`, naming the folder and why.
  static Result<Staging> create(const std::filesystem::path& target);
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  /// Removes the folder, unless it took its place.
  ~Staging();

  const std::filesystem::path& folder() const noexcept { return folder_; }

  /// Writes a file below the folder, by a relative path, and its parent folders. `each` is told of every piece that was
  /// written and ends the writing with false (the result is then false). Fails with `io`: disk full, say.
  Result<bool> write(const std::string& path, std::string_view bytes, const std::function<bool(std::size_t written)>& each = {});

  /// Puts the folder into its place; a folder that stood there is gone then.
  Result<void> take_place();

 private:
  Staging(std::filesystem::path target, std::filesystem::path folder, int lock) : target_(std::move(target)), folder_(std::move(folder)), lock_(lock) {}

  std::filesystem::path target_, folder_;
  int lock_;  ///< the folder, opened and locked: a folder that nobody holds is a dead program's
};

}  // namespace polygraph::cli::site
