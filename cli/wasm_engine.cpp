#include "cli/wasm_engine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "cli/installation.hpp"
#include "proxy/models/child_process.hpp"

namespace polygraph::cli {
namespace {

/// Without a sign of life for this long, Node.js is given up. It covers compiling the engine on a slow, busy machine.
constexpr std::chrono::minutes silence{2};
constexpr std::chrono::seconds grace{5};

/// A file with this content, gone at the end of its scope.
class TemporaryFile {
 public:
  static Result<TemporaryFile> create(std::string_view content) {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "polygraph-trace-XXXXXX").string();
    const int descriptor = ::mkstemp(path.data());
    if (descriptor < 0) return fail(ErrorCode::io, fmt::format("can't make {}: {}", path, std::strerror(errno)));
    TemporaryFile file(std::move(path));
    int reason = 0;
    while (!content.empty() && reason == 0) {
      const ssize_t written = ::write(descriptor, content.data(), content.size());
      if (written >= 0) content.remove_prefix(static_cast<std::size_t>(written));
      else if (errno != EINTR) reason = errno;
    }
    ::close(descriptor);
    if (reason != 0) return fail(ErrorCode::io, fmt::format("can't write {}: {}", file.path_, std::strerror(reason)));
    return file;
  }
  TemporaryFile(TemporaryFile&& other) noexcept { path_.swap(other.path_); }
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  const std::string& path() const noexcept { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace

Result<std::string> run_wasm_replay(const Settings& settings, const std::filesystem::path& index, std::string_view trace) {
  const auto folder = distribution(settings);
  const auto script = folder / "replay.mjs";
  const auto engine = folder / "engine" / "polygraph-engine.mjs";
  for (const auto& file : {script, engine}) {
    if (std::filesystem::exists(file)) continue;
    return fail(ErrorCode::model_unavailable, fmt::format("{} is missing; build it with `./polygraph build`", file.string()), "--engine");
  }
  auto node = models::find_program(node_program(settings));
  if (!node) return fail(ErrorCode::model_unavailable, node.error().message + "; the WebAssembly engine runs in Node.js", "POLYGRAPH_NODE");
  auto file = TemporaryFile::create(trace);
  if (!file) return tl::unexpected(file.error());
  auto child = models::ChildProcess::start({node->string(), script.string(), index.string(), file->path(), engine.string()});
  if (!child) return tl::unexpected(child.error());
  std::vector<std::byte> reply;
  auto event = models::ChildProcess::Event::readable;
  while (event == models::ChildProcess::Event::readable) event = child->exchange({}, reply, silence).event;
  const bool silent = event == models::ChildProcess::Event::silent;
  const auto ending = child->stop(silent ? std::chrono::seconds(0) : grace);
  if (silent) return fail(ErrorCode::internal, fmt::format("the WebAssembly engine said nothing for {} s", std::chrono::seconds(silence).count()), "--engine");
  if (!ending.success) return fail(ErrorCode::io, fmt::format("the WebAssembly engine {}: {}", ending.words, child->errors()), "--engine");
  return std::string(reinterpret_cast<const char*>(reply.data()), reply.size());
}

}  // namespace polygraph::cli
