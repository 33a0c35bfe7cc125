#include "cli/kept_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <random>

#include "cli/console.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;

std::string six_hexadecimal_digits() { return fmt::format("{:06x}", std::random_device{}() & 0xffffffU); }

/// `20261201_050551_0a1b2c`.
std::string stem_of_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}{:02}{:02}_{:02}{:02}{:02}_{}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     six_hexadecimal_digits());
}

/// Whether a name is `YYYYMMDD_HHMMSS_xxxxxx.json`: nothing else in the history is ours to list or to delete.
bool is_history_name(std::string_view file) {
  constexpr std::string_view form = "dddddddd_dddddd_xxxxxx.json";
  if (file.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const char c = file[i];
    const bool digit = c >= '0' && c <= '9';
    const bool fits = form[i] == 'd' && i < 15 ? digit : form[i] == 'x' ? digit || (c >= 'a' && c <= 'f') : c == form[i];
    if (!fits) return false;
  }
  return true;
}

std::string reason(const std::error_code& error) { return error.message(); }

/// `to` as another name of `from`, or a copy of it where the file system knows no second names; put in place at once.
Result<void> repeat_file(const fs::path& from, const fs::path& to) {
  const fs::path beside = to.string() + ".writing-" + six_hexadecimal_digits();
  std::error_code error;
  fs::create_hard_link(from, beside, error);
  if (error) {
    error.clear();
    fs::copy_file(from, beside, error);
  }
  if (!error) fs::rename(beside, to, error);
  if (!error) return {};
  std::error_code ignored;
  fs::remove(beside, ignored);
  return fail(ErrorCode::io, "can't write it: " + reason(error), to.string());
}

}  // namespace

std::string_view name(Kept kind) noexcept {
  switch (kind) {
    case Kept::evaluations: return "evaluations";
    case Kept::comparisons: return "comparisons";
    case Kept::diagnoses: return "diagnoses";
  }
  return "";
}

Result<void> write_atomically(const fs::path& file, const std::function<void(const json::Sink&)>& write) {
  const std::string beside = file.string() + ".writing-" + six_hexadecimal_digits();
  std::FILE* out = std::fopen(beside.c_str(), "wbxe");
  if (out == nullptr) return fail(ErrorCode::io, fmt::format("can't write it: {}", std::strerror(errno)), file.string());
  int failure = 0;
  write([&](std::string_view piece) {
    if (failure == 0 && std::fwrite(piece.data(), 1, piece.size(), out) != piece.size()) failure = errno == 0 ? EIO : errno;
  });
  if (std::fclose(out) != 0 && failure == 0) failure = errno;
  if (failure == 0 && std::rename(beside.c_str(), file.c_str()) != 0) failure = errno;
  if (failure == 0) return {};
  std::remove(beside.c_str());
  return fail(ErrorCode::io, fmt::format("can't write it: {}", std::strerror(failure)), file.string());
}

KeptResults::KeptResults(const Settings& settings) : folder_(".polygraph") {
  if (const auto own = settings.get("POLYGRAPH_DIR"); !own.value.empty()) folder_ = own.value;
}

void KeptResults::keep(Kept kind, const std::function<void(json::Writer&)>& json, std::string_view markdown) const {
  const fs::path folder = folder_ / name(kind), past = folder / "history";
  const auto done = [&]() -> Result<void> {
    std::error_code error;
    fs::create_directories(past, error);
    if (error) return fail(ErrorCode::io, "can't make the folder: " + reason(error), past.string());
    std::string stem = stem_of_now();
    while (fs::exists(past / (stem + ".json"), error) && !error) stem = stem_of_now();
    const fs::path kept = past / (stem + ".json"), kept_text = past / (stem + ".md");
    if (auto text = write_atomically(kept_text, [&](const json::Sink& sink) { sink(markdown); }); !text) return text;
    const auto written = write_atomically(kept, [&](const json::Sink& sink) {
      {
        json::Writer writer(sink, 2);
        json(writer);
      }
      sink("\n");
    });
    if (!written) {
      fs::remove(kept_text, error);
      return written;
    }
    if (auto text = repeat_file(kept_text, folder / "latest.md"); !text) return text;
    return repeat_file(kept, folder / "latest.json");
  }();
  if (!done) say("warning: this result is not kept: " + printable(done.error().field) + ": " + printable(done.error().message));
}

std::vector<fs::path> KeptResults::history(Kept kind) const {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator entry(folder_ / name(kind) / "history", error), end; !error && entry != end; entry.increment(error)) {
    if (is_history_name(entry->path().filename().string())) out.push_back(entry->path());
  }
  // Names begin with the time. Within a second, the file's own time tells.
  const auto written = [](const fs::path& file) {
    std::error_code ignored;
    return fs::last_write_time(file, ignored);
  };
  std::sort(out.begin(), out.end(), [&](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string(), y = b.filename().string();
    constexpr std::size_t seconds = 15;
    if (x.compare(0, seconds, y, 0, seconds) != 0) return x > y;
    const auto time_x = written(a), time_y = written(b);
    return time_x != time_y ? time_x > time_y : x > y;
  });
  return out;
}

std::optional<Result<fs::path>> KeptResults::named(const std::string& wanted) const {
  std::string_view rest = wanted;
  std::optional<Kept> kind;
  for (const Kept one : {Kept::evaluations, Kept::comparisons, Kept::diagnoses}) {
    if (!rest.starts_with(std::string(name(one)) + "/")) continue;
    kind = one;
    rest.remove_prefix(name(one).size() + 1);
    break;
  }
  std::size_t back = 0;
  const bool latest = rest == "latest";
  if (!latest) {
    if (!rest.starts_with("HEAD")) return std::nullopt;
    rest.remove_prefix(4);
    if (!rest.empty()) {
      if (rest[0] != '~' || rest.size() < 2) return std::nullopt;
      const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), back);
      if (error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
    }
  }
  if (!kind) kind = history(Kept::evaluations).empty() && !history(Kept::diagnoses).empty() ? Kept::diagnoses : Kept::evaluations;
  if (latest) {
    const fs::path file = folder_ / name(*kind) / "latest.json";
    std::error_code error;
    if (fs::exists(file, error)) return file;
    return fail(ErrorCode::not_found, fmt::format("nothing is kept in {}", (folder_ / name(*kind)).string()));
  }
  const auto all = history(*kind);
  if (back < all.size()) return all[back];
  return fail(ErrorCode::not_found, fmt::format("{} results are kept in {}", all.size(), (folder_ / name(*kind) / "history").string()));
}

Result<std::uint64_t> KeptResults::prune(Kept kind, std::size_t keep) const {
  const auto all = history(kind);
  std::uint64_t gone = 0;
  for (std::size_t i = keep; i < all.size(); ++i) {
    std::error_code error;
    fs::remove(all[i], error);
    if (error) return fail(ErrorCode::io, "can't delete it: " + reason(error), all[i].string());
    fs::path text = all[i];
    fs::remove(text.replace_extension(".md"), error);
    ++gone;
  }
  return gone;
}

}  // namespace polygraph::cli
