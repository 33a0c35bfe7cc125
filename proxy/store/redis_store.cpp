// The store of several instances. Each operation is one Lua script (redis_scripts.hpp) in one round trip.
//
// A call whose connection broke is sent once more over a new one, so that a restarted server costs no request; scripts
// that ran although their answer was lost change nothing the second time, except that a client may lose a token. After a
// time-out nothing is sent again: the caller has waited long enough.
#include <hiredis/hiredis.h>

#include <cerrno>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <span>

#include "proxy/store/ledger.hpp"
#include "proxy/store/redis_scripts.hpp"
#include "proxy/store/store.hpp"

namespace polygraph::proxy {
namespace {

constexpr std::string_view prefix = "polygraph:";
constexpr int last_port = 65535;

struct ContextCloser {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct ReplyCloser {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, ReplyCloser>;

struct Address {
  std::string host;
  int port = 0, database = 0;
};

std::optional<int> number(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) return std::nullopt;
  return value;
}

std::optional<Address> parse(std::string_view url) {
  constexpr std::string_view scheme = "redis://";
  if (!url.starts_with(scheme)) return std::nullopt;
  url.remove_prefix(scheme.size());
  const auto slash = url.find('/');
  if (slash == url.npos) return std::nullopt;
  const auto authority = url.substr(0, slash);
  const auto colon = authority.rfind(':');
  if (colon == authority.npos) return std::nullopt;
  auto host = authority.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != host.npos) {
    return std::nullopt;
  }
  const auto port = number(authority.substr(colon + 1), last_port);
  const auto database = number(url.substr(slash + 1), std::numeric_limits<int>::max());
  if (host.empty() || host.find_first_of("@?# \t\r\n%") != host.npos || !port || *port == 0 || !database) return std::nullopt;
  return Address{std::string(host), *port, *database};
}

class RedisStore final : public Store {
 public:
  RedisStore(Address address, StoreOptions options) : address_(std::move(address)), options_(options) {}

  Result<std::variant<ReservationId, Denied>> reserve(std::string_view model, std::uint64_t tokens, const ModelLimits& limits, Millis now) override {
    using Answer = std::variant<ReservationId, Denied>;
    if (const auto window = never_fits(tokens, limits)) {
      // Denied without Redis, but not when Redis is away: then nobody knows anything.
      return check().map([&] { return Answer(Denied{*window, never}); });
    }
    const auto id = new_reservation_id();
    auto reply = run(reserve_, {text(id), model, text(counted(tokens)), text(now), text(counted(limits.requests_per_minute)),
                                text(counted(limits.requests_per_day)), text(counted(limits.tokens_per_minute)), text(counted(limits.tokens_per_day))});
    if (!reply) return tl::unexpected(reply.error());
    const auto values = integers(**reply);
    if (values.size() == 1 && values[0] == 1) return id;
    if (values.size() == 3 && values[0] == 0 && values[1] >= 0 && values[1] <= static_cast<std::int64_t>(Window::paused)) {
      return Denied{static_cast<Window>(values[1]), values[2]};
    }
    return unexpected_reply();
  }

  Result<void> settle(ReservationId id, Tokens used) override { return done(run(settle_, {text(id), text(counted(used.in)), text(counted(used.out))})); }
  Result<void> settle_in_full(ReservationId id) override { return done(run(settle_, {text(id), "", ""})); }
  Result<void> release(ReservationId id) override { return done(run(release_, {text(id)})); }
  Result<void> pause(std::string_view model, Millis until) override { return done(run(pause_, {model, text(std::min(until, never))})); }

  Result<Remaining> remaining(std::string_view model, const ModelLimits& limits, Millis now) override {
    auto reply = run(remaining_, {model, text(now)});
    if (!reply) return tl::unexpected(reply.error());
    const auto values = integers(**reply);
    if (values.size() != 5) return unexpected_reply();
    return Remaining{left_of(limits.requests_per_minute, values[0]), left_of(limits.requests_per_day, values[2]),
                     left_of(limits.tokens_per_minute, values[1]), left_of(limits.tokens_per_day, values[3]), values[4] > now ? values[4] : 0};
  }

  Result<std::optional<std::string>> cached(std::string_view key, Millis) override {
    auto reply = run(cached_, {key});
    if (!reply) return tl::unexpected(reply.error());
    if ((*reply)->type == REDIS_REPLY_NIL) return std::nullopt;
    if ((*reply)->type != REDIS_REPLY_STRING) return unexpected_reply();
    return std::string((*reply)->str, (*reply)->len);
  }

  Result<void> cache(std::string_view key, std::string_view value, Millis) override {
    return done(run(cache_, {key, value, text(options_.cache_bytes)}));
  }

  Result<CacheSize> cache_size() override {
    auto reply = run(cache_size_, {});
    if (!reply) return tl::unexpected(reply.error());
    const auto values = integers(**reply);
    if (values.size() != 2) return unexpected_reply();
    return CacheSize{static_cast<std::uint64_t>(values[0]), static_cast<std::uint64_t>(values[1])};
  }

  Result<std::uint64_t> shrink_cache(std::uint64_t bytes) override {
    auto reply = run(shrink_cache_, {text(counted(bytes))});
    if (!reply) return tl::unexpected(reply.error());
    if ((*reply)->type != REDIS_REPLY_INTEGER) return unexpected_reply();
    return static_cast<std::uint64_t>((*reply)->integer);
  }

  Result<Millis> take_client_token(std::string_view client, std::uint64_t burst, std::uint64_t per_minute, Millis now) override {
    auto reply = run(take_, {client, text(bucketed(burst)), text(bucketed(per_minute)), text(now)});
    if (!reply) return tl::unexpected(reply.error());
    if ((*reply)->type != REDIS_REPLY_INTEGER) return unexpected_reply();
    return (*reply)->integer;
  }

  Result<void> together(const std::function<Result<void>()>& work) override { return work(); }

  bool shared() const noexcept override { return true; }

  Result<std::vector<DayUsage>> usage() override {
    auto reply = run(usage_, {});
    if (!reply) return tl::unexpected(reply.error());
    if ((*reply)->type != REDIS_REPLY_ARRAY) return unexpected_reply();
    std::vector<DayUsage> days;
    for (std::size_t i = 0; i < (*reply)->elements; ++i) {
      const redisReply& row = *(*reply)->element[i];
      if (row.type != REDIS_REPLY_ARRAY || row.elements != 7) return unexpected_reply();
      std::vector<std::int64_t> counts;
      for (std::size_t column = 0; column < row.elements; ++column) {
        const redisReply& field = *row.element[column];
        if (field.type != REDIS_REPLY_STRING) return unexpected_reply();
        std::int64_t value = 0;
        if (column != 1) std::from_chars(field.str, field.str + field.len, value);
        counts.push_back(value);
      }
      const auto count = [&](std::size_t column) { return static_cast<std::uint64_t>(counts[column]); };
      days.push_back({day_text(counts[0]), std::string(row.element[1]->str, row.element[1]->len), count(2), count(3), count(4), count(5), count(6)});
    }
    return days;
  }

  Result<void> check() override { return done(run(check_, {})); }

 private:
  /// ARGV is built of these; a model or key may hold any bytes.
  class Argument {
   public:
    Argument(std::string own) : own_(std::move(own)) {}
    Argument(std::string_view other) : own_(other) {}
    Argument(const char* other) : own_(other) {}
    const std::string& bytes() const { return own_; }

   private:
    std::string own_;
  };

  template <class Number>
  static std::string text(Number value) { return std::to_string(value); }

  static std::vector<std::int64_t> integers(const redisReply& reply) {
    std::vector<std::int64_t> values;
    if (reply.type != REDIS_REPLY_ARRAY) return values;
    for (std::size_t i = 0; i < reply.elements; ++i) {
      if (reply.element[i]->type != REDIS_REPLY_INTEGER) return {};
      values.push_back(reply.element[i]->integer);
    }
    return values;
  }

  static Result<void> done(Result<Reply> reply) {
    if (!reply) return tl::unexpected(reply.error());
    return {};
  }

  tl::unexpected<Error> failed(std::string_view why) {
    connection_.reset();
    return fail(ErrorCode::io, "the store redis://" + address_.host + ":" + std::to_string(address_.port) + ": " + std::string(why), "store");
  }
  tl::unexpected<Error> unexpected_reply() { return failed("it answers with something else than was asked"); }

  /// Runs the script; an error reply is `io`.
  Result<Reply> run(redis::Script& script, std::initializer_list<Argument> arguments) {
    bool fresh = false;
    for (;;) {
      if (!connection_) {
        if (auto connected = connect(); !connected) return tl::unexpected(connected.error());
        fresh = true;
      }
      Reply reply = send(script, arguments);
      if (reply && reply->type == REDIS_REPLY_ERROR) return failed({reply->str, reply->len});
      if (reply) return reply;
      const bool timed_out = (connection_->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK))
#ifdef REDIS_ERR_TIMEOUT  // since hiredis 1.0
                             || connection_->err == REDIS_ERR_TIMEOUT
#endif
          ;
      // hiredis leaves the reply of a call that timed out to the next one, so the connection ends here in any case.
      const std::string why = timed_out ? "no answer in time" : connection_->errstr;
      connection_.reset();
      if (timed_out || fresh) return failed(why);
    }
  }

  /// By its digest, and by its text where the server does not know it (any more). Null: the connection broke.
  Reply send(redis::Script& script, std::initializer_list<Argument> arguments) {
    if (!script.sha1.empty()) {
      Reply reply = command("EVALSHA", script.sha1, arguments);
      if (!reply || reply->type != REDIS_REPLY_ERROR || !std::string_view(reply->str, reply->len).starts_with("NOSCRIPT")) return reply;
    }
    const std::string_view load[] = {"SCRIPT", "LOAD", script.text};
    Reply loaded = command(load);
    if (!loaded || loaded->type != REDIS_REPLY_STRING) return loaded;
    script.sha1.assign(loaded->str, loaded->len);
    return command("EVALSHA", script.sha1, arguments);
  }

  Reply command(std::string_view name, std::string_view script, std::initializer_list<Argument> arguments) {
    std::vector<std::string_view> words{name, script, "0", prefix};
    for (const auto& argument : arguments) words.emplace_back(argument.bytes());
    return command(words);
  }

  Reply command(std::span<const std::string_view> words) {
    std::vector<const char*> starts;
    std::vector<std::size_t> sizes;
    for (const auto word : words) {
      starts.push_back(word.data());
      sizes.push_back(word.size());
    }
    errno = 0;
    return Reply(static_cast<redisReply*>(redisCommandArgv(connection_.get(), static_cast<int>(words.size()), starts.data(), sizes.data())));
  }

  Result<void> connect() {
    const auto whole = std::chrono::floor<std::chrono::seconds>(options_.redis_timeout);
    const timeval patience{static_cast<time_t>(whole.count()),
                           static_cast<suseconds_t>(std::chrono::microseconds(options_.redis_timeout - whole).count())};
    connection_.reset(redisConnectWithTimeout(address_.host.c_str(), address_.port, patience));
    if (!connection_) return failed("no memory");
    if (connection_->err != 0) return failed(std::string(connection_->errstr));
    if (redisSetTimeout(connection_.get(), patience) != REDIS_OK) return failed("its time-out cannot be set");
    const auto database = std::to_string(address_.database);
    const std::string_view select[] = {"SELECT", database};
    const Reply selected = command(select);
    if (!selected) return failed(std::string(connection_->errstr));
    if (selected->type == REDIS_REPLY_ERROR) return failed({selected->str, selected->len});
    return {};
  }

  Address address_;
  StoreOptions options_;
  std::unique_ptr<redisContext, ContextCloser> connection_;
  redis::Script reserve_{redis::reserve_script(), {}}, settle_{redis::settle_script(), {}}, release_{redis::release_script(), {}},
      pause_{redis::pause_script(), {}}, remaining_{redis::remaining_script(), {}}, cached_{redis::cached_script(), {}},
      cache_{redis::cache_script(), {}}, cache_size_{redis::cache_size_script(), {}},
      shrink_cache_{redis::shrink_cache_script(), {}}, take_{redis::take_script(), {}}, usage_{redis::usage_script(), {}}, check_{redis::check_script(), {}};
};

}  // namespace

Result<std::unique_ptr<Store>> open_redis_store(const std::string& url, StoreOptions options) {
  auto address = parse(url);
  // Not repeated in the message: what was meant as a password may stand in it.
  if (!address) return fail(ErrorCode::invalid_argument, "a Redis store is redis://HOST:PORT/DB", "store");
  return std::make_unique<RedisStore>(std::move(*address), options);
}

}  // namespace polygraph::proxy
