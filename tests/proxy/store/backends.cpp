#include "tests/proxy/store/backends.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace polygraph::proxy::test {
namespace {

constexpr std::chrono::milliseconds poll_interval{5};
constexpr std::chrono::seconds start_limit{30};
constexpr timeval reply_limit{10, 0};
constexpr int start_attempts = 5;
constexpr int databases = 256;

// hiredis writes to sockets whose server was killed.
[[maybe_unused]] const auto ignored_pipe_signal = ::signal(SIGPIPE, SIG_IGN);

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no free port");
  }
  ::close(socket);
  return ntohs(address.sin_port);
}

/// Forks, and ends the child with this process.
template <class Prepare>
pid_t spawn(std::vector<std::string> words, const Prepare& prepare) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("no process");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    prepare();
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  return pid;
}

/// The one Redis that tests share, each in a database of its own.
RedisServer& shared_server() {
  static RedisServer server;
  return server;
}

std::string text_of(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
  std::string text(reply.str == nullptr ? "" : reply.str, reply.str == nullptr ? 0 : reply.len);
  for (std::size_t i = 0; i < reply.elements; ++i) text += text_of(*reply.element[i]) + "\n";
  return text;
}

}  // namespace

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "polygraph store XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

bool RedisServer::installed() {
  const pid_t pid = spawn({"redis-server", "--version"}, [] { ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO); });
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

RedisServer::RedisServer(Keeps keeps) : keeps_(keeps) {
  for (int attempt = 1;; ++attempt) {  // another process may take the port in between
    port_ = free_port();
    try {
      start();
      return;
    } catch (const std::runtime_error&) {
      if (attempt == start_attempts) throw;
    }
  }
}

RedisServer::~RedisServer() { kill(); }

void RedisServer::start() {
  const bool append = keeps_ != Keeps::nothing;
  pid_ = spawn({"redis-server", "--port", std::to_string(port_), "--bind", "127.0.0.1", "--dir", folder_.path().string(), "--databases",
                std::to_string(databases), "--save", "", "--appendonly", append ? "yes" : "no", "--appendfsync", keeps_ == Keeps::synced ? "always" : "no"},
               [] { ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO); });
  for (const auto end = std::chrono::steady_clock::now() + start_limit; !answers();) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      throw std::runtime_error("redis-server does not start");
    }
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("redis-server does not answer");
    std::this_thread::sleep_for(poll_interval);
  }
}

void RedisServer::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::pause() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  ::waitpid(pid_, &status, WUNTRACED);
}

void RedisServer::go_on() { ::kill(pid_, SIGCONT); }

bool RedisServer::answers() const {
  try {
    return command({"PING"}) == "PONG";
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::string RedisServer::command(const std::vector<std::string>& words) const {
  const std::unique_ptr<redisContext, void (*)(redisContext*)> context(redisConnectWithTimeout("127.0.0.1", port_, reply_limit), redisFree);
  if (!context || context->err != 0) throw std::runtime_error("no connection to Redis");
  redisSetTimeout(context.get(), reply_limit);
  std::vector<const char*> arguments;
  std::vector<std::size_t> sizes;
  for (const auto& word : words) {
    arguments.push_back(word.data());
    sizes.push_back(word.size());
  }
  const std::unique_ptr<redisReply, void (*)(void*)> reply(
      static_cast<redisReply*>(redisCommandArgv(context.get(), static_cast<int>(words.size()), arguments.data(), sizes.data())), freeReplyObject);
  if (!reply) throw std::runtime_error("no answer from Redis");
  return text_of(*reply);
}

std::string RedisServer::url(int database) const { return "redis://127.0.0.1:" + std::to_string(port_) + "/" + std::to_string(database); }

std::unique_ptr<Store> SqliteBackend::open(StoreOptions options) const {
  auto store = open_sqlite_store(target(), options);
  EXPECT_TRUE(store) << store.error().message;
  return store ? std::move(*store) : nullptr;
}

RedisBackend::RedisBackend() {
  static int used = 0;
  database_ = used++ % databases;
}

const char* RedisBackend::missing() {
  static const bool here = RedisServer::installed();
  return here ? nullptr : "no redis-server on this machine: apt-get install redis-server";
}

std::string RedisBackend::target() const { return shared_server().url(database_); }

std::unique_ptr<Store> RedisBackend::open(StoreOptions options) const {
  auto store = open_redis_store(target(), options);
  EXPECT_TRUE(store) << store.error().message;
  return store ? std::move(*store) : nullptr;
}

ReservationId granted(Store& store, std::string_view model, std::uint64_t tokens, const ModelLimits& limits, Millis now) {
  const auto answer = store.reserve(model, tokens, limits, now);
  if (!answer) {
    ADD_FAILURE() << answer.error().message;
    return 0;
  }
  if (const auto* refusal = std::get_if<Denied>(&*answer)) {
    ADD_FAILURE() << "denied by window " << static_cast<int>(refusal->window) << " for " << refusal->until - now << " ms";
    return 0;
  }
  return std::get<ReservationId>(*answer);
}

Denied denied(Store& store, std::string_view model, std::uint64_t tokens, const ModelLimits& limits, Millis now) {
  const auto answer = store.reserve(model, tokens, limits, now);
  if (!answer) {
    ADD_FAILURE() << answer.error().message;
    return {};
  }
  if (std::holds_alternative<ReservationId>(*answer)) {
    ADD_FAILURE() << "granted";
    return {};
  }
  return std::get<Denied>(*answer);
}

StoreProcess::StoreProcess(std::vector<std::string> arguments) {
  std::array<int, 2> in{}, out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  arguments.insert(arguments.begin(), STORE_PROGRAM);
  pid_ = spawn(arguments, [&] {
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
  });
  ::close(in[0]);
  ::close(out[1]);
  in_ = in[1];
  out_ = out[0];
}

StoreProcess::~StoreProcess() {
  kill();
  ::close(in_);
  ::close(out_);
}

bool StoreProcess::line(std::string& line) {
  for (;;) {
    if (const auto end = buffer_.find('\n'); end != buffer_.npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return true;
    }
    std::array<char, 4096> part{};
    const auto size = ::read(out_, part.data(), part.size());
    if (size <= 0) return false;
    buffer_.append(part.data(), static_cast<std::size_t>(size));
  }
}

void StoreProcess::order(std::string_view line) const {
  const auto text = std::string(line) + "\n";
  ASSERT_EQ(::write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

void StoreProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int StoreProcess::exit_code() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace polygraph::proxy::test
