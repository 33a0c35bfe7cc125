#include "wasm/gaps/clustering.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace polygraph::gaps {
namespace {

/// The sum of a group's vectors. Its product with another group's sum is the sum over all pairs between them.
using DenseSum = std::vector<double>;
using SparseSum = std::vector<std::pair<std::uint32_t, double>>;

DenseSum sum_of(const std::vector<float>& vector) { return {vector.begin(), vector.end()}; }
SparseSum sum_of(const SparseVector& vector) { return {vector.begin(), vector.end()}; }

double product(const DenseSum& a, const DenseSum& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

template <class Vector>
double sparse_product(const Vector& a, const Vector& b) {
  double sum = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (i->first < j->first) {
      ++i;
    } else if (j->first < i->first) {
      ++j;
    } else {
      sum += static_cast<double>(i++->second) * static_cast<double>(j++->second);
    }
  }
  return sum;
}
double product(const SparseSum& a, const SparseSum& b) { return sparse_product(a, b); }

void add(DenseSum& a, const DenseSum& b) { std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<>()); }
void add(SparseSum& a, const SparseSum& b) {
  SparseSum out;
  out.reserve(a.size() + b.size());
  auto i = a.begin();
  for (const auto& [dimension, value] : b) {
    for (; i != a.end() && i->first < dimension; ++i) out.push_back(*i);
    if (i != a.end() && i->first == dimension) out.emplace_back(dimension, i++->second + value);
    else out.emplace_back(dimension, value);
  }
  out.insert(out.end(), i, a.end());
  a = std::move(out);
}

template <class Vector>
Groups link(std::span<const Vector> vectors, double threshold, const Progress& progress) {
  struct Group {
    decltype(sum_of(vectors[0])) sum;
    std::vector<std::uint32_t> members;
  };
  std::vector<Group> groups;
  groups.reserve(vectors.size());
  for (std::uint32_t i = 0; i < vectors.size(); ++i) groups.push_back({sum_of(vectors[i]), {i}});
  const auto likeness = [&](std::uint32_t a, std::uint32_t b) {
    return product(groups[a].sum, groups[b].sum) / (static_cast<double>(groups[a].members.size()) * static_cast<double>(groups[b].members.size()));
  };

  std::vector<std::uint32_t> active(vectors.size()), chain;
  std::iota(active.begin(), active.end(), 0U);
  const auto take_out = [&](std::uint32_t group) { active.erase(std::lower_bound(active.begin(), active.end(), group)); };
  Groups out;
  while (!active.empty()) {
    if (chain.empty()) chain.push_back(active.front());
    const std::uint32_t end = chain.back();
    const bool has_before = chain.size() > 1;
    // The one before it wins a tie, so that a chain comes to its end.
    std::uint32_t nearest = has_before ? chain[chain.size() - 2] : end;
    double best = has_before ? likeness(end, nearest) : threshold;
    bool found = has_before;
    for (const std::uint32_t other : active) {
      if (other == end || (has_before && other == nearest)) continue;
      const double value = likeness(end, other);
      if (found ? value > best : value >= best) {
        best = value;
        nearest = other;
        found = true;
      }
    }
    if (!found) {
      for (const std::uint32_t done : chain) {
        out.push_back(std::move(groups[done].members));
        take_out(done);
      }
      chain.clear();
      if (progress) progress(vectors.size() - active.size(), vectors.size());
    } else if (has_before && nearest == chain[chain.size() - 2]) {
      chain.resize(chain.size() - 2);
      const auto [kept, gone] = std::minmax(end, nearest);
      add(groups[kept].sum, groups[gone].sum);
      auto& members = groups[kept].members;
      members.insert(members.end(), groups[gone].members.begin(), groups[gone].members.end());
      groups[gone] = {};
      take_out(gone);
    } else {
      chain.push_back(nearest);
    }
  }
  for (auto& group : out) std::sort(group.begin(), group.end());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Groups average_link(std::span<const std::vector<float>> vectors, double threshold, const Progress& progress) { return link(vectors, threshold, progress); }
Groups average_link(std::span<const SparseVector> vectors, double threshold, const Progress& progress) { return link(vectors, threshold, progress); }

double dot(const std::vector<float>& a, const std::vector<float>& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
double dot(const SparseVector& a, const SparseVector& b) { return sparse_product(a, b); }

}  // namespace polygraph::gaps
