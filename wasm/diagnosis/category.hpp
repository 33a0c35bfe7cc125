// The eight categories of a query's result: what went wrong first, how bad it is, and what to look at.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace polygraph::diagnosis {

/// In the order in which ties among failures are listed.
enum class Category : std::uint8_t {
  pass,
  wrong_chunk_retrieved,
  wrong_chunk_rank,
  insufficient_context,
  retrieved_but_not_grounded,
  answer_incorrect,
  latency_outlier,
  unknown,
};

inline constexpr std::size_t category_count = 8;
inline constexpr std::array<Category, category_count> categories = {
    Category::pass,
    Category::wrong_chunk_retrieved,
    Category::wrong_chunk_rank,
    Category::insufficient_context,
    Category::retrieved_but_not_grounded,
    Category::answer_incorrect,
    Category::latency_outlier,
    Category::unknown,
};

/// Queries of each category, indexed by `Category`.
using CategoryCounts = std::array<std::uint64_t, category_count>;
constexpr std::size_t index(Category category) noexcept { return static_cast<std::size_t>(category); }

enum class Severity : std::uint8_t { info, warning, major };  // from light to heavy

/// `WRONG_CHUNK_RETRIEVED`, as it stands in every document.
std::string_view name(Category category) noexcept;
/// The category of a name, spelled exactly so.
std::optional<Category> category(std::string_view name) noexcept;

std::string_view name(Severity severity) noexcept;
std::optional<Severity> severity(std::string_view name) noexcept;
Severity severity(Category category) noexcept;

/// The one sentence that says what to look at.
std::string_view action(Category category) noexcept;

/// How far a category is from PASS (0) to UNKNOWN (7) when two results of one query are compared.
int comparison_rank(Category category) noexcept;

}  // namespace polygraph::diagnosis
