#include "wasm/index/reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "wasm/index/format.hpp"
#include "wasm/index/model_text.hpp"
#include "wasm/text/digest.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::index {
namespace {

using format::load_u32;
using format::load_u64;
using format::SectionKind;

/// A string table whose offsets were checked.
struct Strings {
  const std::byte* offsets = nullptr;
  const char* bytes = nullptr;

  std::string_view operator[](std::size_t i) const noexcept {
    const std::uint32_t begin = load_u32(offsets + 4 * i);
    return {bytes + begin, load_u32(offsets + 4 * (i + 1)) - begin};
  }
};

Error corrupt(SectionKind kind, std::string what) { return {ErrorCode::corrupt, std::move(what), std::string(format::name(kind))}; }
tl::unexpected<Error> refuse(SectionKind kind, std::string what) { return tl::unexpected<Error>(corrupt(kind, std::move(what))); }

/// Takes a section apart from front to back. What does not fit leaves an error behind and yields an empty value.
class Slicer {
 public:
  Slicer(SectionKind kind, std::span<const std::byte> bytes) : kind_(kind), rest_(bytes) {}

  std::uint32_t u32(const char* what) {
    const auto* at = take(1, 4, what);
    return at ? load_u32(at) : 0;
  }
  /// `count` elements of `size` bytes.
  const std::byte* take(std::uint64_t count, std::uint64_t size, const char* what) {
    if (error_) return nullptr;
    if (count > rest_.size() / size) {
      error_ = corrupt(kind_, std::string(what) + " leads past the end of the section");
      return nullptr;
    }
    const std::byte* at = rest_.data();
    rest_ = rest_.subspan(static_cast<std::size_t>(count * size));
    return at;
  }
  /// u32 offsets[count + 1] that begin with 0, never fall and end with `last`.
  const std::byte* offsets(std::uint64_t count, std::uint64_t last, const char* what) {
    const auto* at = take(count + 1, 4, what);
    if (at && !rises(at, count, last)) error_ = corrupt(kind_, std::string(what) + " do not rise from 0 to their end");
    return error_ ? nullptr : at;
  }
  /// The string table that fills the rest of the section.
  Strings strings(std::uint64_t count, const char* what) {
    const auto* at = take(count + 1, 4, what);
    if (!at) return {};
    const std::string_view pool(reinterpret_cast<const char*>(rest_.data()), rest_.size());
    if (!rises(at, count, pool.size())) {
      error_ = corrupt(kind_, std::string(what) + ": the strings' offsets do not rise from 0 to their end");
      return {};
    }
    if (const auto invalid = text::first_invalid(pool)) {
      error_ = corrupt(kind_, std::string(what) + ": not UTF-8 at byte " + std::to_string(*invalid) + " of the strings");
      return {};
    }
    // The pool is UTF-8, so each string is if none of them begins inside a code point.
    for (std::uint64_t i = 1; i < count; ++i) {
      const auto begin = load_u32(at + 4 * i);
      if (begin < pool.size() && (static_cast<unsigned char>(pool[begin]) & 0xC0) == 0x80) {
        error_ = corrupt(kind_, std::string(what) + ": string " + std::to_string(i) + " begins inside a code point");
        return {};
      }
    }
    rest_ = {};
    return {at, pool.data()};
  }
  void finish() {
    if (!error_ && !rest_.empty()) error_ = corrupt(kind_, std::to_string(rest_.size()) + " bytes are left over");
  }
  const std::optional<Error>& error() const noexcept { return error_; }

 private:
  static bool rises(const std::byte* at, std::uint64_t count, std::uint64_t last) {
    if (load_u32(at) != 0) return false;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (load_u32(at + 4 * i) > load_u32(at + 4 * (i + 1))) return false;
    }
    return load_u32(at + 4 * count) == last;
  }

  SectionKind kind_;
  std::span<const std::byte> rest_;
  std::optional<Error> error_;
};

/// Reads LEB128 of at most 5 bytes; false past `end` or on a longer one.
bool checked_leb128(const std::byte*& at, const std::byte* end, std::uint64_t& value) noexcept {
  value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    if (at == end) return false;
    const auto byte = std::to_integer<std::uint64_t>(*at++);
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// The same for bytes that were checked.
std::uint64_t leb128(const std::byte*& at) noexcept {
  auto byte = std::to_integer<std::uint64_t>(*at++);
  std::uint64_t value = byte & 0x7F;
  for (int shift = 7; byte >= 0x80; shift += 7) {
    byte = std::to_integer<std::uint64_t>(*at++);
    value |= (byte & 0x7F) << shift;
  }
  return value;
}

constexpr std::size_t ordinal_digits = 3;

void append_ordinal(std::string& out, std::uint32_t ordinal) {
  const std::string digits = std::to_string(ordinal);
  if (digits.size() < ordinal_digits) out.append(ordinal_digits - digits.size(), '0');
  out += digits;
}

}  // namespace

std::optional<Posting> PostingCursor::next() noexcept {
  if (left_ == 0) return std::nullopt;
  --left_;
  const std::uint64_t head = leb128(at_);
  previous_ += static_cast<ChunkNo>(head >> 2);
  Posting posting{previous_, {1, 0, 0}};
  if ((head & 3) != 0) {
    posting.tf[0] = static_cast<std::uint32_t>(leb128(at_));
    if ((head & 3) == 2) {
      posting.tf[1] = static_cast<std::uint32_t>(leb128(at_));
      posting.tf[2] = static_cast<std::uint32_t>(leb128(at_));
    }
  }
  return posting;
}

struct Index::State {
  Part part = Part::all;
  Metadata metadata;
  std::string digest;

  std::uint32_t documents = 0;
  const std::byte* first_chunk = nullptr;  // u32[documents + 1]
  Strings document_strings;

  std::uint32_t chunks = 0;
  Strings chunk_strings;
  std::vector<DocumentNo> document_of;  // of each chunk

  const std::byte* first_link = nullptr;   // u32[chunks + 1]
  const std::byte* link_ranges = nullptr;  // u32[2 * links]
  Strings link_targets;

  std::uint32_t terms = 0;
  Strings term_strings;
  const std::byte* posting_offsets = nullptr;  // u32[terms + 1]
  std::span<const std::byte> postings;
  std::vector<std::uint32_t> df;
  std::vector<double> idf;
  double idf_unseen = 0;
  std::vector<std::array<std::uint32_t, field_count>> field_lengths;  // of each chunk
  std::array<double, field_count> mean_field_lengths{};

  std::optional<text::Vocabulary> vocabulary;
  std::span<const std::int8_t> vectors;
  std::vector<float> scales;

  ChunkNo first_chunk_of(std::uint32_t document) const noexcept { return load_u32(first_chunk + 4 * std::size_t{document}); }

  std::optional<Error> read_documents(std::span<const std::byte> bytes);
  std::optional<Error> read_chunks(std::span<const std::byte> bytes);
  std::optional<Error> read_links(std::span<const std::byte> bytes);
  std::optional<Error> read_terms(std::span<const std::byte> bytes);
  std::optional<Error> read_postings(std::span<const std::byte> bytes);
  std::optional<Error> read_idf(std::span<const std::byte> bytes);
  std::optional<Error> read_vocabulary(std::span<const std::byte> bytes);
  std::optional<Error> read_vectors(std::span<const std::byte> rows, std::span<const std::byte> scale_bytes);
};

std::optional<Error> Index::State::read_documents(std::span<const std::byte> bytes) {
  constexpr auto kind = SectionKind::documents;
  Slicer slicer(kind, bytes);
  documents = slicer.u32("the number of documents");
  first_chunk = slicer.offsets(documents, chunks, "the documents' chunk ranges");
  document_strings = slicer.strings(std::uint64_t{documents} * format::strings_per_document, "the documents' strings");
  if (slicer.error()) return slicer.error();
  document_of.reserve(chunks);
  for (DocumentNo d = 0; d < documents; ++d) {
    const auto id = document_strings[std::size_t{d} * format::strings_per_document];
    if (id.empty()) return corrupt(kind, "document " + std::to_string(d) + " has no id");
    if (d > 0 && document_strings[std::size_t{d - 1} * format::strings_per_document] >= id) {
      return corrupt(kind, "the ids of documents " + std::to_string(d - 1) + " and " + std::to_string(d) + " are not in order");
    }
    document_of.insert(document_of.end(), first_chunk_of(d + 1) - first_chunk_of(d), d);
  }
  return std::nullopt;
}

std::optional<Error> Index::State::read_chunks(std::span<const std::byte> bytes) {
  constexpr auto kind = SectionKind::chunks;
  Slicer slicer(kind, bytes);
  chunks = slicer.u32("the number of chunks");
  chunk_strings = slicer.strings(std::uint64_t{chunks} * format::strings_per_chunk, "the chunks' strings");
  if (slicer.error()) return slicer.error();
  for (std::size_t c = 0; c < chunks; ++c) {
    if (chunk_strings[c * format::strings_per_chunk + 2].empty()) {
      return corrupt(kind, "chunk " + std::to_string(c) + " has no text");
    }
  }
  return std::nullopt;
}

std::optional<Error> Index::State::read_links(std::span<const std::byte> bytes) {
  constexpr auto kind = SectionKind::links;
  Slicer slicer(kind, bytes);
  const std::uint32_t links = slicer.u32("the number of links");
  first_link = slicer.offsets(chunks, links, "the chunks' link ranges");
  link_ranges = slicer.take(links, 8, "the links' ranges");
  link_targets = slicer.strings(links, "the links' targets");
  if (slicer.error()) return slicer.error();
  for (std::size_t c = 0; c < chunks; ++c) {
    const std::string_view text = chunk_strings[c * format::strings_per_chunk + 2];
    const auto cuts_code_point = [&](std::uint32_t offset) {
      return offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80;
    };
    const std::uint32_t last = load_u32(first_link + 4 * (c + 1));
    for (std::uint32_t link = load_u32(first_link + 4 * c); link < last; ++link) {
      const auto begin = load_u32(link_ranges + 8 * std::size_t{link});
      const auto end = load_u32(link_ranges + 8 * std::size_t{link} + 4);
      if (begin > end || end > text.size() || cuts_code_point(begin) || cuts_code_point(end)) {
        return corrupt(kind, "link " + std::to_string(link) + " does not cover a piece of the text of chunk " + std::to_string(c));
      }
    }
  }
  return std::nullopt;
}

std::optional<Error> Index::State::read_terms(std::span<const std::byte> bytes) {
  constexpr auto kind = SectionKind::terms;
  Slicer slicer(kind, bytes);
  terms = slicer.u32("the number of terms");
  posting_offsets = slicer.offsets(terms, postings.size(), "the offsets of the postings");
  term_strings = slicer.strings(terms, "the terms");
  if (slicer.error()) return slicer.error();
  for (std::size_t t = 0; t < terms; ++t) {
    if (term_strings[t].empty() || (t > 0 && term_strings[t - 1] >= term_strings[t])) {
      return corrupt(kind, "term " + std::to_string(t) + " is empty or not in order");
    }
  }
  return std::nullopt;
}

std::optional<Error> Index::State::read_postings(std::span<const std::byte> bytes) {
  constexpr auto kind = SectionKind::postings;
  std::vector<std::array<std::uint64_t, field_count>> lengths(chunks);
  df.resize(terms);
  for (std::size_t t = 0; t < terms; ++t) {
    const std::byte* at = bytes.data() + load_u32(posting_offsets + 4 * t);
    const std::byte* end = bytes.data() + load_u32(posting_offsets + 4 * (t + 1));
    const auto broken = [&](const char* what) { return corrupt(kind, "the postings of term " + std::to_string(t) + " " + what); };
    std::uint64_t count = 0;
    if (!checked_leb128(at, end, count)) return broken("end too early");
    if (count == 0 || count > chunks) return broken("claim to be in an impossible number of chunks");
    df[t] = static_cast<std::uint32_t>(count);
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t head = 0;
      if (!checked_leb128(at, end, head)) return broken("end too early");
      const std::uint64_t gap = head >> 2, code = head & 3;
      if (gap == 0 || gap > chunks - next) return broken("name a chunk that does not exist");
      next += gap;
      std::array<std::uint64_t, field_count> tf = {1, 0, 0};
      const std::size_t stored = code == 0 ? 0 : code == 1 ? 1 : code == 2 ? field_count : field_count + 1;
      if (stored > field_count) return broken("use an unknown code");
      for (std::size_t f = 0; f < stored; ++f) {
        if (!checked_leb128(at, end, tf[f])) return broken("end too early");
      }
      auto& length = lengths[static_cast<std::size_t>(next - 1)];
      std::uint64_t occurrences = 0;
      for (std::size_t f = 0; f < field_count; ++f) {
        length[f] += tf[f];
        occurrences += tf[f];
        if (length[f] > std::numeric_limits<std::uint32_t>::max()) return broken("count more occurrences than a text can hold");
      }
      if (occurrences == 0) return broken("list a chunk that does not hold it");
    }
    if (at != end) return broken("are longer than their count");
  }
  field_lengths.resize(chunks);
  std::array<std::uint64_t, field_count> total{};
  for (std::size_t c = 0; c < chunks; ++c) {
    for (std::size_t f = 0; f < field_count; ++f) {
      field_lengths[c][f] = static_cast<std::uint32_t>(lengths[c][f]);
      total[f] += lengths[c][f];
    }
  }
  for (std::size_t f = 0; f < field_count && chunks > 0; ++f) {
    mean_field_lengths[f] = static_cast<double>(total[f]) / static_cast<double>(chunks);
  }
  return std::nullopt;
}

std::optional<Error> Index::State::read_idf(std::span<const std::byte> bytes) {
  constexpr auto kind = SectionKind::idf;
  Slicer slicer(kind, bytes);
  const std::uint32_t count = slicer.u32("the number of entries");
  const std::uint32_t reserved = slicer.u32("the header");
  const std::byte* frequencies = slicer.take(count, 4, "the document frequencies");
  const std::byte* padding = slicer.take(count % 2, 4, "the padding");
  const std::byte* values = slicer.take(count, 8, "the values");
  slicer.finish();
  if (slicer.error()) return slicer.error();
  if (count == 0 || load_u32(frequencies) != 0 || reserved != 0 || (count % 2 == 1 && load_u32(padding) != 0)) {
    return corrupt(kind, "the table does not begin with document frequency 0");
  }
  // By document frequency; NaN where the table has no entry.
  std::vector<double> by_df(std::size_t{chunks} + 1, std::numeric_limits<double>::quiet_NaN());
  double previous = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < count; ++i) {
    const auto frequency = load_u32(frequencies + 4 * i);
    const auto value = bit_cast<double>(load_u64(values + 8 * i));
    if (frequency > chunks || (i > 0 && frequency <= load_u32(frequencies + 4 * (i - 1)))) {
      return corrupt(kind, "the document frequencies are not in order");
    }
    if (!std::isfinite(value) || value < 0 || value >= previous) {
      return corrupt(kind, "the value for document frequency " + std::to_string(frequency) + " is not finite, negative or does not fall");
    }
    by_df[frequency] = previous = value;
  }
  idf_unseen = by_df[0];
  idf.resize(terms);
  for (std::size_t t = 0; t < terms; ++t) {
    idf[t] = by_df[df[t]];
    if (std::isnan(idf[t])) return corrupt(kind, "there is no value for document frequency " + std::to_string(df[t]));
  }
  return std::nullopt;
}

std::optional<Error> Index::State::read_vocabulary(std::span<const std::byte> bytes) {
  if (bytes.empty()) return std::nullopt;
  auto parsed = text::Vocabulary::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!parsed) return corrupt(SectionKind::vocabulary, parsed.error().message);
  vocabulary = std::move(*parsed);
  return std::nullopt;
}

std::optional<Error> Index::State::read_vectors(std::span<const std::byte> rows, std::span<const std::byte> scale_bytes) {
  if (rows.empty() && scale_bytes.empty()) return std::nullopt;
  const std::uint64_t dimensions = metadata.embedder.dimensions;
  if (dimensions == 0 || dimensions > format::max_dimensions) {
    return corrupt(SectionKind::vectors, "the metadata names " + std::to_string(dimensions) + " dimensions");
  }
  if (rows.size() != dimensions * chunks) {
    return corrupt(SectionKind::vectors, std::to_string(rows.size()) + " bytes do not make " + std::to_string(chunks) + " rows of " +
                                             std::to_string(dimensions));
  }
  if (scale_bytes.size() != std::uint64_t{chunks} * 4) {
    return corrupt(SectionKind::scales, std::to_string(scale_bytes.size()) + " bytes do not make a scale for each of " +
                                            std::to_string(chunks) + " chunks");
  }
  if (!vocabulary) return corrupt(SectionKind::vocabulary, "there are vectors, but no vocabulary");
  vectors = {reinterpret_cast<const std::int8_t*>(rows.data()), rows.size()};
  scales.resize(chunks);
  for (std::size_t c = 0; c < chunks; ++c) {
    scales[c] = bit_cast<float>(load_u32(scale_bytes.data() + 4 * c));
    if (!std::isfinite(scales[c]) || scales[c] < 0) {
      return corrupt(SectionKind::scales, "the scale of chunk " + std::to_string(c) + " is negative or not finite");
    }
  }
  return std::nullopt;
}

Result<Extent> extent(std::span<const std::byte> prefix) {
  return format::read_table(prefix).map([](const format::Table& table) { return Extent{table.lexical_end, table.file_length}; });
}

Index::Index(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<Index> Index::open(std::span<const std::byte> bytes, Part part) {
  auto table = format::read_table(bytes);
  if (!table) return tl::unexpected<Error>(std::move(table.error()));

  const std::size_t wanted = part == Part::all ? format::section_count : format::lexical_section_count;
  std::array<std::span<const std::byte>, format::section_count> sections;
  std::uint64_t previous_end = format::table_end;
  for (std::size_t i = 0; i < wanted; ++i) {
    const auto kind = format::kind_at(i);
    const format::Section& section = table->sections[i];
    if (section.offset + section.length > bytes.size()) {
      return fail(ErrorCode::truncated,
                  "the file ends after " + std::to_string(bytes.size()) + " bytes; this section ends at " +
                      std::to_string(section.offset + section.length),
                  std::string(format::name(kind)));
    }
    for (std::uint64_t at = previous_end; at < section.offset; ++at) {
      if (bytes[static_cast<std::size_t>(at)] != std::byte{0}) return refuse(kind, "the padding before the section is not zero");
    }
    sections[i] = bytes.subspan(static_cast<std::size_t>(section.offset), static_cast<std::size_t>(section.length));
    if (text::digest128(sections[i]) != section.checksum) return refuse(kind, "the section does not match its checksum");
    previous_end = section.offset + section.length;
  }
  if (part == Part::all && bytes.size() > table->file_length) {
    return fail(ErrorCode::corrupt,
                std::to_string(bytes.size() - table->file_length) + " bytes follow the end that the header names", "header");
  }
  const auto section = [&](SectionKind kind) { return sections[static_cast<std::size_t>(kind) - 1]; };

  auto state = std::make_shared<State>();
  state->part = part;
  state->digest = text::to_string(table->digest);
  const auto json = section(SectionKind::metadata);
  auto metadata = parse_metadata({reinterpret_cast<const char*>(json.data()), json.size()});
  if (!metadata) return refuse(SectionKind::metadata, metadata.error().message);
  state->metadata = std::move(*metadata);
  state->postings = section(SectionKind::postings);

  // In the order of what one needs of another: chunk ranges are checked against the chunks, postings against both.
  auto error = state->read_chunks(section(SectionKind::chunks));
  if (!error) error = state->read_documents(section(SectionKind::documents));
  if (!error) error = state->read_links(section(SectionKind::links));
  if (!error) error = state->read_terms(section(SectionKind::terms));
  if (!error) error = state->read_postings(section(SectionKind::postings));
  if (!error) error = state->read_idf(section(SectionKind::idf));
  if (!error && part == Part::all) error = state->read_vocabulary(section(SectionKind::vocabulary));
  if (!error && part == Part::all) error = state->read_vectors(section(SectionKind::vectors), section(SectionKind::scales));
  if (error) return tl::unexpected<Error>(std::move(*error));
  return Index(std::move(state));
}

Part Index::part() const noexcept { return state_->part; }
const Metadata& Index::metadata() const noexcept { return state_->metadata; }
const std::string& Index::digest() const noexcept { return state_->digest; }

std::uint32_t Index::documents() const noexcept { return state_->documents; }

Document Index::document(DocumentNo no) const noexcept {
  const std::size_t at = std::size_t{no} * format::strings_per_document;
  const Strings& strings = state_->document_strings;
  Document document{strings[at], strings[at + 1], strings[at + 2], strings[at + 3], state_->first_chunk_of(no), 0};
  document.chunk_count = state_->first_chunk_of(no + 1) - document.first_chunk;
  if (document.licence.empty()) document.licence = state_->metadata.licence;
  return document;
}

std::optional<DocumentNo> Index::find_document(std::string_view id) const noexcept {
  DocumentNo low = 0, high = state_->documents;
  while (low < high) {
    const DocumentNo middle = low + (high - low) / 2;
    if (state_->document_strings[std::size_t{middle} * format::strings_per_document] < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == state_->documents || state_->document_strings[std::size_t{low} * format::strings_per_document] != id) return std::nullopt;
  return low;
}

std::uint32_t Index::chunks() const noexcept { return state_->chunks; }

Chunk Index::chunk(ChunkNo no) const noexcept {
  const std::size_t at = std::size_t{no} * format::strings_per_chunk;
  const DocumentNo document = state_->document_of[no];
  const Strings& strings = state_->chunk_strings;
  return {document, no - state_->first_chunk_of(document), strings[at], strings[at + 1], strings[at + 2]};
}

std::string Index::chunk_id(ChunkNo no) const {
  const DocumentNo document = state_->document_of[no];
  std::string id(state_->document_strings[std::size_t{document} * format::strings_per_document]);
  id += '#';
  append_ordinal(id, no - state_->first_chunk_of(document));
  return id;
}

std::optional<ChunkNo> Index::find_chunk(std::string_view id) const noexcept {
  const auto hash = id.rfind('#');
  if (hash == std::string_view::npos) return std::nullopt;
  const auto digits = id.substr(hash + 1);
  if (digits.size() < ordinal_digits || (digits.size() > ordinal_digits && digits.front() == '0')) return std::nullopt;
  std::uint32_t ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  const auto found = find_document(id.substr(0, hash));
  if (!found) return std::nullopt;
  const Document owner = document(*found);
  if (ordinal >= owner.chunk_count) return std::nullopt;
  return owner.first_chunk + ordinal;
}

std::string Index::chunk_url(ChunkNo no) const {
  const Chunk view = chunk(no);
  std::string url(document(view.document).url);
  if (!url.empty() && !view.anchor.empty()) {
    url += '#';
    url += view.anchor;
  }
  return url;
}

std::vector<LinkView> Index::links(ChunkNo no) const {
  std::vector<LinkView> links;
  const std::uint32_t last = load_u32(state_->first_link + 4 * (std::size_t{no} + 1));
  for (std::size_t link = load_u32(state_->first_link + 4 * std::size_t{no}); link < last; ++link) {
    links.push_back({load_u32(state_->link_ranges + 8 * link), load_u32(state_->link_ranges + 8 * link + 4), state_->link_targets[link]});
  }
  return links;
}

std::string Index::chunk_model_text(ChunkNo no) const {
  const Chunk view = chunk(no);
  return model_text(document(view.document).title, view.heading_path, view.text);
}

std::uint32_t Index::terms() const noexcept { return state_->terms; }
std::string_view Index::term(TermNo no) const noexcept { return state_->term_strings[no]; }

namespace {

/// First of `count` sorted strings for which `below` is false.
template <class Below>
TermNo partition_point(TermNo count, Below below) noexcept {
  TermNo low = 0, high = count;
  while (low < high) {
    const TermNo middle = low + (high - low) / 2;
    if (below(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

std::optional<TermNo> Index::find_term(std::string_view wanted) const noexcept {
  const TermNo at = partition_point(terms(), [&](TermNo t) { return term(t) < wanted; });
  if (at == terms() || term(at) != wanted) return std::nullopt;
  return at;
}

std::pair<TermNo, TermNo> Index::terms_with_prefix(std::string_view prefix) const noexcept {
  return {partition_point(terms(), [&](TermNo t) { return term(t).substr(0, prefix.size()) < prefix; }),
          partition_point(terms(), [&](TermNo t) { return term(t).substr(0, prefix.size()) <= prefix; })};
}

std::uint32_t Index::document_frequency(TermNo no) const noexcept { return state_->df[no]; }
double Index::idf(TermNo no) const noexcept { return state_->idf[no]; }
double Index::idf_unseen() const noexcept { return state_->idf_unseen; }

PostingCursor Index::postings(TermNo no) const noexcept {
  PostingCursor cursor;
  cursor.at_ = state_->postings.data() + load_u32(state_->posting_offsets + 4 * std::size_t{no});
  cursor.end_ = state_->postings.data() + load_u32(state_->posting_offsets + 4 * (std::size_t{no} + 1));
  cursor.left_ = static_cast<std::uint32_t>(leb128(cursor.at_));
  cursor.previous_ = std::numeric_limits<ChunkNo>::max();  // one before chunk 0
  return cursor;
}

std::uint32_t Index::field_length(ChunkNo no, Field field) const noexcept {
  return state_->field_lengths[no][static_cast<std::size_t>(field)];
}
double Index::mean_field_length(Field field) const noexcept { return state_->mean_field_lengths[static_cast<std::size_t>(field)]; }

bool Index::has_vectors() const noexcept { return !state_->vectors.empty(); }
std::uint32_t Index::dimensions() const noexcept { return has_vectors() ? state_->metadata.embedder.dimensions : 0; }
std::span<const std::int8_t> Index::vectors() const noexcept { return state_->vectors; }
std::span<const float> Index::vector_scales() const noexcept { return state_->scales; }
const text::Vocabulary* Index::vocabulary() const noexcept { return state_->vocabulary ? &*state_->vocabulary : nullptr; }

}  // namespace polygraph::index
