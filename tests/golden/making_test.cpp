// `golden review`, `pool`, `draft`, `check` and `extend`: making a golden set, over real files, sockets and a scripted model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <set>

#include "cli/runs/run_file.hpp"
#include "scripted_upstream.hpp"
#include "tests/cli/program.hpp"
#include "tests/proxy/server_fixture.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;

constexpr const char* three =
    R"({"id":"a","type":"answerable","question":"When is the soup done?","reference_answer":"at 65 degrees","relevant_chunk_ids":["galley/soup#000"],"should_refuse":false,"pool_ids":["galley/soup#000","moorings#000"]})" "\n"
    R"({"id":"b/1","type":"vague","question":"How are the lights set?","relevant_chunk_ids":["night watch#001"],"should_refuse":false})" "\n"
    R"({"id":"u","type":"unanswerable","question":"Who built the boat?","should_refuse":true,"pool_ids":["moorings#000"]})" "\n";

std::vector<Json> items_of(const std::filesystem::path& file) { return json_lines(read(file)); }

class Review : public ProgramTest {
 protected:
  Review() : set_(write("set.jsonl", three).string()) {}
  Outcome review(const std::string& input, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"golden", "review", "--terminal", "--dataset", set_, "--index", lexical_index(), "--reviewer", "Ann"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, {.input = input});
  }
  std::string set_;
};

TEST_F(Review, DecisionsMakeItemsVerifiedOrRejectedByAPersonAndTheSetStaysValid) {
  const auto done = review("a\nr asked elsewhere\na\n");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("When is the soup done?"), HasSubstr("Soup is kept at 65 degrees"), HasSubstr("1 [x] galley/soup#000"), HasSubstr("2 [ ] moorings#000")));
  const auto items = items_of(set_);
  ASSERT_THAT(items, SizeIs(3));
  EXPECT_EQ(items[0]["verified"], true);
  EXPECT_EQ(items[0]["reviewer"], "Ann");
  EXPECT_THAT(items[0]["reviewed_at"].get<std::string>(), ::testing::ContainsRegex("^20[0-9-]+T[0-9:]+Z$"));
  EXPECT_EQ(items[1]["rejected"], true);
  EXPECT_EQ(items[1]["notes"], "asked elsewhere");
  EXPECT_FALSE(items[1].value("verified", false));
  EXPECT_EQ(run({"validate", "--dataset", set_}).status, 0);
}

TEST_F(Review, GoesOnWhereItStoppedAndEveryDecisionIsOnDiskBeforeTheNext) {
  ASSERT_EQ(review("a\n").status, 0);
  EXPECT_EQ(items_of(set_)[0]["verified"], true);
  const auto on = review("a\nq\n");
  EXPECT_THAT(on.out, AllOf(HasSubstr("How are the lights set?"), Not(HasSubstr("When is the soup done?"))));
  EXPECT_THAT(on.err, HasSubstr("2 of 3 decided"));
}

TEST_F(Review, TogglesAndEditsSurviveQuittingAndBecomeAnEditWhenAccepted) {
  ASSERT_EQ(review("2\ne\nWhen is fish soup warm enough?\n\nq\n").status, 0);
  EXPECT_EQ(read(set_), three) << "nothing was decided";
  const auto done = review("a\nq\n");
  EXPECT_THAT(done.out, AllOf(HasSubstr("When is fish soup warm enough?"), HasSubstr("2 [x] moorings#000")));
  const auto item = items_of(set_)[0];
  EXPECT_EQ(item["question"], "When is fish soup warm enough?");
  EXPECT_EQ(item["reference_answer"], "at 65 degrees");
  EXPECT_THAT(item["relevant_chunk_ids"].get<std::vector<std::string>>(), ElementsAre("galley/soup#000", "moorings#000"));
  EXPECT_THAT(item["chunk_digests"], SizeIs(2)) << "gold keeps what its text was when it was judged";
  EXPECT_EQ(item["verified"], true);
  EXPECT_FALSE(std::filesystem::exists(set_ + ".drafts.json")) << "nothing is left to decide";
}

TEST_F(Review, UndoTakesBackTogglesAndDecisionsInTheirOrder) {
  ASSERT_EQ(review("2\na\nu\nu\nq\n").status, 0);
  const auto item = items_of(set_)[0];
  EXPECT_EQ(Json(items_of(set_)), Json(json_lines(three))) << item.dump();
  EXPECT_THAT(review("u\nq\n").err, HasSubstr("nothing to undo"));
}

TEST_F(Review, AnEditThatMakesNoValidItemIsRefusedAndAskedAgain) {
  const auto done = review("s\ns\n1\na\nq\n");
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.err, HasSubstr("an unanswerable item can't have gold"));
  EXPECT_EQ(read(set_), three);
}

TEST_F(Review, AReviewFileKeepsDecisionsBesideAnUnchangedSet) {
  const auto file = (folder() / "mine.review.json").string();
  ASSERT_EQ(review("2\na\nr twice\nq\n", {"--review", file}).status, 0);
  EXPECT_EQ(read(set_), three);
  const auto decisions = one_json(read(file));
  EXPECT_EQ(decisions["kind"], "golden_review");
  EXPECT_EQ(decisions["items"]["a"]["decision"], "edit");
  EXPECT_THAT(decisions["items"]["a"]["edit"]["relevant_chunk_ids"], SizeIs(2));
  EXPECT_EQ(decisions["items"]["b/1"]["decision"], "reject");
  EXPECT_EQ(decisions["items"]["b/1"]["reason"], "twice");
  EXPECT_THAT(review("q\n", {"--review", file}).err, HasSubstr("2 of 3 decided"));
}

TEST_F(Review, AProposalIsShownAndNotTakenOver) {
  const auto proposals = write("model.json", R"({"items":{"a":{"decision":"reject","reason":"too easy"}}})").string();
  EXPECT_THAT(review("q\n", {"--proposals", proposals}).out, HasSubstr("proposed: reject, too easy"));
  EXPECT_EQ(read(set_), three);
}

TEST_F(Review, WhatCannotHoldDecisionsIsWrongUse) {
  const auto refused = run({"golden", "review", "--terminal", "--dataset", "-"}, {.input = three});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--review"));
  EXPECT_EQ(review("", {"--review", write("broken.json", "{}").string()}).status, 3);
}

/// The page's requests, sent as the page sends them.
class ReviewPage : public Review {
 protected:
  void SetUp() override {
    write("dist/review.html", "<!doctype html><meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'sha256-AbC+/=' ; style-src 'sha256-Xyz='\"><title>Review</title>");
    open({});
  }
  void open(std::vector<std::string> more) {
    std::vector<std::string> arguments{"golden", "review", "--dataset", set_, "--index", lexical_index(), "--reviewer", "Ann", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    server_ = start(arguments, {.environment = {{"POLYGRAPH_DIST", (folder() / "dist").string()}}});
    ASSERT_TRUE(server_->wait_for_lines(1, false)) << server_->err();
    const auto url = one_json(server_->out())["review"].get<std::string>();
    ASSERT_TRUE(url.starts_with("http://127.0.0.1:") && url.ends_with("/review.html")) << url;
    port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }
  http::testing::Reply ask(const std::string& method, const std::string& path, const std::string& body = "", const std::string& fields = "X-Polygraph-Review: 1\r\n",
                           const std::string& host = "127.0.0.1") {
    http::testing::Client client(port_);
    client.send(method + " " + path + " HTTP/1.1\r\nHost: " + host + ":" + std::to_string(port_) + "\r\n" + fields +
                (body.empty() ? "" : "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" + body);
    return client.reply().value_or(http::testing::Reply{});
  }
  std::unique_ptr<Running> server_;
  std::uint16_t port_ = 0;
};

TEST_F(ReviewPage, GivesTheItemsWithTheirPassagesAndThePageItsPolicy) {
  const auto page = ask("GET", "/review.html");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.field("content-security-policy"), AllOf(HasSubstr("script-src 'self' 'wasm-unsafe-eval' 'sha256-AbC+/=' 'sha256-Xyz='"), HasSubstr("connect-src 'self'")));
  const auto reply = ask("GET", "/api/review");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.field("content-type"), HasSubstr("json"));
  const auto set = one_json(reply.body);
  EXPECT_EQ(set["kind"], "review_set");
  EXPECT_EQ(set["mode"], "review");
  ASSERT_THAT(set["items"], SizeIs(3));
  EXPECT_EQ(set["items"][0]["reference"], "at 65 degrees");
  ASSERT_THAT(set["items"][0]["passages"], SizeIs(2));
  EXPECT_EQ(set["items"][0]["passages"][0]["relevant"], true);
  EXPECT_THAT(set["items"][0]["passages"][0]["text"].get<std::string>(), HasSubstr("65 degrees"));
  EXPECT_EQ(set["items"][0]["passages"][1]["relevant"], false);
  EXPECT_THAT(set["decisions"], IsEmpty());
}

TEST_F(ReviewPage, WritesEachDecisionBeforeItAnswersAndTakesItBack) {
  ASSERT_EQ(ask("PUT", "/api/review/b%2F1", R"({"decision":"edit","edit":{"question":"How do the lights go on?"},"reason":null})").status, 200);
  const auto edited = items_of(set_)[1];
  EXPECT_EQ(edited["question"], "How do the lights go on?");
  EXPECT_EQ(edited["verified"], true);
  EXPECT_EQ(edited["reviewer"], "Ann");
  const auto set = one_json(ask("GET", "/api/review").body);
  EXPECT_EQ(set["items"][1]["question"], "How are the lights set?") << "a reloaded page tells its edits against the same item";
  EXPECT_EQ(set["decisions"]["b/1"]["edit"]["question"], "How do the lights go on?");
  const auto bytes = read(set_);
  ASSERT_EQ(ask("PUT", "/api/review/b%2F1", R"({"decision":"edit","edit":{"question":"How do the lights go on?"},"reason":null})").status, 200);
  EXPECT_EQ(read(set_), bytes) << "the same request again changes nothing";
  EXPECT_EQ(ask("DELETE", "/api/review/b%2F1").status, 200);
  EXPECT_EQ(read(set_), three);
  EXPECT_EQ(ask("DELETE", "/api/review/b%2F1").status, 404);
}

TEST_F(ReviewPage, EndsOnCtrlCWithEverythingSaved) {
  ASSERT_EQ(ask("PUT", "/api/review/a", R"({"decision":"accept","edit":null,"reason":null})").status, 200);
  server_->signal(SIGINT);
  const auto ended = server_->wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, HasSubstr("1 of 3 decided"));
  open({});
  EXPECT_EQ(one_json(ask("GET", "/api/review").body)["decisions"]["a"]["decision"], "accept");
}

TEST_F(ReviewPage, RefusesWhatIsNoDecisionOfThisPage) {
  constexpr const char* accept = R"({"decision":"accept","edit":null,"reason":null})";
  EXPECT_EQ(ask("PUT", "/api/review/a", accept, "").status, 403) << "another site's page can't send the field";
  EXPECT_EQ(ask("GET", "/api/review", "", "").status, 403);
  EXPECT_EQ(ask("GET", "/api/review", "", "X-Polygraph-Review: 1\r\n", "rebound.example").status, 403);
  EXPECT_EQ(ask("PUT", "/api/review/nobody", accept).status, 404);
  EXPECT_EQ(ask("POST", "/api/review/a", accept).status, 405);
  for (const char* body : {"no json", "[]", R"({"decision":"maybe"})", R"({"decision":"edit","edit":{"id":"z"}})", R"({"decision":"edit","edit":{"question":" "}})",
                           R"({"decision":"edit","edit":null})", R"({"decision":"accept","verified":true})"}) {
    const auto refused = ask("PUT", "/api/review/a", body);
    EXPECT_EQ(refused.status, 422) << body;
    EXPECT_TRUE(one_json(refused.body)["error"]["message"].is_string());
  }
  EXPECT_EQ(read(set_), three);
}

TEST_F(ReviewPage, AFileThatSomebodyElseChangedIsNotOverwritten) {
  const std::string theirs = std::string(three) + R"({"id":"n","type":"unanswerable","question":"What is new?","should_refuse":true})" "\n";
  write("set.jsonl", theirs);
  EXPECT_EQ(ask("PUT", "/api/review/a", R"({"decision":"accept"})").status, 409);
  EXPECT_EQ(read(set_), theirs);
  EXPECT_THAT(one_json(ask("GET", "/api/review").body)["decisions"], IsEmpty()) << "what isn't on disk isn't decided";
}

constexpr const char* key = "sk-canary-0123456789abcdef";

/// A model behind a real socket, and the stages that ask it.
class Making : public ProgramTest {
 protected:
  Making() : set_(write("set.jsonl", three).string()), out_((folder() / "out.jsonl").string()) {}
  Outcome golden(std::vector<std::string> more) {
    std::vector<std::string> arguments{"golden"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--index", lexical_index()});
    auto done = run(arguments, {.environment = {{"OPENAI_BASE_URL", server_.plain_url()}, {"OPENAI_API_KEY", key}, {"GENERATOR_MODEL", "drafter"},
                                                {"GRADER_MODEL", "grader"}, {"JUDGE_MODEL", "labeller"}}});
    EXPECT_THAT(done.out + done.err, Not(HasSubstr("canary"))) << "the key shows";
    return done;
  }
  Outcome asked(std::vector<std::string> more) {
    more.insert(more.end(), {"--provider", "openai-compatible", "--no-cache"});
    return golden(std::move(more));
  }
  /// The pools that are made without a model: what a model will be shown.
  std::vector<std::vector<std::string>> pools() {
    const auto file = (folder() / "pools.jsonl").string();
    EXPECT_EQ(golden({"pool", "--dataset", set_, "--out", file}).status, 0);
    std::vector<std::vector<std::string>> out;
    for (const auto& item : items_of(file)) out.push_back(item["pool_ids"].get<std::vector<std::string>>());
    return out;
  }
  /// A reply that labels every passage: `answers` for this chunk, none for the others.
  static std::string labels(const std::vector<std::string>& pool, const std::string& chunk, const std::string& answers = "all") {
    Json list = Json::array();
    for (std::size_t i = 0; i < pool.size(); ++i) {
      list.push_back({{"passage", "P" + std::to_string(i + 1)}, {"reason", "It says so."}, {"answers", pool[i] == chunk ? answers : "none"}});
    }
    return "text:" + Json{{"labels", list}}.dump();
  }
  Json sent(std::size_t call) const { return Json::parse(server_.requests().at(call).body); }

  proxy::testing::ScriptedUpstream server_;
  std::string set_, out_;
};

TEST_F(Making, AnUnlabelledPoolHoldsWhatSearchFindsWithGoldAndSaysWhatIsMissing) {
  const auto done = golden({"pool", "--dataset", set_, "--out", out_, "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, AllOf(HasSubstr("lexical search alone"), HasSubstr("nobody labels them")));
  EXPECT_EQ(one_json(done.out)["pooled"], 3);
  EXPECT_EQ(one_json(done.out)["labelled"], 0);
  const auto items = items_of(out_);
  EXPECT_THAT(items[0]["pool_ids"].get<std::vector<std::string>>(), ::testing::Contains("galley/soup#000"));
  EXPECT_EQ(items[0]["relevant_chunk_ids"], Json::array({"galley/soup#000"}));
  EXPECT_EQ(server_.counts().calls, 0U);
  EXPECT_FALSE(std::filesystem::exists(out_ + ".work.jsonl"));
}

TEST_F(Making, LabelledPassagesBecomeGoldWithTheModelNamed) {
  const auto pool = pools();
  const std::string gold = pool[1].back();
  server_.next({labels(pool[0], "galley/soup#000"), labels(pool[1], gold, "part")});
  const auto done = asked({"pool", "--dataset", set_, "--out", out_});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto items = items_of(out_);
  EXPECT_EQ(items[0]["relevant_chunk_ids"], Json::array({"galley/soup#000"}));
  EXPECT_EQ(items[1]["relevant_chunk_ids"], Json::array({gold}));
  EXPECT_TRUE(items[1]["chunk_digests"].contains(gold));
  EXPECT_THAT(items[1]["notes"].get<std::string>(), HasSubstr("gold labelled by labeller (golden_label-"));
  EXPECT_FALSE(items[2].contains("relevant_chunk_ids")) << "an unanswerable item is not labelled here";
  ASSERT_EQ(server_.counts().calls, 2U);
  EXPECT_EQ(sent(0)["model"], "labeller");
  EXPECT_EQ(sent(0)["response_format"]["type"], "json_schema");
  EXPECT_THAT(sent(0)["messages"][1]["content"].get<std::string>(), AllOf(HasSubstr("<question>\nWhen is the soup done?"), HasSubstr("Soup is kept at 65 degrees")));
  EXPECT_EQ(run({"validate", "--dataset", out_}).status, 0);
}

TEST_F(Making, AStageThatStoppedGoesOnAndAsksOnlyForTheRest) {
  const auto pool = pools();
  server_.next({labels(pool[0], "galley/soup#000"), "status:401"});
  const auto stopped = asked({"pool", "--dataset", set_, "--out", out_});
  EXPECT_EQ(stopped.status, 5);
  EXPECT_THAT(stopped.err, HasSubstr("1 of 3 items are done"));
  EXPECT_FALSE(std::filesystem::exists(out_));
  { std::ofstream(out_ + ".work.jsonl", std::ios::app) << R"({"item":"b/1","pool_)"; }  // as a kill leaves it
  EXPECT_EQ(asked({"pool", "--dataset", set_, "--out", out_, "--model", "another"}).status, 3) << "another model's work is not gone on with";
  server_.next({labels(pool[1], pool[1].front())});
  const auto done = asked({"pool", "--dataset", set_, "--out", out_});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(server_.counts().calls, 3U);
  EXPECT_EQ(items_of(out_)[0]["relevant_chunk_ids"], Json::array({"galley/soup#000"}));
  EXPECT_EQ(items_of(out_)[1]["relevant_chunk_ids"], Json::array({pool[1].front()}));
}

TEST_F(Making, LabelsThatMissAPassageAreAskedForOnceMoreAndThenTheItemIsLeft) {
  const auto pool = pools();
  server_.next({R"(text:{"labels": []})", R"(text:{"labels": []})", labels(pool[1], pool[1].front())});
  const auto done = asked({"pool", "--dataset", set_, "--out", out_, "--json"});
  EXPECT_EQ(done.status, 5);
  EXPECT_THAT(done.err, HasSubstr("not labelled: item \"a\""));
  EXPECT_EQ(one_json(done.out)["failed"], 1);
  EXPECT_EQ(items_of(out_)[0]["relevant_chunk_ids"], Json::array({"galley/soup#000"})) << "it keeps the gold that it had";
  EXPECT_TRUE(std::filesystem::exists(out_ + ".work.jsonl")) << "the same command asks for it again";
}

TEST_F(Making, TheGraderUnderTestNeverLabelsItsOwnGold) {
  const auto refused = asked({"pool", "--dataset", set_, "--out", out_, "--model", "grader"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--model"), HasSubstr("grader under test")));
  EXPECT_EQ(asked({"pool", "--dataset", set_, "--out", out_, "--grader", "labeller"}).status, 2);
  EXPECT_EQ(server_.counts().calls, 0U);
}

TEST_F(Making, DraftsComeFromEverySectionWithSourceGoldAndTheirMaker) {
  server_.next({R"(text:{"question": "How warm is it?", "reference_answer": "65 degrees.", "evidence": "at 65 degrees"})",
                R"(text:{"question": "What keeps it safe at night?", "reference_answer": "Lines.", "evidence": "lines"})",
                R"(text:{"question": "What did the paint cost?", "reference_answer": "", "evidence": ""})"});
  const auto done = asked({"draft", "--out", out_, "--answerable", "1", "--vague", "1", "--unanswerable", "1"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto items = items_of(out_);
  ASSERT_THAT(items, SizeIs(3));
  EXPECT_EQ(items[0]["id"], "answerable-001");
  EXPECT_EQ(items[0]["relevant_chunk_ids"], Json::array({items[0]["source_chunk_id"]}));
  EXPECT_THAT(items[0]["notes"].get<std::string>(), HasSubstr("drafted by drafter (golden_draft-"));
  EXPECT_EQ(items[1]["type"], "vague");
  EXPECT_EQ(items[2]["should_refuse"], true);
  EXPECT_FALSE(items[2].contains("relevant_chunk_ids"));
  std::set<std::string> pages;
  for (const auto& item : items) {
    const auto source = item["source_chunk_id"].get<std::string>();
    pages.insert(source.substr(0, source.find('#')));
  }
  EXPECT_THAT(pages, SizeIs(3)) << "three sections, three pages";
  EXPECT_THAT(sent(1)["messages"][1]["content"].get<std::string>(), HasSubstr("<kind>vague</kind>"));
  EXPECT_EQ(asked({"pool", "--dataset", out_, "--out", out_, "--model", "drafter"}).status, 2) << "a different model labels";
}

TEST_F(Making, WithoutAModelDraftsComeFromDefinitionsAndHeadingsAndSaySo) {
  const auto done = golden({"draft", "--out", out_, "--answerable", "2", "--vague", "1", "--unanswerable", "0", "--seed", "3"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("without a language model"));
  const auto bytes = read(out_);
  for (const auto& item : items_of(out_)) EXPECT_THAT(item["notes"].get<std::string>(), HasSubstr("without a language model"));
  ASSERT_EQ(golden({"draft", "--out", out_, "--answerable", "2", "--vague", "1", "--unanswerable", "0", "--seed", "3"}).status, 0);
  EXPECT_EQ(read(out_), bytes) << "the same seed drafts the same";
  EXPECT_EQ(run({"validate", "--dataset", out_}).status, 0);
  EXPECT_EQ(server_.counts().calls, 0U);
}

TEST_F(Making, ADraftThatIsHalfDoneIsGoneOnWith) {
  server_.next({R"(text:{"question": "How warm is it?", "reference_answer": "65 degrees.", "evidence": "x"})", "status:401"});
  const std::vector<std::string> call{"draft", "--out", out_, "--answerable", "2", "--vague", "0", "--unanswerable", "0"};
  EXPECT_EQ(asked(call).status, 5);
  EXPECT_FALSE(std::filesystem::exists(out_));
  server_.next({R"(text:{"question": "Who walks the deck?", "reference_answer": "The watch.", "evidence": "x"})"});
  ASSERT_EQ(asked(call).status, 0);
  EXPECT_EQ(server_.counts().calls, 3U);
  EXPECT_EQ(items_of(out_)[0]["question"], "How warm is it?");
  EXPECT_EQ(items_of(out_)[1]["question"], "Who walks the deck?");
}

TEST_F(Making, AnUnanswerableItemThatAChunkAnswersIsDroppedAndTheChunkNamed) {
  write("set.jsonl", R"({"id":"soup","type":"unanswerable","question":"At what temperature is soup kept?","should_refuse":true,"pool_ids":["galley/soup#000","moorings#000"]})" "\n"
                     R"({"id":"owner","type":"unanswerable","question":"Who owns the ferry?","should_refuse":true,"pool_ids":["moorings#000"]})" "\n");
  server_.next({labels({"galley/soup#000", "moorings#000"}, "galley/soup#000"), labels({"moorings#000"}, "moorings#000", "part")});
  const auto done = asked({"check", "--dataset", set_, "--out", out_, "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto found = one_json(done.out);
  ASSERT_THAT(found["findings"], SizeIs(1));
  EXPECT_EQ(found["findings"][0]["item"], "soup");
  EXPECT_EQ(found["findings"][0]["chunk"], "galley/soup#000");
  EXPECT_EQ(found["findings"][0]["dropped"], true);
  const auto items = items_of(out_);
  ASSERT_THAT(items, SizeIs(1)) << "a part of an answer is none";
  EXPECT_EQ(items[0]["id"], "owner");
}

TEST_F(Making, WithoutAProviderAndModelsNothingCanBeChecked) {
  const auto refused = golden({"check", "--dataset", set_});
  EXPECT_EQ(refused.status, 5);
  EXPECT_THAT(refused.err, HasSubstr("neither a --provider nor the cross-encoder"));
}

TEST_F(Making, ExtendingLabelsWhatARunRetrievedAndNobodyJudged) {
  write("set.jsonl", R"({"id":"a","type":"answerable","question":"Soup?","reference_answer":"65","relevant_chunk_ids":["galley/soup#000"],"should_refuse":false})" "\n");
  const auto results = (folder() / "run.jsonl").string();
  {
    auto file = RunFile::open(results, run_header("{}", 1, "2026-01-01T00:00:00Z"));
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(file->append({"a", 1}, "{}", R"({"retrieved_chunks":[{"id":"galley/soup#000"},{"id":"moorings#000"},{"id":"night watch#000"}]})", "null", "2026-01-01T00:00:01Z").has_value());
  }
  const auto counted = golden({"extend", "--dataset", set_, "--run", results, "--k", "2", "--json"});
  ASSERT_EQ(counted.status, 0) << counted.err;
  EXPECT_EQ(one_json(counted.out)["judged_before"], 0.5) << "one of two was judged";
  EXPECT_EQ(one_json(counted.out)["unjudged"], 1);
  server_.next({labels({"moorings#000"}, "moorings#000", "part")});
  const auto done = asked({"extend", "--dataset", set_, "--run", results, "--k", "2", "--out", out_, "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(one_json(done.out)["judged_after"], 1.0);
  const auto item = items_of(out_)[0];
  EXPECT_EQ(item["relevant_chunk_ids"], Json::array({"galley/soup#000", "moorings#000"}));
  EXPECT_EQ(item["pool_ids"], Json::array({"galley/soup#000", "moorings#000"}));
}

}  // namespace
}  // namespace polygraph::cli::test
