#include "cli/site/built_site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/mapped_file.hpp"
#include "cli/site/compression.hpp"

namespace polygraph::cli::site {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view record_begin = "<meta name=\"polygraph-site\" content=\"", list_begin = "const MANIFEST=", list_end = ";\n";
constexpr std::string_view policy_marker = "<!--polygraph-policy-->";

std::string attribute(std::string text) {
  text = replaced(std::move(text), "&", "&amp;");
  text = replaced(std::move(text), "\"", "&quot;");
  return replaced(std::move(text), "<", "&lt;");
}

/// Where the list stands in the service worker; its length is npos where there is none.
std::pair<std::size_t, std::size_t> list_place(std::string_view worker) {
  if (!worker.starts_with(list_begin)) return {0, std::string_view::npos};
  const auto end = worker.find(list_end);
  return {list_begin.size(), end == std::string_view::npos ? end : end - list_begin.size()};
}

Result<std::string> text_of(const fs::path& folder, const std::string& name) {
  auto text = read_text((folder / name).string());
  if (text) return text;
  if (text.error().code != ErrorCode::not_found) return fail(text.error().code, text.error().message, name);
  return fail(ErrorCode::not_found, "there is no built site here; `./polygraph build` makes one", name);
}

/// What every site has, so that what is read later can't be missing.
std::optional<Error> missing_part(const BuiltSite& site) {
  const auto text_at = [](const Json& object, const char* name) { return object.contains(name) && object[name].is_string(); };
  const auto& record = site.record;
  std::vector<std::string> needed;
  for (const auto* name : {"version", "engine", "engine_wasm", "engine_baseline", "engine_baseline_wasm", "engine_worker", "model_worker", "examples", "tasks"}) {
    if (!record.is_object() || !text_at(record, name)) return Error{ErrorCode::invalid_json, fmt::format("\"{}\" is missing; build the site again", name), "site.json"};
    if (std::string_view(name) != "version") needed.push_back(record[name]);
  }
  const bool lists = record.contains("ort") && record["ort"].is_object() && text_at(record["ort"], "mjs") && text_at(record["ort"], "wasm") && record.contains("index") &&
                     record["index"].is_object() && text_at(record["index"], "url") && text_at(record["index"], "digest") && record.contains("models") &&
                     record["models"].is_array();
  if (!lists) return Error{ErrorCode::invalid_json, "\"ort\", \"index\" or \"models\" is missing; build the site again", "site.json"};
  needed.insert(needed.end(), {record["ort"]["mjs"], record["ort"]["wasm"], record["index"]["url"], "index.html"});
  for (const auto& model : record["models"]) {
    if (!text_at(model, "url") || !text_at(model, "role") || !text_at(model, "sha256")) return Error{ErrorCode::invalid_json, "a model has no address; build the site again", "site.json"};
    needed.push_back(model["url"]);
  }
  const auto& offline = site.offline;
  if (!offline.is_object() || !offline.contains("files") || !offline["files"].is_array()) {
    return Error{ErrorCode::invalid_json, "has no list of what to keep; build the site again", "service-worker.js"};
  }
  for (const auto& file : needed) {
    if (!std::binary_search(site.files.begin(), site.files.end(), file)) return Error{ErrorCode::corrupt, "is missing from the built site; build it again", file};
  }
  return std::nullopt;
}

}  // namespace

std::string replaced(std::string text, std::string_view old, std::string_view with) {
  for (auto at = text.find(old); at != std::string::npos; at = text.find(old, at + with.size())) text.replace(at, old.size(), with);
  return text;
}

Result<BuiltSite> read_built_site(const fs::path& folder) {
  BuiltSite site;
  site.folder = folder;
  auto record = text_of(folder, "site.json");
  if (!record) return tl::unexpected(record.error());
  auto worker = text_of(folder, "service-worker.js");
  if (!worker) return tl::unexpected(worker.error());
  site.record = Json::parse(*record, nullptr, false);
  const auto [at, length] = list_place(*worker);
  site.offline = length == std::string_view::npos ? Json() : Json::parse(worker->substr(at, length), nullptr, false);

  std::error_code error;
  for (fs::recursive_directory_iterator each(folder, error); !error && each != fs::recursive_directory_iterator(); each.increment(error)) {
    if (each->path().filename().string().starts_with('.')) {
      each.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;
    if (each->is_regular_file(ignored)) site.files.push_back(each->path().lexically_relative(folder).generic_string());
  }
  if (error) return fail(ErrorCode::io, "can't be read: " + error.message());
  std::sort(site.files.begin(), site.files.end());
  const auto all = site.files;
  std::erase_if(site.files, [&](const std::string& name) {
    return std::any_of(codings.begin(), codings.end(), [&](Coding coding) {
      return name.ends_with(suffix(coding)) && std::binary_search(all.begin(), all.end(), name.substr(0, name.size() - suffix(coding).size()));
    });
  });
  if (auto missing = missing_part(site)) return tl::unexpected(std::move(*missing));
  return site;
}

std::string with_record(std::string page, const Json& record) {
  const auto found = page.find(record_begin);
  if (found == std::string::npos) return page;
  const auto begin = found + record_begin.size();
  return page.replace(begin, page.find('"', begin) - begin, attribute(record.dump()));
}

std::string with_offline(const std::string& worker, const Json& offline) {
  const auto [at, length] = list_place(worker);
  return worker.substr(0, at) + offline.dump() + worker.substr(at + length);
}

std::string with_policy(std::string page, std::string_view policy) {
  const auto at = page.find(policy_marker);
  if (at == std::string::npos) return page;
  return page.replace(at, policy_marker.size(),
                      fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n  <meta name=\"referrer\" content=\"no-referrer\">\n"
                                  "  <meta name=\"site-host\" content=\"files\">",
                                  attribute(std::string(policy))));
}

}  // namespace polygraph::cli::site
