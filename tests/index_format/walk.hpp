// Touches everything that an opened index can hand out, so that a sanitizer sees every read.
#pragma once

#include <cstdint>

#include "wasm/index/reader.hpp"

namespace polygraph::tests {

/// A number that depends on every byte an accessor returned.
std::uint64_t walk(const index::Index& index);

}  // namespace polygraph::tests
