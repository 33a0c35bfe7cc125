#include "proxy/models/child_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace polygraph::models {
namespace {

constexpr std::size_t errors_kept_bytes = 8 * 1024;
constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::chrono::milliseconds reap_interval{5};

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read_end, write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return fail(ErrorCode::io, std::string("no pipe could be made: ") + std::strerror(errno));
  return Pipe{Descriptor(fds[0]), Descriptor(fds[1])};
}

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return "exited with status " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* const abbreviation = ::sigabbrev_np(signal);
    return "was killed by signal " + std::to_string(signal) + (abbreviation ? std::string(" (SIG") + abbreviation + ")" : std::string());
  }
  return "ended";
}

}  // namespace

Result<std::filesystem::path> find_program(std::string_view program) {
  const auto executable = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (program.find('/') != std::string_view::npos) {
    if (executable(program)) return std::filesystem::path(program);
    return fail(ErrorCode::not_found, "`" + std::string(program) + "` is no program that can be run");
  }
  const char* const variable = std::getenv("PATH");
  std::string_view folders = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!folders.empty()) {
    const std::size_t colon = folders.find(':');
    const std::filesystem::path folder(folders.substr(0, colon));
    if (!folder.empty() && executable(folder / program)) return folder / program;
    folders = colon == std::string_view::npos ? std::string_view() : folders.substr(colon + 1);
  }
  return fail(ErrorCode::not_found, "`" + std::string(program) + "` was found in no folder of PATH");
}

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& argv) {
  // stdin is a socket rather than a pipe: send() can leave out SIGPIPE for one write, without touching our signals.
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return fail(ErrorCode::io, std::string("no socket pair could be made: ") + std::strerror(errno));
  Descriptor our_stdin(sockets[0]), child_stdin(sockets[1]);
  auto out = make_pipe();
  if (!out) return tl::unexpected(out.error());
  auto err = make_pipe();
  if (!err) return tl::unexpected(err.error());
  auto failure = make_pipe();
  if (!failure) return tl::unexpected(failure.error());

  // Everything that allocates happens before fork: afterwards only async-signal-safe calls are allowed.
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();

  const pid_t pid = ::fork();
  if (pid < 0) return fail(ErrorCode::io, std::string("no process could be started: ") + std::strerror(errno));
  if (pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // the parent ended before prctl
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    // A descriptor that already has its number would keep O_CLOEXEC through dup2: move all of them out of the way first.
    const int in_high = ::fcntl(child_stdin.get(), F_DUPFD_CLOEXEC, 3);
    const int out_high = ::fcntl(out->write_end.get(), F_DUPFD_CLOEXEC, 3);
    const int err_high = ::fcntl(err->write_end.get(), F_DUPFD_CLOEXEC, 3);
    const int failure_high = ::fcntl(failure->write_end.get(), F_DUPFD_CLOEXEC, 3);
    if (::dup2(in_high, 0) >= 0 && ::dup2(out_high, 1) >= 0 && ::dup2(err_high, 2) >= 0) ::execv(arguments[0], arguments.data());
    const int code = errno;
    [[maybe_unused]] const ssize_t told = ::write(failure_high, &code, sizeof code);
    ::_exit(127);
  }

  ChildProcess child;
  child.pid_ = pid;
  child.in_ = our_stdin.release();
  child.out_ = out->read_end.release();
  child.err_ = err->read_end.release();
  for (const int fd : {child.out_, child.err_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);

  failure->write_end = Descriptor();
  int code = 0;
  ssize_t told = 0;
  do told = ::read(failure->read_end.get(), &code, sizeof code);
  while (told < 0 && errno == EINTR);
  if (told == sizeof code) {
    child.stop(std::chrono::milliseconds(0));
    return fail(ErrorCode::io, "`" + argv[0] + "` could not be run: " + std::strerror(code));
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(in_, other.in_);
  std::swap(out_, other.out_);
  std::swap(err_, other.err_);
  std::swap(errors_, other.errors_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) stop(std::chrono::milliseconds(0));
  release();
}

void ChildProcess::release() noexcept {
  for (int* const fd : {&in_, &out_, &err_})
    if (*fd >= 0) ::close(std::exchange(*fd, -1));
}

void ChildProcess::drain_errors() {
  std::array<char, 4096> bytes;
  while (err_ >= 0) {
    const ssize_t count = ::read(err_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // nothing more for now
    if (count == 0) {
      ::close(std::exchange(err_, -1));
      return;
    }
    errors_.append(bytes.data(), static_cast<std::size_t>(count));
    if (errors_.size() > errors_kept_bytes) errors_.erase(0, errors_.size() - errors_kept_bytes);
  }
}

std::string ChildProcess::take_errors() {
  drain_errors();
  return std::exchange(errors_, {});
}

ChildProcess::Turn ChildProcess::exchange(std::span<const std::byte> out, std::vector<std::byte>& in, std::chrono::milliseconds timeout, int wake) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    // poll(2) ignores negative descriptors.
    std::array<pollfd, 4> fds{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}, pollfd{out.empty() ? -1 : in_, POLLOUT, 0}, pollfd{wake, POLLIN, 0}};
    if (out_ < 0) return {Event::ended, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = ::poll(fds.data(), fds.size(), left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return {Event::silent, 0};
    if (fds[1].revents != 0) drain_errors();

    Turn turn;
    if (fds[2].revents != 0) {
      const ssize_t count = ::send(in_, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      // A broken pipe is no news of its own: the child's stdout ends too, after what it still had to say.
      if (count > 0) turn = {Event::readable, static_cast<std::size_t>(count)};
      else if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) out = {};
    }
    if (fds[0].revents != 0) {
      const std::size_t before = in.size();
      in.resize(before + read_bytes);
      const ssize_t count = ::read(out_, in.data() + before, read_bytes);
      in.resize(before + (count > 0 ? static_cast<std::size_t>(count) : 0));
      if (count > 0) return {Event::readable, turn.written};
      if (count == 0) {
        drain_errors();
        ::close(std::exchange(out_, -1));
        return {Event::ended, turn.written};
      }
    }
    if (turn.written > 0) return turn;
    if (fds[3].revents != 0) return {Event::woken, 0};
  }
}

ChildProcess::Ending ChildProcess::stop(std::chrono::milliseconds grace) {
  if (pid_ <= 0) return {false, "was not running"};
  if (in_ >= 0) ::close(std::exchange(in_, -1));
  const auto deadline = std::chrono::steady_clock::now() + grace;
  for (;;) {
    siginfo_t ended{};
    // Only looked at, not reaped: until then nobody else can get its number, nor its group's.
    if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      pid_ = -1;  // somebody else reaped it
      return {false, "ended"};
    }
    if (ended.si_pid == pid_ || std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(reap_interval);
  }
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  drain_errors();
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0, how_it_ended(status)};
}

}  // namespace polygraph::models
