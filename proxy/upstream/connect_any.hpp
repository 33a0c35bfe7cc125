// One TCP connection to whichever address of a host answers first, so that an address that swallows packets costs a moment
// and not the whole deadline: RFC 8305, "Happy Eyeballs", sections 4 and 5.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

namespace polygraph::proxy {

/// The next address is tried when one failed, or has not answered for this long (RFC 8305's recommended delay).
constexpr std::chrono::milliseconds next_address_after{250};

/// Attempts under way.
class Connecting {
 public:
  virtual ~Connecting() = default;
  /// Gives all attempts up; `done` is not called any more. On the executor.
  virtual void cancel() = 0;
};

/// In the order of RFC 8305, section 4: the resolver's, but with the two families taking turns, the first one's first.
std::vector<boost::asio::ip::tcp::endpoint> alternate_families(const std::vector<boost::asio::ip::tcp::endpoint>& addresses);

/// `done` is called once, on the executor, never inside this call: with an open socket, or with the first error when every
/// address failed (`not_found` where there was none). `executor` serves one thread at a time.
std::shared_ptr<Connecting> connect_any(const boost::asio::any_io_executor& executor, const std::vector<boost::asio::ip::tcp::endpoint>& addresses,
                                        std::function<void(boost::system::error_code, boost::asio::ip::tcp::socket)> done);

}  // namespace polygraph::proxy
