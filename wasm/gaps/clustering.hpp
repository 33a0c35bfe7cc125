// Groups of what is alike: agglomerative clustering with average linkage (UPGMA; Sokal and Michener, 1958), cut at a
// similarity. Two groups become one while the mean cosine over all pairs between them is at least the threshold, the most
// alike first.
//
// By nearest-neighbour chains (Murtagh, The Computer Journal 26(4), 1983): quadratic in time, linear in memory. A chain whose
// end is below the threshold to all others is done with, since average linkage never brings a group nearer than its parts
// were. The result depends on the vectors and their order alone.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace polygraph::gaps {

/// Dimension and value, ascending, no dimension twice.
using SparseVector = std::vector<std::pair<std::uint32_t, float>>;

/// Members of each group, ascending; the groups by their first member.
using Groups = std::vector<std::vector<std::uint32_t>>;

/// Told now and then how many of the vectors have found their group.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

/// The vectors have length 1 (or 0: like nothing) and one number of dimensions.
Groups average_link(std::span<const std::vector<float>> vectors, double threshold, const Progress& progress = {});
Groups average_link(std::span<const SparseVector> vectors, double threshold, const Progress& progress = {});

double dot(const std::vector<float>& a, const std::vector<float>& b);
double dot(const SparseVector& a, const SparseVector& b);

}  // namespace polygraph::gaps
