#include "scripted_upstream.hpp"

#include "judging_model.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <list>
#include <mutex>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

namespace polygraph::proxy::testing {
namespace {

namespace net = boost::asio;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;
using net::ip::tcp;
using Json = nlohmann::json;

constexpr std::string_view advertising =
    " Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing (TPS, RPS and more requests per day).";

/// Thrown when the client has left or the server ends: the connection's thread is done.
struct Left {};

/// One connection, blocking.
class Wire {
 public:
  explicit Wire(tcp::socket socket) : socket_(std::move(socket)) {}

  bool shake_hands(ssl::context& context) {
    tls_.emplace(socket_, context);
    error_code error;
    tls_->handshake(ssl::stream_base::server, error);
    return !error;
  }
  int descriptor() { return socket_.native_handle(); }

  /// 0 at the end.
  std::size_t read(char* data, std::size_t size) {
    error_code error;
    const auto got = tls_ ? tls_->read_some(net::buffer(data, size), error) : socket_.read_some(net::buffer(data, size), error);
    return error ? 0 : got;
  }
  void write(std::string_view bytes) {
    error_code error;
    if (tls_) net::write(*tls_, net::buffer(bytes.data(), bytes.size()), error);
    else net::write(socket_, net::buffer(bytes.data(), bytes.size()), error);
    if (error) throw Left();
  }
  /// With `notify` TLS says that this is the end.
  void close(bool notify) {
    if (tls_ && notify) {
      // Sends close_notify; the answer to it is not waited for.
      SSL_set_quiet_shutdown(tls_->native_handle(), 0);
      error_code ignored;
      socket_.non_blocking(true, ignored);
      tls_->shutdown(ignored);
    }
    ::shutdown(socket_.native_handle(), SHUT_WR);
  }

 private:
  tcp::socket socket_;
  std::optional<ssl::stream<tcp::socket&>> tls_;
};

std::string chunk(std::string_view data, std::string_view extension = {}) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx", data.size());
  return size + std::string(extension) + "\r\n" + std::string(data) + "\r\n";
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(' ', begin + 1), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

enum class Api { openai, anthropic, gemini, ollama };

/// Which API a target belongs to, and whether it lists models; nothing where it is no call.
struct Route {
  Api api = Api::openai;
  bool list = false;
};
std::optional<Route> route_of(std::string_view method, std::string_view target) {
  const auto has = [&](std::string_view part) { return target.find(part) != std::string_view::npos; };
  if (target.starts_with("/control/")) return std::nullopt;
  if (method == "POST") {
    if (target.ends_with("/chat/completions")) return Route{Api::openai};
    if (target.ends_with("/v1/messages")) return Route{Api::anthropic};
    if (target.ends_with(":generateContent") || target.ends_with(":streamGenerateContent?alt=sse")) return Route{Api::gemini};
    if (target.ends_with("/api/chat")) return Route{Api::ollama};
  } else if (method == "GET") {
    if (has("/models?limit=")) return Route{Api::anthropic, true};
    if (has("/models?pageSize=")) return Route{Api::gemini, true};
    if (target.ends_with("/api/tags")) return Route{Api::ollama, true};
    if (target.ends_with("/models")) return Route{Api::openai, true};
  }
  return std::nullopt;
}

/// A call as it was asked.
struct Asked {
  Api api = Api::openai;
  bool list = false;
  std::string target;
  std::string head;
  std::string body;
  Json json;
  bool stream = false;
  bool include_usage = false;

  std::string last_user_message() const {
    if (!json.is_object()) return {};
    if (api == Api::gemini) {
      if (!json.contains("contents") || !json["contents"].is_array() || json["contents"].empty()) return {};
      return json["contents"].back()["parts"][0].value("text", "");
    }
    if (!json.contains("messages") || !json["messages"].is_array()) return {};
    for (auto message = json["messages"].rbegin(); message != json["messages"].rend(); ++message) {
      if (message->value("role", "") == "user" && message->contains("content") && (*message)["content"].is_string()) return (*message)["content"];
    }
    return {};
  }
  std::string model() const {
    if (api == Api::gemini) {
      const auto begin = target.rfind("/models/") + 8;
      return target.substr(begin, target.find(':', begin) - begin);
    }
    return json.is_object() ? json.value("model", "scripted") : "scripted";
  }
  std::string key() const {
    static const std::regex field("\r\n(?:Authorization: Bearer |x-api-key: |x-goog-api-key: )([^\r]*)\r\n");
    std::smatch match;
    return std::regex_search(head, match, field) ? match[1].str() : std::string();
  }
  /// The part of the request that says what the reply must look like.
  std::string format() const {
    for (const char* name : {"response_format", "output_config", "tools", "format", "generationConfig"}) {
      if (json.is_object() && json.contains(name)) return json[name].dump();
    }
    return {};
  }
  bool forces_tool() const { return json.is_object() && json.contains("tool_choice"); }
  bool wants_logprobs() const {
    if (!json.is_object()) return false;
    return json.value("logprobs", false) || (json.contains("generationConfig") && json["generationConfig"].value("responseLogprobs", false));
  }
  /// What a model would say.
  std::string text() const {
    const auto format = this->format();
    const auto message = last_user_message();
    Json ids = Json::array();
    static const std::regex id("id=\"([^\"]+)\"|\"id\": ?\"([^\"]+)\"");
    for (auto found = std::sregex_iterator(message.begin(), message.end(), id); found != std::sregex_iterator(); ++found) {
      ids.push_back((*found)[1].matched ? (*found)[1].str() : (*found)[2].str());
    }
    if (auto judgement = judgement_reply(message, format)) return *judgement;
    if (format.find("\"relevant\"") != std::string::npos) {
      if (ids.empty()) {
        static const std::regex names("\"enum\":(\\[[^\\]]*\\])");
        std::smatch match;
        if (std::regex_search(format, match, names)) ids = Json::parse(match[1].str(), nullptr, false);
      }
      return Json{{"relevant", true}, {"reason", "The passages answer it."}, {"relevant_chunk_ids", ids}}.dump();
    }
    if (message.find("<reference>") != std::string::npos) {
      const auto between = [&](const std::string& tag) {
        const auto begin = message.find("<" + tag + ">") + tag.size() + 2;
        auto part = message.substr(begin, message.find("</" + tag + ">", begin) - begin);
        part.erase(0, part.find_first_not_of(" \n"));
        part.erase(part.find_last_not_of(" \n") + 1);
        return part;
      };
      const bool holds = between("answer").find(between("reference")) != std::string::npos;
      return Json{{"id", between("task")}, {"reason", holds ? "It holds the reference." : "It lacks the reference."}, {"confidence", 0.9}, {"score", holds ? 5 : 1}}.dump();
    }
    if (format.find("\"query\"") != std::string::npos) return R"({"query":"scripted query"})";
    return "This is the scripted answer [" + (ids.empty() ? std::string("1") : ids[0].get<std::string>()) + "].";
  }
  std::uint64_t prompt_tokens() const { return body.size() / 4 + 1; }
};

Json usage_of(const Asked& asked, const std::string& text) {
  const auto out = std::max<std::size_t>(words_of(text).size(), 1);
  return {{"prompt_tokens", asked.prompt_tokens()}, {"completion_tokens", out}, {"total_tokens", asked.prompt_tokens() + out}};
}

constexpr std::string_view date = "Date: Mon, 30 Nov 2026 10:00:00 GMT\r\n";

/// `soon`: instead of the usual time until the windows are free again.
std::string limits_text(Api api, std::string_view requests = "999", std::string_view tokens = "7000", const std::string& soon = {}) {
  if (api == Api::gemini || api == Api::ollama) return {};
  if (api == Api::anthropic) {
    return "anthropic-ratelimit-requests-limit: 50\r\nanthropic-ratelimit-tokens-limit: 8000\r\nanthropic-ratelimit-requests-remaining: " + std::string(requests) +
           "\r\nanthropic-ratelimit-tokens-remaining: " + std::string(tokens) +
           "\r\nanthropic-ratelimit-requests-reset: 2026-11-30T10:" + (soon.empty() ? "02:59" : "00:00") + "Z\r\nanthropic-ratelimit-tokens-reset: 2026-11-30T10:00:" +
           (soon.empty() ? "07" : "00") + "Z\r\n";
  }
  return "x-ratelimit-limit-requests: 1000\r\nx-ratelimit-limit-tokens: 8000\r\nx-ratelimit-remaining-requests: " + std::string(requests) +
         "\r\nx-ratelimit-remaining-tokens: " + std::string(tokens) + "\r\nx-ratelimit-reset-requests: " + (soon.empty() ? "2m59.56" : soon) + "s\r\nx-ratelimit-reset-tokens: " +
         (soon.empty() ? "7.66" : soon) + "s\r\n";
}

std::string error_body(Api api, std::string_view message, std::string_view type, std::string_view code) {
  if (api == Api::ollama) return Json{{"error", message}}.dump();
  if (api == Api::anthropic) return Json{{"type", "error"}, {"error", {{"type", type}, {"message", message}}}, {"request_id", "req_scripted"}}.dump();
  if (api == Api::gemini) return Json{{"error", {{"code", 400}, {"message", message}, {"status", code}}}}.dump();
  return Json{{"error", {{"message", message}, {"type", type}, {"code", code}}}}.dump();
}

const std::set<std::string> behaviour_names = {
    "answer", "obey", "text", "length", "delay", "slow_stream", "trickle", "chunked", "chunk_extensions", "close_delimited", "interim", "close", "close_idle",
    "unasked", "late_end", "no_end", "spent", "no_usage", "wrong_usage", "huge_usage", "usage_in_x_groq", "stall", "stall_head", "stall_body", "cut",
    "cut_head", "cut_body", "cut_tls", "no_done", "text_after_finish", "error_event", "half_event", "both_framings", "two_lengths", "listed_length",
    "wrong_length", "odd_coding", "folded", "bare_lf", "switching", "junk", "not_json", "no_choices", "refusal", "tool_call", "long_extension",
    "gigantic", "gigantic_length", "limited_rpm", "limited_rpd", "limited_tpm", "limited_tpd", "limited", "too_large", "too_large_429", "early_413",
    "context_length", "status", "status_cut", "redirect", "echo_key", "echo_key_400", "answer_key", "insufficient_quota", "bad_key_400"};

struct Behaviour {
  std::string name, argument;
  std::chrono::milliseconds milliseconds() const { return std::chrono::milliseconds(std::strtol(argument.c_str(), nullptr, 10)); }
};

Behaviour behaviour_of(const std::string& text) {
  const auto colon = text.find(':');
  Behaviour read{text.substr(0, colon), colon == std::string::npos ? std::string() : text.substr(colon + 1)};
  if (!behaviour_names.contains(read.name)) throw std::invalid_argument("the scripted upstream knows no " + read.name);
  return read;
}

std::optional<Behaviour> marked(const std::string& message) {
  for (auto begin = message.rfind("[["); begin != std::string::npos; begin = begin == 0 ? begin : message.rfind("[[", begin - 1)) {
    const auto end = message.find("]]", begin);
    if (end != std::string::npos) {
      const auto text = message.substr(begin + 2, end - begin - 2);
      if (behaviour_names.contains(text.substr(0, text.find(':')))) return behaviour_of(text);
    }
    if (begin == 0) break;
  }
  return std::nullopt;
}

}  // namespace

struct ScriptedUpstream::Implementation {
  net::io_context io;
  tcp::acceptor tls_acceptor{io, tcp::endpoint(net::ip::address_v4::loopback(), 0)};
  tcp::acceptor plain_acceptor{io, tcp::endpoint(net::ip::address_v4::loopback(), 0)};
  ssl::context tls{ssl::context::tls_server};
  std::string ca_file;
  bool remove_ca_file = false;

  mutable std::mutex mutex;
  bool stopping = false;
  Counts counts;
  std::vector<Request> requests;
  std::deque<std::string> next;
  std::string always = "answer";
  std::set<int> open;
  struct Served {
    std::thread thread;
    std::atomic<bool> ended{false};
  };
  std::list<Served> served;
  std::vector<std::thread> acceptors;

  explicit Implementation(const ScriptedOptions& options) {
    const auto made = make_certificates(options.certificate);
    tls.use_certificate_chain(net::buffer(made.certificate));
    tls.use_private_key(net::buffer(made.key), ssl::context::pem);
    if (options.old_tls) {
      // OpenSSL speaks it at its lowest security level only.
      SSL_CTX_set_security_level(tls.native_handle(), 0);
      SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_VERSION);
      SSL_CTX_set_max_proto_version(tls.native_handle(), TLS1_1_VERSION);
    }
    ca_file = options.ca_file;
    if (ca_file.empty()) {
      std::string pattern = "/tmp/scripted-upstream-XXXXXX";
      const int descriptor = ::mkstemp(pattern.data());
      if (descriptor < 0) throw std::runtime_error("no temporary file for the CA");
      ::close(descriptor);
      ca_file = pattern;
      remove_ca_file = true;
    }
    std::ofstream(ca_file) << made.ca;
    acceptors.emplace_back([this] { accept(tls_acceptor, true); });
    acceptors.emplace_back([this] { accept(plain_acceptor, false); });
  }

  ~Implementation() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      for (const int descriptor : open) ::shutdown(descriptor, SHUT_RDWR);
    }
    ::shutdown(tls_acceptor.native_handle(), SHUT_RDWR);
    ::shutdown(plain_acceptor.native_handle(), SHUT_RDWR);
    for (auto& thread : acceptors) thread.join();
    for (auto& each : served) each.thread.join();
    if (remove_ca_file) std::remove(ca_file.c_str());
  }

  void accept(tcp::acceptor& acceptor, bool encrypted) {
    for (;;) {
      tcp::socket socket(io);
      error_code error;
      acceptor.accept(socket, error);
      const std::lock_guard lock(mutex);
      if (stopping) return;
      if (error) continue;
      for (auto each = served.begin(); each != served.end();) {
        if (!each->ended) {
          ++each;
          continue;
        }
        each->thread.join();
        each = served.erase(each);
      }
      socket.set_option(tcp::no_delay(true), error);
      const int descriptor = socket.native_handle();
      open.insert(descriptor);
      auto& one = served.emplace_back();
      one.thread = std::thread([this, encrypted, &one, socket = std::move(socket)]() mutable {
        Wire wire(std::move(socket));
        try {
          serve(wire, encrypted);
        } catch (const Left&) {
        }
        const std::lock_guard ending(mutex);
        open.erase(wire.descriptor());
        wire.close(false);
        one.ended = true;
      });
    }
  }

  void serve(Wire& wire, bool encrypted) {
    bool counted = false;
    const auto count_connection = [&] {
      const std::lock_guard lock(mutex);
      if (!std::exchange(counted, true)) ++counts.connections;
    };
    if (encrypted) {
      count_connection();
      if (!wire.shake_hands(tls)) return;
      const std::lock_guard lock(mutex);
      ++counts.handshakes;
    }
    std::string input;
    const auto more = [&] {
      char buffer[16384];
      const auto got = wire.read(buffer, sizeof buffer);
      input.append(buffer, got);
      return got > 0;
    };
    for (;;) {
      while (input.find("\r\n\r\n") == std::string::npos) {
        if (!more()) return;
      }
      Asked asked;
      asked.head = input.substr(0, input.find("\r\n\r\n") + 4);
      input.erase(0, asked.head.size());
      static const std::regex length_field("\r\nContent-Length: *([0-9]+)\r\n", std::regex::icase);
      std::smatch match;
      const std::size_t length = std::regex_search(asked.head, match, length_field) ? std::stoul(match[1].str()) : 0;
      const auto target = asked.head.substr(asked.head.find(' ') + 1, asked.head.find(' ', asked.head.find(' ') + 1) - asked.head.find(' ') - 1);
      const auto route = route_of(asked.head.substr(0, asked.head.find(' ')), target);
      const bool is_call = route.has_value();
      if (is_call) {
        asked.api = route->api;
        asked.list = route->list;
        asked.target = target;
        count_connection();
        const std::lock_guard lock(mutex);
        if (!next.empty() && next.front() == "early_413") {
          next.pop_front();
          ++counts.calls;
          ++counts.behaviours["early_413"];
          refuse(wire, 413, error_body(asked.api, "Request Entity Too Large", "invalid_request_error", "request_too_large"), "Connection: close\r\n");
          wire.close(true);
          while (more()) {  // closing over unread bytes would reset the connection, and the answer could be lost
          }
          return;
        }
      }
      while (input.size() < length) {
        if (!more()) return;
      }
      asked.body = input.substr(0, length);
      input.erase(0, length);
      if (!is_call) {
        control(wire, target, asked.body);
        continue;
      }
      asked.json = Json::parse(asked.body, nullptr, false);
      asked.stream = (asked.json.is_object() && asked.json.value("stream", false)) || target.find(":streamGenerateContent") != std::string::npos;
      asked.include_usage = asked.stream && asked.json.contains("stream_options") && asked.json["stream_options"].value("include_usage", false);
      const auto behaviour = choose(asked);
      bool keep = false;
      try {
        keep = act(wire, asked, behaviour);
      } catch (const Left&) {
        const std::lock_guard lock(mutex);
        if (!stopping) ++counts.left;
        throw;
      }
      if (!keep) return;
    }
  }

  Behaviour choose(const Asked& asked) {
    const std::lock_guard lock(mutex);
    ++counts.calls;
    requests.push_back({asked.head, asked.body});
    Behaviour chosen;
    if (!next.empty()) {
      chosen = behaviour_of(next.front());
      next.pop_front();
    } else if (auto found = marked(asked.last_user_message())) {
      chosen = *found;
    } else {
      chosen = behaviour_of(always);
    }
    ++counts.behaviours[chosen.name];
    return chosen;
  }

  void control(Wire& wire, const std::string& target, const std::string& body) {
    Json answer = Json::object();
    unsigned status = 200;
    const auto given = Json::parse(body, nullptr, false);
    {
      const std::lock_guard lock(mutex);
      if (target == "/control/counts") {
        answer = {{"calls", counts.calls}, {"connections", counts.connections}, {"handshakes", counts.handshakes},
                  {"waiting", counts.waiting}, {"left", counts.left}, {"behaviours", counts.behaviours}};
      } else if (target == "/control/requests") {
        answer = Json::array();
        for (const auto& request : requests) answer.push_back({{"head", request.head}, {"body", request.body}});
      } else if (target == "/control/reset") {
        const auto waiting = counts.waiting;
        counts = {};
        counts.waiting = waiting;
        requests.clear();
        next.clear();
        always = "answer";
      } else {
        try {
          if (target == "/control/next" && given.is_array()) {
            for (const auto& each : given) behaviour_of(each.get<std::string>());
            for (const auto& each : given) next.push_back(each);
          } else if (target == "/control/always" && given.is_string()) {
            behaviour_of(given.get<std::string>());
            always = given;
          } else {
            status = 404;
          }
        } catch (const std::exception& wrong) {
          status = 400;
          answer = {{"error", wrong.what()}};
        }
      }
    }
    const auto text = answer.dump() + '\n';
    wire.write("HTTP/1.1 " + std::to_string(status) + " Control\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(text.size()) +
               "\r\n\r\n" + text);
  }

  void refuse(Wire& wire, unsigned status, const std::string& body, const std::string& fields = {}) {
    wire.write("HTTP/1.1 " + std::to_string(status) + " Scripted\r\n" + std::string(date) + "Content-Type: application/json\r\n" + fields +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  /// Until the client closes.
  [[noreturn]] void stall(Wire& wire) {
    {
      const std::lock_guard lock(mutex);
      ++counts.waiting;
    }
    char buffer[256];
    while (wire.read(buffer, sizeof buffer) > 0) {
    }
    const std::lock_guard lock(mutex);
    --counts.waiting;
    throw Left();
  }

  /// The events of a stream, each with its framing in the chunked coding.
  std::vector<std::string> stream_of(const Asked& asked, const Behaviour& behaviour, const std::string& text, const std::string& finish, const Json& usage) {
    std::vector<std::string> events;
    const auto add = [&](const Json& choices, const Json& more = Json::object()) {
      Json event = {{"id", "scripted"}, {"object", "chat.completion.chunk"}, {"model", asked.model()}, {"choices", choices}};
      event.update(more);
      events.push_back("data: " + event.dump() + "\n\n");
    };
    const auto choice = [](const Json& delta, const Json& reason) { return Json::array({{{"index", 0}, {"delta", delta}, {"finish_reason", reason}}}); };
    add(choice({{"role", "assistant"}, {"content", ""}}, nullptr));
    for (const auto& word : words_of(text)) {
      add(choice({{"content", word}}, nullptr));
      if (behaviour.name == "error_event" && events.size() == 3) {
        events.push_back("event: error\ndata: " + error_body(asked.api, "The model failed", "server_error", "500") + "\n\n");
      }
      if (behaviour.name == "refusal") add(choice({{"refusal", "I can't do that."}}, nullptr));
    }
    const bool in_groq = behaviour.name == "usage_in_x_groq" || !asked.include_usage;
    add(choice(Json::object(), finish), in_groq && !usage.is_null() ? Json{{"x_groq", {{"id", "req_scripted"}, {"usage", usage}}}} : Json::object());
    if (behaviour.name == "text_after_finish") add(choice({{"content", " more"}}, nullptr));
    if (!in_groq && !usage.is_null()) add(Json::array(), {{"usage", usage}});
    if (behaviour.name == "half_event") events.push_back("data: {\"id\": \n\n");
    if (behaviour.name != "no_done") events.push_back("data: [DONE]\n\n");
    return events;
  }

  /// Whether the connection goes on.
  bool act(Wire& wire, const Asked& asked, const Behaviour& behaviour) {
    const auto& name = behaviour.name;
    const auto close = [&](bool notify = true) {
      wire.close(notify);
      return false;
    };
    if (name == "stall") stall(wire);
    if (name == "stall_head") {
      wire.write("HTTP/1.1 200 OK\r\nContent-Ty");
      stall(wire);
    }
    if (name == "cut") return close();
    if (name == "cut_head") {
      wire.write("HTTP/1.1 200 OK\r\nContent-Ty");
      return close();
    }
    if (name == "junk") {
      wire.write("\x16\x03\x01 junk \xff\xfe\r\n\r\n");
      return close();
    }
    if (name.starts_with("limited")) return limited(wire, asked, behaviour);
    if (name == "too_large" || name == "too_large_429") {
      refuse(wire, name == "too_large" ? 413 : 429,
             error_body(asked.api, "Request too large for model `" + asked.model() +
                            "` in organization `org_01scripted` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Requested 9021, please "
                            "reduce your message size and try again." + std::string(advertising),
                        "tokens", "rate_limit_exceeded"),
             limits_text(asked.api));
      return true;
    }
    if (name == "insufficient_quota") {
      refuse(wire, 429, error_body(asked.api, "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota"));
      return true;
    }
    if (name == "bad_key_400") {
      refuse(wire, 400, Json{{"error", {{"code", 400}, {"message", "API key not valid: " + asked.key()}, {"status", "INVALID_ARGUMENT"},
                                        {"details", Json::array({{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"}, {"reason", "API_KEY_INVALID"}}})}}}}.dump());
      return true;
    }
    if (name == "context_length") {
      refuse(wire, 400, error_body(asked.api, "Please reduce the length of the messages or completion.", "invalid_request_error", "context_length_exceeded"));
      return true;
    }
    if (name == "status" || name == "status_cut") {
      const auto status = static_cast<unsigned>(behaviour.milliseconds().count());
      const auto body = error_body(asked.api, "scripted failure " + behaviour.argument, "scripted", "scripted");
      if (name == "status_cut") {
        wire.write("HTTP/1.1 " + behaviour.argument + " Scripted\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body.substr(0, 9));
        return close();
      }
      refuse(wire, status, body);
      return true;
    }
    if (name == "redirect") {
      refuse(wire, 307, "{}", "Location: " + std::string("https://localhost:") + std::to_string(tls_acceptor.local_endpoint().port()) + "/v1/chat/completions\r\n");
      return true;
    }
    if (name == "echo_key" || name == "echo_key_400") {
      const auto key = asked.key();
      const auto blackened = key.substr(0, 8) + "****" + key.substr(key.size() - std::min<std::size_t>(key.size(), 8));
      refuse(wire, name == "echo_key" ? 401 : 400, error_body(asked.api, "Incorrect API key provided: " + key + " or " + blackened, "invalid_request_error", "invalid_api_key"));
      return true;
    }
    if (name == "gigantic") {
      wire.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      const auto filler = chunk(std::string(8000, ' '));
      for (;;) wire.write(filler);
    }
    if (name == "gigantic_length") {
      wire.write("HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n{");
      stall(wire);
    }
    if (name == "switching") {
      wire.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: scripted\r\nConnection: Upgrade\r\n\r\n");
      stall(wire);
    }
    if (name == "delay") std::this_thread::sleep_for(behaviour.milliseconds());
    if (name == "interim") wire.write("HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n");
    return answer(wire, asked, behaviour);
  }

  bool limited(Wire& wire, const Asked& asked, const Behaviour& behaviour) {
    const auto& name = behaviour.name;
    const std::string limit = name == "limited_rpm"   ? "requests per minute (RPM): Limit 30, Used 30, Requested 1"
                              : name == "limited_rpd" ? "requests per day (RPD): Limit 1000, Used 1000, Requested 1"
                              : name == "limited_tpm" ? "tokens per minute (TPM): Limit 8000, Used 7900, Requested 812"
                              : name == "limited_tpd" ? "tokens per day (TPD): Limit 200000, Used 199800, Requested 1201"
                                                      : "seconds of audio per hour (ASH): Limit 7200, Used 7200, Requested 1";
    const auto seconds = behaviour.argument.empty() ? std::string("7") : behaviour.argument;
    const bool day = name == "limited_rpd" || name == "limited_tpd";
    const std::string soon = seconds.find('.') == std::string::npos ? std::string() : seconds;
    if (asked.api == Api::gemini) {
      const std::string quota = std::string(name.starts_with("limited_t") ? "GenerateContentInputTokens" : "GenerateRequests") + (day ? "PerDay" : "PerMinute") +
                                "PerProjectPerModel-FreeTier";
      Json details = Json::array();
      if (name != "limited") details.push_back({{"@type", "type.googleapis.com/google.rpc.QuotaFailure"}, {"violations", Json::array({{{"quotaId", quota}}})}});
      details.push_back({{"@type", "type.googleapis.com/google.rpc.RetryInfo"}, {"retryDelay", seconds + "s"}});
      refuse(wire, 429, Json{{"error", {{"code", 429}, {"message", "You exceeded your current quota, please check your plan and billing details."},
                                        {"status", "RESOURCE_EXHAUSTED"}, {"details", details}}}}.dump());
      return true;
    }
    if (asked.api == Api::anthropic) {
      refuse(wire, 429, error_body(asked.api, "This request would exceed your organization's rate limit.", "rate_limit_error", ""),
             limits_text(asked.api, name == "limited_tpm" ? "40" : "0", name == "limited_tpm" ? "0" : "7000", soon) + "retry-after: " + seconds + "\r\n");
      return true;
    }
    refuse(wire, 429,
           error_body(asked.api, "Rate limit reached for model `" + asked.model() + "` in organization `org_01scripted` service tier `on_demand` on " + limit +
                          ". Please try again in " + seconds + "s." + std::string(advertising),
                      name.starts_with("limited_r") ? "requests" : "tokens", "rate_limit_exceeded"),
           limits_text(asked.api, day ? "0" : "970", day ? "7000" : "0", soon) + "retry-after: " + seconds + "\r\n");
    return true;
  }

  /// Two models, and what an endpoint lists beside them.
  static std::string models_of(Api api) {
    switch (api) {
      case Api::openai:
        return R"({"object":"list","data":[{"id":"scripted-large","context_window":131072,"active":true},{"id":"scripted-small"},{"id":"gone","active":false}]})";
      case Api::anthropic: return R"({"data":[{"type":"model","id":"scripted-large","display_name":"Large"},{"type":"model","id":"scripted-small"}],"has_more":false})";
      case Api::gemini:
        return R"({"models":[{"name":"models/scripted-large","inputTokenLimit":131072,"supportedGenerationMethods":["generateContent","countTokens"]},)"
               R"({"name":"models/embed","supportedGenerationMethods":["embedContent"]},{"name":"models/scripted-small","supportedGenerationMethods":["generateContent"]}]})";
      case Api::ollama: break;
    }
    return R"({"models":[{"name":"scripted-large:latest","model":"scripted-large:latest"},{"name":"scripted-small:latest"}]})";
  }

  /// A reply in one piece.
  static std::string body_of(const Asked& asked, const std::string& name, const std::string& text, const std::string& finish, const Json& usage) {
    const auto positions = [&](const char* probability) {
      Json all = Json::array();
      for (const auto& word : words_of(text)) {
        // Beside a number, as of a score, stands its neighbour.
        const bool number = word.size() == 2 && word[1] >= '1' && word[1] <= '9';
        const std::string other = number ? std::string(" ") + (word[1] == '1' ? '2' : static_cast<char>(word[1] - 1)) : "other";
        all.push_back({{"token", word}, {probability, -0.25}, {"top", Json::array({{{"token", word}, {probability, -0.25}}, {{"token", other}, {probability, -1.5}}})}});
      }
      return all;
    };
    Json body;
    if (asked.api == Api::anthropic) {
      Json content = Json::array({{{"type", "text"}, {"text", text}}});
      if (asked.forces_tool()) {
        auto input = Json::parse(text, nullptr, false);
        if (!input.is_discarded()) content = Json::array({{{"type", "tool_use"}, {"id", "toolu_1"}, {"name", "reply"}, {"input", input}}});
      }
      if (name == "no_choices") content = Json::array();
      const std::string reason = name == "refusal" ? "refusal" : finish == "length" ? "max_tokens" : asked.forces_tool() || name == "tool_call" ? "tool_use" : "end_turn";
      if (name == "tool_call") content = Json::array({{{"type", "tool_use"}, {"name", "another"}, {"input", Json::object()}}});
      body = {{"id", "msg_scripted"}, {"type", "message"}, {"role", "assistant"}, {"model", asked.model()}, {"content", content}, {"stop_reason", reason}};
    } else if (asked.api == Api::gemini) {
      const std::string reason = name == "refusal" ? "SAFETY" : name == "tool_call" ? "MALFORMED_FUNCTION_CALL" : finish == "length" ? "MAX_TOKENS" : "STOP";
      Json candidate = {{"content", {{"role", "model"}, {"parts", Json::array({{{"text", "Let me think."}, {"thought", true}}, {{"text", text}}})}}}, {"finishReason", reason}};
      if (asked.wants_logprobs()) {
        Json chosen = Json::array(), top = Json::array();
        for (const auto& position : positions("logProbability")) {
          chosen.push_back({{"token", position["token"]}, {"logProbability", position["logProbability"]}});
          top.push_back({{"candidates", position["top"]}});
        }
        candidate["logprobsResult"] = {{"chosenCandidates", chosen}, {"topCandidates", top}};
      }
      body = {{"candidates", Json::array({candidate})}, {"modelVersion", asked.model()}};
      if (name == "no_choices") body["candidates"] = Json::array();
    } else if (asked.api == Api::ollama) {
      body = {{"model", asked.model()}, {"created_at", "2026-11-30T10:00:00Z"}, {"message", {{"role", "assistant"}, {"content", text}}}, {"done", true},
              {"done_reason", name == "refusal" || name == "tool_call" ? "unload" : finish}};
      if (name == "no_choices") body.erase("message");
    } else {
      Json message = {{"role", "assistant"}, {"content", text}};
      if (name == "refusal") message = {{"role", "assistant"}, {"content", nullptr}, {"refusal", "I can't do that."}};
      if (name == "tool_call") message = {{"role", "assistant"}, {"tool_calls", Json::array({{{"id", "1"}}})}};
      Json choice = {{"index", 0}, {"message", message}, {"finish_reason", name == "tool_call" ? "tool_calls" : finish}};
      if (asked.wants_logprobs()) {
        Json content = positions("logprob");
        for (auto& position : content) {
          position["top_logprobs"] = position["top"];
          position.erase("top");
        }
        choice["logprobs"] = {{"content", content}};
      }
      body = {{"id", "scripted"}, {"object", "chat.completion"}, {"model", asked.model()}, {"choices", Json::array({choice})}};
      if (name == "no_choices") body["choices"] = Json::array();
    }
    put_usage(asked.api, usage, body);
    return body.dump();
  }

  /// `usage` as OpenAI has it, as the API has it.
  static void put_usage(Api api, const Json& usage, Json& body) {
    if (usage.is_null()) return;
    const auto& in = usage["prompt_tokens"];
    const auto& out = usage["completion_tokens"];
    if (api == Api::anthropic) {
      body["usage"] = {{"input_tokens", in}, {"cache_read_input_tokens", 0}, {"output_tokens", out}};
    } else if (api == Api::gemini) {
      body["usageMetadata"] = {{"promptTokenCount", in}, {"candidatesTokenCount", out}};
    } else if (api == Api::ollama) {
      body["prompt_eval_count"] = in;
      body["eval_count"] = out;
    } else {
      body["usage"] = usage;
    }
  }

  /// The pieces of a stream of the other APIs.
  static std::vector<std::string> other_stream_of(const Asked& asked, const std::string& name, const std::string& text, const std::string& finish, const Json& usage) {
    std::vector<std::string> pieces;
    const auto event = [&](const Json& data, const std::string& type = {}) {
      pieces.push_back((type.empty() ? "" : "event: " + type + "\n") + "data: " + data.dump() + "\n\n");
    };
    if (asked.api == Api::anthropic) {
      Json message = {{"type", "message"}, {"model", asked.model()}, {"content", Json::array()}};
      if (!usage.is_null()) message["usage"] = {{"input_tokens", usage["prompt_tokens"]}, {"output_tokens", 1}};
      event({{"type", "message_start"}, {"message", message}}, "message_start");
      const bool tool = asked.forces_tool();
      event({{"type", "content_block_start"}, {"index", 0}, {"content_block", {{"type", tool ? "tool_use" : "text"}}}}, "content_block_start");
      event({{"type", "ping"}}, "ping");
      for (const auto& word : words_of(text)) {
        Json delta = tool ? Json{{"type", "input_json_delta"}, {"partial_json", word}} : Json{{"type", "text_delta"}, {"text", word}};
        event({{"type", "content_block_delta"}, {"index", 0}, {"delta", delta}}, "content_block_delta");
        if (name == "error_event" && pieces.size() == 5) event({{"type", "error"}, {"error", {{"type", "overloaded_error"}, {"message", "Overloaded"}}}}, "error");
      }
      event({{"type", "content_block_stop"}, {"index", 0}}, "content_block_stop");
      Json end = {{"type", "message_delta"}, {"delta", {{"stop_reason", name == "refusal" ? "refusal" : finish == "length" ? "max_tokens" : tool ? "tool_use" : "end_turn"}}}};
      if (!usage.is_null()) end["usage"] = {{"output_tokens", usage["completion_tokens"]}};
      event(end, "message_delta");
      if (name == "text_after_finish") event({{"type", "content_block_delta"}, {"index", 0}, {"delta", {{"type", "text_delta"}, {"text", " more"}}}}, "content_block_delta");
      if (name == "half_event") pieces.push_back("data: {\"type\": \n\n");
      if (name != "no_done") event({{"type", "message_stop"}}, "message_stop");
    } else if (asked.api == Api::gemini) {
      const auto piece = [&](const std::string& words, const char* reason) {
        Json candidate = {{"content", {{"role", "model"}, {"parts", Json::array({{{"text", words}}})}}}};
        if (reason) candidate["finishReason"] = reason;
        Json data = {{"candidates", Json::array({candidate})}, {"modelVersion", asked.model()}};
        if (reason) put_usage(asked.api, usage, data);
        event(data);
      };
      for (const auto& word : words_of(text)) {
        piece(word, nullptr);
        if (name == "error_event" && pieces.size() == 2) event({{"error", {{"code", 503}, {"message", "The model is overloaded."}}}});
      }
      if (name == "half_event") pieces.push_back("data: {\"candidates\": \n\n");
      if (name != "no_done") piece("", name == "refusal" ? "SAFETY" : finish == "length" ? "MAX_TOKENS" : "STOP");
      if (name == "text_after_finish") piece(" more", nullptr);
    } else {
      const auto line = [&](const Json& data) { pieces.push_back(data.dump() + '\n'); };
      for (const auto& word : words_of(text)) {
        line({{"model", asked.model()}, {"message", {{"role", "assistant"}, {"content", word}}}, {"done", false}});
        if (name == "error_event" && pieces.size() == 2) line({{"error", "the model runner has stopped"}});
      }
      if (name == "half_event") pieces.push_back("{\"model\": \n");
      Json end = {{"model", asked.model()}, {"message", {{"role", "assistant"}, {"content", ""}}}, {"done", true}, {"done_reason", name == "refusal" ? "unload" : finish}};
      put_usage(asked.api, usage, end);
      if (name != "no_done") line(end);
      if (name == "text_after_finish") line({{"message", {{"role", "assistant"}, {"content", " more"}}}, {"done", false}});
    }
    return pieces;
  }

  bool answer(Wire& wire, const Asked& asked, const Behaviour& behaviour) {
    const auto& name = behaviour.name;
    auto text = name == "text" ? behaviour.argument : name == "obey" ? obedient_reply(asked.last_user_message()).value_or(asked.text()) : asked.text();
    if (name == "answer_key") text = "Your key is " + asked.key() + " indeed.";
    const std::string finish = name == "length" ? "length" : "stop";
    Json usage = usage_of(asked, text);
    if (name == "no_usage") usage = nullptr;
    if (name == "wrong_usage") usage = {{"prompt_tokens", -5}, {"completion_tokens", "many"}};
    if (name == "huge_usage") usage = {{"prompt_tokens", 18446744073709551615ULL}, {"completion_tokens", 18446744073709551615ULL}};

    std::vector<std::string> parts;  // of the body
    if (asked.list) {
      parts = {models_of(asked.api)};
    } else if (asked.stream) {
      parts = asked.api == Api::openai ? stream_of(asked, behaviour, text, finish, usage) : other_stream_of(asked, name, text, finish, usage);
    } else {
      parts = {body_of(asked, name, text, finish, usage)};
    }
    if (name == "not_json") parts = {"<html>not JSON</html>"};
    std::string whole;
    for (const auto& part : parts) whole += part;

    std::string head = "HTTP/1.1 200 OK\r\n" + std::string(date) + "Content-Type: " + std::string(!asked.stream ? "application/json" : asked.api == Api::ollama ? "application/x-ndjson" : "text/event-stream") +
                       "\r\n" + (name != "spent" ? limits_text(asked.api) : behaviour.argument == "requests" ? limits_text(asked.api, "0") : limits_text(asked.api, "999", "0"));
    const auto length = "Content-Length: " + std::to_string(whole.size()) + "\r\n";
    if (name == "both_framings") {
      wire.write(head + length + "Transfer-Encoding: chunked\r\n\r\n" + chunk(whole) + "0\r\n\r\n");
      return true;
    }
    const auto unsound = [&]() -> std::optional<std::string> {
      if (name == "two_lengths") return length + length;
      if (name == "listed_length") return "Content-Length: " + std::to_string(whole.size()) + ", " + std::to_string(whole.size()) + "\r\n";
      if (name == "wrong_length") return "Content-Length: +" + std::to_string(whole.size()) + "\r\n";
      if (name == "odd_coding") return std::string("Transfer-Encoding: identity, chunked\r\n");
      if (name == "folded") return "X-Long: a\r\n b\r\n" + length;
      if (name == "bare_lf") return "X-Short: a\n" + length;
      return std::nullopt;
    }();
    if (unsound) {
      wire.write(head + *unsound + "\r\n" + whole);
      return true;
    }
    if (name == "cut_tls" || name == "close_delimited") {
      wire.write(head + "Connection: close\r\n\r\n" + whole);
      wire.close(name == "close_delimited");
      return false;
    }
    if (name == "long_extension") {
      wire.write(head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(whole, ";x=" + std::string(100'000, 'x')) + "0\r\n\r\n");
      return true;
    }
    if (name == "close") head += "Connection: close\r\n";
    const std::string unasked = name == "unasked" ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" : "";
    const bool in_chunks = asked.stream || name == "chunked" || name == "chunk_extensions";
    if (!in_chunks) {
      const auto bytes = head + length + "\r\n" + whole;
      if (name == "trickle") {
        for (const char c : bytes) wire.write({&c, 1});
      } else if (name == "stall_body" || name == "cut_body") {
        wire.write(head + length + "\r\n" + whole.substr(0, whole.size() / 2));
        if (name == "stall_body") stall(wire);
        wire.close(true);
        return false;
      } else {
        wire.write(bytes + unasked);
      }
    } else {
      wire.write(head + "Transfer-Encoding: chunked\r\n\r\n");
      std::size_t sent = 0;
      for (const auto& part : parts) {
        const auto bytes = chunk(part, name == "chunk_extensions" ? ";name=value;other=\"quo\\\"ted\"" : "");
        if (++sent == parts.size() / 2 + 1 && (name == "stall_body" || name == "cut_body")) {
          wire.write(bytes.substr(0, bytes.size() / 2));
          if (name == "stall_body") stall(wire);
          wire.close(true);
          return false;
        }
        if (name == "slow_stream") std::this_thread::sleep_for(behaviour.milliseconds());
        if (name == "trickle") {
          for (const char c : bytes) wire.write({&c, 1});
        } else {
          wire.write(bytes);
        }
      }
      if (name == "no_end") stall(wire);
      if (name == "late_end") std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a packet of its own, as slow servers send it
      wire.write("0\r\n\r\n" + unasked);
    }
    if (name == "close" || name == "close_idle") {
      wire.close(true);
      return false;
    }
    return true;
  }
};

ScriptedUpstream::ScriptedUpstream(ScriptedOptions options) : implementation_(std::make_unique<Implementation>(options)) {}
ScriptedUpstream::~ScriptedUpstream() = default;

std::uint16_t ScriptedUpstream::port() const { return implementation_->tls_acceptor.local_endpoint().port(); }
std::string ScriptedUpstream::root_url() const { return "https://localhost:" + std::to_string(port()); }
std::string ScriptedUpstream::plain_root_url() const {
  return "http://127.0.0.1:" + std::to_string(implementation_->plain_acceptor.local_endpoint().port());
}
std::string ScriptedUpstream::url() const { return "https://localhost:" + std::to_string(port()) + "/v1"; }
std::string ScriptedUpstream::plain_url() const {
  return "http://127.0.0.1:" + std::to_string(implementation_->plain_acceptor.local_endpoint().port()) + "/v1";
}
const std::string& ScriptedUpstream::ca_file() const { return implementation_->ca_file; }

void ScriptedUpstream::next(std::vector<std::string> behaviours) {
  for (const auto& each : behaviours) behaviour_of(each);
  const std::lock_guard lock(implementation_->mutex);
  implementation_->next.insert(implementation_->next.end(), behaviours.begin(), behaviours.end());
}

void ScriptedUpstream::always(std::string behaviour) {
  behaviour_of(behaviour);
  const std::lock_guard lock(implementation_->mutex);
  implementation_->always = std::move(behaviour);
}

ScriptedUpstream::Counts ScriptedUpstream::counts() const {
  const std::lock_guard lock(implementation_->mutex);
  return implementation_->counts;
}

std::vector<ScriptedUpstream::Request> ScriptedUpstream::requests() const {
  const std::lock_guard lock(implementation_->mutex);
  return implementation_->requests;
}

}  // namespace polygraph::proxy::testing
