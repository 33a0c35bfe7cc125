// The compressed variants of a static file, NAME.br and NAME.gz: Brotli (RFC 7932) and gzip (RFC 1952). The same bytes and the
// same library give the same variant: no time, name or system stands in it.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace polygraph::cli::site {

enum class Coding { brotli, gzip };
inline constexpr std::array codings = {Coding::brotli, Coding::gzip};

/// `.br` or `.gz`.
std::string_view suffix(Coding coding) noexcept;

/// Whether a file of this name shrinks: text, WebAssembly, indexes. Models hardly do.
bool is_compressible(std::string_view name) noexcept;

std::string compressed(Coding coding, std::string_view bytes);

/// Whether `variant` is a sound encoding of exactly `bytes`.
bool encodes(Coding coding, std::string_view variant, std::string_view bytes);

}  // namespace polygraph::cli::site
