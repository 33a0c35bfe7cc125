#include "cli/llm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>
#include <random>
#include <thread>

#include "cli/secret.hpp"
#include "proxy/tasks/prices.hpp"
#include "proxy/upstream/chat_client.hpp"

namespace polygraph::cli {
namespace {

using namespace std::chrono_literals;
using proxy::Outcome;

constexpr std::string_view openai_url = "https://api.openai.com/v1";
constexpr std::string_view groq_url = "https://api.groq.com/openai/v1";

/// A model on this machine's processor may take minutes over a prompt.
constexpr auto deadline = 5min;
constexpr int most_calls = 3;
constexpr auto first_pause = 500ms;

bool is_loopback(std::string_view host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

struct Endpoint {
  std::string url;
  Secret key;
};

/// A key is only ever sent to the endpoint that it is for.
Result<Endpoint> endpoint_of(const Settings& settings) {
  auto openai = secret(settings, "OPENAI_API_KEY");
  if (!openai) return tl::unexpected(openai.error());
  const std::string named = settings.get("OPENAI_BASE_URL").value;
  const std::string host = proxy::host_of(named);
  const bool groq_named = proxy::dialect_of(named) == proxy::Dialect::groq;
  if (groq_named || (named.empty() && openai->value.empty())) {
    auto groq = secret(settings, "GROQ_API_KEY");
    if (!groq) return tl::unexpected(groq.error());
    if (!groq->value.empty()) return Endpoint{named.empty() ? std::string(groq_url) : named, std::move(*groq)};
    if (openai->value.empty()) {
      return fail(ErrorCode::invalid_argument, "PROVIDER=openai-compatible needs a key: set GROQ_API_KEY, or OPENAI_API_KEY with OPENAI_BASE_URL",
                  groq_named ? "GROQ_API_KEY" : "OPENAI_API_KEY");
    }
  }
  if (openai->value.empty() && !is_loopback(host)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} asks for a key: set OPENAI_API_KEY or OPENAI_API_KEY_FILE", named), "OPENAI_API_KEY");
  }
  return Endpoint{named.empty() ? std::string(openai_url) : named, std::move(*openai)};
}

Result<proxy::TaskModels> models_of(const Settings& settings, const std::string& url) {
  proxy::TaskModels models;
  const std::string generator = settings.get("GENERATOR_MODEL").value;
  if (proxy::dialect_of(url) != proxy::Dialect::groq) {
    // The defaults are Groq's names; elsewhere they would be unknown.
    if (generator.empty()) return fail(ErrorCode::invalid_argument, fmt::format("name a model of {}; GRADER_MODEL and REWRITER_MODEL are the same where not set", url), "GENERATOR_MODEL");
    models = {generator, generator, generator};
  }
  const auto set = [&](const std::string& name, std::string& model) {
    if (auto value = settings.get(name).value; !value.empty()) model = std::move(value);
  };
  set("GENERATOR_MODEL", models.generator);
  set("GRADER_MODEL", models.grader);
  set("REWRITER_MODEL", models.rewriter);
  return models;
}

std::string_view model_variable(agent::Task task) {
  switch (task) {
    case agent::Task::grade: return "GRADER_MODEL";
    case agent::Task::rewrite: return "REWRITER_MODEL";
    case agent::Task::generate: break;
  }
  return "GENERATOR_MODEL";
}

std::size_t max_tokens(agent::Task task) {
  switch (task) {
    case agent::Task::grade: return proxy::default_max_tokens_grade;
    case agent::Task::rewrite: return proxy::default_max_tokens_rewrite;
    case agent::Task::generate: break;
  }
  return proxy::default_max_tokens_generate;
}

/// `in 2 min 59 s (12:34:56 UTC)`
std::string when(std::chrono::milliseconds wait) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  const std::time_t stamp = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() + wait);
  std::tm utc{};
  gmtime_r(&stamp, &utc);
  const std::string span = seconds < 60 ? fmt::format("{} s", seconds) : seconds < 3600 ? fmt::format("{} min {:02} s", seconds / 60, seconds % 60)
                                                                                        : fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
  return fmt::format("in {} ({:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC)", span, utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                     utc.tm_sec);
}

std::string spent(const proxy::ChatReply& reply, const std::string& who) {
  using proxy::UpstreamLimit;
  std::string_view what = "quota";
  std::optional<std::chrono::milliseconds> reset;
  switch (reply.limit) {
    case UpstreamLimit::requests_minute: what = "requests per minute"; break;
    case UpstreamLimit::requests_day: what = "requests per day", reset = reply.rate_limits.reset_requests; break;
    case UpstreamLimit::tokens_minute: what = "tokens per minute", reset = reply.rate_limits.reset_tokens; break;
    case UpstreamLimit::tokens_day: what = "tokens per day"; break;
    case UpstreamLimit::unknown: break;
  }
  if (reply.rate_limits.retry_after) reset = reply.rate_limits.retry_after;
  return fmt::format("{}: {} spent; {}", who, what, reset ? "go on " + when(*reset) : "the endpoint does not say until when");
}

}  // namespace

struct Llm::State {
  boost::asio::io_context context;
  std::shared_ptr<proxy::ChatClient> client;
  const index::Index* index = nullptr;
  std::string url, key_variable;
  proxy::TaskModels models;
  std::mt19937 random{std::random_device{}()};

  proxy::ChatReply call(const std::string& body, std::chrono::steady_clock::time_point end) {
    proxy::ChatCall call;
    call.body = body;
    call.deadline = end;
    proxy::ChatReply reply;
    const auto handle = client->call(std::move(call), [&](proxy::ChatReply answer) { reply = std::move(answer); });
    context.restart();
    context.run();
    return reply;
  }

  Error wrong(const proxy::ChatReply& reply, agent::Task task, const std::string& model) const {
    const std::string who = fmt::format("{} at {}", model, proxy::host_of(url));
    const std::string variable(model_variable(task));
    switch (reply.outcome) {
      case Outcome::limited: return {ErrorCode::quota_spent, spent(reply, who), "provider"};
      case Outcome::too_large:
        return {ErrorCode::provider_failed, fmt::format("{}: the request is too large for it ({}); a smaller TOP_K helps", who, reply.why), "TOP_K"};
      case Outcome::refused_us:
        if (reply.status == 401 || reply.status == 403) {
          return {ErrorCode::provider_failed, fmt::format("{} refused the key ({})", who, reply.why), key_variable};
        }
        if (reply.status == 404) return {ErrorCode::provider_failed, fmt::format("{} is not there ({})", who, reply.why), variable};
        return {ErrorCode::provider_failed, fmt::format("{} refused the call ({})", who, reply.why), variable};
      case Outcome::timed_out: return {ErrorCode::provider_failed, fmt::format("{} did not answer in time ({})", who, reply.why), "provider"};
      case Outcome::unavailable: return {ErrorCode::provider_failed, fmt::format("{} can't be reached ({})", who, reply.why), "provider"};
      case Outcome::answered:
      case Outcome::invalid:
      case Outcome::cancelled: break;
    }
    return {ErrorCode::provider_failed, fmt::format("{} gave no sound reply ({})", who, reply.why), "provider"};
  }
};

Llm::Llm(std::unique_ptr<State> state) : state_(std::move(state)) {}
Llm::~Llm() = default;

Result<std::unique_ptr<Llm>> Llm::create(const Settings& settings, const index::Index& index) {
  auto endpoint = endpoint_of(settings);
  if (!endpoint) return tl::unexpected(endpoint.error());
  auto models = models_of(settings, endpoint->url);
  if (!models) return tl::unexpected(models.error());
  auto state = std::make_unique<State>();
  state->index = &index;
  state->url = endpoint->url;
  state->key_variable = endpoint->key.variable;
  state->models = std::move(*models);
  proxy::Upstream upstream;
  upstream.url = endpoint->url;
  upstream.key = std::move(endpoint->key.value);
  auto client = proxy::make_chat_client(state->context.get_executor(), std::move(upstream));
  if (!client) {
    Error error = client.error();
    if (error.field == "upstream") error.field = "OPENAI_BASE_URL";
    if (error.field == "key") error.field = state->key_variable;
    return tl::unexpected(error);
  }
  state->client = std::move(*client);
  return std::unique_ptr<Llm>(new Llm(std::move(state)));
}

const std::string& Llm::url() const noexcept { return state_->url; }
const proxy::TaskModels& Llm::models() const noexcept { return state_->models; }

agent::EffectResult Llm::complete(const agent::CompleteRequest& request) {
  agent::EffectResult result;
  const std::string& model = state_->models.of(request.task);
  const auto call = proxy::task_call(request, *state_->index, model, max_tokens(request.task), false, proxy::dialect_of(state_->url));
  if (!call) {
    result.value = call.error();
    return result;
  }
  const auto end = std::chrono::steady_clock::now() + deadline;
  proxy::ChatReply reply = state_->call(call->body, end);
  auto pause = std::chrono::milliseconds(first_pause);
  for (int calls = 1; reply.outcome == Outcome::unavailable && calls < most_calls; ++calls, pause *= 4) {
    // Half of the pause is chance, so that several programs don't come back together.
    std::this_thread::sleep_for(pause / 2 + pause * std::uniform_int_distribution<>(0, 50)(state_->random) / 100);
    if (std::chrono::steady_clock::now() >= end) break;
    reply = state_->call(call->body, end);
  }
  if (reply.outcome != Outcome::answered) {
    result.value = state_->wrong(reply, request.task, model);
    return result;
  }
  result.model = reply.model.empty() ? model : reply.model;
  result.finish = reply.finish;
  if (reply.tokens_in && reply.tokens_out) {
    result.tokens = {*reply.tokens_in, *reply.tokens_out};
    result.cost_usd = proxy::cost_usd(state_->url, model, result.tokens);
  }
  result.value = agent::Completion{std::move(reply.text)};
  return result;
}

}  // namespace polygraph::cli
