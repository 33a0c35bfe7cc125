// JSON read piece by piece (RFC 8259), for documents too large to be held as a tree: a hundred thousand query results are
// read in one pass over their text, and what nobody asks for is checked but never copied.
//
// A cursor walks forwards. After the first failure it stays where it is, every read answers with an empty value, and
// `error()` says what was wrong, with the field's path and the line. Text that is no UTF-8, a lone surrogate, NaN, a number
// beyond double and nesting deeper than `max_depth` are failures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::json {

enum class Kind : std::uint8_t { nothing, null, boolean, number, string, array, object };

/// `"an object"`, as it stands in messages.
std::string_view name(Kind kind) noexcept;

inline constexpr std::size_t max_depth = 256;

class Cursor {
 public:
  /// Reads `text` from byte `offset` on; lines are counted from the start of `text`, which must outlive the cursor.
  explicit Cursor(std::string_view text, std::size_t offset = 0) noexcept : text_(text), at_(offset) {}

  /// What comes next; `nothing` at the end of the text or where no value can begin.
  Kind kind() noexcept;

  bool boolean();
  double number();
  std::string string();
  /// A whole number from 0 to `most`.
  std::uint64_t count(std::uint64_t most);
  /// The text of the next value, whatever it is, checked to its end.
  std::string_view raw();
  /// Takes a null and says so; anything else stays.
  bool take_null();

  /// Calls `field(key)` for each member; it must take the value. A key that is met again is passed again.
  template <class Field>
  void object(Field&& field) {
    if (!open(Kind::object)) return;
    for (bool first = true; next('}', first); first = false) {
      std::string decoded;
      const std::string_view key = member(decoded);
      if (failed()) return;
      path_.push_back({key, 0});
      field(key);
      if (failed()) return keep_path();
      path_.pop_back();
    }
    --depth_;
  }

  /// Calls `item(index)` for each element; it must take the value.
  template <class Item>
  void array(Item&& item) {
    if (!open(Kind::array)) return;
    path_.push_back({{}, 0});
    for (bool first = true; next(']', first); first = false) {
      item(path_.back().index);
      if (failed()) return keep_path();
      ++path_.back().index;
    }
    if (failed()) return;
    path_.pop_back();
    --depth_;
  }

  /// Fails when anything but blanks is left.
  void finish();
  /// Whether anything but blanks is left.
  bool more() noexcept;

  bool failed() const noexcept { return error_.has_value(); }
  const Error& error() const { return *error_; }
  /// Ends the reading with `message`, at the field that is being read, or at `field` beneath it.
  void fail(std::string message, std::string_view field = {});
  /// The same for a value of another type than `expected` ("a string").
  void wrong(std::string_view expected);
  /// The path of the field that is being read (`retrieved_chunks[2].id`), with `field` beneath it.
  std::string path(std::string_view field = {}) const;
  std::size_t offset() const noexcept { return at_; }
  /// The text from `start` to here.
  std::string_view text(std::size_t start) const noexcept { return text_.substr(start, at_ - start); }
  /// Goes on at `offset`, up to which somebody else has read and checked a whole value.
  void move_to(std::size_t offset) noexcept { at_ = offset; }

 private:
  struct Level {
    std::string_view key;   ///< within the text, or in object()'s own; empty in an array
    std::size_t index = 0;
  };

  void blanks() noexcept;
  bool open(Kind kind);
  bool next(char close, bool first);
  /// The name of the next member: within the text, or in `decoded` where it is written with escapes.
  std::string_view member(std::string& decoded);
  /// After a failure nobody asks for the path again, and names that were decoded go.
  void keep_path() noexcept { path_.clear(); }
  void skip_value();
  void skip_number();
  void skip_word(std::string_view word);
  bool scan_string(std::string_view& body, bool& escaped);

  std::string_view text_;
  std::size_t at_;
  std::size_t depth_ = 0;
  std::vector<Level> path_;
  std::optional<Error> error_;
};

/// Line of byte `offset` in `text`, from 1.
std::uint64_t line_at(std::string_view text, std::size_t offset) noexcept;

}  // namespace polygraph::json
