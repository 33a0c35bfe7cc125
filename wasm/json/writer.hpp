// JSON written piece by piece, with or without indentation, into a string that the caller may empty as it grows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace polygraph::json {

/// Takes each piece of a document as it is written, in order.
using Sink = std::function<void(std::string_view)>;

/// `value`, which must be finite, in the shortest form that reads back as the same number (0.1, 5.0, 1e+30).
std::string to_text(double value);

class Writer {
 public:
  /// Writes to `sink` in pieces of about 64 KB. `indent` spaces a level; 0: all on one line.
  explicit Writer(Sink sink, unsigned indent = 0) : sink_(std::move(sink)), indent_(indent) {}
  ~Writer() { flush(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  Writer& key(std::string_view name);

  void null() { scalar("null"); }
  void value(bool value) { scalar(value ? "true" : "false"); }
  void value(double value) { scalar(to_text(value)); }
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void count(std::uint64_t value) { scalar(std::to_string(value)); }
  void integer(std::int64_t value) { scalar(std::to_string(value)); }
  template <class T>
  void value(const std::optional<T>& one) {
    if (one) {
      value(*one);
    } else {
      null();
    }
  }
  /// A value in JSON text that was checked before; laid out as the rest is.
  void raw(std::string_view json);

  /// `key` and `value` at once.
  template <class T>
  void field(std::string_view name, const T& one) {
    key(name);
    value(one);
  }

  void flush();

 private:
  void begin(char bracket);
  void end(char bracket);
  void before_value();
  void scalar(std::string_view text);
  void line();
  void quoted(std::string_view text);

  Sink sink_;
  std::string buffer_;
  unsigned indent_;
  unsigned depth_ = 0;
  bool empty_ = true;      ///< nothing was written in the innermost object or array
  bool after_key_ = false;
};

}  // namespace polygraph::json
