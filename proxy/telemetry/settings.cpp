#include "proxy/telemetry/settings.hpp"

#include <algorithm>
#include <optional>

#include <openssl/evp.h>

namespace polygraph::telemetry {
namespace {

constexpr std::string_view langfuse_host = "https://cloud.langfuse.com";
constexpr std::string_view langfuse_path = "/api/public/otel/v1/traces";
constexpr std::string_view otlp_path = "/v1/traces";

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a zero
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

/// As read_endpoint, but http goes to any host: whoever writes http:// for a collector beside this program means it.
Result<proxy::Endpoint> endpoint_of(const std::string& url) {
  constexpr std::string_view http = "http://";
  if (!url.starts_with(http)) return proxy::read_endpoint(url);
  auto endpoint = proxy::read_endpoint("https://" + url.substr(http.size()));
  if (!endpoint) return endpoint;
  endpoint->tls = false;
  if (!endpoint->authority.ends_with(":443")) endpoint->port = endpoint->port == 443 ? 80 : endpoint->port;
  return endpoint;
}

/// `field` of `read_endpoint`'s message is a setting's name here.
std::string about(const std::string& setting, const Error& error) {
  constexpr std::string_view subject = "the upstream's URL ";
  std::string message = error.message;
  if (message.starts_with(subject)) message.erase(0, subject.size());
  return setting + " " + message;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return std::nullopt;
    out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  return out;
}

bool is_field_name(std::string_view name) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";  // RFC 9110, token
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || marks.find(c) != std::string_view::npos;
  });
}

bool is_field_value(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; });
}

/// `name=value,name=value`. Fails with what is wrong, and never with the text itself: it holds keys.
tl::expected<Fields, std::string> read_fields(std::string_view text) {
  Fields fields;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const auto pair = trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos) return tl::unexpected<std::string>("is not name=value,name=value");
    const auto name = trim(pair.substr(0, equals));
    auto value = percent_decoded(trim(pair.substr(equals + 1)));
    if (!is_field_name(name) || !value || !is_field_value(*value)) return tl::unexpected<std::string>("holds a name or value that fits no HTTP field");
    for (const std::string_view own : {"Host", "Connection", "Content-Length", "Content-Type", "Transfer-Encoding", "Upgrade"}) {
      if (equal_ignoring_case(name, own)) return tl::unexpected("may not set " + std::string(own));
    }
    fields.emplace_back(name, std::move(*value));
  }
  return fields;
}

class Reader {
 public:
  explicit Reader(const Lookup& lookup) : lookup_(lookup) {}

  Settings read() {
    add_langfuse();
    add_otlp();
    if (auto name = value("OTEL_SERVICE_NAME"); !settings_.targets.empty() && !name.empty()) settings_.map.service = std::move(name);
    return std::move(settings_);
  }

 private:
  std::string value(const std::string& name) {
    auto found = lookup_(name);
    if (found) return std::move(*found);
    wrong((found.error().field.empty() ? name : found.error().field) + ": " + found.error().message);
    return {};
  }

  void wrong(std::string what) {
    if (settings_.fault.empty()) settings_.fault = std::move(what);
  }

  void add_langfuse() {
    const std::string public_key = value("LANGFUSE_PUBLIC_KEY"), secret_key = value("LANGFUSE_SECRET_KEY");
    if (public_key.empty() && secret_key.empty()) return;
    if (public_key.empty() || secret_key.empty()) {
      wrong(std::string(public_key.empty() ? "LANGFUSE_PUBLIC_KEY" : "LANGFUSE_SECRET_KEY") + " is not set: Langfuse wants both keys");
      return;
    }
    std::string url = value("LANGFUSE_HOST");
    if (url.empty()) url = langfuse_host;
    while (url.ends_with('/')) url.pop_back();
    // The header has them ingested at once rather than in a while (Langfuse's documentation of its OTLP endpoint).
    add("Langfuse", "LANGFUSE_HOST", url + std::string(langfuse_path),
        {{"Authorization", "Basic " + base64(public_key + ':' + secret_key)}, {"x-langfuse-ingestion-version", "4"}});
  }

  void add_otlp() {
    std::string name = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url = value(name);
    if (url.empty()) {
      name = "OTEL_EXPORTER_OTLP_ENDPOINT";
      url = value(name);
      if (url.empty()) return;
      while (url.ends_with('/')) url.pop_back();
      url += otlp_path;
    }
    if (equal_ignoring_case(value("OTEL_SDK_DISABLED"), "true") || value("OTEL_TRACES_EXPORTER") == "none") return;
    std::string fields_name = "OTEL_EXPORTER_OTLP_TRACES_HEADERS", text = value(fields_name);
    if (text.empty()) {
      fields_name = "OTEL_EXPORTER_OTLP_HEADERS";
      text = value(fields_name);
    }
    auto fields = read_fields(text);
    if (!fields) return wrong(fields_name + " " + fields.error());
    add("the OTLP endpoint", name, url, std::move(*fields));
  }

  void add(const std::string& who, const std::string& setting, const std::string& url, Fields fields) {
    auto endpoint = endpoint_of(url);
    if (!endpoint) return wrong(about(setting, endpoint.error()));
    std::string name = who + " at " + endpoint->authority;
    settings_.targets.push_back({std::move(name), std::move(*endpoint), std::move(fields)});
  }

  const Lookup& lookup_;
  Settings settings_;
};

}  // namespace

Settings read_settings(const Lookup& lookup) { return Reader(lookup).read(); }

}  // namespace polygraph::telemetry
