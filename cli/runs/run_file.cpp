#include "cli/runs/run_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/mapped_file.hpp"
#include "cli/whole_file.hpp"
#include "wasm/json/cursor.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using report::for_each_line;
using report::header_line;
using report::line_text;

tl::unexpected<Error> system_failure(const char* what) { return fail(ErrorCode::io, fmt::format("{}: {}", what, std::strerror(errno))); }

std::string_view view(const MappedFile& file) { return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}; }

/// Fields whose values are measured or follow from when something ran, wherever they stand in a result, judgement or trace.
bool measured(std::string_view field) {
  constexpr std::string_view names[] = {"latency", "ms", "started_ms", "started_at", "finished_at", "cached"};
  return std::find(std::begin(names), std::end(names), field) != std::end(names);
}

void drop_measured(Json& value) {
  if (value.is_array()) {
    for (auto& each : value) drop_measured(each);
  } else if (value.is_object()) {
    // The result of asking for the time is the time.
    if (value.contains("kind") && value["kind"] == "time") {
      value.erase("result");
      value.erase("result_digest");
    }
    if (value.contains("trace") && value["trace"].is_object()) value["trace"].erase("id");  // holds when it began
    for (auto each = value.begin(); each != value.end();) {
      if (measured(each.key())) {
        each = value.erase(each);
      } else {
        drop_measured(*each);
        ++each;
      }
    }
  }
}

/// Counts what a kept line says went wrong. It was checked when it was written: what can't be read counts as nothing.
void count_failures(const RunLine& line, RunFailures& failures) {
  std::string status, error;
  json::Cursor result(line.result);
  result.object([&](std::string_view key) {
    if (key == "status" && result.kind() == json::Kind::string) {
      status = result.string();
    } else if (key == "error" && result.kind() == json::Kind::string) {
      error = result.string();
    } else {
      result.raw();
    }
  });
  if (!status.empty() && status != "completed" && failures.failed++ == 0) failures.first = line.item.id + ": " + (error.empty() ? "no reason was given" : error);

  if (line.judgement == "null") return;
  bool judge_error = false;
  json::Cursor judgement(line.judgement);
  judgement.object([&](std::string_view key) {
    if (key != "metrics" || judgement.kind() != json::Kind::object) return void(judgement.raw());
    judgement.object([&](std::string_view) {
      if (judgement.kind() != json::Kind::object) return void(judgement.raw());
      judgement.object([&](std::string_view field) { judge_error |= judgement.raw() == "\"judge_error\"" && field == "state"; });
    });
  });
  if (judge_error) ++failures.judge_errors;
}

/// Whether a text is a run, or what its writer left that was killed within the first words.
bool begins_a_run(std::string_view text) { return report::is_run(text) || report::run_beginning.starts_with(text); }

}  // namespace

Result<RunHeader> read_run(const fs::path& file, const std::function<Result<void>(const RunLine&)>& use) {
  auto mapped = MappedFile::open(file);
  if (!mapped) return tl::unexpected(mapped.error());
  return read_run(view(*mapped), use);
}

Result<std::string> digest_of_run(const fs::path& file) {
  std::string digests;
  auto header = read_run(file, [&](const RunLine& line) -> Result<void> {
    Json both = {{"item", line.item.id}, {"repeat", line.item.repeat}, {"result", Json::parse(line.result, nullptr, false)},
                 {"judgement", Json::parse(line.judgement, nullptr, false)}};
    drop_measured(both);
    digests += text::digest(both.dump()) + '\n';
    return {};
  });
  if (!header) return tl::unexpected(header.error());
  return text::digest(header->digest + '\n' + digests);
}

Result<RunFile> RunFile::open(const fs::path& file, const RunHeader& header, bool fresh) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) return fail(ErrorCode::io, "its folder can't be made: " + error.message());
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return system_failure("can't be written");
  RunFile run(file, descriptor);
  run.program_ = header.program;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return fail(ErrorCode::io, "another process is writing this run");
    return system_failure("can't be locked");
  }
  std::size_t keep = 0;
  if (const auto size = ::lseek(descriptor, 0, SEEK_END); size > 0) {
    auto mapped = MappedFile::open(file);
    if (!mapped) return tl::unexpected(mapped.error());
    const std::string_view text = view(*mapped);
    const bool begun = text.find('\n') != std::string_view::npos;  // otherwise its first line was being written
    if ((fresh || !begun) && !begins_a_run(text)) {
      return fail(ErrorCode::invalid_json, "is no run, so it is left as it is: its first line should be {\"kind\": \"run\", …}; choose another --out", "kind", 1);
    }
    if (begun && !fresh) {
      auto lines = for_each_line(text, [&](std::string_view, const RunLine& line) -> Result<void> {
        if (!run.done_.insert(line.item).second) return fail(ErrorCode::corrupt, "the item \"" + line.item.id + "\" stands in it twice");
        run.order_.push_back(line.item);
        count_failures(line, run.failures_);
        return {};
      });
      if (!lines) return tl::unexpected(lines.error());
      if (lines->header.digest != header.digest) {
        return fail(ErrorCode::mismatch, "holds the run " + lines->header.digest + " of another configuration, index or golden set; this one is " + header.digest +
                                             ": choose another --out, or --fresh to begin anew");
      }
      keep = lines->end;
      run.program_ = lines->header.program;
    }
  }
  if (::ftruncate(descriptor, static_cast<off_t>(keep)) != 0) return system_failure("can't be shortened");
  if (keep == 0) {
    if (auto written = run.write(header_line(header)); !written) return tl::unexpected(written.error());
  }
  return run;
}

RunFile::RunFile(RunFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), program_(std::move(other.program_)), done_(std::move(other.done_)), order_(std::move(other.order_)), failures_(std::move(other.failures_)) {}

RunFile& RunFile::operator=(RunFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(program_, other.program_);
  std::swap(done_, other.done_);
  std::swap(order_, other.order_);
  std::swap(failures_, other.failures_);
  return *this;
}

RunFile::~RunFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> RunFile::write(std::string_view text) {
  const auto before = ::lseek(descriptor_, 0, SEEK_END);
  while (!text.empty()) {
    const auto written = ::write(descriptor_, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      auto failure = system_failure("can't be written");
      (void)!::ftruncate(descriptor_, before);  // no half line for whoever continues
      return failure;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> RunFile::append(const RunItem& item, std::string_view golden, std::string_view result, std::string_view judgement, std::string_view finished_at) {
  for (const std::string_view part : {golden, result, judgement}) {
    if (part.find('\n') != std::string_view::npos) return fail(ErrorCode::internal, "the item \"" + item.id + "\" would take more than a line");
  }
  if (!done_.insert(item).second) return fail(ErrorCode::internal, "the item \"" + item.id + "\" was finished twice");
  if (auto written = write(line_text(item, golden, result, judgement, finished_at)); !written) {
    done_.erase(item);
    return written;
  }
  order_.push_back(item);
  return {};
}

Result<void> RunFile::finish(const std::vector<RunItem>& order) {
  std::map<RunItem, std::size_t> place;
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const auto before = [&](const RunItem& a, const RunItem& b) { return place.at(a) < place.at(b); };
  if (!std::all_of(order_.begin(), order_.end(), [&](const RunItem& each) { return place.contains(each); })) {
    return fail(ErrorCode::internal, "the run holds items that it was not asked for");
  }
  if (std::is_sorted(order_.begin(), order_.end(), before)) return {};
  auto mapped = MappedFile::open(path_);
  if (!mapped) return tl::unexpected(mapped.error());
  const std::string_view all = view(*mapped);
  std::vector<std::pair<std::size_t, std::string_view>> lines;
  auto read = for_each_line(all, [&](std::string_view text, const RunLine& line) -> Result<void> {
    lines.emplace_back(place.at(line.item), text);
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  std::sort(lines.begin(), lines.end());
  std::string text(all.substr(0, read->header_end));
  for (const auto& [number, line] : lines) text += line;
  return write_whole(path_, text);
}

namespace {

/// One part of a run: its lines, those of an item together.
struct Part {
  Json identity;
  std::string program;
  std::uint64_t items = 0;
  std::size_t shard = 0;
  std::vector<std::string> groups;
};

Result<Part> read_part(const fs::path& file, std::set<RunItem>& seen, std::uint64_t& found) {
  auto mapped = MappedFile::open(file);
  if (!mapped) return tl::unexpected(mapped.error());
  Part part;
  std::string last;
  auto read = for_each_line(view(*mapped), [&](std::string_view text, const RunLine& line) -> Result<void> {
    if (!seen.insert(line.item).second) return fail(ErrorCode::mismatch, "the item \"" + line.item.id + "\" stands in another part, too");
    if (part.groups.empty() || last != line.item.id) part.groups.emplace_back();
    part.groups.back() += text;
    last = line.item.id;
    ++found;
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  part.identity = Json::parse(read->header.identity);
  part.program = read->header.program;
  part.items = read->header.items;
  const auto shard = part.identity.find("shard");
  if (shard == part.identity.end() || !shard->is_object() || !shard->contains("number") || !shard->at("number").is_number_unsigned()) return fail(ErrorCode::mismatch, "is a whole run, not a part of one", "shard");
  part.shard = shard->at("number").get<std::size_t>();
  return part;
}

}  // namespace

Result<RunHeader> merge_runs(const std::vector<fs::path>& parts, const fs::path& out, const std::string& created_at, std::string& file) {
  std::vector<std::pair<Part, fs::path>> read;
  std::set<RunItem> seen;
  std::uint64_t items = 0, found = 0;
  for (const fs::path& each : parts) {
    file = each.string();
    std::error_code absent;
    if (fs::equivalent(each, out, absent)) return fail(ErrorCode::invalid_argument, "is a part and can't be the whole: choose another file", "--out");
    auto part = read_part(each, seen, found);
    if (!part) return tl::unexpected(part.error());
    items += part->items;
    read.emplace_back(std::move(*part), each);
  }
  file.clear();
  if (read.empty()) return fail(ErrorCode::invalid_argument, "there is nothing to join", "FILE");
  std::sort(read.begin(), read.end(), [](const auto& a, const auto& b) { return a.first.shard < b.first.shard; });
  const std::size_t of = read[0].first.identity["shard"].value("of", std::size_t{0});
  for (std::size_t i = 0; i < read.size(); ++i) {
    const auto& [part, path] = read[i];
    if (part.shard != i + 1 || part.identity["shard"].value("of", std::size_t{0}) != of) {
      return fail(ErrorCode::mismatch, fmt::format("{}: is part {} where part {}/{} is wanted", path.string(), part.identity["shard"].dump(), i + 1, of), "shard");
    }
    for (const auto& [field, value] : part.identity.items()) {
      if (field == "shard" || read[0].first.identity.value(field, Json()) == value) continue;
      return fail(ErrorCode::mismatch,
                  fmt::format("{} and {} are no parts of one run: {} is {} and {}", read[0].second.string(), path.string(), field,
                              read[0].first.identity.value(field, Json()).dump(), value.dump()),
                  field);
    }
  }
  if (read.size() != of) return fail(ErrorCode::mismatch, fmt::format("{} of {} parts are given", read.size(), of), "shard");
  if (found != items) return fail(ErrorCode::mismatch, fmt::format("the parts hold {} of {} items: finish them first", found, items), "items");
  // A part holds every `of`-th item (golden::in_shard).
  std::string lines;
  for (std::size_t round = 0; round < read[0].first.groups.size(); ++round) {
    for (const auto& [part, path] : read) {
      if (round < part.groups.size()) lines += part.groups[round];
    }
  }
  Json identity = read[0].first.identity;
  identity["shard"] = nullptr;
  RunHeader header = run_header(identity.dump(), items, created_at);
  header.program = read[0].first.program;
  for (const auto& [part, path] : read) {
    if (part.program != header.program) header.program.clear();
  }
  file = out.string();
  if (auto written = write_whole(out, header_line(header) + lines); !written) return tl::unexpected(written.error());
  return header;
}

}  // namespace polygraph::cli
