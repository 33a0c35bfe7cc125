// A request as handlers see it: checked by HeadScanner, parsed by Beast, its body complete.
#pragma once

#include <string>
#include <string_view>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/verb.hpp>

namespace polygraph::http {

namespace beast_http = boost::beast::http;

struct Request {
  beast_http::request_header<> head;
  std::string body;
  std::string_view id;      ///< of ours; goes out as X-Request-Id
  std::string client;       ///< the address that asked, without port: the peer's, or what a trusted front server says

  beast_http::verb method() const { return head.method(); }
  /// The target without its query, still percent-encoded.
  std::string_view path() const {
    const auto target = std::string_view(head.target().data(), head.target().size());
    return target.substr(0, target.find('?'));
  }
  /// The values of a list-valued field, joined with commas as RFC 9110 §5.3 allows; empty when it is absent.
  std::string list(beast_http::field name) const {
    std::string joined;
    const auto [first, last] = head.equal_range(name);
    for (auto field = first; field != last; ++field) {
      if (field != first) joined += ',';
      joined.append(field->value().data(), field->value().size());
    }
    return joined;
  }
  std::string list(std::string_view name) const {
    std::string joined;
    const auto [first, last] = head.equal_range(boost::beast::string_view(name.data(), name.size()));
    for (auto field = first; field != last; ++field) {
      if (field != first) joined += ',';
      joined.append(field->value().data(), field->value().size());
    }
    return joined;
  }
  bool has(beast_http::field name) const { return head.find(name) != head.end(); }
};

}  // namespace polygraph::http
