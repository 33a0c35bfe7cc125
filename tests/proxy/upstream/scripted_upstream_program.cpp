// ScriptedUpstream as a process; see its header for what it is told how.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "scripted_upstream.hpp"

int main(int argc, char** argv) {
  using namespace polygraph::proxy::testing;
  ScriptedOptions options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--ca-file") options.ca_file = value;
    else if (name == "--certificate" && value == "expired") options.certificate = CertificateKind::expired;
    else if (name == "--certificate" && value == "other_host") options.certificate = CertificateKind::other_host;
    else if (name == "--certificate" && value == "unknown_ca") options.certificate = CertificateKind::unknown_ca;
    else if (name != "--certificate" || value != "good") return 2;
  }
  try {
    const ScriptedUpstream upstream(options);
    auto control = upstream.plain_url();
    control.replace(control.rfind("/v1"), 3, "/control");
    std::printf("%s\n", nlohmann::json{{"url", upstream.url()}, {"plain_url", upstream.plain_url()}, {"control", control},
                                       {"ca_file", upstream.ca_file()}, {"pid", ::getpid()}}.dump().c_str());
    std::fflush(stdout);
    char byte;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 3;
  }
  return 0;
}
