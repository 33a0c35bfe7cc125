// The command line's way to a model: a real endpoint over sockets, a real ledger in SQLite.
#include "proxy/calls/caller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "proxy/calls/known_limits.hpp"
#include "proxy/calls/store_thread.hpp"
#include "scripted_upstream.hpp"

namespace polygraph::proxy {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ScriptedUpstream;

const std::string canary = "key-CANARYcanary0123456789abcdefghij";
constexpr const char* schema = R"({"type":"object","properties":{"score":{"type":"integer","minimum":1,"maximum":5}},"required":["score"],"additionalProperties":false})";

class CallerTest : public ::testing::Test {
 protected:
  CallerTest() {
    std::string pattern = (fs::temp_directory_path() / "calls-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~CallerTest() override {
    caller_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  CallerOptions options(ApiFormat format = ApiFormat::groq) {
    CallerOptions options;
    options.provider = "scripted";
    options.upstream.format = format;
    const bool chat = format == ApiFormat::openai || format == ApiFormat::groq;
    options.upstream.url = chat ? server_.plain_url() : server_.plain_root_url();
    options.upstream.key = canary;
    options.store = open_sqlite_store(folder_.string()).value();
    options.first_backoff = 5;
    options.note = [this](const std::string& note) { notes_ += note + '\n'; };
    return options;
  }
  Caller& open(CallerOptions given) {
    caller_.reset();
    caller_ = Caller::create(std::move(given)).value();
    return *caller_;
  }
  Caller& caller() { return caller_ ? *caller_ : open(options()); }

  static ModelRequest request(const std::string& question = "How?") {
    return {.role = "judge", .model = "m", .system = "Judge.", .user = {question}, .schema = schema, .max_tokens = 100};
  }
  ModelOutcome ask(const std::vector<std::string>& behaviours, ModelRequest asked = request(), Ask how = {}) {
    server_.next(behaviours);
    auto outcome = caller().ask(std::move(asked), std::move(how));
    EXPECT_THAT(outcome ? outcome->text + outcome->model : outcome.error().message, Not(HasSubstr("CANARY")));
    return outcome;
  }
  FailureKind failure(const std::vector<std::string>& behaviours) {
    auto outcome = ask(behaviours);
    EXPECT_FALSE(outcome) << (outcome ? outcome->text : "");
    return outcome ? FailureKind::interrupted : outcome.error().kind;
  }
  std::uint64_t calls() const { return server_.counts().calls; }
  std::vector<DayUsage> usage() {
    caller_.reset();  // what was posted to the store is done then
    return open_sqlite_store(folder_.string()).value()->usage().value();
  }

  ScriptedUpstream server_;
  fs::path folder_;
  std::string notes_;
  std::unique_ptr<Caller> caller_;
};

TEST_F(CallerTest, GivesTextJsonTokensAndTime) {
  const auto outcome = ask({R"(text:Let me see. {"score": 4})"});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->json, R"({"score": 4})");
  EXPECT_EQ(outcome->model, "m");
  EXPECT_TRUE(outcome->tokens_known);
  EXPECT_GT(outcome->tokens.in, 0U);
  EXPECT_FALSE(outcome->cached);
  EXPECT_FALSE(outcome->repaired);
  EXPECT_EQ(outcome->cost_usd, std::nullopt) << "no price is known for this endpoint";
}

TEST_F(CallerTest, TakesTheLastOfTwoJsonBlocks) { EXPECT_EQ(ask({R"(text:{"score": 1} no, {"score": 5})"})->json, R"({"score": 5})"); }

TEST_F(CallerTest, AsksOnceMoreForAReplyThatCannotBeReadAndSaysWhy) {
  const auto outcome = ask({R"(text:{"score": "high"})", R"(text:{"score": 3})"});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->repaired);
  EXPECT_EQ(outcome->json, R"({"score": 3})");
  const auto second = nlohmann::json::parse(server_.requests().at(1).body);
  EXPECT_THAT(second["messages"].back()["content"].get<std::string>(), HasSubstr("score must be \"integer\""));
  EXPECT_EQ(ask({"text:5", "text:five"}, request("another")).error().kind, FailureKind::malformed) << "once, and no more";
  EXPECT_EQ(calls(), 4U);
}

TEST_F(CallerTest, AChecksWordsAreWhatIsWrong) {
  Ask how;
  how.check = [](std::string_view text) { return text.find('4') == std::string_view::npos ? std::optional<std::string>("four was expected") : std::nullopt; };
  ASSERT_TRUE(ask({R"(text:{"score": 3})", R"(text:{"score": 4})"}, request(), how));
  EXPECT_THAT(server_.requests().at(1).body, HasSubstr("four was expected"));
}

TEST_F(CallerTest, WithoutRepairTheFaultIsToldAndNothingKept) {
  Ask how;
  how.repair = false;
  const auto outcome = ask({"text:none"}, request(), how);
  ASSERT_TRUE(outcome);
  EXPECT_THAT(outcome->fault, HasSubstr("no complete JSON"));
  EXPECT_EQ(calls(), 1U);
  EXPECT_FALSE(ask({R"(text:{"score": 4})"}, request(), how)->cached);
}

TEST_F(CallerTest, JsonThatTheTokenLimitCutIsCalledThatAndNotAskedForAgain) {
  server_.next({"length"});
  auto asked = request();
  asked.schema = R"({"type":"object","required":["other"]})";
  const auto outcome = caller().ask(asked);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, FailureKind::cut);
  EXPECT_THAT(outcome.error().message, HasSubstr("limit of 100 tokens"));
  EXPECT_EQ(calls(), 1U);
}

TEST_F(CallerTest, FreeTextThatWasCutIsAnAnswerThatIsNotKept) {
  auto asked = request();
  asked.schema.clear();
  EXPECT_EQ(ask({"length"}, asked)->finish, "length");
  EXPECT_FALSE(ask({"answer"}, asked)->cached);
}

TEST_F(CallerTest, AKeptAnswerCostsNothingAndKeepsItsTimeAndTokens) {
  const auto first = ask({"delay:30", R"(text:{"score": 4})"}, request("warm"));
  ASSERT_TRUE(ask({R"(text:{"score": 4})"}));
  const auto before = calls();
  open(options());  // of another process
  const auto again = ask({});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->cached);
  EXPECT_EQ(again->json, R"({"score": 4})");
  EXPECT_GT(again->tokens.in, 0U);
  EXPECT_EQ(calls(), before);
  EXPECT_EQ(caller().tally().at("judge").tokens.in, 0U) << "cached tokens are not billed again";
  EXPECT_EQ(caller().tally().at("judge").cached, 1U);
}

TEST_F(CallerTest, AnyOtherRequestIsAskedAnew) {
  server_.always(R"(text:{"score": 4})");
  ASSERT_TRUE(ask({}));
  std::vector<ModelRequest> others(6, request());
  others[0].model = "n";
  others[1].system = "Judge well.";
  others[2].user.push_back("More.");
  others[3].temperature = 1;
  others[4].max_tokens = 101;
  others[5].schema = R"({"type":"object","required":["score"]})";
  for (const auto& other : others) EXPECT_FALSE(ask({}, other)->cached);
  Ask sample;
  sample.sample = 1;
  EXPECT_FALSE(ask({}, request(), sample)->cached);
  EXPECT_TRUE(ask({}, request(), sample)->cached);
  Ask anew;
  anew.use_cache = false;
  EXPECT_FALSE(ask({}, request(), anew)->cached);
  auto streamed = request();
  streamed.stream = true;
  streamed.role = "drafter";
  EXPECT_TRUE(ask({}, streamed)->cached) << "neither who asks nor streaming shapes an answer";
}

TEST_F(CallerTest, AnotherEndpointsAnswerIsNotTaken) {
  server_.always(R"(text:{"score": 4})");
  ASSERT_TRUE(ask({}));
  open(options(ApiFormat::openai));
  EXPECT_FALSE(ask({})->cached);
}

TEST_F(CallerTest, FailuresAreNeverKept) {
  EXPECT_EQ(failure({"status:400"}), FailureKind::refused);
  const auto outcome = ask({R"(text:{"score": 4})"});
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->cached);
}

TEST_F(CallerTest, ARefusedKeyModelOrRequestIsNotTriedAgain) {
  for (const auto& [behaviour, what] : std::map<std::string, RefusedFor>{
           {"status:401", RefusedFor::key}, {"status:403", RefusedFor::key}, {"echo_key", RefusedFor::key}, {"status:404", RefusedFor::model}, {"echo_key_400", RefusedFor::request}}) {
    const auto before = calls();
    const auto outcome = ask({behaviour});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, FailureKind::refused);
    EXPECT_EQ(outcome.error().refused_for, what) << behaviour;
    EXPECT_EQ(outcome.error().code(), ErrorCode::provider_failed);
    EXPECT_EQ(calls(), before + 1);
  }
}

TEST_F(CallerTest, AServerThatFailsIsAskedThreeTimesInAll) {
  EXPECT_TRUE(ask({"status:503", "status:529", R"(text:{"score": 4})"}));
  EXPECT_EQ(calls(), 3U);
  EXPECT_EQ(ask({"status:503", "status:503", "status:503"}, request("again")).error().kind, FailureKind::network);
  EXPECT_EQ(calls(), 6U);
}

TEST_F(CallerTest, MinutesAreWaitedOutForEveryMessageOfGroqs) {
  for (const char* behaviour : {"limited_rpm:0.02", "limited_tpm:0.02", "limited:0.02"}) {
    const auto before = calls();
    EXPECT_TRUE(ask({behaviour, behaviour, behaviour, behaviour, R"(text:{"score": 4})"}, request(behaviour))) << behaviour;
    EXPECT_EQ(calls(), before + 5) << "its waits are not its retries";
  }
}

TEST_F(CallerTest, ADayThatIsSpentEndsItAndSaysWhenToGoOn) {
  for (const auto& [behaviour, words] : std::map<std::string, std::string>{{"limited_rpd:7200", "requests per day spent; go on in 2 h 00 min"},
                                                                          {"limited_tpd:5025", "tokens per day spent; go on in 1 h 23 min"}}) {
    fs::remove_all(folder_);  // the pause of the one before
    open(options());
    const auto before = calls();
    const auto now = wall_clock();
    const auto outcome = ask({behaviour});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, FailureKind::quota_spent);
    EXPECT_EQ(outcome.error().code(), ErrorCode::quota_spent);
    EXPECT_THAT(outcome.error().message, HasSubstr(words));
    ASSERT_TRUE(outcome.error().until);
    EXPECT_GE(*outcome.error().until, now + 5025 * 1000);
    EXPECT_EQ(calls(), before + 1);
    EXPECT_EQ(ask({}, request("another")).error().kind, FailureKind::quota_spent) << "the ledger knows";
    EXPECT_EQ(calls(), before + 1);
  }
}

TEST_F(CallerTest, WaitsForADayWhereItIsAskedTo) {
  auto given = options();
  given.wait = true;
  open(std::move(given));
  EXPECT_TRUE(ask({"limited_rpd:0.05", "limited_tpd:0.05", R"(text:{"score": 4})"}));
  EXPECT_EQ(calls(), 3U);
}

TEST_F(CallerTest, AnAccountWithoutMoneyIsNotWaitedFor) {
  auto given = options(ApiFormat::openai);
  given.wait = true;
  open(std::move(given));
  const auto outcome = ask({"insufficient_quota"});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, FailureKind::quota_spent);
  EXPECT_EQ(outcome.error().until, std::nullopt);
  EXPECT_EQ(calls(), 1U);
}

TEST_F(CallerTest, ALimitThatWasSetHoldsWhateverTheEndpointNames) {
  auto given = options();  // the endpoint names 1,000 requests a day
  given.most.requests_per_day = 2;
  open(std::move(given));
  server_.always(R"(text:{"score": 4})");
  EXPECT_TRUE(ask({}, request("1")));
  EXPECT_TRUE(ask({}, request("2")));
  const auto spent = ask({}, request("3"));
  ASSERT_FALSE(spent);
  EXPECT_EQ(spent.error().kind, FailureKind::quota_spent);
  EXPECT_THAT(spent.error().message, HasSubstr("requests per day spent; go on in "));
  EXPECT_EQ(calls(), 2U);
  EXPECT_TRUE(ask({}, request("2"))->cached) << "what is kept costs no quota";
}

TEST_F(CallerTest, ARequestThatNoMinuteHoldsIsTooLargeAndNotSent) {
  auto given = options();
  given.limits = ModelLimits{30, 1000, 200, 200'000};
  open(std::move(given));
  const auto outcome = ask({}, request(std::string(2000, 'x')));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, FailureKind::too_large);
  EXPECT_EQ(calls(), 0U);
  open(options());
  EXPECT_EQ(failure({"too_large"}), FailureKind::too_large);
  EXPECT_EQ(calls(), 1U);
}

TEST_F(CallerTest, TheEndpointsLimitsAreKnownToTheNextProgram) {
  EXPECT_TRUE(ask({R"(text:{"score": 4})"}));
  caller_.reset();
  const auto kept = open_sqlite_store(folder_.string()).value()->cached(limits_key("m"), wall_clock()).value();
  ASSERT_TRUE(kept);
  EXPECT_EQ(read_limits(*kept, no_limits).tokens_per_minute, 8000U);
  EXPECT_EQ(read_limits(*kept, no_limits).requests_per_day, 1000U);
  open(options());
  EXPECT_EQ(ask({}, request(std::string(100'000, '%'))).error().kind, FailureKind::too_large) << "8,000 tokens a minute";
}

TEST_F(CallerTest, EveryCallStandsInTheLedgerAndARefusedOneIsFree) {
  auto given = options();
  given.ledger_prefix = "scripted:";
  open(std::move(given));
  EXPECT_TRUE(ask({R"(text:{"score": "x"})", R"(text:{"score": 4})"}));
  EXPECT_FALSE(ask({"status:401"}, request("refused")));
  EXPECT_FALSE(ask({"cut_body"}, request("cut")));
  const auto days = usage();
  ASSERT_EQ(days.size(), 1U);
  EXPECT_EQ(days[0].model, "scripted:m");
  EXPECT_EQ(days[0].requests, 3U) << "two that were answered, and the one that was cut, in full";
  EXPECT_EQ(days[0].open_requests, 0U);
}

TEST_F(CallerTest, RunsABoundedNumberAtOnce) {
  auto given = options(ApiFormat::ollama);
  given.concurrency = 3;
  open(std::move(given));
  server_.always("stall");
  std::vector<std::future<FailureKind>> asked;
  for (int i = 0; i < 8; ++i) {
    auto promise = std::make_shared<std::promise<FailureKind>>();
    asked.push_back(promise->get_future());
    caller_->ask(request(std::to_string(i)), {}, [promise](ModelOutcome outcome) { promise->set_value(outcome ? FailureKind::network : outcome.error().kind); });
  }
  while (server_.counts().waiting < 3) std::this_thread::yield();
  EXPECT_EQ(calls(), 3U);
  caller_->stop();
  for (auto& each : asked) EXPECT_EQ(each.get(), FailureKind::interrupted);
  EXPECT_EQ(calls(), 3U) << "the others were never sent";
  EXPECT_EQ(caller_->ask(request("later")).error().kind, FailureKind::interrupted);
}

TEST_F(CallerTest, AnInterruptEndsAWaitForTheNextDay) {
  std::atomic<bool> interrupted{false};
  auto given = options();
  given.wait = true;
  given.cancelled = [&] { return interrupted.load(); };
  given.note = [&](const std::string& note) {
    EXPECT_THAT(note, ContainsRegex("m: quota spent; waiting until 20[0-9][0-9]-"));
    interrupted = true;
  };
  open(std::move(given));
  EXPECT_EQ(failure({"limited_rpd:7200"}), FailureKind::interrupted);
}

TEST_F(CallerTest, AnAskThatIsCancelledEndsAloneAndItsReservationIsCharged) {
  std::atomic<bool> cancelled{false};
  server_.next({"stall", R"(text:{"score": 3})"});
  Ask how;
  how.cancelled = [&] { return cancelled.load(); };
  Caller& shared = caller();
  auto given_up = std::async(std::launch::async, [&] { return shared.ask(request("slow"), how); });
  while (calls() == 0) std::this_thread::sleep_for(1ms);
  cancelled = true;
  const auto outcome = given_up.get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, FailureKind::interrupted);
  EXPECT_EQ(shared.ask(request("next"))->json, R"({"score": 3})") << "the others go on";
  EXPECT_EQ(usage().at(0).requests, 2U);
}

TEST_F(CallerTest, AStalledEndpointTimesOut) {
  auto given = options();
  given.longest_call = 100ms;
  open(std::move(given));
  EXPECT_EQ(failure({"stall"}), FailureKind::timed_out);
}

TEST_F(CallerTest, NothingIsSentWithoutALedger) {
  caller();
  fs::remove_all(folder_);
  std::ofstream(folder_) << "in its place";
  EXPECT_EQ(failure({}), FailureKind::store);
  EXPECT_EQ(calls(), 0U);
}

TEST_F(CallerTest, StreamsWhatComesAndWhatWasKept) {
  auto asked = request();
  asked.schema.clear();
  asked.stream = true;
  for (const bool cached : {false, true}) {
    std::string heard;
    Ask how;
    how.on_delta = [&](std::string_view text) { heard += text; };
    const auto outcome = ask(cached ? std::vector<std::string>{} : std::vector<std::string>{"text:one two three"}, asked, how);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->cached, cached);
    EXPECT_EQ(heard, "one two three");
  }
}

TEST_F(CallerTest, KeepsTokenProbabilities) {
  open(options(ApiFormat::openai));
  auto asked = request();
  asked.top_logprobs = 5;
  for (const bool cached : {false, true}) {
    const auto outcome = ask(cached ? std::vector<std::string>{} : std::vector<std::string>{R"(text:{"score":4})"}, asked);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->cached, cached);
    ASSERT_EQ(outcome->probabilities.size(), 1U);
    EXPECT_EQ(outcome->probabilities[0].top.at(1), (TokenChoice{"other", -1.5}));
  }
}

TEST_F(CallerTest, EveryApiIsAskedRepairedAndLimitedAlike) {
  for (const auto format : {ApiFormat::openai, ApiFormat::groq, ApiFormat::anthropic, ApiFormat::gemini, ApiFormat::ollama}) {
    fs::remove_all(folder_);
    open(options(format));
    const auto name = static_cast<int>(format);
    const auto outcome = ask({"limited_tpm:0.02", "status:503", R"(text:{"score": 7})", R"(text:{"score": 4})"});
    ASSERT_TRUE(outcome) << name << outcome.error().message;
    EXPECT_TRUE(outcome->repaired) << name;
    EXPECT_TRUE(ask({})->cached) << name;
    EXPECT_EQ(caller().models()->size(), 2U) << name;
  }
}

TEST_F(CallerTest, AGeminiDayEndsAtMidnightInCalifornia) {
  open(options(ApiFormat::gemini));
  const auto outcome = ask({"limited_rpd:38"});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, FailureKind::quota_spent);
  EXPECT_THAT(outcome.error().message, HasSubstr("requests per day spent; go on in 22 h 00 min")) << "from 10:00 to 08:00 UTC by its clock";
}

}  // namespace
}  // namespace polygraph::proxy
