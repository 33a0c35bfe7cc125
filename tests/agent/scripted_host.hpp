// The other end of the agent's pipe in tests: a small index, and a host whose vectors, logits and replies are test input
// values, so that a whole run happens in memory.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/agent/agent.hpp"
#include "wasm/index/model_text.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/index/writer.hpp"

namespace polygraph::test {

inline constexpr std::uint32_t dimensions = 32;

/// A vector that depends on the token ids alone; texts that share tokens lie near each other.
inline std::vector<float> bag_of_tokens(const std::vector<text::TokenId>& ids) {
  std::vector<float> vector(dimensions, 0.01F);
  for (std::size_t i = 1; i + 1 < ids.size(); ++i) {
    const auto hash = static_cast<std::uint32_t>(ids[i]) * 2654435761U;
    vector[hash >> 27] += 1.0F;
    vector[(hash >> 22) & 31] += 0.5F;
  }
  double sum = 0;
  for (const float x : vector) sum += static_cast<double>(x) * x;
  for (float& x : vector) x = static_cast<float>(x / std::sqrt(sum));
  return vector;
}

/// The words that matter in the test corpus come first in its vocabulary.
inline constexpr text::TokenId first_content_word = 5, last_content_word = 18;

/// Words of the test corpus that are tokens of their own; everything else is spelled in letters.
inline std::string vocabulary() {
  std::string lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const char* word : {"limit", "memory", "container", "docker", "volume", "data", "log", "driver", "build", "cache", "network", "image", "set",
                           "flag", "how", "do", "i", "the", "of", "a", "is", "what", "with", "use", "to", "and"}) {
    lines += std::string(word) + "\n";
  }
  for (char c = '!'; c <= '~'; ++c) {
    if (c >= 'A' && c <= 'Z') continue;
    if (c == 'a' || c == 'i') {
      lines += std::string("##") + c + "\n";
      continue;
    }
    lines += std::string(1, c) + "\n##" + c + "\n";
  }
  return lines;
}

struct SmallIndex {
  std::vector<std::byte> bytes;
  std::unique_ptr<index::Index> index;
};

/// Pages of our own about a made-up subset of container tooling. Throws nothing; a failure leaves `index` empty.
inline SmallIndex small_index(bool with_vectors = true) {
  index::IndexInput input;
  input.metadata.corpus = "test";
  input.metadata.revision = "r1";
  input.metadata.title = "Test pages";
  input.metadata.licence = "CC0-1.0";
  input.metadata.embedder = {"hashing", "e0", with_vectors ? dimensions : 0, "query: ", 64};
  input.metadata.reranker = {"scripted", "r0", 0, "", 64};
  const auto page = [&](std::string id, std::string title, std::vector<std::pair<std::string, std::string>> chunks) {
    index::DocumentInput document;
    document.id = std::move(id);
    document.title = std::move(title);
    document.url = "https://docs.example/" + document.id;
    for (auto& [heading, text] : chunks) {
      index::ChunkInput chunk;
      chunk.heading_path = heading;
      chunk.anchor = heading.empty() ? "" : "part";
      chunk.text = text;
      document.chunks.push_back(std::move(chunk));
    }
    input.documents.push_back(std::move(document));
  };
  page("run/memory", "Memory limits",
       {{"", "A container may use all memory of its host. Limits keep one container from starving the others."},
        {"Limit a container's memory", "To limit the memory of a container, use the `--memory` flag:\n\n```console\n$ docker run --memory 512m alpine\n```\n\nThe smallest limit is 6 megabytes."}});
  page("store/volumes", "Volumes",
       {{"", "A volume keeps data after its container is gone. Create one with `docker volume create`."},
        {"Remove a volume", "Remove a volume with `docker volume rm`. Its data is lost."}});
  page("log/drivers", "Logging drivers",
       {{"", "The log driver decides where a container's output goes. The local driver keeps 100 megabytes by default."},
        {"Options", "| Option | Meaning |\n| --- | --- |\n| `max-size` | size of a log file |\n| `max-file` | number of log files |"}});
  page("build/cache", "Build cache", {{"", "The build cache keeps the layers of an image. Prune it with `docker builder prune`."}});
  page("net/bridge", "Bridge network", {{"", "Containers on one bridge network reach each other by name."},
                                        {"Ports", "Publish a port with `-p`:\n\n- `-p 80:80` publishes one port.\n- `-P` publishes all exposed ports."}});
  input.vocabulary = vocabulary();
  if (with_vectors) {
    const auto words = text::Vocabulary::parse(input.vocabulary);
    const text::WordPiece word_piece(*words);
    for (const auto& document : input.documents) {
      for (const auto& chunk : document.chunks) {
        const auto vector = bag_of_tokens(word_piece.encode(index::model_text(document.title, chunk.heading_path, chunk.text), 64).ids);
        input.vectors.insert(input.vectors.end(), vector.begin(), vector.end());
      }
    }
  }
  SmallIndex small;
  auto bytes = index::write_index(input);
  if (!bytes) return small;
  small.bytes = std::move(*bytes);
  auto opened = index::Index::open(small.bytes);
  if (opened) small.index = std::make_unique<index::Index>(std::move(*opened));
  return small;
}

/// Answers effects from a script. Logits: content words that question and passage share, less a constant.
struct ScriptedHost {
  std::deque<std::string> replies;                 ///< to `complete` effects, in order
  std::string finish = "stop";                     ///< of completions
  std::optional<Error> embed_error, score_error, complete_error, time_error;
  std::optional<std::size_t> most_logits;          ///< a spent time budget
  bool cached = false;                             ///< of model calls
  double clock_ms = 1000;
  std::map<agent::EffectKind, int> asked;
  std::vector<agent::CompleteRequest> completes;   ///< what was asked, in order

  agent::EffectResult answer(const agent::Effect& effect) {
    ++asked[effect.kind()];
    agent::EffectResult result;
    result.cached = cached;
    if (const auto* embed = std::get_if<agent::EmbedRequest>(&effect.request)) {
      clock_ms += 7.25;
      result.ms = 7.25;
      result.model = "hashing";
      result.value = agent::Embedding{bag_of_tokens(embed->token_ids)};
      if (embed_error) result.value = *embed_error;
    } else if (const auto* score = std::get_if<agent::ScoreRequest>(&effect.request)) {
      clock_ms += 90.5;
      result.ms = 90.5;
      result.model = "scripted";
      agent::Logits logits;
      for (const agent::TokenPair& pair : score->pairs) {
        int shared = 0;
        for (std::size_t i = pair.split; i < pair.token_ids.size(); ++i) {
          if (pair.token_ids[i] < first_content_word || pair.token_ids[i] > last_content_word) continue;
          for (std::size_t q = 1; q + 1 < pair.split; ++q) shared += pair.token_ids[i] == pair.token_ids[q] ? 1 : 0;
        }
        logits.values.push_back(static_cast<float>(shared) * 1.5F - 4.0F);
      }
      if (most_logits && logits.values.size() > *most_logits) logits.values.resize(*most_logits);
      result.value = std::move(logits);
      if (score_error) result.value = *score_error;
    } else if (const auto* complete = std::get_if<agent::CompleteRequest>(&effect.request)) {
      completes.push_back(*complete);
      clock_ms += 300;
      result.ms = 300;
      result.model = "scripted-llm";
      result.tokens = {100, 20};
      result.cost_usd = 0.0001;
      result.finish = finish;
      if (replies.empty()) {
        result.value = Error{ErrorCode::provider_failed, "the script has no more replies"};
      } else {
        result.value = agent::Completion{replies.front()};
        replies.pop_front();
      }
      if (complete_error) result.value = *complete_error;
    } else {
      result.cached = false;
      clock_ms += 0.5;
      result.value = agent::Time{"2026-01-02T03:04:05.678Z", clock_ms};
      if (time_error) result.value = *time_error;
    }
    return result;
  }
};

/// Runs to the end; `latest_first` answers each batch in reverse.
template <class Machine>
void drive(Machine& machine, ScriptedHost& host, bool latest_first = false) {
  std::deque<agent::Effect> open;
  for (auto& effect : machine.start()) open.push_back(std::move(effect));
  while (!open.empty()) {
    agent::Effect effect = latest_first ? std::move(open.back()) : std::move(open.front());
    latest_first ? open.pop_back() : open.pop_front();
    auto next = machine.resume(effect.id, host.answer(effect));
    if (!next) return;
    for (auto& each : *next) open.push_back(std::move(each));
  }
}

inline agent::Config config(std::string_view preset, std::initializer_list<std::pair<std::string_view, std::string_view>> options = {}) {
  agent::Config made = *agent::preset(preset);
  for (const auto& [name, value] : options) (void)agent::set(made, name, value);
  return made;
}

inline agent::Run run(const index::Index& index, std::string question, const agent::Config& config, ScriptedHost& host, agent::Options options = {},
                      bool latest_first = false) {
  auto agent = agent::Agent::create(index, std::move(question), config, std::move(options));
  if (!agent) return {};
  drive(*agent, host, latest_first);
  return agent->run();
}

inline std::vector<agent::Node> nodes(const agent::Run& run) {
  std::vector<agent::Node> out;
  for (const agent::Step& step : run.steps) out.push_back(step.node());
  return out;
}

}  // namespace polygraph::test
