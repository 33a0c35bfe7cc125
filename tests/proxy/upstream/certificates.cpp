#include "certificates.hpp"

#include <memory>
#include <stdexcept>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

namespace polygraph::proxy::testing {
namespace {

template <auto Function>
struct Free {
  template <class T>
  void operator()(T* pointer) const {
    Function(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;

constexpr long day_seconds = 24 * 60 * 60;

void check(bool worked) {
  if (!worked) throw std::runtime_error("OpenSSL could not make a certificate");
}

void add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  check(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
}

/// Without an issuer it signs itself and is a CA.
Certificate make(const char* name, const char* alternative_names, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key, long from_seconds, long until_seconds) {
  Certificate certificate(X509_new());
  check(certificate != nullptr);
  X509_set_version(certificate.get(), 2);
  std::uint32_t serial = 0;
  check(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), from_seconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), until_seconds);
  X509_set_pubkey(certificate.get(), key);
  auto* subject = X509_get_subject_name(certificate.get());
  check(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name), -1, -1, 0) == 1);
  X509_set_issuer_name(certificate.get(), issuer ? X509_get_subject_name(issuer) : subject);
  auto* signer = issuer ? issuer : certificate.get();
  add_extension(certificate.get(), signer, NID_basic_constraints, issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
  add_extension(certificate.get(), signer, NID_subject_key_identifier, "hash");
  if (issuer) {
    add_extension(certificate.get(), signer, NID_subject_alt_name, alternative_names);
    add_extension(certificate.get(), signer, NID_ext_key_usage, "serverAuth");
  } else {
    add_extension(certificate.get(), signer, NID_key_usage, "critical,keyCertSign");
  }
  check(X509_sign(certificate.get(), issuer_key, EVP_sha256()) > 0);
  return certificate;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(length)};
}

std::string pem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return text_of(bio.get());
}

}  // namespace

Certificates make_certificates(CertificateKind kind) {
  const Key ca_key(EVP_EC_gen("P-256")), server_key(EVP_EC_gen("P-256"));
  check(ca_key && server_key);
  const auto ca = make("Polygraph tests", nullptr, ca_key.get(), nullptr, ca_key.get(), -2 * day_seconds, 30 * day_seconds);
  const bool expired = kind == CertificateKind::expired, other = kind == CertificateKind::other_host;
  const auto server = make(other ? "other.example" : "localhost", other ? "DNS:other.example" : "DNS:localhost,IP:127.0.0.1", server_key.get(), ca.get(),
                           ca_key.get(), -2 * day_seconds, expired ? -day_seconds : 30 * day_seconds);
  Certificates made;
  made.ca = pem(ca.get());
  if (kind == CertificateKind::unknown_ca) made.ca = make_certificates(CertificateKind::good).ca;
  made.certificate = pem(server.get());
  const Bio bio(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_PrivateKey(bio.get(), server_key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  made.key = text_of(bio.get());
  return made;
}

}  // namespace polygraph::proxy::testing
