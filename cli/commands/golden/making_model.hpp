// The language model of a stage of making a golden set: asked through the one caller of every command, so each reply is kept.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/provider.hpp"
#include "proxy/tasks/golden_prompts.hpp"
#include "wasm/error.hpp"
#include "wasm/golden/making.hpp"

namespace polygraph::cli {

struct MakingModelOptions {
  std::string provider, model, grader;
  CallerChoices calls;
};
/// --provider, --model, --store, --no-cache, --wait; `labels`: --grader too.
void add_model_options(CLI::App& command, MakingModelOptions& options, bool labels);

class MakingModel {
 public:
  /// The model of --model, else of `variable`. Nothing without a provider. `labels`: fails with `invalid_argument` for the grader under test.
  static Result<std::unique_ptr<MakingModel>> create(const Settings& settings, const MakingModelOptions& options, const std::string& variable, bool labels);

  const std::string& model() const noexcept { return model_; }
  const std::string& provider() const noexcept { return provider_.name; }

  /// A failure of one item (a reply that can't be read, even when asked again) has the code `provider_failed` and `item_only`.
  struct Failure {
    Error error;
    bool item_only = false;
  };
  template <class T>
  using Outcome = tl::expected<T, Failure>;
  Outcome<std::vector<golden::Label>> label(std::string_view question, const std::vector<std::string>& passages);
  Outcome<golden::Drafted> draft(golden::ItemType type, std::string_view title, std::string_view heading, std::string_view passage);

 private:
  Outcome<std::string> ask(const proxy::GoldenPrompt& prompt, const char* role, std::function<std::optional<std::string>(std::string_view)> check);

  std::string model_, variable_;
  Provider provider_;
  std::unique_ptr<proxy::Caller> caller_;
};

/// The labels of a pool, by chunk id.
MakingModel::Outcome<golden::Labels> label_pool(MakingModel& model, const index::Index& index, const golden::Item& item, const std::vector<std::string>& pool);

}  // namespace polygraph::cli
