// The review page and its API (web/review/keeper.ts), on this machine alone.
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/golden/review_keeper.hpp"
#include "cli/console.hpp"
#include "cli/mapped_file.hpp"
#include "cli/whole_file.hpp"
#include "proxy/http/router.hpp"
#include "proxy/http/serve.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;
using http::Answer;
using http::Request;
using boost::beast::http::verb;

constexpr std::string_view item_path = "/api/review/";

/// A folder of this process alone, gone with it.
class OwnFolder {
 public:
  static std::optional<OwnFolder> make() {
    std::string name = (fs::temp_directory_path() / "polygraph-review-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return std::nullopt;
    return OwnFolder(std::move(name));
  }
  OwnFolder(OwnFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  OwnFolder& operator=(OwnFolder&&) = delete;
  ~OwnFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  fs::path path() const { return path_; }

 private:
  explicit OwnFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// The server's log: nobody reads it here.
class NoLog {
 public:
  NoLog() : descriptor_(::open("/dev/null", O_WRONLY | O_CLOEXEC)) {}
  ~NoLog() { ::close(descriptor_); }
  NoLog(const NoLog&) = delete;
  NoLog& operator=(const NoLog&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// The digests of the page's own script and style sheet, from the policy that it carries.
std::string inline_digests(std::string_view page) {
  std::string out;
  constexpr std::string_view policy = "http-equiv=\"Content-Security-Policy\"", open = "'sha256-";
  std::size_t at = page.find(policy);
  if (at == std::string_view::npos) return out;
  const std::size_t end = page.find('>', at);
  for (at = page.find(open, at); at != std::string_view::npos && at < end; at = page.find(open, at)) {
    const std::size_t close = page.find('\'', at + 1);
    if (close == std::string_view::npos) break;
    const std::string_view digest = page.substr(at, close + 1 - at);
    if (digest.find_first_not_of("'-+/=0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos) {
      out += (out.empty() ? "" : " ") + std::string(digest);
    }
    at = close;
  }
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
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

/// Another site's page can send neither our header (a preflight would be refused) nor, under a name of its own that leads here, our host.
std::optional<Answer> refused(const Request& request) {
  std::string host = request.list(boost::beast::http::field::host);
  host = host.substr(0, host.rfind(':'));
  if (host != "127.0.0.1" && host != "localhost") return http::error_answer({403, "forbidden", "the review is served to this machine alone"});
  if (request.list(std::string_view("X-Polygraph-Review")) != "1") return http::error_answer({403, "forbidden", "X-Polygraph-Review: 1 is missing"});
  return std::nullopt;
}

Answer failed(const Error& error) {
  std::string words = (error.field.empty() ? "" : error.field + ": ") + error.message;
  switch (error.code) {
    case ErrorCode::not_found: return http::error_answer({404, "not_found", words});
    case ErrorCode::invalid_json: return http::error_answer({422, "invalid", words});
    case ErrorCode::mismatch: return http::error_answer({409, "conflict", "The file " + words + "."});
    default: break;
  }
  return http::error_answer({500, "internal", "The file " + words + "."});
}

Answer saved() { return http::json_answer(200, "{\"saved\":true}\n"); }

Answer item_answer(ReviewKeeper& keeper, const Request& request) {
  const auto id = percent_decoded(request.path().substr(item_path.size()));
  if (!id || id->empty()) return http::error_answer({404, "not_found", "that is no item"});
  if (request.method() == verb::delete_) {
    auto withdrawn = keeper.withdraw(*id);
    if (!withdrawn) return failed(withdrawn.error());
    return *withdrawn ? saved() : http::error_answer({404, "not_found", "there was no decision"});
  }
  const auto type = request.list(boost::beast::http::field::content_type);
  if (type.substr(0, type.find(';')) != "application/json") return http::error_answer({415, "unsupported_media_type", "send the body as Content-Type: application/json"});
  auto opinion = golden::parse_decision(request.body);
  if (!opinion) return failed(opinion.error());
  auto decided = keeper.decide(*id, std::move(*opinion));
  return decided ? saved() : failed(decided.error());
}

}  // namespace

Result<void> serve_review(ReviewKeeper& keeper, const ReviewPage& page) {
  auto text = read_text(page.page);
  if (!text) return fail(text.error().code, text.error().message + "; it is built with the site (./polygraph), and --terminal needs none", page.page);
  const auto folder = OwnFolder::make();
  if (!folder) return fail(ErrorCode::io, "no folder can be made in the temporary folder", "TMPDIR");
  if (auto done = write_whole(folder->path() / "review.html", *text); !done) return done;

  const NoLog log;
  http::ServeOptions serve;
  serve.site = folder->path();
  serve.port = page.port;
  serve.log_descriptor = log.descriptor();
  serve.inline_sources = inline_digests(*text);
  serve.settings.limits.max_body_bytes = 1U << 20U;
  serve.add_routes = [&keeper](const http::Parts& parts) {
    parts.router.add(http::Route::api, "/api/review", {verb::get}, [&keeper](const Request& request, http::Responder respond) {
      if (auto refusal = refused(request)) return respond(std::move(*refusal));
      respond(http::json_answer(200, keeper.document() + "\n"));
    });
    parts.router.add(http::Route::api, std::string(item_path), {verb::put, verb::delete_}, [&keeper](const Request& request, http::Responder respond) {
      auto refusal = refused(request);
      respond(refusal ? std::move(*refusal) : item_answer(keeper, request));
    });
  };
  return http::serve(std::move(serve), [&](const http::Server& server) {
    const std::string url = server.url() + "/review.html";
    if (page.json) print_json({{"review", url}, {"pid", ::getpid()}});
    else print(url + "\n");
    say("the review is open at this address; each decision is written at once, Ctrl-C ends it");
  });
}

}  // namespace polygraph::cli
