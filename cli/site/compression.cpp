#include "cli/site/compression.hpp"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace polygraph::cli::site {
namespace {

/// Brotli's best level takes a minute for onnxruntime's 14 MB and saves 6 % over level 9.
constexpr std::size_t best_level_up_to = 6'000'000;
constexpr int quick_level = 9, window_bits = 22;
constexpr int gzip_window = MAX_WBITS + 16;  // with gzip's header
constexpr int gzip_level = 9, gzip_memory = 8;
constexpr std::size_t piece_bytes = std::size_t{1} << 16;

std::string brotli(std::string_view bytes) {
  std::size_t size = BrotliEncoderMaxCompressedSize(bytes.size());
  std::string out(size, '\0');
  const int level = bytes.size() > best_level_up_to ? quick_level : BROTLI_MAX_QUALITY;
  if (BrotliEncoderCompress(level, window_bits, BROTLI_MODE_GENERIC, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()), &size,
                            reinterpret_cast<std::uint8_t*>(out.data())) != BROTLI_TRUE) {
    throw std::runtime_error("Brotli can't compress");
  }
  out.resize(size);
  return out;
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (bytes.size() > std::numeric_limits<uInt>::max() || deflateInit2(&stream, gzip_level, Z_DEFLATED, gzip_window, gzip_memory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("zlib can't compress");
  }
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (!whole) throw std::runtime_error("zlib can't compress");
  return out;
}

/// Decodes piece by piece and compares: what a broken variant would unfold to is never held.
bool brotli_encodes(std::string_view variant, std::string_view bytes) {
  BrotliDecoderState* state = BrotliDecoderCreateInstance(nullptr, nullptr, nullptr);
  std::size_t in_left = variant.size();
  const auto* in = reinterpret_cast<const std::uint8_t*>(variant.data());
  std::vector<std::uint8_t> piece(piece_bytes);
  bool same = state != nullptr;
  auto result = BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT;
  while (same && result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) {
    std::size_t out_left = piece.size();
    std::uint8_t* out = piece.data();
    result = BrotliDecoderDecompressStream(state, &in_left, &in, &out_left, &out, nullptr);
    const std::size_t got = piece.size() - out_left;
    same = got <= bytes.size() && std::equal(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got), reinterpret_cast<const std::uint8_t*>(bytes.data()));
    if (same) bytes.remove_prefix(got);
  }
  if (state != nullptr) BrotliDecoderDestroyInstance(state);
  return same && result == BROTLI_DECODER_RESULT_SUCCESS && in_left == 0 && bytes.empty();
}

bool gzip_encodes(std::string_view variant, std::string_view bytes) {
  z_stream stream{};
  if (variant.size() > std::numeric_limits<uInt>::max() || inflateInit2(&stream, gzip_window) != Z_OK) return false;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(variant.data()));
  stream.avail_in = static_cast<uInt>(variant.size());
  std::vector<Bytef> piece(piece_bytes);
  bool same = true;
  int result = Z_OK;
  while (same && result == Z_OK) {
    stream.next_out = piece.data();
    stream.avail_out = static_cast<uInt>(piece.size());
    result = inflate(&stream, Z_NO_FLUSH);
    const std::size_t got = piece.size() - stream.avail_out;
    same = got <= bytes.size() && std::equal(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got), reinterpret_cast<const Bytef*>(bytes.data()));
    if (same) bytes.remove_prefix(got);
  }
  const bool whole = result == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  return same && whole && bytes.empty();
}

}  // namespace

std::string_view suffix(Coding coding) noexcept { return coding == Coding::brotli ? ".br" : ".gz"; }

bool is_compressible(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 11> endings = {".html", ".js", ".mjs", ".css", ".json", ".jsonl", ".svg", ".wasm", ".polygraph", ".txt", ".xml"};
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

std::string compressed(Coding coding, std::string_view bytes) { return coding == Coding::brotli ? brotli(bytes) : gzip(bytes); }

bool encodes(Coding coding, std::string_view variant, std::string_view bytes) {
  return coding == Coding::brotli ? brotli_encodes(variant, bytes) : gzip_encodes(variant, bytes);
}

}  // namespace polygraph::cli::site
