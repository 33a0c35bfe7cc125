#include "cli/commands/golden/work_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "cli/mapped_file.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;
using Json = WorkFile::Json;

Error foreign(const fs::path& file) {
  return {ErrorCode::mismatch, "is of another call (another set, index, model or prompt); delete it, or give another --out", file.string()};
}

}  // namespace

Result<WorkFile> WorkFile::open(const fs::path& out, const Json& identity) {
  WorkFile work;
  work.path_ = out.string() + ".work.jsonl";
  const Json header = {{"kind", "golden_work"}, {"schema", 1}, {"identity", identity}};
  std::error_code ignored;
  if (!fs::exists(work.path_, ignored)) {
    if (auto done = work.write(header.dump() + "\n"); !done) return tl::unexpected(done.error());
    return work;
  }
  auto text = read_text(work.path_.string());
  if (!text) return fail(text.error().code, text.error().message, work.path_.string());
  std::size_t sound = 0;
  bool first = true;
  for (std::size_t begin = 0, end = 0; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    Json line = Json::parse(text->substr(begin, end - begin), nullptr, false);
    if (first) {
      if (line != header) return tl::unexpected(foreign(work.path_));
    } else {
      const auto item = line.is_object() ? line.find("item") : line.end();
      if (!line.is_object() || item == line.end() || !item->is_string()) break;  // a disk that was full
      const auto id = item->get<std::string>();
      work.lines_[id] = std::move(line);
    }
    first = false;
    sound = end + 1;
  }
  fs::resize_file(work.path_, sound, ignored);
  if (first) {
    if (auto done = work.write(header.dump() + "\n"); !done) return tl::unexpected(done.error());
  }
  return work;
}

const Json* WorkFile::find(std::string_view item) const {
  const auto found = lines_.find(item);
  return found == lines_.end() ? nullptr : &found->second;
}

Result<void> WorkFile::append(const std::string& item, Json fields) {
  Json line = {{"item", item}};
  line.update(fields);
  if (auto done = write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"); !done) return done;
  lines_[item] = std::move(line);
  return {};
}

void WorkFile::remove() const {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

Result<void> WorkFile::write(const std::string& line) const {
  const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  std::size_t written = 0;
  bool sound = file >= 0;
  while (sound && written < line.size()) {
    const auto n = ::write(file, line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    sound = n > 0;
    if (sound) written += static_cast<std::size_t>(n);
  }
  sound = sound && ::fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) ::close(file);
  if (!sound) return fail(ErrorCode::io, std::string("can't be written: ") + std::strerror(reason), path_.string());
  return {};
}

}  // namespace polygraph::cli
