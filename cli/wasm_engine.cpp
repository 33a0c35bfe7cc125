#include "cli/wasm_engine.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cli/installation.hpp"

extern char** environ;

namespace polygraph::cli {
namespace {

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
  void close(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() {
    close(0);
    close(1);
  }
};

}  // namespace

Result<std::string> run_wasm_replay(const Settings& settings, const std::filesystem::path& index, std::string_view trace) {
  const auto folder = distribution(settings);
  const std::string script = (folder / "replay.mjs").string();
  const std::string engine = (folder / "engine" / "polygraph-engine.mjs").string();
  for (const auto& file : {script, engine}) {
    if (!std::filesystem::exists(file)) {
      return fail(ErrorCode::not_found, fmt::format("{} is missing; build it with `./polygraph build`", file), "--engine");
    }
  }
  const std::string node = node_program(settings);
  const std::string index_file = index.string();
  Pipe in, out;
  if (!in.open() || !out.open()) return fail(ErrorCode::io, fmt::format("can't make a pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  std::array<const char*, 6> arguments{node.c_str(), script.c_str(), index_file.c_str(), "-", engine.c_str(), nullptr};
  pid_t child = 0;
  const int spawned = ::posix_spawnp(&child, node.c_str(), &actions, nullptr, const_cast<char**>(arguments.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) return fail(ErrorCode::not_found, fmt::format("can't start {}: {}", node, std::strerror(spawned)), "--engine");
  in.close(0);
  out.close(1);

  // The script reads all of stdin before it writes, so writing first can't block for good.
  for (std::string_view rest = trace; !rest.empty();) {
    const ssize_t written = ::write(in.ends[1], rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;  // the script ended early; its status tells
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  in.close(1);
  std::string reply;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t got = ::read(out.ends[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    reply.append(buffer.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(ErrorCode::io, fmt::format("the WebAssembly engine ended with status {}; its message stands above", WEXITSTATUS(status)), "--engine");
  }
  return reply;
}

}  // namespace polygraph::cli
