// Words laid out for people: in a terminal of 80 columns, and in Markdown.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace polygraph::report {

inline constexpr std::size_t columns = 80;

/// Escape sequences of a terminal; empty strings where there is none.
struct Ink {
  std::string_view bold = {}, dim = {}, good = {}, bad = {}, reset = {};
};

/// One line of text from outside made safe to print: line ends and tabs become blanks, other control characters and marks that
/// reorder a line U+FFFD.
std::string one_line(std::string_view text);

/// `text` (one line) broken at blanks so that nothing goes beyond 80 columns, `indent` blanks in front of each line but the
/// first, which begins at column `from`. A word longer than a line is broken within. Ends without a line end.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t from);

/// At most `width` code points; what is cut ends with "…".
std::string shortened(std::string_view text, std::size_t width);

/// `text` with blanks behind it (or in front) up to `width` code points.
std::string left(std::string_view text, std::size_t width);
std::string right(std::string_view text, std::size_t width);

/// A number with `decimals` decimals (0 to 9), a signed one with its sign; "—" where there is none.
std::string fixed(double value, int decimals);
std::string fixed(const std::optional<double>& value, int decimals);
std::string signed_fixed(const std::optional<double>& value, int decimals);

/// Text from outside in Markdown: on one line, with every character escaped that would mean something.
std::string markdown(std::string_view text);
/// `| a | b |` and a line end; cells are written as they are.
std::string row(const std::vector<std::string>& cells);
/// A table's first two lines: the first column to the left, the others to the right.
std::string head(const std::vector<std::string>& cells);

}  // namespace polygraph::report
