#include "wasm/index/writer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "wasm/index/format.hpp"
#include "wasm/index/quantisation.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/text/terms.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::index {
namespace {

using Bytes = std::vector<std::byte>;

void put_u32(Bytes& out, std::uint64_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>(value >> shift & 0xFF));
}
void put_u64(Bytes& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<std::byte>(value >> shift & 0xFF));
}
void put_leb128(Bytes& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<std::byte>((value & 0x7F) | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<std::byte>(value));
}
void put_bytes(Bytes& out, std::string_view bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  out.insert(out.end(), begin, begin + bytes.size());
}
void put_digest(Bytes& out, const text::Digest128& digest) {
  for (const auto byte : digest) out.push_back(static_cast<std::byte>(byte));
}
void put_strings(Bytes& out, const std::vector<std::string_view>& strings) {
  std::uint64_t offset = 0;
  put_u32(out, offset);
  for (const auto string : strings) put_u32(out, offset += string.size());
  for (const auto string : strings) put_bytes(out, string);
}

std::optional<Error> ill_formed(std::string_view text, const std::string& what, const std::string& field) {
  if (const auto at = text::first_invalid(text)) {
    return Error{ErrorCode::invalid_argument, what + " is not UTF-8 at byte " + std::to_string(*at), field};
  }
  return std::nullopt;
}

bool inside_code_point(std::string_view text, std::uint32_t offset) {
  return offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80;
}

std::optional<Error> check(const Metadata& metadata) {
  for (const std::string* text :
       {&metadata.corpus, &metadata.revision, &metadata.title, &metadata.licence, &metadata.source_url, &metadata.language,
        &metadata.embedder.name, &metadata.embedder.sha256, &metadata.embedder.query_prefix, &metadata.reranker.name,
        &metadata.reranker.sha256, &metadata.reranker.query_prefix, &metadata.chunker, &metadata.builder}) {
    if (auto error = ill_formed(*text, "a string of the metadata", "metadata")) return error;
  }
  for (const auto& page : metadata.skipped) {
    if (auto error = ill_formed(page, "a skipped page's line", "metadata")) return error;
  }
  return std::nullopt;
}

std::optional<Error> check(const DocumentInput& document) {
  if (document.id.empty()) return Error{ErrorCode::invalid_argument, "a document (title \"" + document.title + "\") has no id", ""};
  if (auto error = ill_formed(document.id, "a document's id", "")) return error;
  const std::pair<const char*, const std::string*> strings[] = {
      {"the title", &document.title}, {"the URL", &document.url}, {"the licence", &document.licence}};
  for (const auto& [what, text] : strings) {
    if (auto error = ill_formed(*text, what, document.id)) return error;
  }
  for (std::size_t i = 0; i < document.chunks.size(); ++i) {
    const ChunkInput& chunk = document.chunks[i];
    const std::string where = "chunk " + std::to_string(i);
    if (chunk.text.empty()) return Error{ErrorCode::invalid_argument, where + " has no text", document.id};
    if (auto error = ill_formed(chunk.text, "the text of " + where, document.id)) return error;
    if (auto error = ill_formed(chunk.heading_path, "the heading path of " + where, document.id)) return error;
    if (auto error = ill_formed(chunk.anchor, "the anchor of " + where, document.id)) return error;
    for (const Link& link : chunk.links) {
      if (link.begin > link.end || link.end > chunk.text.size() || inside_code_point(chunk.text, link.begin) ||
          inside_code_point(chunk.text, link.end)) {
        return Error{ErrorCode::invalid_argument,
                     "a link of " + where + " covers bytes " + std::to_string(link.begin) + " to " + std::to_string(link.end) +
                         ", which is not a piece of its text of " + std::to_string(chunk.text.size()) + " bytes",
                     document.id};
      }
      if (auto error = ill_formed(link.target, "a link target of " + where, document.id)) return error;
    }
  }
  return std::nullopt;
}

using Postings = std::map<std::string, std::vector<Posting>, std::less<>>;

void count(Postings& postings, ChunkNo chunk, Field field, std::string_view text, text::Analysis analysis) {
  for (const text::Term& term : text::terms(text, analysis)) {
    auto& list = postings[term.text];
    if (list.empty() || list.back().chunk != chunk) list.push_back(Posting{chunk, {}});
    ++list.back().tf[static_cast<std::size_t>(field)];
  }
}

void put_postings(Bytes& out, const std::vector<Posting>& list) {
  put_leb128(out, list.size());
  std::uint64_t next = 0;  // lowest chunk that can follow
  for (const Posting& posting : list) {
    const std::uint64_t gap = posting.chunk - next + 1;
    next = std::uint64_t{posting.chunk} + 1;
    const auto [body, title, heading] = std::tuple(posting.tf[0], posting.tf[1], posting.tf[2]);
    if (title != 0 || heading != 0) {
      put_leb128(out, gap << 2 | 2);
      for (const auto tf : {body, title, heading}) put_leb128(out, tf);
    } else if (body != 1) {
      put_leb128(out, gap << 2 | 1);
      put_leb128(out, body);
    } else {
      put_leb128(out, gap << 2);
    }
  }
}

/// ln(1 + (N - df + 0.5) / (df + 0.5)): of Robertson and Spärck Jones (1976), with the 1 that keeps it positive.
double inverse_document_frequency(std::size_t chunks, std::uint32_t df) {
  const double n = static_cast<double>(chunks);
  const double d = static_cast<double>(df);
  return std::log(1.0 + (n - d + 0.5) / (d + 0.5));
}

Bytes idf_section(const Postings& postings, std::size_t chunks) {
  std::set<std::uint32_t> frequencies = {0};
  for (const auto& [term, list] : postings) frequencies.insert(static_cast<std::uint32_t>(list.size()));
  Bytes out;
  put_u32(out, frequencies.size());
  put_u32(out, 0);
  for (const auto df : frequencies) put_u32(out, df);
  out.resize(static_cast<std::size_t>(format::align(out.size())));
  for (const auto df : frequencies) put_u64(out, bit_cast<std::uint64_t>(inverse_document_frequency(chunks, df)));
  return out;
}

}  // namespace

Result<std::vector<std::byte>> write_index(const IndexInput& input) {
  if (auto error = check(input.metadata)) return tl::unexpected<Error>(std::move(*error));

  std::vector<std::size_t> first_row(input.documents.size());  // of a document's chunks in input.vectors
  std::size_t chunk_count = 0;
  for (std::size_t i = 0; i < input.documents.size(); ++i) {
    if (auto error = check(input.documents[i])) return tl::unexpected<Error>(std::move(*error));
    first_row[i] = chunk_count;
    chunk_count += input.documents[i].chunks.size();
  }
  std::vector<std::size_t> order(input.documents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return input.documents[a].id < input.documents[b].id; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto& id = input.documents[order[i]].id;
    if (id == input.documents[order[i - 1]].id) return fail(ErrorCode::invalid_argument, "two documents have the id \"" + id + "\"", id);
  }

  const std::size_t dimensions = input.metadata.embedder.dimensions;
  const bool with_vectors = !input.vectors.empty();
  if (with_vectors) {
    if (dimensions == 0 || dimensions > format::max_dimensions) {
      return fail(ErrorCode::invalid_argument,
                  "there are vectors, but the embedder has " + std::to_string(dimensions) + " dimensions (1 to " +
                      std::to_string(format::max_dimensions) + " are possible)",
                  "vectors");
    }
    if (input.vectors.size() != chunk_count * dimensions) {
      return fail(ErrorCode::invalid_argument,
                  std::to_string(input.vectors.size()) + " values do not make one row of " + std::to_string(dimensions) +
                      " for each of " + std::to_string(chunk_count) + " chunks",
                  "vectors");
    }
    if (!std::all_of(input.vectors.begin(), input.vectors.end(), [](float x) { return std::isfinite(x); })) {
      return fail(ErrorCode::invalid_argument, "a value is not finite", "vectors");
    }
  }
  if (with_vectors || !input.vocabulary.empty()) {
    if (auto vocabulary = text::Vocabulary::parse(input.vocabulary); !vocabulary) {
      return fail(ErrorCode::invalid_argument, vocabulary.error().message, "vocabulary");
    }
  }

  std::array<Bytes, format::section_count> sections;
  const auto section = [&](format::SectionKind kind) -> Bytes& { return sections[static_cast<std::size_t>(kind) - 1]; };
  using format::SectionKind;

  put_bytes(section(SectionKind::metadata), to_json(input.metadata));

  std::vector<std::string_view> document_strings, chunk_strings, targets;
  Bytes first_chunk, first_link, link_ranges;
  Postings postings;
  ChunkNo chunk_no = 0;
  put_u32(first_chunk, 0);
  put_u32(first_link, 0);
  for (const auto i : order) {
    const DocumentInput& document = input.documents[i];
    document_strings.insert(document_strings.end(), {document.id, document.title, document.url, document.licence});
    for (const ChunkInput& chunk : document.chunks) {
      chunk_strings.insert(chunk_strings.end(), {chunk.heading_path, chunk.anchor, chunk.text});
      for (const Link& link : chunk.links) {
        put_u32(link_ranges, link.begin);
        put_u32(link_ranges, link.end);
        targets.push_back(link.target);
      }
      put_u32(first_link, targets.size());
      count(postings, chunk_no, Field::body, chunk.text, input.metadata.analysis);
      count(postings, chunk_no, Field::title, document.title, input.metadata.analysis);
      count(postings, chunk_no, Field::heading, chunk.heading_path, input.metadata.analysis);
      ++chunk_no;
    }
    put_u32(first_chunk, chunk_no);
  }

  Bytes& documents = section(SectionKind::documents);
  put_u32(documents, order.size());
  documents.insert(documents.end(), first_chunk.begin(), first_chunk.end());
  put_strings(documents, document_strings);

  put_u32(section(SectionKind::chunks), chunk_count);
  put_strings(section(SectionKind::chunks), chunk_strings);

  Bytes& links = section(SectionKind::links);
  put_u32(links, targets.size());
  links.insert(links.end(), first_link.begin(), first_link.end());
  links.insert(links.end(), link_ranges.begin(), link_ranges.end());
  put_strings(links, targets);

  Bytes& terms = section(SectionKind::terms);
  Bytes& lists = section(SectionKind::postings);
  std::vector<std::string_view> term_strings;
  put_u32(terms, postings.size());
  put_u32(terms, 0);
  for (const auto& [term, list] : postings) {
    term_strings.push_back(term);
    put_postings(lists, list);
    put_u32(terms, lists.size());
  }
  put_strings(terms, term_strings);
  section(SectionKind::idf) = idf_section(postings, chunk_count);

  put_bytes(section(SectionKind::vocabulary), input.vocabulary);
  if (with_vectors) {
    std::vector<std::int8_t> row(dimensions);
    for (const auto i : order) {
      for (std::size_t c = 0; c < input.documents[i].chunks.size(); ++c) {
        const auto vector = std::span(input.vectors).subspan((first_row[i] + c) * dimensions, dimensions);
        put_u32(section(SectionKind::scales), bit_cast<std::uint32_t>(quantise(vector, row)));
        for (const auto value : row) section(SectionKind::vectors).push_back(static_cast<std::byte>(value));
      }
    }
  }

  // Offsets and counts inside a section are 32 bits wide.
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (const auto kind = format::kind_at(i);
        kind != SectionKind::vectors && sections[i].size() > std::numeric_limits<std::uint32_t>::max()) {
      return fail(ErrorCode::invalid_argument, "the section would be larger than 4 GiB", std::string(format::name(kind)));
    }
  }

  Bytes table;
  std::uint64_t offset = format::table_end;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    offset = format::align(offset);
    put_u32(table, static_cast<std::uint32_t>(format::kind_at(i)));
    put_u32(table, 0);
    put_u64(table, offset);
    put_u64(table, sections[i].size());
    put_digest(table, text::digest128(std::span<const std::byte>(sections[i])));
    offset += sections[i].size();
  }

  Bytes file;
  file.reserve(static_cast<std::size_t>(offset));
  for (const auto byte : format::magic) file.push_back(static_cast<std::byte>(byte));
  put_u32(file, format::version);
  put_u32(file, format::section_count);
  put_u64(file, offset);
  put_digest(file, text::digest128(std::span<const std::byte>(table)));
  file.insert(file.end(), table.begin(), table.end());
  for (const Bytes& bytes : sections) {
    file.resize(static_cast<std::size_t>(format::align(file.size())));
    file.insert(file.end(), bytes.begin(), bytes.end());
  }
  return file;
}

}  // namespace polygraph::index
