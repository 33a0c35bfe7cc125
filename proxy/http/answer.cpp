#include "proxy/http/answer.hpp"

#include <unistd.h>

#include <utility>

#include "proxy/http/content_policy.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::http {

OpenFile::~OpenFile() { ::close(descriptor_); }

namespace {

/// Runs `change` under the lock, and what it leaves to be called outside it.
template <class Change>
void changed(std::mutex& mutex, std::function<void()>& more, const Change& change) {
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex);
    change();
    call = std::exchange(more, nullptr);
  }
  if (call) call();
}

}  // namespace

void BodyStream::write(std::string_view piece) {
  changed(mutex_, more_, [&] { pending_.bytes += piece; });
}

void BodyStream::finish(LogFields log) {
  changed(mutex_, more_, [&] {
    pending_.finished = true;
    pending_.log = std::move(log);
  });
}

void BodyStream::cut(LogFields log) {
  changed(mutex_, more_, [&] {
    pending_.finished = pending_.cut = true;
    pending_.log = std::move(log);
  });
}

BodyStream::Taken BodyStream::take(std::function<void()> more) {
  const std::lock_guard lock(mutex_);
  Taken taken;
  taken.bytes.swap(pending_.bytes);
  taken.finished = pending_.finished;
  taken.cut = pending_.cut;
  taken.log = pending_.log;
  if (taken.bytes.empty() && !taken.finished) more_ = std::move(more);
  return taken;
}

std::uint64_t Answer::body_bytes() const {
  struct Length {
    std::uint64_t operator()(const std::string& text) const { return text.size(); }
    std::uint64_t operator()(const SharedBytes& part) const { return part.length; }
    std::uint64_t operator()(const FileBytes& part) const { return part.length; }
    std::uint64_t operator()(const std::shared_ptr<BodyStream>&) const { return 0; }
  };
  return std::visit(Length{}, body);
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      const auto point = text::decode(text, at);
      if (point.valid) out.append(text.substr(at, point.length));
      else out += "\\ufffd";
      at += point.length;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
    ++at;
  }
  out += '"';
}

Answer json_answer(unsigned status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.fields = "Content-Type: application/json\r\nCache-Control: no-store\r\n";
  answer.body = std::move(body);
  return answer;
}

std::string error_body(const Refusal& refusal, std::optional<unsigned> retry_after, std::string_view more) {
  std::string body = "{\"error\":{\"code\":";
  append_json_string(body, refusal.code);
  body += ",\"message\":";
  append_json_string(body, refusal.message);
  if (retry_after) body += ",\"retry_after\":" + std::to_string(*retry_after);
  body += more;
  body += "}}";
  return body;
}

Answer error_answer(const Refusal& refusal, std::optional<unsigned> retry_after, std::string_view more) {
  Answer answer = json_answer(refusal.status, error_body(refusal, retry_after, more) + '\n');
  if (retry_after) answer.fields += "Retry-After: " + std::to_string(*retry_after) + "\r\n";
  answer.error = refusal.code;
  return answer;
}

std::string content_policy(std::string_view connect_endpoints, std::string_view inline_sources) {
  const std::string of_page = inline_sources.empty() ? std::string() : " " + std::string(inline_sources);
  const std::string endpoints = connect_endpoints.empty() ? std::string() : " " + std::string(connect_endpoints);
  return "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" + of_page + "; worker-src 'self'; connect-src 'self'" + endpoints +
         "; img-src 'self' data:; style-src 'self'" + of_page + "; object-src 'none'; base-uri 'none'; form-action 'none'";
}

std::string security_fields(std::string_view connect_endpoints, std::string_view inline_sources) {
  return
      "X-Content-Type-Options: nosniff\r\n"
      "Referrer-Policy: no-referrer\r\n"
      // The three that make a page cross-origin isolated, without which it gets no shared memory and so no threads.
      "Cross-Origin-Opener-Policy: same-origin\r\n"
      "Cross-Origin-Embedder-Policy: require-corp\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n"
      "Permissions-Policy: camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()\r\n"
      "Content-Security-Policy: " + content_policy(connect_endpoints, inline_sources) + "; frame-ancestors 'none'\r\n";
}

}  // namespace polygraph::http
