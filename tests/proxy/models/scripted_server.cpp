#include "scripted_server.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace polygraph::models {
namespace {

void send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// The head of a request, up to the empty line.
std::string read_head(int connection) {
  std::string head;
  std::array<char, 2048> buffer;
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t count = ::recv(connection, buffer.data(), buffer.size(), 0);
    if (count <= 0) break;
    head.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return head;
}

std::string range_of(const std::string& head) {
  constexpr std::string_view name = "\r\nRange: ";
  const std::size_t begin = head.find(name);
  return begin == std::string::npos ? "" : head.substr(begin + name.size(), head.find("\r\n", begin + 2) - begin - name.size());
}

}  // namespace

ScriptedServer::ScriptedServer(std::vector<Answer> script) : script_(std::move(script)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener_, 8) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw std::runtime_error("the scripted server has no port");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

std::vector<std::string> ScriptedServer::ranges() const {
  const std::lock_guard lock(mutex_);
  return ranges_;
}

void ScriptedServer::serve() {
  for (std::size_t turn = 0;; ++turn) {
    const int connection = ::accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    const std::string range = range_of(read_head(connection));
    {
      const std::lock_guard lock(mutex_);
      ranges_.push_back(range);
    }
    answer(connection, script_[std::min(turn, script_.size() - 1)], range);
    ::close(connection);
  }
}

void ScriptedServer::answer(int connection, const Answer& answer, const std::string& range) {
  if (answer.closes_at_once) return;
  std::size_t start = 0;
  int status = answer.status;
  unsigned long long asked = 0;
  if (status == 200 && answer.knows_ranges && std::sscanf(range.c_str(), "bytes=%llu-", &asked) == 1) {
    start = asked;
    status = start < answer.body.size() ? 206 : 416;
  }
  if (status == 206 && answer.range_start) start = *answer.range_start;
  const std::string_view body = status == 416 ? std::string_view() : std::string_view(answer.body).substr(start);
  std::string head = "HTTP/1.1 " + std::to_string(status) + " As scripted\r\nConnection: close\r\n";
  if (answer.content_length) head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  if (!answer.location.empty()) head += "Location: " + answer.location + "\r\n";
  if (status == 206)
    head += "Content-Range: bytes " + std::to_string(start) + "-" + std::to_string(answer.body.size() - 1) + "/" + std::to_string(answer.body.size()) + "\r\n";
  send_all(connection, head + "\r\n");
  send_all(connection, body.substr(0, std::min(answer.closes_after, answer.stalls_after)));
  if (answer.stalls_after != Answer::whole) {
    std::unique_lock lock(mutex_);
    ending_.wait(lock, [this] { return ended_; });
  }
}

}  // namespace polygraph::models
