// What a refusal says, for every provider.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "wasm/agent/run.hpp"
#include "wasm/index/reader.hpp"

namespace polygraph::agent {

inline constexpr std::size_t most_closest_pages = 3;

/// The pages of the best candidates, distinct, at most three.
std::vector<Closest> closest_pages(const index::Index& index, std::span<const retrieval::Candidate> ranked);

/// Markdown: that nothing was found, and links to the closest pages.
std::string refusal_text(std::span<const Closest> closest);

}  // namespace polygraph::agent
