// `serve_program SITE PORT [NAME=VALUE…]`: serve() as a process of its own, for the tests and for load generators.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "proxy/http/serve.hpp"

int main(int argc, char** argv) {
  using namespace polygraph;
  if (argc < 3) return 2;
  const std::vector<std::string> overrides(argv + 3, argv + argc);
  auto settings = http::read_settings([](const std::string&) { return std::nullopt; }, overrides);
  if (!settings) {
    std::fprintf(stderr, "%s\n", settings.error().message.c_str());
    return 2;
  }
  http::ServeOptions options;
  options.site = argv[1];
  options.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  options.settings = *settings;
  if (auto served = http::serve(std::move(options), stdout); !served) {
    std::fprintf(stderr, "%s\n", served.error().message.c_str());
    return 3;
  }
  return 0;
}
