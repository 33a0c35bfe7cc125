#include "tests/proxy/telemetry/collector.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace polygraph::telemetry::testing {
namespace {

int listen_on_free_port(std::uint16_t& port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (listener < 0 || ::bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener, 64) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no port to listen on");
  }
  port = ntohs(address.sin_port);
  return listener;
}

void send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace

Collector::Collector(std::vector<std::string> script, std::string location) : script_(std::move(script)), location_(std::move(location)) {
  listener_ = listen_on_free_port(port_);
  thread_ = std::thread([this] { serve(); });
}

Collector::~Collector() {
  ::shutdown(listener_, SHUT_RDWR);  // ends accept()
  thread_.join();
  ::close(listener_);
  for (const int connection : held_) ::close(connection);
}

bool Collector::wait_for(std::size_t requests) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return received_.size() >= requests; });
}

std::vector<Received> Collector::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

std::size_t Collector::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void Collector::serve() {
  for (;;) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    {
      const std::lock_guard lock(mutex_);
      ++connections_;
    }
    answer(connection);
  }
}

void Collector::answer(int connection) {
  const timeval patience{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  Received request;
  std::string bytes;
  std::size_t head_end = std::string::npos, wanted = std::string::npos;
  while (wanted == std::string::npos || bytes.size() < wanted) {
    char chunk[16 * 1024];
    const auto count = ::recv(connection, chunk, sizeof chunk, 0);
    if (count <= 0) {
      ::close(connection);
      return;
    }
    bytes.append(chunk, static_cast<std::size_t>(count));
    if (head_end != std::string::npos || (head_end = bytes.find("\r\n\r\n")) == std::string::npos) continue;
    head_end += 4;
    const auto length = bytes.find("Content-Length: ");
    wanted = head_end + (length < head_end ? std::strtoul(bytes.c_str() + length + 16, nullptr, 10) : 0);
  }
  request.head = bytes.substr(0, head_end);
  request.body = bytes.substr(head_end);
  std::string does;
  {
    const std::lock_guard lock(mutex_);
    does = script_[std::min(received_.size(), script_.size() - 1)];
    received_.push_back(std::move(request));
    if (does == "stall" || does == "trickle") held_.push_back(connection);
  }
  changed_.notify_all();
  if (does == "stall") return;
  if (does == "trickle") return send_all(connection, "HTTP/1.1 200 OK\r\nContent-");
  if (does != "close") {
    std::string status = "200", body = "{}";
    if (does.starts_with("status:")) {
      status = does.substr(7, 3);
      body = does.size() > 11 ? does.substr(11) : "";
    } else if (does.starts_with("ok:")) {
      body = does.substr(3);
    }
    send_all(connection, "HTTP/1.1 " + status + " Said\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
                             (location_.empty() ? "" : "Location: " + location_ + "\r\n") + "\r\n" + body);
  }
  ::close(connection);
}

std::uint16_t closed_port() {
  std::uint16_t port = 0;
  ::close(listen_on_free_port(port));
  return port;
}

}  // namespace polygraph::telemetry::testing
