#include "proxy/upstream/endpoint.hpp"

#include <algorithm>
#include <charconv>

#include <boost/asio/ip/address.hpp>

namespace polygraph::proxy {
namespace {

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 && is_alphanumeric(host.front()) &&
         std::all_of(host.begin(), host.end(), [](char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == '_'; });
}

bool is_path(std::string_view path) {
  return std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c <= '~' && c != '?' && c != '#' && c != '\\'; });
}

tl::unexpected<Error> wrong(const std::string& what) {
  // The URL itself is not repeated: somebody may have put a key into it.
  return fail(ErrorCode::invalid_argument, "the upstream's URL " + what, "upstream");
}

}  // namespace

Result<Endpoint> read_endpoint(std::string_view url) {
  Endpoint endpoint;
  constexpr std::string_view https = "https://", http = "http://";
  if (url.substr(0, https.size()) == https) {
    url.remove_prefix(https.size());
  } else if (url.substr(0, http.size()) == http) {
    url.remove_prefix(http.size());
    endpoint.tls = false;
    endpoint.port = 80;
  } else {
    return wrong("must begin with https://");
  }
  const auto slash = std::min(url.find('/'), url.size());
  auto authority = url.substr(0, slash);
  auto path = url.substr(slash);
  if (authority.find('@') != std::string_view::npos) return wrong("must not hold a user or password");
  if (!is_path(path)) return wrong("holds a query, a fragment, or a character that must be percent-encoded");
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);

  const bool bracketed = !authority.empty() && authority.front() == '[';
  const auto host_end = bracketed ? authority.find(']') : std::min(authority.find(':'), authority.size());
  if (host_end == std::string_view::npos) return wrong("has no host");
  endpoint.host = bracketed ? authority.substr(1, host_end - 1) : authority.substr(0, host_end);
  auto port = authority.substr(bracketed ? host_end + 1 : host_end);
  if (!port.empty()) {
    if (port.front() != ':') return wrong("has no sound port");
    port.remove_prefix(1);
    const auto read = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
    if (read.ec != std::errc() || read.ptr != port.data() + port.size() || endpoint.port == 0) return wrong("has no sound port");
  }

  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(endpoint.host, no_address);
  endpoint.is_address = !no_address;
  if (bracketed ? no_address || !address.is_v6() : no_address && !is_name(endpoint.host)) return wrong("has no sound host");
  const bool loopback = endpoint.is_address ? address.is_loopback() : endpoint.host == "localhost";
  if (!endpoint.tls && !loopback) return wrong("must begin with https://: http is for a server on this machine");

  endpoint.authority = authority;
  endpoint.path = path;
  return endpoint;
}

}  // namespace polygraph::proxy
