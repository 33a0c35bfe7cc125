// Certificates made while a test runs: a CA of its own, and a server's certificate that is sound or wrong in one way.
#pragma once

#include <cstdint>
#include <string>

namespace polygraph::proxy::testing {

enum class CertificateKind : std::uint8_t {
  good,        ///< for localhost and 127.0.0.1, by the CA
  expired,     ///< the same, but of yesterday
  other_host,  ///< for other.example, by the CA
  unknown_ca,  ///< for localhost, by a CA that nobody was told of
};

struct Certificates {
  std::string ca;           ///< PEM of the CA that a client is told of
  std::string certificate;  ///< PEM of the server's certificate
  std::string key;          ///< PEM of its private key
};

/// Throws std::runtime_error when OpenSSL fails.
Certificates make_certificates(CertificateKind kind);

}  // namespace polygraph::proxy::testing
