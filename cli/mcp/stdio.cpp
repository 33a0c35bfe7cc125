#include "cli/mcp/stdio.hpp"

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace polygraph::cli::mcp {

Lines::Lines(int in, int out, std::function<bool()> interrupted) : in_(in), out_(out), interrupted_(std::move(interrupted)), reader_(std::this_thread::get_id()) {
  pthread_sigmask(SIG_SETMASK, nullptr, &unblocked_);
  sigdelset(&unblocked_, SIGINT);
  sigdelset(&unblocked_, SIGTERM);
}

/// Until something happens. The reading thread takes signals meanwhile; the others look up now and then instead.
int Lines::wait(pollfd* descriptors, unsigned long count) const {
  if (std::this_thread::get_id() == reader_) return ::ppoll(descriptors, count, nullptr, &unblocked_);
  constexpr int look_up_ms = 100;
  return ::poll(descriptors, count, look_up_ms);
}

Lines::Ended Lines::read(const std::function<void(std::string_view)>& line, const std::function<void()>& too_long) {
  std::array<char, 65536> buffer;
  for (;;) {
    if (interrupted_()) return {End::interrupted, 0};
    if (const int failure = write_failure(); failure != 0) return {failure == EPIPE ? End::reader_gone : End::failed, failure};
    std::array<pollfd, 2> both = {{{in_, POLLIN, 0}, {out_, 0, 0}}};
    if (wait(both.data(), both.size()) < 0) {
      if (errno == EINTR) continue;
      return {End::failed, errno};
    }
    if ((both[1].revents & (POLLERR | POLLHUP)) != 0) return {End::reader_gone, 0};
    if (both[0].revents == 0) continue;
    const auto got = ::read(in_, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return {End::failed, errno};
    if (got == 0) {
      if (!partial_.empty() && !overlong_) take("\n", line, too_long);
      return {End::closed, 0};
    }
    take({buffer.data(), static_cast<std::size_t>(got)}, line, too_long);
  }
}

void Lines::take(std::string_view bytes, const std::function<void(std::string_view)>& line, const std::function<void()>& too_long) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end);
    if (!overlong_ && partial_.size() + part.size() > most_line_bytes) {
      overlong_ = true;
      partial_.clear();
      too_long();
    }
    if (!overlong_) partial_ += part;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    std::string_view whole = partial_;
    if (std::exchange(first_, false) && whole.starts_with("\xef\xbb\xbf")) whole.remove_prefix(3);
    if (!std::exchange(overlong_, false)) line(whole);
    partial_.clear();
  }
}

void Lines::write(const std::string& line) {
  const std::lock_guard lock(writing_);
  const std::string whole = line + "\n";
  for (std::string_view rest = whole; !rest.empty();) {
    if (failure_ != 0 || interrupted_()) return;
    pollfd ready{out_, POLLOUT, 0};
    if (wait(&ready, 1) <= 0) continue;
    // A pipe that is ready takes this much without blocking (POSIX, PIPE_BUF).
    const auto written = ::write(out_, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR && errno != EAGAIN) failure_ = errno;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool Lines::reader_gone() const {
  pollfd out{out_, 0, 0};
  return write_failure() == EPIPE || (::poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0);
}

int Lines::write_failure() const {
  const std::lock_guard lock(writing_);
  return failure_;
}

}  // namespace polygraph::cli::mcp
