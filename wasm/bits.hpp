// std::bit_cast, which the C++ library of Debian's emscripten lacks.
#pragma once

#include <cstring>
#include <type_traits>

namespace polygraph {

template <class To, class From>
To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>);
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

}  // namespace polygraph
