// The boundary to JavaScript: one class, strings of JSON out. Every method answers {"ok": …} or
// {"error": {"code", "message", "field", "line"}} and never throws. Text offsets are Unicode code points.
#include <emscripten/bind.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "wasm/agent/agent.hpp"
#include "wasm/bindings/reply.hpp"
#include "wasm/index/reader.hpp"
#include "wasm/retrieval/retrieval.hpp"
#include "wasm/retrieval/typeahead.hpp"
#include "wasm/text/terms.hpp"
#include "wasm/text/utf8.hpp"
#include "wasm/trace/base64.hpp"
#include "wasm/trace/effect_json.hpp"
#include "wasm/trace/trace.hpp"

namespace polygraph {
namespace {

using namespace bindings;

/// `object` and one member more, which is JSON text already: parsing it here could change the form of its numbers.
std::string ok_with(const Json& object, const std::string& key, const std::string& json) {
  std::string text = dump(object);
  text.pop_back();
  return ok_text(text + ",\"" + key + "\":" + json + "}");
}

/// Turns byte offsets into code point offsets; ask for them in rising order.
class CodePointOffsets {
 public:
  explicit CodePointOffsets(std::string_view text) : text_(text) {}
  std::uint32_t at(std::uint32_t byte) {
    if (byte < byte_) byte_ = count_ = 0;
    count_ += static_cast<std::uint32_t>(text::code_points(text_.substr(byte_, byte - byte_)));
    byte_ = byte;
    return count_;
  }

 private:
  std::string_view text_;
  std::uint32_t byte_ = 0, count_ = 0;
};

/// {"config": {"preset", "set": {NAME: value}}, "embedder_missing", "reranker_missing"}
struct StartOptions {
  agent::Config config;
  agent::Options agent;
};

Result<StartOptions> parse_options(const std::string& text, std::optional<agent::Config> base = {}) {
  const Json json = Json::parse(std::string_view(text), nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::invalid_json, "the options are no JSON object", "options");
  const auto string_of = [](const Json& object, const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : std::string();
  };
  StartOptions options;
  const Json config = json.contains("config") ? json["config"] : Json::object();
  const std::string preset = string_of(config, "preset");
  if (!preset.empty() || !base) {
    auto chosen = agent::preset(preset.empty() ? "tuned" : preset);
    if (!chosen) return tl::unexpected(chosen.error());
    options.config = *chosen;
  } else {
    options.config = *base;
  }
  if (config.is_object() && config.contains("set") && config["set"].is_object()) {
    for (const auto& [key, value] : config["set"].items()) {
      if (auto done = agent::set(options.config, key, value.is_string() ? value.get<std::string>() : value.dump()); !done) {
        return tl::unexpected(done.error());
      }
    }
  }
  options.agent.embedder_missing = string_of(json, "embedder_missing");
  options.agent.reranker_missing = string_of(json, "reranker_missing");
  return options;
}

class Engine {
 public:
  /// Room for `bytes` bytes of an index file; the caller writes them at the pointer as they arrive.
  std::string reserve(std::size_t bytes) {
    return guarded([&] {
      runs_.clear();
      index_.reset();
      bytes_ = std::vector<std::byte>(bytes);
      return ok({{"pointer", reinterpret_cast<std::uintptr_t>(bytes_.data())}});
    });
  }

  std::string extent(std::size_t received) const {
    return guarded([&] {
      auto extent = index::extent(arrived(received));
      return extent ? ok({{"lexical", extent->lexical}, {"all", extent->all}}) : failure(extent.error());
    });
  }

  std::string open_lexical(std::size_t received) { return open(received, index::Part::lexical); }
  std::string open_all(std::size_t received) { return open(received, index::Part::all); }

  std::string typeahead(const std::string& query, std::uint32_t limit) const {
    return guarded([&]() -> std::string {
      if (!index_) return no_index();
      Json hits = Json::array();
      for (const auto& hit : retrieval::typeahead(*index_, query, limit)) {
        const auto chunk = index_->chunk(hit.chunk);
        CodePointOffsets offsets(chunk.text);
        Json marks = Json::array();
        for (const auto& [begin, end] : hit.marks) {
          const auto first = offsets.at(begin);
          marks.push_back({first, offsets.at(end)});
        }
        hits.push_back({{"id", index_->chunk_id(hit.chunk)},
                        {"title", index_->document(chunk.document).title},
                        {"heading_path", chunk.heading_path},
                        {"url", index_->chunk_url(hit.chunk)},
                        {"text", chunk.text},
                        {"score", hit.score},
                        {"marks", std::move(marks)}});
      }
      return ok({{"hits", std::move(hits)}});
    });
  }

  std::string chunk(const std::string& id) const {
    return guarded([&]() -> std::string {
      if (!index_) return no_index();
      const auto no = index_->find_chunk(id);
      if (!no) return failure({ErrorCode::not_found, "no passage " + id + " in this index", "id"});
      const auto chunk = index_->chunk(*no);
      const auto document = index_->document(chunk.document);
      CodePointOffsets offsets(chunk.text);
      Json links = Json::array();
      for (const auto& link : index_->links(*no)) {
        const auto begin = offsets.at(link.begin);
        links.push_back({{"begin", begin}, {"end", offsets.at(link.end)}, {"target", link.target}});
      }
      return ok({{"id", id},
                 {"document_id", document.id},
                 {"title", document.title},
                 {"heading_path", chunk.heading_path},
                 {"url", index_->chunk_url(*no)},
                 {"text", chunk.text},
                 {"licence", document.licence.empty() ? std::string_view(index_->metadata().licence) : document.licence},
                 {"links", std::move(links)}});
    });
  }

  /// All of them, in chunk order.
  std::string chunk_ids() const {
    return guarded([&]() -> std::string {
      if (!index_) return no_index();
      Json ids = Json::array();
      for (index::ChunkNo no = 0; no < index_->chunks(); ++no) ids.push_back(index_->chunk_id(no));
      return ok({{"ids", std::move(ids)}});
    });
  }

  std::string presets() const {
    return guarded([] {
      Json presets = Json::array();
      Json values = Json::object();
      for (const auto name : agent::preset_names()) {
        presets.push_back(name);
        const auto config = agent::preset(name).value();
        Json options = Json::object();
        for (const auto option : agent::option_names()) options[std::string(option)] = agent::get(config, option).value();
        values[std::string(name)] = std::move(options);
      }
      return ok({{"presets", std::move(presets)}, {"values", std::move(values)}});
    });
  }

  std::string start(const std::string& question, const std::string& options_json) {
    return guarded([&]() -> std::string {
      if (!index_) return no_index();
      auto options = parse_options(options_json);
      if (!options) return failure(options.error());
      auto agent = agent::Agent::create(*index_, question, options->config, options->agent);
      if (!agent) return failure(agent.error());
      return begin(std::move(*agent), {});
    });
  }

  std::string fork(const std::string& trace_json, std::uint32_t step, const std::string& options_json) {
    return guarded([&]() -> std::string {
      if (!index_) return no_index();
      auto recorded = trace::parse(trace_json);
      if (!recorded) return failure(recorded.error());
      auto options = parse_options(options_json, recorded->config);
      if (!options) return failure(options.error());
      auto forked = trace::Fork::create(*index_, trace_json, step, options->config, options->agent);
      if (!forked) return failure(forked.error());
      return begin(std::move(*forked), {});
    });
  }

  std::string resume(std::uint32_t run, std::uint32_t effect, const std::string& result_json) {
    return guarded([&]() -> std::string {
      auto* state = find(run);
      if (state == nullptr) return no_run(run);
      auto result = trace::effect_result_from_json(result_json);
      if (!result) return failure(result.error());
      auto effects = std::visit([&](auto& machine) { return machine.resume(effect, std::move(*result)); }, *state);
      if (!effects) return failure(effects.error());
      return ok(progress(*state, *effects));
    });
  }

  std::string abort(std::uint32_t run, const std::string& code, const std::string& message) {
    return guarded([&]() -> std::string {
      auto* state = find(run);
      if (state == nullptr) return no_run(run);
      auto* agent = std::get_if<agent::Agent>(state);
      if (agent == nullptr) {
        runs_.erase(run);
      } else {
        agent->abort({error_code(code), message});
      }
      return ok(Json::object());
    });
  }

  std::string trace(std::uint32_t run, bool with_text) const {
    return guarded([&]() -> std::string {
      const auto found = runs_.find(run);
      if (found == runs_.end()) return no_run(run);
      trace::WriteOptions write;
      write.with_text = with_text;
      write.index = &*index_;
      return ok_text(trace::to_json(record(found->second), write));
    });
  }

  std::string replay(const std::string& trace_json) const {
    return guarded([&]() -> std::string {
      if (!index_) return no_index();
      auto replay = trace::replay(*index_, trace_json);
      if (!replay) return failure(replay.error());
      return ok_with({{"identical", replay->identical}, {"difference", replay->difference}, {"step", replay->step}, {"effect", replay->effect}},
                     "trace", trace::to_json(replay->run));
    });
  }

  /// The first `limit` chunks of BM25F, and of exact dense search for a vector in base64: {"ranked": [{"id", "score"}]}.
  std::string rank_lexical(const std::string& query, std::uint32_t limit) const {
    return guarded([&]() -> std::string {
      if (!index_) return no_index();
      retrieval::Retrieval retrieval(*index_, query, one_stage(retrieval::Mode::bm25, limit));
      return ranked(retrieval, retrieval.bm25_scores());
    });
  }
  std::string rank_dense(const std::string& vector_base64, std::uint32_t limit) const {
    return guarded([&]() -> std::string {
      if (!index_) return no_index();
      const auto vector = trace::floats_from_base64(vector_base64);
      if (!vector) return failure({ErrorCode::invalid_argument, "the vector is no base64 of 32-bit floats", "vector"});
      retrieval::Retrieval retrieval(*index_, {}, one_stage(retrieval::Mode::dense, limit));
      if (auto done = retrieval.set_embedding(*vector); !done) return failure(done.error());
      return ranked(retrieval, retrieval.dense_scores());
    });
  }

  /// Scores of the lexical and dense stages over all chunks, for tests that hold this build against the native one.
  std::string scores(const std::string& query, const std::string& vector_json) const {
    return guarded([&]() -> std::string {
      if (!index_) return no_index();
      retrieval::Config config;
      config.fusion = retrieval::Fusion::mix;
      retrieval::Retrieval retrieval(*index_, query, config);
      const Json json = Json::parse(std::string_view(vector_json), nullptr, false);
      std::vector<float> vector;
      if (json.is_array()) {
        for (const auto& value : json) vector.push_back(value.is_number() ? value.get<float>() : 0.0F);
      }
      if (vector.empty()) {
        retrieval.skip_embedding("no vector was given");
      } else if (auto done = retrieval.set_embedding(vector); !done) {
        return failure(done.error());
      }
      Json ranked = Json::array();
      for (const auto& candidate : retrieval.ranked()) ranked.push_back(index_->chunk_id(candidate.chunk));
      const auto bm25 = retrieval.bm25_scores();
      const auto dense = retrieval.dense_scores();
      return ok({{"bm25", std::vector<double>(bm25.begin(), bm25.end())}, {"dense", std::vector<double>(dense.begin(), dense.end())},
                 {"ranked", std::move(ranked)}});
    });
  }

  /// Token ids and terms of a text, for the same tests.
  std::string analyse(const std::string& text) const {
    return guarded([&]() -> std::string {
      if (!index_) return no_index();
      Json ids = Json::array();
      if (const auto* vocabulary = index_->vocabulary()) ids = text::WordPiece(*vocabulary).encode(text, 512).ids;
      Json words = Json::array();
      for (const auto& term : text::terms(text, index_->metadata().analysis)) words.push_back(term.text);
      return ok({{"token_ids", std::move(ids)}, {"terms", std::move(words)}});
    });
  }

  void release(std::uint32_t run) { runs_.erase(run); }

 private:
  static retrieval::Config one_stage(retrieval::Mode mode, std::uint32_t limit) {
    retrieval::Config config;
    config.mode = mode;
    config.list_length = limit;
    return config;
  }
  std::string ranked(const retrieval::Retrieval& retrieval, std::span<const double> scores) const {
    Json list = Json::array();
    for (const auto& candidate : retrieval.ranked()) {
      list.push_back({{"id", index_->chunk_id(candidate.chunk)}, {"score", scores.empty() ? Json() : Json(scores[candidate.chunk])}});
    }
    return ok({{"ranked", std::move(list)}});
  }

  using Machine = std::variant<agent::Agent, trace::Fork>;

  static std::string no_index() { return failure({ErrorCode::invalid_argument, "no index is open", "index"}); }
  static std::string no_run(std::uint32_t run) { return failure({ErrorCode::not_found, "no run " + std::to_string(run), "run"}); }

  static const agent::Run& record(const Machine& machine) {
    if (const auto* agent = std::get_if<agent::Agent>(&machine)) return agent->run();
    return std::get<trace::Fork>(machine).agent().run();
  }

  std::span<const std::byte> arrived(std::size_t received) const { return std::span(bytes_).first(std::min(received, bytes_.size())); }

  std::string open(std::size_t received, index::Part part) {
    return guarded([&]() -> std::string {
      auto opened = index::Index::open(arrived(received), part);
      if (!opened) return failure(opened.error());
      // Runs hold a pointer to the index object: it is assigned in place, and its bytes stay where they are.
      if (index_ && !runs_.empty()) runs_.clear();
      index_ = std::move(*opened);
      return ok_with({{"digest", index_->digest()},
                      {"documents", index_->documents()},
                      {"chunks", index_->chunks()},
                      {"part", part == index::Part::all ? "all" : "lexical"}},
                     "metadata", index::to_json(index_->metadata()));
    });
  }

  Machine* find(std::uint32_t run) {
    const auto found = runs_.find(run);
    return found == runs_.end() ? nullptr : &found->second;
  }

  std::string begin(Machine machine, Json more) {
    const std::uint32_t run = next_run_++;
    auto& state = runs_.emplace(run, std::move(machine)).first->second;
    const auto effects = std::visit([](auto& m) { return m.start(); }, state);
    more["run"] = run;
    more.update(progress(state, effects));
    return ok(std::move(more));
  }

  static Json progress(const Machine& machine, const std::vector<agent::Effect>& effects) {
    Json list = Json::array();
    for (const auto& effect : effects) list.push_back(trace::effect_to_json(effect));
    Json json = {{"effects", std::move(list)}, {"finished", record(machine).status != agent::Status::running}};
    if (const auto* fork = std::get_if<trace::Fork>(&machine)) json["served"] = fork->served();
    return json;
  }

  std::vector<std::byte> bytes_;
  std::optional<index::Index> index_;
  std::map<std::uint32_t, Machine> runs_;
  std::uint32_t next_run_ = 1;
};

}  // namespace
}  // namespace polygraph

EMSCRIPTEN_BINDINGS(polygraph) {
  using polygraph::Engine;
  emscripten::class_<Engine>("Engine")
      .constructor<>()
      .function("reserve", &Engine::reserve)
      .function("extent", &Engine::extent)
      .function("openLexical", &Engine::open_lexical)
      .function("openAll", &Engine::open_all)
      .function("typeahead", &Engine::typeahead)
      .function("chunk", &Engine::chunk)
      .function("chunkIds", &Engine::chunk_ids)
      .function("presets", &Engine::presets)
      .function("start", &Engine::start)
      .function("fork", &Engine::fork)
      .function("resume", &Engine::resume)
      .function("abort", &Engine::abort)
      .function("trace", &Engine::trace)
      .function("replay", &Engine::replay)
      .function("rankLexical", &Engine::rank_lexical)
      .function("rankDense", &Engine::rank_dense)
      .function("scores", &Engine::scores)
      .function("analyse", &Engine::analyse)
      .function("release", &Engine::release);
}
