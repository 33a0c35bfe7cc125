// PROVIDER and --provider: the program as the host of language models, against an endpoint over a real socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripted_upstream.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/trace_schema.hpp"

namespace polygraph::cli::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* question = "At what temperature is the fish soup kept?";
constexpr const char* key = "sk-canary-0123456789abcdef";
constexpr const char* verdict = R"(text:{"relevant": true, "reason": "It says so.", "relevant_chunk_ids": ["galley/soup#000"]})";
constexpr const char* no_verdict = R"(text:{"relevant": false, "reason": "They say nothing of it.", "relevant_chunk_ids": []})";

class AskWithLlm : public ProgramTest {
 protected:
  std::map<std::string, std::string> endpoint() const {
    return {{"PROVIDER", "openai-compatible"}, {"OPENAI_BASE_URL", server_.plain_url()}, {"OPENAI_API_KEY", key}, {"GENERATOR_MODEL", "big"}, {"GRADER_MODEL", "small"}};
  }
  Outcome ask(std::map<std::string, std::string> environment, std::vector<std::string> more = {"--json"}) {
    std::vector<std::string> arguments{"ask", "--index", lexical_index(), question};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto asked = run(arguments, {.environment = std::move(environment)});
    EXPECT_THAT(asked.out + asked.err, Not(HasSubstr("canary"))) << "the key shows";
    return asked;
  }
  nlohmann::json sent(std::size_t call) const { return nlohmann::json::parse(server_.requests().at(call).body); }

  proxy::testing::ScriptedUpstream server_;
};

TEST_F(AskWithLlm, GradesAndAnswersWithModelsTokensAndPromptsInTheTrace) {
  server_.next({"answer", "text:Soup is kept at 65 degrees. [galley/soup#000] It is warm. [deck#009]"});
  const auto asked = ask(endpoint());
  ASSERT_EQ(asked.status, 0) << asked.err;
  const auto trace = one_json(asked.out);
  EXPECT_EQ(schema_errors(trace), "");
  EXPECT_EQ(trace["status"], "answered");
  EXPECT_EQ(trace["answer"], "Soup is kept at 65 degrees. [galley/soup#000] It is warm.");
  EXPECT_EQ(trace["models"]["grader"], "small");
  EXPECT_EQ(trace["models"]["generator"], "big");
  EXPECT_GT(trace["totals"]["tokens"]["in"].get<int>(), 100);
  EXPECT_TRUE(trace["totals"]["cost_usd"].is_null()) << "no price is known for this endpoint";
  ASSERT_EQ(server_.requests().size(), 2U);
  EXPECT_EQ(sent(0)["model"], "small");
  EXPECT_EQ(sent(0)["response_format"]["type"], "json_schema");
  EXPECT_EQ(sent(1)["model"], "big");
  EXPECT_THAT(sent(1)["messages"][1]["content"].get<std::string>(), HasSubstr("Soup is kept at 65 degrees."));
  EXPECT_THAT(server_.requests()[0].head, HasSubstr(std::string("Bearer ") + key));
}

TEST_F(AskWithLlm, ReplaysWithoutTheEndpoint) {
  server_.next({"answer", "text:65 degrees. [galley/soup#000]"});
  const auto asked = ask(endpoint());
  const auto file = write("trace.json", asked.out);
  EXPECT_EQ(run({"replay", file.string(), "--index", lexical_index()}).status, 0);
  EXPECT_EQ(server_.counts().calls, 2U);
}

TEST_F(AskWithLlm, RewritesAQueryThatFoundNothingAndRefusesInTheEnd) {
  server_.next({no_verdict, R"(text:{"query": "soup temperature"})", no_verdict, R"(text:{"query": "Soup  TEMPERATURE"})"});
  const auto asked = ask(endpoint());
  ASSERT_EQ(asked.status, 0) << asked.err;
  EXPECT_EQ(one_json(asked.out)["status"], "refused");
  ASSERT_EQ(server_.counts().calls, 4U) << "an equal rewrite ends the loop";
  EXPECT_THAT(sent(1)["messages"][1]["content"].get<std::string>(), HasSubstr("They say nothing of it."));
}

TEST_F(AskWithLlm, AGeneratorThatCannotAnswerMakesARefusal) {
  server_.next({"answer", "text:I cannot answer this from the documentation."});
  EXPECT_EQ(one_json(ask(endpoint()).out)["status"], "refused");
}

TEST_F(AskWithLlm, AReplyThatIsNoJsonIsRepairedOnceAndThenFails) {
  server_.next({"text:Yes, they do!", verdict, "text:65 degrees. [galley/soup#000]"});
  EXPECT_EQ(one_json(ask(endpoint()).out)["status"], "answered");
  EXPECT_EQ(sent(1)["messages"].size(), 3U);
  server_.next({"text:Yes!", "text:Yes!!"});
  const auto failed = ask(endpoint(), {"--json", "--no-cache"});
  EXPECT_EQ(failed.status, 5);
  EXPECT_EQ(one_json(failed.out)["status"], "failed");
  EXPECT_EQ(server_.counts().calls, 5U);
}

TEST_F(AskWithLlm, ARefusedKeyIsNamedByItsVariableAndNotTriedAgain) {
  for (const char* behaviour : {"status:401", "status:403", "echo_key"}) {
    server_.always(behaviour);
    const auto before = server_.counts().calls;
    const auto failed = ask(endpoint());
    EXPECT_EQ(failed.status, 5);
    EXPECT_THAT(failed.err, HasSubstr("OPENAI_API_KEY")) << behaviour;
    EXPECT_EQ(server_.counts().calls, before + 1);
    EXPECT_EQ(schema_errors(one_json(failed.out)), "");
  }
}

TEST_F(AskWithLlm, AnUnknownModelIsNamedByItsVariableAndNotTriedAgain) {
  server_.always("status:404");
  const auto failed = ask(endpoint());
  EXPECT_EQ(failed.status, 5);
  EXPECT_THAT(failed.err, HasSubstr("GRADER_MODEL"));
  EXPECT_THAT(failed.err, HasSubstr("small"));
  EXPECT_EQ(server_.counts().calls, 1U);
}

TEST_F(AskWithLlm, ASpentQuotaExitsWith4AndSaysWhenToGoOn) {
  for (const auto& [behaviour, words] : std::map<std::string, std::string>{
           {"limited_rpd:7200", "requests per day spent; go on in 2 h 00 min"}, {"limited_tpd:5025", "tokens per day spent; go on in 1 h 23 min"}}) {
    server_.always(behaviour);
    const auto before = server_.counts().calls;
    auto environment = endpoint();
    environment["GRADER_MODEL"] = behaviour;  // another model, whose quota is not known to be spent
    const auto failed = ask(environment);
    EXPECT_EQ(failed.status, 4);
    EXPECT_THAT(failed.err, HasSubstr(words));
    EXPECT_THAT(failed.err, ContainsRegex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9:]+ UTC"));
    EXPECT_EQ(server_.counts().calls, before + 1);
  }
}

TEST_F(AskWithLlm, AServerThatFailsIsAskedThreeTimesInAll) {
  server_.next({"status:503", "status:500", "answer", "text:65 degrees. [galley/soup#000]"});
  EXPECT_EQ(one_json(ask(endpoint()).out)["status"], "answered");
  server_.always("status:503");
  const auto before = server_.counts().calls;
  const auto failed = ask(endpoint(), {"--json", "--no-cache"});
  EXPECT_EQ(failed.status, 5);
  EXPECT_EQ(server_.counts().calls, before + 3);
}

TEST_F(AskWithLlm, ARequestThatIsTooLargeIsNotTriedAgain) {
  server_.always("too_large");
  const auto failed = ask(endpoint());
  EXPECT_EQ(failed.status, 5);
  EXPECT_THAT(failed.err, HasSubstr("TOP_K"));
  EXPECT_EQ(server_.counts().calls, 1U);
}

TEST_F(AskWithLlm, ATruncatedReplyNeverBecomesAnAnswer) {
  server_.next({"answer", "cut_body"});
  const auto failed = ask(endpoint());
  EXPECT_EQ(failed.status, 5);
  EXPECT_EQ(one_json(failed.out)["answer"], "");
}

TEST_F(AskWithLlm, WithoutAKeyOrModelItIsWrongUseNamingTheVariable) {
  const auto nothing = ask({{"PROVIDER", "openai-compatible"}});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.err, HasSubstr("OPENAI_API_KEY"));
  EXPECT_THAT(nothing.err, HasSubstr("GROQ_API_KEY"));
  EXPECT_THAT(nothing.out, IsEmpty());

  const auto elsewhere = ask({{"PROVIDER", "openai-compatible"}, {"OPENAI_BASE_URL", "https://llm.example/v1"}, {"GROQ_API_KEY", key}});
  EXPECT_EQ(elsewhere.status, 2);
  EXPECT_THAT(elsewhere.err, HasSubstr("error: OPENAI_API_KEY")) << "Groq's key is for Groq alone";

  const auto no_model = ask({{"PROVIDER", "openai-compatible"}, {"OPENAI_API_KEY", key}});
  EXPECT_EQ(no_model.status, 2);
  EXPECT_THAT(no_model.err, HasSubstr("GENERATOR_MODEL"));

  auto plain = endpoint();
  plain["OPENAI_BASE_URL"] = "http://llm.example/v1";
  const auto insecure = ask(plain);
  EXPECT_EQ(insecure.status, 2) << "a key never travels in the clear";
  EXPECT_THAT(insecure.err, HasSubstr("OPENAI_BASE_URL"));
}

TEST_F(AskWithLlm, AnEndpointOnThisMachineNeedsNoKeyAndGetsNobodyElses) {
  server_.next({"answer", "text:65 degrees. [galley/soup#000]"});
  const auto asked = ask({{"GROQ_API_KEY", key}}, {"--json", "--set", "PROVIDER=openai-compatible", "--set", "OPENAI_BASE_URL=" + server_.plain_url(), "--set",
                                                   "GENERATOR_MODEL=local"});
  ASSERT_EQ(asked.status, 0) << asked.err;
  for (const auto& request : server_.requests()) EXPECT_THAT(request.head, Not(HasSubstr("uthorization")));
  EXPECT_EQ(sent(0)["model"], "local") << "GRADER_MODEL is GENERATOR_MODEL where it is not set";
}

TEST_F(AskWithLlm, AKeyMayStandInAFile) {
  auto environment = endpoint();
  environment.erase("OPENAI_API_KEY");
  environment["OPENAI_API_KEY_FILE"] = write("the key", std::string("\n ") + key + " \r\n").string();
  server_.next({"answer", "text:65 degrees. [galley/soup#000]"});
  EXPECT_EQ(ask(environment).status, 0);
  EXPECT_THAT(server_.requests().at(0).head, HasSubstr(std::string("Bearer ") + key + "\r\n"));

  environment["OPENAI_API_KEY_FILE"] = "nowhere";
  const auto missing = ask(environment);
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err, HasSubstr("OPENAI_API_KEY_FILE: nowhere"));
}

TEST_F(AskWithLlm, AMinuteThatIsSpentIsWaitedOut) {
  server_.next({"limited_tpm:0.1", "answer", "text:65 degrees. [galley/soup#000]"});
  EXPECT_EQ(one_json(ask(endpoint()).out)["status"], "answered");
  EXPECT_EQ(server_.counts().calls, 3U);
}

TEST_F(AskWithLlm, ADaysQuotaThatTheLedgerKnowsToBeSpentIsNotAskedFor) {
  server_.always("limited_rpd:7200");
  EXPECT_EQ(ask(endpoint()).status, 4);
  const auto again = ask(endpoint());
  EXPECT_EQ(again.status, 4);
  EXPECT_THAT(again.err, HasSubstr("go on in "));
  EXPECT_EQ(server_.counts().calls, 1U);
}

/// What each provider is asked with, its key's variable first.
struct Asked {
  const char* name;
  std::map<std::string, std::string> environment;
  const char* key_variable;
};

class AskEveryProvider : public AskWithLlm {
 protected:
  std::vector<Asked> providers() const {
    const std::string root = server_.plain_root_url();
    const auto with = [](std::map<std::string, std::string> environment) {
      environment["GENERATOR_MODEL"] = "big";
      return environment;
    };
    return {{"groq", with({{"GROQ_API_KEY", key}, {"GROQ_BASE_URL", server_.plain_url()}}), "GROQ_API_KEY"},
            {"openai", with({{"OPENAI_API_KEY", key}, {"OPENAI_BASE_URL", server_.plain_url()}}), "OPENAI_API_KEY"},
            {"anthropic", with({{"ANTHROPIC_API_KEY", key}, {"ANTHROPIC_BASE_URL", root}}), "ANTHROPIC_API_KEY"},
            {"gemini", with({{"GEMINI_API_KEY", key}, {"GEMINI_BASE_URL", root + "/v1beta"}}), "GEMINI_API_KEY"},
            {"ollama", with({{"OLLAMA_HOST", root.substr(root.find("127"))}}), ""}};
  }
};

TEST_F(AskEveryProvider, AnswersInItsOwnFormat) {
  for (const auto& provider : providers()) {
    const auto before = server_.requests().size();
    server_.next({"answer", "text:65 degrees. [galley/soup#000]"});
    const auto asked = ask(provider.environment, {"--json", "--provider", provider.name});
    ASSERT_EQ(asked.status, 0) << provider.name << asked.err;
    const auto trace = one_json(asked.out);
    EXPECT_EQ(schema_errors(trace), "");
    EXPECT_EQ(trace["status"], "answered") << provider.name;
    EXPECT_EQ(trace["config"]["provider"], "openai-compatible") << "to the agent they are one";
    ASSERT_EQ(server_.requests().size(), before + 2);
    EXPECT_THAT(server_.requests()[before].head.substr(0, server_.requests()[before].head.find("\r\n")), Not(HasSubstr("canary")));
  }
}

TEST_F(AskEveryProvider, WithoutItsKeyIsWrongUseNamingTheVariable) {
  for (auto provider : providers()) {
    if (*provider.key_variable == 0) continue;
    const auto missing = ask({{"GENERATOR_MODEL", "big"}}, {"--provider", provider.name});
    EXPECT_EQ(missing.status, 2) << provider.name;
    EXPECT_THAT(missing.err, HasSubstr(provider.key_variable));
    const auto listed = run({"models", "list", "--provider", provider.name});
    EXPECT_EQ(listed.status, 2);
    EXPECT_THAT(listed.err, HasSubstr(provider.key_variable));
  }
  const auto unknown = ask({}, {"--provider", "nobody"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("anthropic"));
}

TEST_F(AskEveryProvider, ListsWhatItsKeyCanUse) {
  for (const auto& provider : providers()) {
    const auto listed = run({"models", "list", "--provider", provider.name, "--json"}, {.environment = provider.environment});
    ASSERT_EQ(listed.status, 0) << listed.err;
    const auto list = one_json(listed.out);
    EXPECT_EQ(list["provider"], provider.name);
    ASSERT_EQ(list["models"].size(), 2U);
    EXPECT_THAT(list["models"][0]["id"].get<std::string>(), HasSubstr("scripted-large"));
    EXPECT_THAT(run({"models", "list", "--provider", provider.name}, {.environment = provider.environment}).out, HasSubstr("scripted-small"));
    server_.next({"status:401"});
    const auto before = server_.counts().calls;
    const auto refused = run({"models", "list", "--provider", provider.name}, {.environment = provider.environment});
    EXPECT_EQ(refused.status, 5);
    EXPECT_THAT(refused.err + listed.out, Not(HasSubstr("canary")));
    EXPECT_EQ(server_.counts().calls, before + 1);
  }
}

TEST_F(AskEveryProvider, ARefusedKeyOrModelIsNotTriedAgain) {
  for (const auto& provider : providers()) {
    for (const char* behaviour : {"status:401", "status:404"}) {
      server_.next({behaviour});
      const auto before = server_.counts().calls;
      const auto failed = ask(provider.environment, {"--provider", provider.name});
      EXPECT_EQ(failed.status, 5) << provider.name << behaviour;
      if (behaviour == std::string_view("status:404")) {
        EXPECT_THAT(failed.err, HasSubstr("GRADER_MODEL"));
      }
      EXPECT_EQ(server_.counts().calls, before + 1);
    }
  }
}

TEST_F(AskWithLlm, TheSameQuestionIsAnsweredFromTheCacheAtItsOriginalTimeAndTokens) {
  server_.next({"answer", "text:65 degrees. [galley/soup#000]"});
  const auto first = one_json(ask(endpoint()).out);
  const auto second = one_json(ask(endpoint()).out);
  EXPECT_EQ(server_.counts().calls, 2U);
  EXPECT_EQ(second["answer"], first["answer"]);
  EXPECT_EQ(second["totals"]["tokens"], first["totals"]["tokens"]);
  const auto completions = [](const nlohmann::json& trace) {
    std::vector<nlohmann::json> all;
    for (const auto& step : trace["steps"]) {
      for (const auto& effect : step["effects"]) {
        if (effect["kind"] == "complete") all.push_back(effect);
      }
    }
    return all;
  };
  ASSERT_EQ(completions(second).size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(completions(first)[i]["cached"], false);
    EXPECT_EQ(completions(second)[i]["cached"], true);
    EXPECT_EQ(completions(second)[i]["tokens"], completions(first)[i]["tokens"]);
  }
  server_.next({"answer", "text:65 degrees. [galley/soup#000]"});
  EXPECT_EQ(ask(endpoint(), {"--json", "--no-cache"}).status, 0);
  EXPECT_EQ(server_.counts().calls, 4U);
}

TEST_F(AskWithLlm, TheCacheIsMeasuredPrunedAndCleared) {
  EXPECT_EQ(run({"cache", "info"}).status, 3) << "there is none yet, and looking makes none";
  server_.next({"answer", "text:65 degrees. [galley/soup#000]"});
  ASSERT_EQ(ask(endpoint()).status, 0);
  const auto info = one_json(run({"cache", "info", "--json"}).out);
  EXPECT_GE(info["entries"].get<int>(), 2);
  EXPECT_GT(info["bytes"].get<int>(), 100);
  EXPECT_THAT(run({"cache", "info"}).out, ContainsRegex("entries, "));
  EXPECT_EQ(one_json(run({"cache", "prune", "--keep", "1", "--json"}).out)["dropped"], 0);
  const auto cleared = one_json(run({"cache", "clear", "--json"}).out);
  EXPECT_EQ(cleared["dropped"], info["entries"]);
  EXPECT_EQ(cleared["entries"], 0);
  EXPECT_EQ(run({"cache"}).status, 2);
  EXPECT_EQ(run({"cache", "prune", "--keep", "-1"}).status, 2);
}

TEST_F(AskWithLlm, ItsCallsStandInTheLedgerAgainstTheLimitsThatTheEndpointNamed) {
  server_.next({"answer", "text:65 degrees. [galley/soup#000]"});
  ASSERT_EQ(ask(endpoint()).status, 0);
  const auto usage = one_json(run({"usage", "--json", "--limits"}).out);
  ASSERT_EQ(usage["days"].size(), 2U);
  EXPECT_EQ(usage["days"][0]["model"], "127.0.0.1:big");
  EXPECT_EQ(usage["days"][1]["requests"], 1);
  EXPECT_EQ(usage["limits"]["127.0.0.1:small"]["tokens_per_minute"]["limit"], 8000);
  EXPECT_TRUE(usage["limits"]["127.0.0.1:small"]["tokens_per_day"].is_null());
  EXPECT_THAT(run({"usage"}).out, HasSubstr("/8000"));
  EXPECT_FALSE(one_json(run({"usage", "--json"}).out).contains("limits"));
}

TEST_F(AskWithLlm, ConfigMasksKeysAndAnOptionNeverTakesOne) {
  write(".env", std::string("GROQ_API_KEY=") + key + "\nGRADER_MODEL=from-file\n");
  const auto printed = run({"config", "--json"}, {.environment = {{"OPENAI_API_KEY", key}, {"GENERATOR_MODEL", "big"}}});
  ASSERT_EQ(printed.status, 0) << printed.err;
  EXPECT_THAT(printed.out, Not(HasSubstr("canary")));
  const auto config = one_json(printed.out);
  EXPECT_EQ(config["GROQ_API_KEY"]["source"], ".env");
  EXPECT_EQ(config["GROQ_API_KEY"]["value"], "(set)");
  EXPECT_EQ(config["OPENAI_API_KEY"]["value"], "(set)");
  EXPECT_EQ(config["GRADER_MODEL"]["value"], "from-file");
  EXPECT_EQ(config["GENERATOR_MODEL"]["source"], "environment");
  const auto refused = run({"config", "--set", std::string("GROQ_API_KEY=") + key});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("GROQ_API_KEY_FILE"));
  EXPECT_THAT(refused.err, Not(HasSubstr("canary")));
}

}  // namespace
}  // namespace polygraph::cli::test
