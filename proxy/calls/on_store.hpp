// Waiting for the store's thread in a coroutine.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "proxy/calls/store_thread.hpp"

namespace polygraph::proxy {

/// What `job` gives, on the store's thread; the coroutine goes on on `executor`.
///
/// GCC 12 destroys some temporaries of an expression with co_await or co_return twice: what these are given is named first,
/// throughout.
template <class Value>
boost::asio::awaitable<Result<Value>> on_store(boost::asio::any_io_executor executor, StoreThread& store, const std::function<Result<Value>(Store&)>& job) {
  namespace net = boost::asio;
  return net::async_initiate<const net::use_awaitable_t<>&, void(Result<Value>)>(
      [executor, &store, job](auto handler) {
        auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        store.post([executor, shared, job](Store& of) {
          Result<Value> result = job(of);
          const bool worked = result.has_value() || result.error().code != ErrorCode::io;
          net::post(executor, [shared, result = std::move(result)]() mutable { (*shared)(std::move(result)); });
          return worked;
        });
      },
      net::use_awaitable);
}

}  // namespace polygraph::proxy
