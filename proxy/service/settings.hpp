// The settings of the routes to models: PROXY_NAME in the environment or --set NAME=VALUE, as `serve --help` lists them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "proxy/http/settings.hpp"
#include "proxy/store/store.hpp"
#include "proxy/tasks/tasks.hpp"

namespace polygraph::proxy {

struct ServiceSettings {
  std::chrono::milliseconds upstream_deadline{30'000};  ///< queueing, calls and waits of one task
  std::size_t upstream_max_bytes = 1 << 20;             ///< a reply
  unsigned upstream_concurrency = 4;
  std::size_t upstream_queue = 64;                      ///< tasks that wait for one of those
  ModelLimits limits;                                   ///< of each model
  std::uint64_t client_burst = 20, client_per_minute = 30;
  TaskModels models;
  std::vector<std::string> allowed_models;              ///< empty: the three of `models`
  std::size_t max_tokens_grade = 512, max_tokens_rewrite = 256, max_tokens_generate = 1024;
  std::size_t max_question_chars = 2000;                ///< code points of every text field
  std::size_t max_chunks = 20;
  bool log_questions = false;
  std::string question_log;                             ///< a file of the questions alone (question_log.hpp); empty: none
  std::uint64_t question_log_bytes = 16 << 20;          ///< of it, and of the one older file that is kept

  std::size_t max_tokens(agent::Task task) const;
  bool allows(std::string_view model) const;
  /// Distinct models that may be asked for.
  std::vector<std::string> all_models() const;
};

/// The settings above for http::read_settings, which writes into `settings`; that must outlive the call.
std::vector<http::ExtraSetting> extra_settings(ServiceSettings& settings);

}  // namespace polygraph::proxy
