// A server in this process on a free port, over a folder that the test fills, and clients that send exact bytes.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "proxy/http/server.hpp"

namespace polygraph::http::testing {

using namespace std::chrono_literals;

struct Reply {
  int status = 0;
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;

  std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  }
};

/// A plain TCP connection. Every wait ends after 10 s.
class Client {
 public:
  explicit Client(std::uint16_t port, int receive_buffer_bytes = 0);
  ~Client();
  Client(Client&& other) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool send(std::string_view bytes);
  /// The next answer; nothing when the connection ends first. `head_request`: it has no body.
  std::optional<Reply> reply(bool head_request = false);
  /// Some bytes as they come; empty at the end of the connection.
  std::string receive(std::size_t at_most = 65536);
  /// Whether the server closes without another byte, in time.
  bool ends_within(std::chrono::milliseconds time);
  std::string rest();

 private:
  int socket_ = -1;
  std::string buffer_;
};

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  void put(const std::string& name, std::string_view content);
  void start(Settings settings = {}, unsigned threads = 1);
  /// What a test adds to the server before it starts.
  virtual void adjust(ServeOptions&) {}
  void stop();
  Client client() { return Client(server_->port()); }
  /// One request on a connection of its own. `fields` end in CRLF each.
  Reply get(const std::string& target, const std::string& fields = "", const std::string& method = "GET");
  std::string log_text();

  std::filesystem::path site_;
  std::filesystem::path folder_;
  std::unique_ptr<Server> server_;
  std::thread runner_;
  int log_ = -1;
};

}  // namespace polygraph::http::testing
