// Which handler a request goes to, by its path and method.
//
// A handler gets the request and a Responder. It may answer at once or keep the Responder and answer later, from any
// thread: connections wait without holding one. Exactly one answer is taken; a Responder that dies unused gives 500.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/answer.hpp"
#include "proxy/http/metrics.hpp"
#include "proxy/http/request.hpp"

namespace polygraph::http {

/// Whoever waits for an answer: a connection, or a test.
class AnswerTaker {
 public:
  virtual ~AnswerTaker() = default;
  virtual void take(Answer answer) = 0;
};

class Responder {
 public:
  explicit Responder(std::shared_ptr<AnswerTaker> taker) noexcept : taker_(std::move(taker)) {}
  ~Responder();
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) = delete;

  void operator()(Answer answer);

 private:
  std::shared_ptr<AnswerTaker> taker_;
};

/// `request` lives until the answer is given.
using Handler = std::function<void(const Request& request, Responder respond)>;

class Router {
 public:
  /// `path` is exact, or with a `/` at its end everything below it; the longest match wins. GET allows HEAD too.
  void add(Route route, std::string path, std::vector<beast_http::verb> methods, Handler handler);

  /// 404 for a path that no route takes, 405 with Allow for another method of it, 501 for a method that is unknown.
  Route handle(const Request& request, Responder respond) const;

 private:
  struct Target {
    Route route;
    std::string path;
    std::vector<beast_http::verb> methods;
    Handler handler;
  };
  std::vector<Target> targets_;
};

}  // namespace polygraph::http
