#include "cli/site/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "cli/site/compression.hpp"
#include "cli/site/hosting.hpp"
#include "proxy/http/content_policy.hpp"
#include "proxy/models/sha256.hpp"

namespace polygraph::cli::site {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t name_digits = 16, version_digits = 16;
constexpr int json_indent = 2;

std::string sha256(std::string_view bytes) {
  models::Sha256 digest;
  digest.update(std::as_bytes(std::span(bytes)));
  return digest.hex();
}

std::string_view view(const MappedFile& file) { return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}; }

/// `assets/STEM-DIGEST.ENDING`, as web/build.mjs names its files.
std::string hashed_path(const std::string& stem, std::string_view digest, std::string_view ending) {
  return fmt::format("assets/{}-{}{}", stem, digest.substr(0, name_digits), ending);
}

/// What every asset's name says of its content.
bool name_fits(const std::string& path, const std::string& digest) {
  const fs::path name(path);
  return name.stem().string().ends_with("-" + digest.substr(0, name_digits));
}

bool is_asset(std::string_view path) { return path.starts_with("assets/"); }

/// Every string below `value` that names a file of the site.
void collect_paths(const Json& value, std::set<std::string>& out) {
  if (value.is_string() && is_asset(value.get_ref<const std::string&>())) out.insert(value.get<std::string>());
  if (value.is_structured()) {
    for (const auto& each : value) collect_paths(each, out);
  }
}

std::map<std::string, std::string> kinds_of(const Json& record) {
  std::map<std::string, std::string> kind;
  const auto mark = [&](const char* key, const char* name) {
    std::set<std::string> paths;
    if (record.contains(key)) collect_paths(record[key], paths);
    for (const auto& path : paths) kind[path] = name;
  };
  for (const auto* key : {"engine", "engine_wasm", "engine_baseline", "engine_baseline_wasm"}) mark(key, "engine");
  mark("ort", "runtime");
  mark("models", "models");
  mark("index", "index");
  mark("recordings", "recordings");
  for (const auto* key : {"evaluation", "evaluation_engine", "evaluation_engine_wasm", "evaluation_worker"}) mark(key, "evaluation");
  return kind;
}

Result<void> check_examples(const std::string& text) {
  const auto document = Json::parse(text, nullptr, false);
  const bool sound = document.is_object() && document.contains("groups") && document["groups"].is_array() &&
                     std::all_of(document["groups"].begin(), document["groups"].end(), [](const Json& group) {
                       return group.is_object() && group.value("title", Json()).is_string() && group.value("note", Json("")).is_string() && group.contains("questions") &&
                              group["questions"].is_array() && std::all_of(group["questions"].begin(), group["questions"].end(), [](const Json& q) { return q.is_string(); });
                     });
  if (!sound) return fail(ErrorCode::invalid_json, "an array of {title, note, questions} was expected", "groups");
  return {};
}

/// A file's place in the service worker's list, or at its end.
void keep(Json& list, const std::string& old, const std::string& path) {
  for (auto& each : list) {
    if (each == old) {
      each = path;
      return;
    }
  }
  list.push_back(path);
}

class Planner {
 public:
  Planner(const BuiltSite& site, const IndexFile& index, const Choices& choices) : site_(site), index_(index), choices_(choices), record_(site.record), offline_(site.offline) {
    plan_.site = site.folder;
    const auto& metadata = index.index.metadata();
    plan_.index = {{"digest", index.index.digest()}, {"sha256", index.sha256}, {"corpus", metadata.corpus}, {"revision", metadata.revision},
                   {"pages", index.index.documents()}, {"passages", index.index.chunks()}};
  }

  Result<Plan> plan(const std::vector<proxy::Recording>& recordings) {
    put_index();
    if (auto done = put_examples(); !done) return tl::unexpected(done.error());
    if (!choices_.asks_server) put_recordings(recordings);
    look_at_models();
    look_at_evaluation();
    put_rest();
    if (auto done = put_pages(); !done) return tl::unexpected(done.error());
    name_kinds();
    find_first_visit();
    std::sort(plan_.files.begin(), plan_.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return std::move(plan_);
  }

 private:
  void put_index() {
    const std::string old = record_["index"]["url"];
    if (record_["index"]["digest"] == index_.sha256) return;
    const auto path = hashed_path("index", index_.sha256, ".polygraph");
    record_["index"] = {{"url", path}, {"bytes", index_.file.bytes().size()}, {"digest", index_.sha256}, {"identity", index_.index.digest()},
                        {"built_at", choices_.indexed_at}};
    replace(old, path);
    plan_.files.push_back({path, "", index_.path, ""});
  }

  Result<void> put_examples() {
    std::string text;
    if (choices_.examples) {
      if (auto sound = check_examples(*choices_.examples); !sound) return sound;
      text = *choices_.examples;
    } else if (same_corpus(site_, index_)) {
      return {};
    } else {
      text = Json({{"groups", Json::array()}}).dump();
      plan_.notes.push_back("the built site's example questions are of another corpus and are left out; --examples FILE brings others");
    }
    const auto path = hashed_path("examples", sha256(text), ".json");
    replace(record_["examples"], path);
    record_["examples"] = path;
    if (!std::binary_search(site_.files.begin(), site_.files.end(), path)) plan_.files.push_back({path, "", {}, std::move(text)});
    return {};
  }

  void put_recordings(const std::vector<proxy::Recording>& recordings) {
    Json list = Json::array();
    std::size_t others = 0;
    for (const auto& each : recordings) {
      const auto path = hashed_path("recording-" + each.id, sha256(each.file), ".json");
      list.push_back({{"id", each.id}, {"question", each.question}, {"aliases", each.aliases}, {"recorded_at", each.recorded_at}, {"made_by", each.made_by},
                      {"models", {{"generator", each.generator}, {"grader", each.grader}, {"rewriter", each.rewriter}}}, {"index_digest", each.index_digest},
                      {"file", fs::path(path).filename().string()}});
      if (each.index_digest != index_.index.digest()) ++others;
      plan_.files.push_back({path, "recordings", {}, each.file});
      keep(offline_["files"], path, path);
    }
    if (others > 0) plan_.notes.push_back(fmt::format("{} of {} recorded runs are over another index than this one, and the page says so; --record makes them anew", others, recordings.size()));
    std::string text = Json({{"recordings", std::move(list)}}).dump();
    const auto path = hashed_path("recordings", sha256(text), ".json");
    record_["recordings"] = path;
    plan_.files.push_back({path, "", {}, std::move(text)});
    keep(offline_["files"], path, path);
  }

  void look_at_models() {
    const auto& models = record_["models"];
    const auto& wanted = index_.index.metadata().embedder;
    if (models.empty()) plan_.notes.push_back("the built site carries no models: the page answers from words alone");
    for (const auto& model : models) {
      if (model["role"] == "embedder" && !wanted.sha256.empty() && model["sha256"] != wanted.sha256) {
        plan_.notes.push_back(fmt::format("the index was built with the embedder {}, the site carries another: the page searches without vectors", wanted.name));
      }
    }
    if (wanted.sha256.empty()) plan_.notes.push_back("the index holds no vectors: the page searches by words and ranks what it finds");
  }

  /// The results page's document names the index that it is over (report::site_document's `made`).
  void look_at_evaluation() {
    std::set<std::string> paths;
    if (record_.contains("evaluation")) collect_paths(record_["evaluation"], paths);
    for (const auto& path : paths) {
      const auto text = read_text((site_.folder / path).string());
      const auto document = text ? Json::parse(*text, nullptr, false) : Json();
      if (!document.is_object() || !document.contains("made") || !document["made"].is_object()) continue;
      const auto of = document["made"].value("index_digest", Json());
      if (of.is_string() && of != index_.index.digest()) {
        plan_.notes.push_back(fmt::format("the results page shows an evaluation over another index ({}; this one is {}), and says so", of.get<std::string>(), index_.index.digest()));
      }
    }
  }

  /// What is carried as it is.
  void put_rest() {
    for (const auto& path : site_.files) {
      if (is_asset(path) && !dropped_.contains(path)) plan_.files.push_back({path, "", site_.folder / path, ""});
    }
  }

  /// What names files or the version, written anew.
  Result<void> put_pages() {
    const auto policy = http::content_policy(fmt::format("{}", fmt::join(choices_.connect, " ")));
    std::vector<PlannedFile> pages;
    for (const auto& path : site_.files) {
      if (is_asset(path)) continue;
      auto read = read_text((site_.folder / path).string());
      if (!read) return fail(read.error().code, read.error().message, path);
      std::string text = std::move(*read);
      for (const auto& [old, fresh] : replaced_) text = replaced(std::move(text), old, fresh);
      if (path.ends_with(".html")) text = with_policy(with_record(std::move(text), record_), policy);
      else if (path == "service-worker.js") text = with_offline(text, offline_);
      else if (path == "site.json") text = record_.dump(json_indent) + "\n";
      pages.push_back({path, "", {}, std::move(text)});
    }
    name_version(pages);
    std::vector<std::string> names;
    for (auto& page : pages) {
      names.push_back(page.path);
      plan_.files.push_back(std::move(page));
    }
    names.emplace_back(manifest_name);
    for (auto& [path, text] : hosting_files(choices_.base, names, policy)) plan_.files.push_back({path, "hosting", {}, text});
    return {};
  }

  /// One digest over all that a page may load: the names of the assets, which hold theirs, and the pages' own content.
  void name_version(std::vector<PlannedFile>& pages) {
    std::vector<std::string> lines;
    for (const auto& file : plan_.files) lines.push_back(file.path + '\n');
    for (const auto& page : pages) lines.push_back(page.path + ' ' + sha256(page.bytes) + '\n');
    std::sort(lines.begin(), lines.end());
    plan_.version = sha256(fmt::format("{}", fmt::join(lines, ""))).substr(0, version_digits);
    for (auto& page : pages) page.bytes = replaced(std::move(page.bytes), site_.version(), plan_.version);
  }

  void name_kinds() {
    const auto kind = kinds_of(record_);
    for (auto& file : plan_.files) {
      if (!file.kind.empty()) continue;
      const auto found = kind.find(file.path);
      file.kind = found == kind.end() ? "pages" : found->second;
    }
  }

  /// The page, what it names in its head, and what its worker starts with.
  void find_first_visit() {
    plan_.first_visit = {"index.html", record_["engine"], record_["engine_wasm"], record_["engine_worker"], record_["index"]["url"], record_["examples"]};
    if (record_.contains("recordings")) plan_.first_visit.push_back(record_["recordings"]);
    const auto page = read_text((site_.folder / "index.html").string()).value_or("");
    for (const auto& path : site_.files) {
      if (is_asset(path) && page.find("=\"" + path + "\"") != std::string::npos) plan_.first_visit.push_back(path);
    }
  }

  void replace(const std::string& old, const std::string& fresh) {
    if (old == fresh) return;
    dropped_.insert(old);
    replaced_.emplace_back(old, fresh);
    keep(offline_["files"], old, fresh);
  }

  const BuiltSite& site_;
  const IndexFile& index_;
  const Choices& choices_;
  Json record_, offline_;
  Plan plan_;
  std::set<std::string> dropped_;
  std::vector<std::pair<std::string, std::string>> replaced_;
};

/// Writes one file and its variants, and adds it to the manifest's list.
class Writer {
 public:
  Writer(const Plan& plan, Staging& staging, const std::function<bool(std::uint64_t, std::uint64_t)>& progress) : plan_(plan), staging_(staging), progress_(progress) {
    for (const auto& file : plan.files) total_ += file.source.empty() ? file.bytes.size() : size_of(file.source);
  }

  std::uint64_t total() const { return total_; }
  Written& written() { return written_; }
  const Json& list() const { return list_; }

  /// False when it was told to end.
  Result<bool> write(const PlannedFile& file) {
    if (file.source.empty()) return write(file, file.bytes);
    auto source = MappedFile::open(file.source);
    if (!source) return fail(source.error().code, source.error().message, file.source.string());
    return write(file, view(*source));
  }

  /// `promised`: whether the bytes are part of total().
  Result<bool> put(const std::string& path, const std::string& kind, std::string_view bytes, bool promised) {
    auto done = staging_.write(path, bytes, [&](std::size_t piece) {
      if (promised) done_ += piece;
      return progress_(done_, total_);
    });
    if (!done || !*done) return done;
    ++written_.files;
    written_.bytes += bytes.size();
    list_.push_back({{"path", path}, {"kind", kind}, {"bytes", bytes.size()}, {"sha256", sha256(bytes)}});
    return true;
  }

 private:
  static std::uint64_t size_of(const fs::path& file) {
    std::error_code ignored;
    const auto size = fs::file_size(file, ignored);
    return ignored ? 0 : size;
  }

  Result<bool> write(const PlannedFile& file, std::string_view bytes) {
    auto done = put(file.path, file.kind, bytes, true);
    if (!done || !*done) return done;
    if (is_asset(file.path) && !name_fits(file.path, list_.back()["sha256"])) {
      return fail(ErrorCode::corrupt, "does not hold what its name says; build the site again", file.source.string());
    }
    written_.by_kind[file.kind] += bytes.size();
    const bool first = std::find(plan_.first_visit.begin(), plan_.first_visit.end(), file.path) != plan_.first_visit.end();
    std::uint64_t sent = bytes.size();
    if (is_compressible(file.path)) {
      for (const auto coding : codings) {
        const auto variant = variant_of(file, coding, bytes);
        if (variant.size() >= bytes.size()) continue;
        done = put(file.path + std::string(suffix(coding)), "compressed", variant, false);
        if (!done || !*done) return done;
        written_.variant_bytes += variant.size();
        if (coding == Coding::brotli) sent = variant.size();
      }
    }
    if (first) {
      written_.first_visit_bytes += bytes.size();
      written_.first_visit_brotli_bytes += sent;
    }
    return true;
  }

  /// The built site's own variant where it is a sound one: making it again would take long for the large files.
  std::string variant_of(const PlannedFile& file, Coding coding, std::string_view bytes) {
    if (!file.source.empty()) {
      const auto kept = MappedFile::open(file.source.string() + std::string(suffix(coding)));
      if (kept && encodes(coding, view(*kept), bytes)) return std::string(view(*kept));
    }
    return compressed(coding, bytes);
  }

  const Plan& plan_;
  Staging& staging_;
  const std::function<bool(std::uint64_t, std::uint64_t)>& progress_;
  std::uint64_t total_ = 0, done_ = 0;
  Written written_;
  Json list_ = Json::array();
};

}  // namespace

const std::vector<std::string> kinds = {"pages", "engine", "runtime", "models", "index", "recordings", "evaluation", "hosting"};

Result<IndexFile> open_index_file(const fs::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  auto index = index::Index::open(file->bytes());
  if (!index) return tl::unexpected(index.error());
  auto digest = sha256(view(*file));
  return IndexFile{path, std::move(*file), std::move(*index), std::move(digest)};
}

bool same_corpus(const BuiltSite& site, const IndexFile& index) {
  if (site.record["index"]["digest"] == index.sha256) return true;
  const auto own = open_index_file(site.folder / site.record["index"]["url"].get<std::string>());
  return own && own->index.metadata().corpus == index.index.metadata().corpus;
}

Result<Plan> plan_export(const BuiltSite& site, const IndexFile& index, const std::vector<proxy::Recording>& recordings, const Choices& choices) {
  return Planner(site, index, choices).plan(recordings);
}

Result<void> check_target(const fs::path& target) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} {}; name another folder, or move it away", target.string(), why), "--out");
  };
  std::error_code error;
  const auto status = fs::symlink_status(target, error);
  if (!fs::exists(status)) return {};
  if (!fs::is_directory(status)) return refuse("is there already and is no folder");
  const bool empty = fs::is_empty(target, error);
  if (error) return fail(ErrorCode::io, fmt::format("can't read {}: {}", target.string(), error.message()), "--out");
  if (empty) return {};
  const auto text = read_text((target / manifest_name).string());
  const auto manifest = text ? Json::parse(*text, nullptr, false) : Json();
  if (!manifest.is_object() || manifest.value("kind", Json()) != "export" || !manifest.contains("files") || !manifest["files"].is_array()) {
    return refuse("is not empty and holds no earlier export");
  }
  std::set<std::string> own{manifest_name};
  for (const auto& file : manifest["files"]) {
    if (file.is_object() && file.contains("path") && file["path"].is_string()) own.insert(file["path"]);
  }
  constexpr std::size_t most_named = 5;
  std::vector<std::string> foreign;
  for (fs::recursive_directory_iterator each(target, error); !error && each != fs::recursive_directory_iterator(); each.increment(error)) {
    std::error_code ignored;
    const bool folder = each->is_directory(ignored) && !each->is_symlink(ignored);
    auto path = each->path().lexically_relative(target).generic_string();
    if (!folder && !own.contains(path) && foreign.size() <= most_named) foreign.push_back(std::move(path));
  }
  if (error) return fail(ErrorCode::io, fmt::format("can't read {}: {}", target.string(), error.message()), "--out");
  if (foreign.empty()) return {};
  std::sort(foreign.begin(), foreign.end());
  const bool more = foreign.size() > most_named;
  if (more) foreign.resize(most_named);
  return refuse(fmt::format("holds files that no export wrote ({}{})", fmt::join(foreign, ", "), more ? ", …" : ""));
}

Result<std::optional<Written>> write_export(const Plan& plan, const Choices& choices, Staging& staging,
                                            const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  Writer writer(plan, staging, progress);
  std::error_code unknown;
  const auto room = fs::space(staging.folder(), unknown);
  if (!unknown && room.available < writer.total()) {
    return fail(ErrorCode::io, fmt::format("{} bytes are needed beside {}, and {} are free", writer.total(), staging.folder().parent_path().string(), room.available));
  }
  for (const auto& file : plan.files) {
    auto done = writer.write(file);
    if (!done) return tl::unexpected(done.error());
    if (!*done) return std::nullopt;
  }
  Json bytes = Json::object();
  for (const auto& kind : kinds) bytes[kind] = writer.written().by_kind[kind];
  const Json manifest = {{"kind", "export"}, {"schema", 1}, {"made_by", "polygraph export " POLYGRAPH_VERSION}, {"version", plan.version}, {"base", choices.base},
                         {"index", plan.index}, {"bytes", bytes}, {"files", writer.list()}};
  auto done = writer.put(manifest_name, "hosting", manifest.dump(json_indent) + "\n", false);
  if (!done) return tl::unexpected(done.error());
  if (!*done) return std::nullopt;
  return std::move(writer.written());
}

}  // namespace polygraph::cli::site
