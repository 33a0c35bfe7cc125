#include "cli/chromium.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/installation.hpp"
#include "proxy/models/child_process.hpp"

namespace polygraph::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Without a line for this long, Chromium is given up. It covers loading both models on a slow, busy machine.
constexpr std::chrono::minutes silence{5};
constexpr std::chrono::seconds grace{10};

/// One JSON object on one line.
std::string request(const agent::Config& config, bool models, std::span<const std::string> questions) {
  Json set = Json::object();
  for (const std::string_view option : agent::option_names()) set[std::string(option)] = agent::get(config, option).value_or("");
  // Neither decides anything about the first retrieval; so nothing is graded, and the page is told that nobody generates.
  set["USE_REFLECTION"] = "false";
  set["PROVIDER"] = "proxy";
  const Json json = {{"config", {{"preset", "tuned"}, {"set", set}}}, {"models", models}, {"questions", std::vector<std::string>(questions.begin(), questions.end())}};
  return json.dump() + '\n';
}

}  // namespace

Result<Chromium> retrieve_in_chromium(const Settings& settings, const std::filesystem::path& index, const agent::Config& config, bool models,
                                      std::span<const std::string> questions, const std::function<Result<bool>(std::string_view trace)>& on_trace) {
  const auto folder = distribution(settings);
  const auto script = folder / "parity.mjs", site = folder / "site";
  for (const auto& file : {script, site / "site.json"}) {
    if (!std::filesystem::exists(file)) return fail(ErrorCode::model_unavailable, fmt::format("{} is missing; `./polygraph build` builds it", file.string()), "site");
  }
  auto node = models::find_program(node_program(settings));
  if (!node) return fail(ErrorCode::model_unavailable, node.error().message + "; it drives Chromium", "POLYGRAPH_NODE");
  std::error_code ignored;
  auto child = models::ChildProcess::start({node->string(), script.string(), site.string(), std::filesystem::absolute(index, ignored).string()});
  if (!child) return tl::unexpected(child.error());

  const std::string asked = request(config, models, questions);
  std::span<const std::byte> out = std::as_bytes(std::span(asked));
  std::vector<std::byte> in;
  std::size_t told = 0;
  std::optional<Chromium> chromium;
  while (!chromium || told < questions.size()) {
    const auto turn = child->exchange(out, in, silence);
    out = out.subspan(turn.written);
    if (turn.event == models::ChildProcess::Event::silent) return fail(ErrorCode::model_unavailable, fmt::format("Chromium said nothing for {} minutes", silence.count()), "chromium");
    if (turn.event == models::ChildProcess::Event::ended) {
      const auto ending = child->stop(grace);
      return fail(ErrorCode::model_unavailable, child->errors().empty() ? "Chromium's driver " + ending.words : child->errors().substr(0, child->errors().find_last_not_of('\n') + 1), "chromium");
    }
    const std::string_view text(reinterpret_cast<const char*>(in.data()), in.size());
    std::size_t at = 0;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; at = end + 1, end = text.find('\n', at)) {
      const std::string_view line = text.substr(at, end - at);
      if (!chromium) {
        const auto facts = Json::parse(line, nullptr, false);
        if (!facts.is_object()) return fail(ErrorCode::internal, "the first line of Chromium's driver is no JSON object", "chromium");
        chromium = Chromium{facts.value("chromium", std::string()), facts.value("threads", 0U)};
        continue;
      }
      ++told;
      auto go_on = on_trace(line);
      if (!go_on) return tl::unexpected(go_on.error());
      if (!*go_on) return *chromium;
    }
    in.erase(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(at));
  }
  child->stop(grace);
  return *chromium;
}

}  // namespace polygraph::cli
