// The client against a scripted endpoint, over real sockets and real TLS.
#include "proxy/upstream/chat_client.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "scripted_upstream.hpp"

namespace polygraph::proxy {

void PrintTo(Outcome outcome, std::ostream* out) {
  constexpr const char* names[] = {"answered", "too_large", "limited", "unavailable", "refused_us", "invalid", "timed_out", "cancelled"};
  *out << names[static_cast<std::size_t>(outcome)];
}

namespace {

using namespace std::chrono_literals;
using testing::CertificateKind;
using testing::ScriptedOptions;
using testing::ScriptedUpstream;
namespace net = boost::asio;

const std::string canary = "gsk_CANARYcanary0123456789abcdefghij";

/// A clock's far end for calls that must not meet their deadline: a test that meets it has failed.
constexpr auto far = 20s;

std::string body_of(const std::string& message, bool stream, bool include_usage = true) {
  std::string body = R"({"model":"scripted-model","messages":[{"role":"system","content":"Answer."},{"role":"user","content":")" + message + R"("}])";
  if (stream) body += include_usage ? R"(,"stream":true,"stream_options":{"include_usage":true})" : R"(,"stream":true)";
  return body + "}";
}

class ChatClientTest : public ::testing::Test {
 protected:
  void start(ScriptedOptions options = {}) { upstream_ = std::make_unique<ScriptedUpstream>(std::move(options)); }

  Upstream settings(bool plain = false) {
    Upstream upstream;
    upstream.url = plain ? upstream_->plain_url() : upstream_->url();
    upstream.key = canary;
    upstream.ca_file = upstream_->ca_file();
    return upstream;
  }
  void connect(Upstream upstream) {
    client_.reset();
    auto made = make_chat_client(io_.get_executor(), std::move(upstream));
    ASSERT_TRUE(made) << made.error().message;
    client_ = *made;
  }

  /// One call to its end, and whatever the client does after it.
  ChatReply ask(const std::string& message, bool stream = false, std::chrono::milliseconds time = far, bool include_usage = true) {
    if (!upstream_) start();
    if (!client_) connect(settings());
    deltas_.clear();
    std::vector<ChatReply> replies;
    ChatCall call;
    call.body = body_of(message, stream, include_usage);
    call.stream = stream;
    call.deadline = std::chrono::steady_clock::now() + time;
    call.on_delta = [this](std::string_view text) { deltas_.emplace_back(text); };
    const auto handle = client_->call(std::move(call), [&](ChatReply reply) { replies.push_back(std::move(reply)); });
    EXPECT_TRUE(replies.empty()) << "done is never called inside call()";
    io_.restart();
    io_.run();
    EXPECT_EQ(replies.size(), 1U);
    if (replies.empty()) return {};
    for (const auto& text : {replies[0].why, replies[0].text, replies[0].model, replies[0].finish}) written_ += text + '\n';
    return replies[0];
  }

  std::string streamed() const {
    std::string text;
    for (const auto& delta : deltas_) text += delta;
    return text;
  }

  void TearDown() override {
    EXPECT_EQ(written_.find(canary), std::string::npos);
    client_.reset();
  }

  std::unique_ptr<ScriptedUpstream> upstream_;
  net::io_context io_{1};
  std::shared_ptr<ChatClient> client_;
  std::vector<std::string> deltas_;
  std::string written_;
};

const std::string answer = "This is the scripted answer [1].";

TEST_F(ChatClientTest, AnswersOverVerifiedTls) {
  const auto reply = ask("How?");
  EXPECT_EQ(reply.outcome, Outcome::answered) << reply.why;
  EXPECT_EQ(reply.status, 200U);
  EXPECT_EQ(reply.text, answer);
  EXPECT_EQ(reply.model, "scripted-model");
  EXPECT_EQ(reply.finish, "stop");
  EXPECT_TRUE(reply.tokens_in && *reply.tokens_in > 0);
  EXPECT_EQ(reply.tokens_out, 6U);
  EXPECT_EQ(reply.why, "");
  EXPECT_EQ(reply.rate_limits.remaining_requests, 999U);
  EXPECT_EQ(reply.rate_limits.reset_requests, 179'560ms);
  EXPECT_EQ(reply.rate_limits.reset_tokens, 7'660ms);
}

TEST_F(ChatClientTest, SendsTheKeyToUpstreamAndNothingOfTheEnvironment) {
  // Nothing listens there: a client that followed these would fail.
  for (const auto* name : {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"}) ::setenv(name, "http://127.0.0.1:1", 1);
  EXPECT_EQ(ask("How?").outcome, Outcome::answered);
  for (const auto* name : {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"}) ::unsetenv(name);
  const auto requests = upstream_->requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_NE(requests[0].head.find("POST /v1/chat/completions HTTP/1.1\r\n"), std::string::npos);
  EXPECT_NE(requests[0].head.find("\r\nHost: localhost:" + std::to_string(upstream_->port()) + "\r\n"), std::string::npos);
  EXPECT_NE(requests[0].head.find("\r\nAuthorization: Bearer " + canary + "\r\n"), std::string::npos);
  EXPECT_EQ(requests[0].body, body_of("How?", false));
}

TEST_F(ChatClientTest, SendsNoAuthorizationWithoutAKey) {
  start();
  auto upstream = settings(true);
  upstream.key.clear();
  connect(upstream);
  EXPECT_EQ(ask("How?").outcome, Outcome::answered);
  EXPECT_EQ(upstream_->requests().at(0).head.find("Authorization"), std::string::npos);
}

TEST_F(ChatClientTest, StreamsWordByWordAndReadsUsageOfEitherKind) {
  for (const bool include_usage : {true, false}) {
    const auto reply = ask("How?", true, far, include_usage);
    EXPECT_EQ(reply.outcome, Outcome::answered) << reply.why;
    EXPECT_EQ(deltas_.size(), 6U);
    EXPECT_EQ(streamed(), answer);
    EXPECT_EQ(reply.text, answer);
    EXPECT_EQ(reply.tokens_out, 6U);
  }
}

TEST_F(ChatClientTest, TakesEverySoundFormOfAnAnswer) {
  for (const auto* name : {"answer", "chunked", "chunk_extensions", "close_delimited", "interim", "close", "trickle", "late_end", "close_idle", "unasked", "delay:5"}) {
    for (const bool stream : {false, true}) {
      const auto reply = ask(std::string("[[") + name + "]]", stream);
      EXPECT_EQ(reply.outcome, Outcome::answered) << name << ": " << reply.why;
      EXPECT_EQ(reply.text, answer) << name;
      EXPECT_EQ(reply.tokens_out, 6U) << name;
      EXPECT_EQ(streamed(), stream ? answer : "") << name;
    }
  }
  const auto cut = ask("[[length]]");
  EXPECT_EQ(cut.outcome, Outcome::answered);
  EXPECT_EQ(cut.finish, "length");
}

TEST_F(ChatClientTest, AnswersWithoutUsageWhereItIsMissingOrUnbelievable) {
  for (const auto* name : {"no_usage", "wrong_usage", "huge_usage"}) {
    for (const bool stream : {false, true}) {
      const auto reply = ask(std::string("[[") + name + "]]", stream);
      EXPECT_EQ(reply.outcome, Outcome::answered) << name << ": " << reply.why;
      EXPECT_EQ(reply.tokens_in, std::nullopt) << name;
      EXPECT_EQ(reply.tokens_out, std::nullopt) << name;
    }
  }
}

TEST_F(ChatClientTest, CallsEveryUnsoundAnswerInvalid) {
  for (const bool plain : {false, true}) {
    start();
    connect(settings(plain));
    for (const auto* name : {"cut", "cut_head", "cut_body", "both_framings", "two_lengths", "listed_length", "wrong_length", "odd_coding", "folded", "bare_lf", "switching",
                             "junk", "not_json", "refusal", "long_extension", "gigantic", "gigantic_length"}) {
      for (const bool stream : {false, true}) {
        const auto before = upstream_->counts().calls;
        const auto reply = ask(std::string("[[") + name + "]]", stream);
        EXPECT_EQ(reply.outcome, Outcome::invalid) << name << (stream ? ", streamed" : "");
        EXPECT_NE(reply.why, "") << name;
        EXPECT_EQ(reply.text, "") << name;
        EXPECT_EQ(reply.tokens_in, std::nullopt) << name;
        EXPECT_EQ(upstream_->counts().calls, before + 1) << name << ": it is not asked for again";
      }
    }
    for (const auto* name : {"no_choices", "tool_call"}) EXPECT_EQ(ask(std::string("[[") + name + "]]").outcome, Outcome::invalid) << name;
    for (const auto* name : {"no_done", "text_after_finish", "error_event", "half_event"}) {
      EXPECT_EQ(ask(std::string("[[") + name + "]]", true).outcome, Outcome::invalid) << name;
    }
  }
}

TEST_F(ChatClientTest, AnAnswerWhoseTlsWasTruncatedIsNotTakenForComplete) {
  // The whole body came, its end is the connection's, and nobody vouches for that end.
  const auto reply = ask("[[cut_tls]]");
  EXPECT_EQ(reply.outcome, Outcome::invalid);
  EXPECT_EQ(reply.why, "the reply was cut");
}

TEST_F(ChatClientTest, AStreamThatWasCutIsInvalidThoughItsWordsWentOut) {
  const auto reply = ask("[[cut_body]]", true);
  EXPECT_EQ(reply.outcome, Outcome::invalid);
  EXPECT_NE(streamed(), "");
  EXPECT_NE(streamed(), answer);
}

TEST_F(ChatClientTest, TellsLimitsApartByTheirNamesAndNotByTheAdvertising) {
  const std::vector<std::pair<std::string, UpstreamLimit>> limits = {{"limited_rpm:2", UpstreamLimit::requests_minute}, {"limited_rpd:3600", UpstreamLimit::requests_day},
                                                                     {"limited_tpm:7", UpstreamLimit::tokens_minute}, {"limited_tpd:290", UpstreamLimit::tokens_day},
                                                                     {"limited:1", UpstreamLimit::unknown}};
  for (const auto& [name, limit] : limits) {
    const auto reply = ask("[[" + name + "]]", true);
    EXPECT_EQ(reply.outcome, Outcome::limited) << name;
    EXPECT_EQ(reply.status, 429U);
    EXPECT_EQ(reply.limit, limit) << name;
    EXPECT_EQ(reply.rate_limits.retry_after, std::chrono::seconds(std::stoi(name.substr(name.find(':') + 1)))) << name;
  }
  EXPECT_EQ(upstream_->counts().connections, 1U) << "a refusal costs no connection";
}

TEST_F(ChatClientTest, SaysWhatRemains) {
  EXPECT_EQ(ask("[[spent:requests]]").rate_limits.remaining_requests, 0U);
  EXPECT_EQ(ask("[[spent:tokens]]").rate_limits.remaining_tokens, 0U);
}

TEST_F(ChatClientTest, CallsARequestThatNoWindowHoldsTooLarge) {
  for (const auto* name : {"too_large", "too_large_429", "context_length"}) EXPECT_EQ(ask(std::string("[[") + name + "]]").outcome, Outcome::too_large) << name;
}

TEST_F(ChatClientTest, ReadsARefusalThatComesBeforeTheRequestWasSent) {
  start();
  connect(settings(true));
  upstream_->next({"early_413"});
  const auto reply = ask(std::string(8'000'000, 'x'));
  EXPECT_EQ(reply.outcome, Outcome::too_large) << reply.why;
  EXPECT_EQ(reply.status, 413U);
}

TEST_F(ChatClientTest, SortsRefusalsByTheirStatus) {
  const std::vector<std::pair<int, Outcome>> statuses = {{400, Outcome::refused_us}, {401, Outcome::refused_us}, {403, Outcome::refused_us}, {404, Outcome::refused_us},
                                                         {409, Outcome::refused_us}, {498, Outcome::refused_us}, {201, Outcome::refused_us}, {302, Outcome::refused_us},
                                                         {413, Outcome::too_large}, {429, Outcome::limited}, {500, Outcome::unavailable}, {502, Outcome::unavailable},
                                                         {503, Outcome::unavailable}, {504, Outcome::unavailable}};
  for (const auto& [status, outcome] : statuses) {
    for (const std::string name : {"status:", "status_cut:"}) {
      const auto reply = ask("[[" + name + std::to_string(status) + "]]");
      EXPECT_EQ(reply.outcome, outcome) << name << status << reply.why;
      EXPECT_EQ(reply.status, static_cast<unsigned>(status));
    }
  }
}

TEST_F(ChatClientTest, FollowsNoRedirect) {
  EXPECT_EQ(ask("[[redirect]]").outcome, Outcome::refused_us);
  EXPECT_EQ(upstream_->counts().calls, 1U);
}

TEST_F(ChatClientTest, RefusesCertificatesThatAreExpiredForAnotherHostOrOfAnUnknownCa) {
  for (const auto kind : {CertificateKind::expired, CertificateKind::other_host, CertificateKind::unknown_ca}) {
    start({.certificate = kind, .old_tls = false, .ca_file = {}});
    connect(settings());
    const auto reply = ask("How?");
    EXPECT_EQ(reply.outcome, Outcome::unavailable) << static_cast<int>(kind);
    EXPECT_NE(reply.why.find("the certificate was refused"), std::string::npos) << reply.why;
    EXPECT_EQ(upstream_->counts().calls, 0U) << "the key was not sent";
  }
}

TEST_F(ChatClientTest, RefusesACertificateOfThisTestAgainstTheSystemsBundle) {
  start();
  auto upstream = settings();
  upstream.ca_file.clear();
  connect(upstream);
  EXPECT_EQ(ask("How?").outcome, Outcome::unavailable);
  EXPECT_EQ(upstream_->counts().calls, 0U);
}

TEST_F(ChatClientTest, VerifiesAnAddressAsItDoesAName) {
  start();
  auto upstream = settings();
  upstream.url = "https://127.0.0.1:" + std::to_string(upstream_->port()) + "/v1";
  connect(upstream);
  EXPECT_EQ(ask("How?").outcome, Outcome::answered);
  upstream.url = "https://127.0.0.2:" + std::to_string(upstream_->port()) + "/v1";
  connect(upstream);
  EXPECT_EQ(ask("How?").outcome, Outcome::unavailable);
}

TEST_F(ChatClientTest, SpeaksNoTlsBefore12) {
  start({.certificate = CertificateKind::good, .old_tls = true, .ca_file = {}});
  connect(settings());
  EXPECT_EQ(ask("How?").outcome, Outcome::unavailable);
  EXPECT_EQ(upstream_->counts().handshakes, 0U);
}

TEST_F(ChatClientTest, IsUnavailableWhereNobodyListens) {
  start();
  connect(settings());
  upstream_.reset();
  std::optional<ChatReply> reply;
  const auto handle = client_->call({.body = "{}", .stream = false, .deadline = std::chrono::steady_clock::now() + far, .on_delta = nullptr},
                                    [&](ChatReply given) { reply = std::move(given); });
  io_.run();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->outcome, Outcome::unavailable);
  EXPECT_EQ(reply->status, 0U);
}

TEST_F(ChatClientTest, KeepsItsConnection) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask("How?", i == 1).outcome, Outcome::answered);
  }
  EXPECT_EQ(ask("[[late_end]]", true).outcome, Outcome::answered);
  EXPECT_EQ(ask("How?").outcome, Outcome::answered);
  EXPECT_EQ(upstream_->counts().connections, 1U);
}

TEST_F(ChatClientTest, TriesAFreshConnectionWhenAnIdleOneTurnsOutClosed) {
  for (const bool plain : {false, true}) {
    start();
    connect(settings(plain));
    // The second call may find the idle connection closed already, or only by its end: either way it goes out once more.
    ASSERT_EQ(ask("[[close_idle]]").outcome, Outcome::answered);
    const auto reply = ask("How?");
    EXPECT_EQ(reply.outcome, Outcome::answered) << reply.why;
    EXPECT_EQ(upstream_->counts().connections, 2U);
    // On an idle connection that is closed as soon as the call is there.
    upstream_->next({"cut", "answer"});
    const auto again = ask("How?");
    EXPECT_EQ(again.outcome, Outcome::answered) << again.why;
    EXPECT_EQ(upstream_->counts().connections, 3U);
  }
}

TEST_F(ChatClientTest, NeverTakesAnAnswerThatNobodyAskedForAsTheNext) {
  for (const bool plain : {false, true}) {
    start();
    connect(settings(plain));
    for (int i = 0; i < 5; ++i) {
      ASSERT_EQ(ask("[[unasked]]").outcome, Outcome::answered);
      EXPECT_EQ(ask("[[text:mine]]").text, "mine");
    }
  }
}

TEST_F(ChatClientTest, TimesOutWhereverUpstreamStandsStillAndClosesTheConnection) {
  for (const auto* name : {"stall", "stall_head", "stall_body"}) {
    for (const bool stream : {false, true}) {
      const auto reply = ask(std::string("[[") + name + "]]", stream, 400ms);
      EXPECT_EQ(reply.outcome, Outcome::timed_out) << name << reply.why;
    }
  }
  while (upstream_->counts().left < 6) std::this_thread::yield();
  EXPECT_EQ(upstream_->counts().waiting, 0U);
}

TEST_F(ChatClientTest, HoldsTheDeadlineWhileAnAnswerTrickles) {
  EXPECT_EQ(ask("[[slow_stream:200]]", true, 600ms).outcome, Outcome::timed_out);
}

TEST_F(ChatClientTest, IsUnavailableWhenTheDeadlinePassesBeforeTheRequestWasSent) {
  // Connections are taken by the kernel, and nobody shakes hands.
  net::io_context silent;
  start();
  net::ip::tcp::acceptor acceptor(silent, {net::ip::address_v4::loopback(), 0});
  auto upstream = settings();
  upstream.url = "https://localhost:" + std::to_string(acceptor.local_endpoint().port());
  connect(upstream);
  EXPECT_EQ(ask("How?", false, 150ms).outcome, Outcome::unavailable);
  EXPECT_EQ(ask("How?", false, -1ms).outcome, Outcome::unavailable);
}

TEST_F(ChatClientTest, AnswersAtTheEndOfAStreamThoughItsFramingNeverEnds) {
  const auto reply = ask("[[no_end]]", true);
  EXPECT_EQ(reply.outcome, Outcome::answered) << reply.why;
  EXPECT_EQ(ask("How?").outcome, Outcome::answered);
  EXPECT_EQ(upstream_->counts().connections, 2U) << "and that connection is not used again";
}

TEST_F(ChatClientTest, CancellingClosesTheConnectionAtAnyTime) {
  start();
  connect(settings());
  for (const auto* name : {"[[stall]]", "[[stall_head]]", "[[stall_body]]"}) {
    for (const bool by_dying : {false, true}) {
      const auto before = upstream_->counts().left;
      std::vector<Outcome> outcomes;
      auto handle = client_->call({.body = body_of(name, true), .stream = true, .deadline = std::chrono::steady_clock::now() + far, .on_delta = nullptr},
                                  [&](const ChatReply& reply) { outcomes.push_back(reply.outcome); });
      io_.restart();
      while (upstream_->counts().waiting == 0) io_.poll();
      if (by_dying) handle.reset();
      else handle->cancel();
      EXPECT_TRUE(outcomes.empty()) << "done is not called inside cancel()";
      io_.restart();
      io_.run();
      EXPECT_EQ(outcomes, std::vector{Outcome::cancelled}) << name;
      while (upstream_->counts().left == before) std::this_thread::yield();
    }
  }
}

TEST_F(ChatClientTest, CancelsACallThatHasNotBegun) {
  start();
  connect(settings());
  std::vector<Outcome> outcomes;
  client_->call({.body = "{}", .stream = false, .deadline = std::chrono::steady_clock::now() + far, .on_delta = nullptr},
                [&](const ChatReply& reply) { outcomes.push_back(reply.outcome); });  // its handle dies here
  io_.run();
  EXPECT_EQ(outcomes, std::vector{Outcome::cancelled});
  EXPECT_EQ(upstream_->counts().calls, 0U);
}

TEST_F(ChatClientTest, AReaderOfWordsMayCancelAndGetsNoMore) {
  start();
  connect(settings());
  std::shared_ptr<CallHandle> handle;
  int words = 0;
  std::vector<Outcome> outcomes;
  handle = client_->call({.body = body_of("How?", true), .stream = true, .deadline = std::chrono::steady_clock::now() + far,
                          .on_delta = [&](std::string_view) {
                            if (++words == 2) handle->cancel();
                          }},
                         [&](const ChatReply& reply) { outcomes.push_back(reply.outcome); });
  io_.run();
  EXPECT_EQ(words, 2);
  EXPECT_EQ(outcomes, std::vector{Outcome::cancelled});
}

TEST_F(ChatClientTest, ReadsNoMoreThanItsLimit) {
  start();
  auto upstream = settings();
  upstream.max_reply_bytes = 600;
  connect(upstream);
  EXPECT_EQ(ask("How?").outcome, Outcome::answered);
  EXPECT_EQ(ask("[[text:" + std::string(600, 'x') + "]]").outcome, Outcome::invalid);
  EXPECT_EQ(ask("[[text:" + std::string(600, 'x') + "]]", true).outcome, Outcome::invalid);
  EXPECT_EQ(ask("[[gigantic]]").why, "the reply is too long");
  EXPECT_EQ(ask("[[gigantic_length]]").why, "the reply is too long");
}

TEST_F(ChatClientTest, RepeatsTheKeyToNobodyThoughUpstreamDoes) {
  for (const auto* name : {"echo_key", "echo_key_400"}) {
    const auto reply = ask(std::string("[[") + name + "]]");
    EXPECT_EQ(reply.outcome, Outcome::refused_us);
    EXPECT_NE(reply.why, "");
    // Not in parts either.
    for (std::size_t at = 0; at + 8 <= canary.size(); ++at) EXPECT_EQ(reply.why.find(canary.substr(at, 8)), std::string::npos) << reply.why;
  }
  EXPECT_EQ(ask("[[answer_key]]").outcome, Outcome::invalid);
  const auto unfit = make_chat_client(io_.get_executor(), {.url = upstream_->url(), .key = canary + "\r\nX: y", .max_reply_bytes = 1, .ca_file = {}});
  ASSERT_FALSE(unfit);
  EXPECT_EQ(unfit.error().field, "key");
  EXPECT_EQ(unfit.error().message.find(canary.substr(0, 8)), std::string::npos);
}

TEST_F(ChatClientTest, SaysWhatIsWrongWithItsSettings) {
  const auto url = make_chat_client(io_.get_executor(), {.url = "http://example.org", .key = {}, .max_reply_bytes = 1, .ca_file = {}});
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().field, "upstream");
  const auto bundle = make_chat_client(io_.get_executor(), {.url = "https://example.org", .key = {}, .max_reply_bytes = 1, .ca_file = "/nonexistent.pem"});
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().code, ErrorCode::io);
  EXPECT_EQ(bundle.error().field, "ca_file");
}

TEST_F(ChatClientTest, CarriesManyCallsAtOnce) {
  start();
  connect(settings());
  std::vector<std::shared_ptr<CallHandle>> handles;
  int answered = 0;
  for (int i = 0; i < 40; ++i) {
    const bool stream = i % 2 == 1;
    const auto text = "number " + std::to_string(i);
    handles.push_back(client_->call({.body = body_of("[[text:" + text + "]]", stream), .stream = stream, .deadline = std::chrono::steady_clock::now() + far, .on_delta = nullptr},
                                    [&, text](const ChatReply& reply) { answered += reply.outcome == Outcome::answered && reply.text == text; }));
  }
  io_.run();
  EXPECT_EQ(answered, 40);
}

TEST_F(ChatClientTest, MayBeCancelledFromAnotherThread) {
  start();
  connect(settings());
  std::promise<Outcome> outcome;
  auto handle = client_->call({.body = body_of("[[stall]]", false), .stream = false, .deadline = std::chrono::steady_clock::now() + far, .on_delta = nullptr},
                              [&](const ChatReply& reply) { outcome.set_value(reply.outcome); });
  std::thread runner([this] { io_.run(); });
  while (upstream_->counts().waiting == 0) std::this_thread::yield();
  handle->cancel();
  EXPECT_EQ(outcome.get_future().get(), Outcome::cancelled);
  runner.join();
}

}  // namespace
}  // namespace polygraph::proxy
