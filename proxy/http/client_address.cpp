#include "proxy/http/client_address.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace polygraph::http {
namespace {

using boost::asio::ip::address;

/// An IPv4 address written as IPv6 is the IPv4 address.
address normal(const address& given) {
  if (given.is_v6() && given.to_v6().is_v4_mapped()) return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, given.to_v6());
  return given;
}

std::optional<address> parse(std::string_view text) {
  boost::system::error_code error;
  auto found = boost::asio::ip::make_address(std::string(text), error);
  if (error) return std::nullopt;
  // A zone says which of this machine's interfaces; of a client it says nothing.
  if (found.is_v6() && found.to_v6().scope_id() != 0) return std::nullopt;
  return normal(found);
}

template <class Bytes>
bool same_prefix(const Bytes& a, const Bytes& b, unsigned bits) {
  for (std::size_t i = 0; i < a.size() && bits > 0; ++i, bits -= std::min(bits, 8U)) {
    const auto mask = static_cast<unsigned char>(bits >= 8 ? 0xFF : 0xFF << (8 - bits));
    if ((a[i] & mask) != (b[i] & mask)) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

bool TrustedProxies::add(std::string_view text) {
  const auto slash = text.find('/');
  const auto found = parse(text.substr(0, slash));
  if (!found) return false;
  const unsigned longest = found->is_v4() ? 32 : 128;
  unsigned bits = longest;
  if (slash != std::string_view::npos) {
    const auto number = text.substr(slash + 1);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), bits);
    if (number.empty() || read.ec != std::errc() || read.ptr != number.data() + number.size() || bits > longest) return false;
  }
  blocks_.push_back({*found, bits});
  return true;
}

bool TrustedProxies::contains(const address& given) const {
  const address wanted = normal(given);
  for (const Block& block : blocks_) {
    if (block.address.is_v4() != wanted.is_v4()) continue;
    const bool inside = wanted.is_v4() ? same_prefix(block.address.to_v4().to_bytes(), wanted.to_v4().to_bytes(), block.bits)
                                       : same_prefix(block.address.to_v6().to_bytes(), wanted.to_v6().to_bytes(), block.bits);
    if (inside) return true;
  }
  return false;
}

std::optional<address> forwarded_address(std::string_view entry) {
  entry = trimmed(entry);
  if (entry.size() >= 2 && entry.front() == '"' && entry.back() == '"') entry = entry.substr(1, entry.size() - 2);
  if (!entry.empty() && entry.front() == '[') {
    const auto close = entry.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const auto rest = entry.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') return std::nullopt;
    return parse(entry.substr(1, close - 1));
  }
  // One colon: an IPv4 address and its port; more: an IPv6 address.
  const auto colon = entry.find(':');
  if (colon != std::string_view::npos && entry.find(':', colon + 1) == std::string_view::npos) entry = entry.substr(0, colon);
  return parse(entry);
}

std::string client_address(const address& peer, std::string_view forwarded, const TrustedProxies& trusted) {
  address at = normal(peer);
  while (trusted.contains(at) && !forwarded.empty()) {
    const auto comma = forwarded.rfind(',');
    const auto entry = comma == std::string_view::npos ? forwarded : forwarded.substr(comma + 1);
    forwarded = comma == std::string_view::npos ? std::string_view() : forwarded.substr(0, comma);
    const auto next = forwarded_address(entry);
    if (!next) break;
    at = *next;
  }
  return at.to_string();
}

std::string client_network(std::string_view text) {
  const auto found = parse(text);
  if (!found || found->is_v4()) return std::string(text);
  auto bytes = found->to_v6().to_bytes();
  for (std::size_t i = 8; i < bytes.size(); ++i) bytes[i] = 0;
  return boost::asio::ip::address_v6(bytes).to_string() + "/64";
}

}  // namespace polygraph::http
