// The program `polygraph serve`: a Server under the process's signals.
#pragma once

#include <cstdio>
#include <functional>

#include "proxy/http/server.hpp"

namespace polygraph::http {

/// Starts, writes `{"listening": URL, "metrics": URL, "pid": N}` and a line end to `out`, and serves until SIGTERM or
/// SIGINT (a second one cuts what is left). Sets the core limit to 0, for memory may hold a key, and takes as many
/// descriptors as the process may have. Returns once stopped; errors are those of Server::start.
Result<void> serve(ServeOptions options, std::FILE* out);
/// The same for a host with words of its own: `announce` is called once the server answers.
Result<void> serve(ServeOptions options, const std::function<void(const Server&)>& announce);

}  // namespace polygraph::http
