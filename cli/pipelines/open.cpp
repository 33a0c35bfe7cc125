// How a pipeline is written on the command line.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/pipelines/command_pipeline.hpp"
#include "cli/pipelines/http_pipeline.hpp"
#include "cli/pipelines/pipeline.hpp"
#include "proxy/models/child_process.hpp"

namespace polygraph::pipelines {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> shipped{"dense", "hybrid", "hybrid_rerank"};
constexpr std::string_view accepted = "`cmd:COMMAND`, a file .py, .mjs or .js, an http:// or https:// address, or one of those that come with "
                                      "Polygraph (dense, hybrid, hybrid_rerank)";

Result<std::unique_ptr<Pipeline>> open_file(const fs::path& file, const Options& options) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return fail(ErrorCode::not_found, fmt::format("the pipeline's file {} is not there", file.string()), "pipeline");
  const bool python = file.extension() == ".py";
  const fs::path shim = options.shims / (python ? "polygraph_pipeline.py" : "polygraph-pipeline.mjs");
  if (options.shims.empty() || !fs::is_regular_file(shim, error)) {
    return fail(ErrorCode::not_found, fmt::format("{}, which runs pipelines of this kind, is not there", shim.string()), "pipeline");
  }
  const auto interpreter = models::find_program(python ? options.python : options.node);
  if (!interpreter) {
    return fail(ErrorCode::not_found, fmt::format("{} runs with {}: {}; --{} names another", file.string(), python ? "Python" : "Node.js",
                                                  interpreter.error().message, python ? "python" : "node"), "pipeline");
  }
  std::vector<std::string> argv;
  if (!options.program.empty()) argv = {"/usr/bin/env", "POLYGRAPH_PROGRAM=" + options.program.string()};
  argv.insert(argv.end(), {interpreter->string(), fs::absolute(shim, error).string(), file.string()});
  return open_command(std::move(argv), file.string(), options);
}

}  // namespace

fs::path shim_folder(const fs::path& distribution) {
  std::error_code error;
  auto folder = fs::absolute(distribution, error).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // it was written with a slash at its end
  const auto installed = folder / "pipelines";
  return fs::is_directory(installed, error) ? installed : folder.parent_path() / "assets" / "pipelines";
}

std::span<const std::string_view> shipped_pipelines() { return shipped; }

Result<std::unique_ptr<Pipeline>> open(std::string_view pipeline, const Options& options) {
  constexpr std::string_view command = "cmd:";
  if (pipeline.starts_with(command)) {
    const std::string_view line = pipeline.substr(command.size());
    if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return fail(ErrorCode::invalid_argument, "cmd: is followed by no command", "pipeline");
    return open_command({"/bin/sh", "-c", std::string(line)}, std::string(line), options);
  }
  if (pipeline.starts_with("http://") || pipeline.starts_with("https://")) return open_http(pipeline, options);
  if (std::find(shipped.begin(), shipped.end(), pipeline) != shipped.end()) return open_file(options.shims / (std::string(pipeline) + ".py"), options);
  const fs::path file(pipeline);
  for (const char* const known : {".py", ".mjs", ".js"}) {
    if (file.extension() == known) return open_file(file, options);
  }
  return fail(ErrorCode::invalid_argument, fmt::format("`{}` is no pipeline: it is {}", pipeline, accepted), "pipeline");
}

}  // namespace polygraph::pipelines
