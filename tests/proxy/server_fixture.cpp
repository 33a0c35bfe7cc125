#include "tests/proxy/server_fixture.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace polygraph::http::testing {
namespace {
constexpr int patience_ms = 10'000;
}

Client::Client(std::uint16_t port, int receive_buffer_bytes) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer_bytes > 0) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(0, ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}
Client::~Client() {
  if (socket_ >= 0) ::close(socket_);
}
Client::Client(Client&& other) noexcept : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string Client::receive(std::size_t at_most) {
  if (!buffer_.empty()) return std::exchange(buffer_, {});
  pollfd waiting{socket_, POLLIN, 0};
  if (::poll(&waiting, 1, patience_ms) != 1) {
    ADD_FAILURE() << "nothing came in time";
    return {};
  }
  std::string bytes(at_most, '\0');
  const auto got = ::recv(socket_, bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

std::optional<Reply> Client::reply(bool head_request) {
  std::string text = std::exchange(buffer_, {});
  std::size_t end = 0;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    const auto more = receive();
    if (more.empty()) return std::nullopt;
    text += more;
  }
  Reply reply;
  reply.status = std::stoi(text.substr(9, 3));
  for (std::size_t at = text.find("\r\n") + 2; at < end + 2;) {
    const auto line_end = text.find("\r\n", at);
    const auto colon = text.find(": ", at);
    std::string name = text.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_FALSE(reply.fields.contains(name)) << name << " stands twice";
    reply.fields[name] = text.substr(colon + 2, line_end - colon - 2);
    at = line_end + 2;
  }
  text.erase(0, end + 4);
  const auto length = head_request || reply.field("content-length").empty() ? 0 : std::stoull(reply.field("content-length"));
  while (text.size() < length) {
    const auto more = receive();
    if (more.empty()) return std::nullopt;
    text += more;
  }
  reply.body = text.substr(0, length);
  buffer_ = text.substr(length);
  return reply;
}

bool Client::ends_within(std::chrono::milliseconds time) {
  if (!buffer_.empty()) return false;
  pollfd waiting{socket_, POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(time.count())) != 1) return false;
  char byte = 0;
  return ::recv(socket_, &byte, 1, 0) <= 0;
}

std::string Client::rest() {
  std::string all;
  for (auto part = receive(); !part.empty(); part = receive()) all += part;
  return all;
}

void ServerTest::SetUp() {
  folder_ = std::filesystem::temp_directory_path() / ("polygraph-http-" + std::to_string(::getpid()) + "-" +
                                                      ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::remove_all(folder_);
  site_ = folder_ / "site";
  std::filesystem::create_directories(site_);
  put("index.html", "<!doctype html><title>Ask</title>");
  log_ = ::open((folder_ / "log").c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
}

void ServerTest::TearDown() {
  stop();
  server_.reset();
  ::close(log_);
  std::filesystem::remove_all(folder_);
}

void ServerTest::put(const std::string& name, std::string_view content) {
  std::filesystem::create_directories((site_ / name).parent_path());
  std::ofstream(site_ / name, std::ios::binary) << content;
}

void ServerTest::start(Settings settings, unsigned threads) {
  ServeOptions options;
  options.site = site_;
  options.port = 0;
  options.settings = std::move(settings);
  options.threads = threads;
  options.log_descriptor = log_;
  adjust(options);
  auto started = Server::start(std::move(options));
  ASSERT_TRUE(started) << started.error().message;
  server_ = std::move(*started);
  runner_ = std::thread([this] { server_->run(); });
}

void ServerTest::stop() {
  if (!runner_.joinable()) return;
  server_->stop();
  runner_.join();
}

Reply ServerTest::get(const std::string& target, const std::string& fields, const std::string& method) {
  auto connection = client();
  connection.send(method + ' ' + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
  auto reply = connection.reply(method == "HEAD");
  EXPECT_TRUE(reply) << "no answer to " << method << ' ' << target;
  return reply.value_or(Reply{});
}

std::string ServerTest::log_text() {
  std::ifstream file(folder_ / "log");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace polygraph::http::testing
