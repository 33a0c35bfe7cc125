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
  /// Has `left` called, once and on any thread, if whoever waits goes away before the answer has ended.
  virtual void when_gone(std::function<void()> left) = 0;
};

class Responder {
 public:
  explicit Responder(std::shared_ptr<AnswerTaker> taker) noexcept : taker_(std::move(taker)) {}
  ~Responder();
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) = delete;

  void operator()(Answer answer);
  /// `left` is called if the client leaves before its answer has ended: what was begun for it alone can stop.
  void when_gone(std::function<void()> left) {
    if (taker_) taker_->when_gone(std::move(left));
  }

 private:
  std::shared_ptr<AnswerTaker> taker_;
};

/// `request` lives until the answer is given.
using Handler = std::function<void(const Request& request, Responder respond)>;

class Router {
 public:
  /// `path` is exact, or with a `/` at its end everything below it; the longest match wins. GET allows HEAD too.
  void add(Route route, std::string path, std::vector<beast_http::verb> methods, Handler handler);

  /// Answers OPTIONS on every route of the API: a browser asks so before another origin's page may post.
  void set_preflight(Handler handler) { preflight_ = std::move(handler); }

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
  Handler preflight_;
};

}  // namespace polygraph::http
