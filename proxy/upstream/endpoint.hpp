// The URL of an endpoint, taken apart: where a call connects to, and what its targets begin with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wasm/error.hpp"

namespace polygraph::proxy {

struct Endpoint {
  bool tls = true;
  std::string host;          ///< name or address, an IPv6 address without its brackets
  bool is_address = false;   ///< has no name to send in SNI
  std::uint16_t port = 443;
  std::string authority;     ///< what the Host field says
  std::string path;          ///< the URL's path without a slash at its end; the format adds the rest
};

/// `https://HOST[:PORT][/PATH]`, or http to localhost, 127.0.0.0/8 or [::1]. Fails with `invalid_argument`, field
/// `upstream`, for anything else: no user, query or fragment.
Result<Endpoint> read_endpoint(std::string_view url);

}  // namespace polygraph::proxy
