#include "cli/commands/stored_document.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/console.hpp"
#include "cli/runs/tables.hpp"
#include "wasm/report/run_text.hpp"

namespace polygraph::cli {

std::string file_of(const std::string& name, const KeptResults& kept) {
  std::error_code error;
  if (name == "-") return "stdin";
  if (std::filesystem::exists(name, error)) return name;
  const auto found = kept.named(name);
  return found && *found ? (*found)->string() : name;
}

Result<std::unique_ptr<StoredDocument>> StoredDocument::open(const std::string& name, const KeptResults& kept, const diagnosis::ReadOptions& options,
                                                             const diagnosis::Rules& rules) {
  std::unique_ptr<StoredDocument> out(new StoredDocument());
  std::string file = name;
  std::error_code error;
  if (name != "-" && !std::filesystem::exists(name, error)) {
    if (const auto found = kept.named(name)) {
      if (!*found) return tl::unexpected(found->error());
      file = (*found)->string();
    }
  }
  std::string_view view;
  if (file == "-" || (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))) {
    if (file == "-") say_waiting("a report or results");
    auto text = read_text(file);
    if (!text) return tl::unexpected(std::move(text.error()));
    out->text_ = std::move(*text);
    view = out->text_;
  } else {
    auto mapped = MappedFile::open(file);
    if (!mapped) return tl::unexpected(std::move(mapped.error()));
    out->mapped_ = std::move(*mapped);
    view = {reinterpret_cast<const char*>(out->mapped_->bytes().data()), out->mapped_->bytes().size()};
  }
  if (report::is_run(view)) {
    if (!out->mapped_) return fail(ErrorCode::invalid_argument, "a run is read from its file, not from stdin or a pipe");
    auto run = load_run(file);
    if (!run) return tl::unexpected(std::move(run.error()));
    if (const auto& read = (*run)->run; read.done < read.facts.items) {
      say(fmt::format("warning: {}: the run is incomplete, {} of {} items are there; the command that made it goes on", file, read.done, read.facts.items));
    }
    out->mapped_ = std::move((*run)->file);
    out->document_ = std::move((*run)->run.document);
    out->run_identity_ = std::move((*run)->identity);
    return out;
  }
  diagnosis::ReadOptions reading = options;
  reading.passed = out->passed();
  auto document = diagnosis::read_document(view, reading, rules);
  if (!document) return tl::unexpected(std::move(document.error()));
  out->document_ = std::move(*document);
  return out;
}

std::function<void(std::size_t)> StoredDocument::passed() const {
  if (!mapped_ || mapped_->bytes().empty()) return {};
  const std::span<const std::byte> bytes = mapped_->bytes();
  return [bytes](std::size_t offset) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t whole = std::min(offset, bytes.size()) / page * page;
    // Read-only pages of a file: what is asked for again is read again.
    if (whole > 0) ::madvise(const_cast<std::byte*>(bytes.data()), whole, MADV_DONTNEED);
  };
}

void StoredDocument::write_results(const std::vector<json::Writer*>& writers) const {
  constexpr std::uint32_t often = 4096;
  const diagnosis::Evaluation& evaluation = *document_.evaluation;
  const auto let_go = passed();
  for (json::Writer* writer : writers) writer->begin_array();
  for (std::uint32_t i = 0; i < evaluation.queries().size(); ++i) {
    const diagnosis::QueryResult result = evaluation.result(i);
    for (json::Writer* writer : writers) diagnosis::write(*writer, result, evaluation.header().k);
    if (!let_go || i % often != often - 1) continue;
    // What a probe found is no part of the file.
    const auto* const at = reinterpret_cast<const std::byte*>(evaluation.queries()[i].json.data());
    const auto bytes = mapped_->bytes();
    if (std::greater_equal<>()(at, bytes.data()) && std::less<>()(at, bytes.data() + bytes.size())) let_go(static_cast<std::size_t>(at - bytes.data()));
  }
  for (json::Writer* writer : writers) writer->end_array();
}

}  // namespace polygraph::cli
