#include "proxy/http/router.hpp"

#include <algorithm>
#include <utility>

namespace polygraph::http {

Responder::~Responder() {
  if (taker_) taker_->take(error_answer({500, "internal", "the request was dropped: please report this"}));
}

void Responder::operator()(Answer answer) {
  if (const auto taker = std::exchange(taker_, nullptr)) taker->take(std::move(answer));
}

void Router::add(Route route, std::string path, std::vector<beast_http::verb> methods, Handler handler) {
  if (std::find(methods.begin(), methods.end(), beast_http::verb::get) != methods.end()) methods.push_back(beast_http::verb::head);
  targets_.push_back({route, std::move(path), std::move(methods), std::move(handler)});
  std::stable_sort(targets_.begin(), targets_.end(), [](const Target& a, const Target& b) { return a.path.size() > b.path.size(); });
}

Route Router::handle(const Request& request, Responder respond) const {
  const auto path = request.path();
  const auto target = std::find_if(targets_.begin(), targets_.end(), [&](const Target& t) {
    return t.path.back() == '/' ? path.substr(0, t.path.size()) == t.path : path == t.path;
  });
  if (request.method() == beast_http::verb::unknown) {
    respond(error_answer({501, "not_implemented", "this method is not known here"}));
    return target == targets_.end() ? Route::refused : target->route;
  }
  if (target == targets_.end()) {
    respond(error_answer({404, "not_found", "there is nothing at this address"}));
    return Route::refused;
  }
  if (preflight_ && request.method() == beast_http::verb::options && is_api(target->route)) {
    preflight_(request, std::move(respond));
    return target->route;
  }
  if (target->methods.empty() ||
      std::find(target->methods.begin(), target->methods.end(), request.method()) != target->methods.end()) {
    target->handler(request, std::move(respond));
    return target->route;
  }
  auto answer = error_answer({405, "method_not_allowed", "this address does not take that method"});
  answer.fields += "Allow: ";
  for (const auto method : target->methods) {
    if (method != target->methods.front()) answer.fields += ", ";
    const auto text = beast_http::to_string(method);
    answer.fields.append(text.data(), text.size());
  }
  answer.fields += "\r\n";
  respond(std::move(answer));
  return target->route;
}

}  // namespace polygraph::http
