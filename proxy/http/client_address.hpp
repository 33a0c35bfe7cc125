// Whose request it is. Behind a front server the peer is that server, and X-Forwarded-For says who asked it; but anybody
// can write that field, so only what a listed peer added at its right end is believed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>

namespace polygraph::http {

/// Addresses and CIDR blocks ("10.0.0.0/8", "::1", "192.0.2.7") of front servers.
class TrustedProxies {
 public:
  /// Adds one; false when the text is neither.
  bool add(std::string_view text);
  bool empty() const noexcept { return blocks_.empty(); }
  bool contains(const boost::asio::ip::address& address) const;

 private:
  struct Block {
    boost::asio::ip::address address;
    unsigned bits = 0;
  };
  std::vector<Block> blocks_;
};

/// The address that an entry of X-Forwarded-For names, without its port; an IPv4 address inside an IPv6 one becomes the
/// former. Nothing when it is no address.
std::optional<boost::asio::ip::address> forwarded_address(std::string_view entry);

/// The client of a request from `peer`: while the address at hand is a trusted proxy's, the next entry of `forwarded`
/// (all X-Forwarded-For fields joined with commas) from the right; an entry that is no address ends the walk.
std::string client_address(const boost::asio::ip::address& peer, std::string_view forwarded, const TrustedProxies& trusted);

/// What one client is for a limit: the address itself, or the /64 of an IPv6 address, which one customer is given whole.
std::string client_network(std::string_view address);

}  // namespace polygraph::http
