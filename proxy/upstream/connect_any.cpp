#include "proxy/upstream/connect_any.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace polygraph::proxy {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;
using Done = std::function<void(error_code, tcp::socket)>;

class Attempts final : public Connecting, public std::enable_shared_from_this<Attempts> {
 public:
  Attempts(const net::any_io_executor& executor, std::vector<tcp::endpoint> addresses, Done done)
      : executor_(executor), addresses_(std::move(addresses)), done_(std::move(done)), timer_(executor) {
    sockets_.reserve(addresses_.size());  // attempts under way refer to theirs
  }

  void start() {
    net::post(executor_, [self = shared_from_this()] { self->next(); });
  }

  void cancel() override {
    done_ = nullptr;
    timer_.cancel();
    error_code ignored;
    for (auto& socket : sockets_) socket.close(ignored);
  }

 private:
  void next() {
    if (!done_) return;
    if (sockets_.size() == addresses_.size()) {
      if (failed_ == addresses_.size()) finish(first_error_, tcp::socket(executor_));
      return;
    }
    const std::size_t number = sockets_.size();
    sockets_.emplace_back(executor_).async_connect(addresses_[number], [self = shared_from_this(), number](error_code error) {
      if (self->done_) self->on_attempt(number, error);
    });
    if (sockets_.size() == addresses_.size()) return;
    timer_.expires_after(next_address_after);
    timer_.async_wait([self = shared_from_this(), tried = sockets_.size()](error_code error) {
      if (!error && self->sockets_.size() == tried) self->next();
    });
  }

  void on_attempt(std::size_t number, error_code error) {
    if (!error) {
      finish({}, std::move(sockets_[number]));
      return;
    }
    if (failed_++ == 0) first_error_ = error;
    next();
  }

  void finish(error_code error, tcp::socket socket) {
    auto done = std::move(done_);
    cancel();
    done(error, std::move(socket));
  }

  net::any_io_executor executor_;
  std::vector<tcp::endpoint> addresses_;
  Done done_;
  net::steady_timer timer_;
  std::vector<tcp::socket> sockets_;
  std::size_t failed_ = 0;
  error_code first_error_ = net::error::not_found;
};

}  // namespace

std::vector<tcp::endpoint> alternate_families(const std::vector<tcp::endpoint>& addresses) {
  std::vector<tcp::endpoint> first, second, all;
  for (const auto& address : addresses) {
    (address.protocol() == addresses.front().protocol() ? first : second).push_back(address);
  }
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) all.push_back(first[i]);
    if (i < second.size()) all.push_back(second[i]);
  }
  return all;
}

std::shared_ptr<Connecting> connect_any(const net::any_io_executor& executor, const std::vector<tcp::endpoint>& addresses, Done done) {
  auto attempts = std::make_shared<Attempts>(executor, alternate_families(addresses), std::move(done));
  attempts->start();
  return attempts;
}

}  // namespace polygraph::proxy
