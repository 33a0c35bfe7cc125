// `polygraph export`: the whole site as a folder for any static host.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/record.hpp"
#include "cli/index_store.hpp"
#include "cli/installation.hpp"
#include "cli/site/export.hpp"
#include "proxy/http/settings.hpp"

namespace polygraph::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string out, base = "/", index, site, recordings, examples, provider;
  std::vector<std::string> connect;
  bool record = false, api = false, json = false;
};

constexpr std::uint64_t megabyte = 1'000'000;

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(megabyte)); }

/// `/docs/ask/` for `docs/ask`; `invalid_argument` for what can't be a path of an address.
Result<std::string> base_path(std::string text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("/-._~%").find(c) != std::string_view::npos;
  });
  if (!text.starts_with('/')) text = "/" + text;
  if (!text.ends_with('/')) text += '/';
  const bool steps = text.find("//") != std::string::npos || text.find("/./") != std::string::npos || text.find("/../") != std::string::npos;
  if (!plain || steps) return fail(ErrorCode::invalid_argument, "\"" + text + "\" is no path of an address; /docs/ask/ would be one", "--base");
  return text;
}

/// When the index was made, as far as its file tells: SOURCE_DATE_EPOCH (reproducible-builds.org) where it is set, else the
/// file's own time.
std::string indexed_at(const Settings& settings, const fs::path& index) {
  std::time_t seconds = 0;
  const auto fixed = settings.get("SOURCE_DATE_EPOCH").value;
  const auto read = std::from_chars(fixed.data(), fixed.data() + fixed.size(), seconds);
  if (fixed.empty() || read.ec != std::errc() || read.ptr != fixed.data() + fixed.size()) {
    std::error_code ignored;
    seconds = std::chrono::system_clock::to_time_t(std::chrono::file_clock::to_sys(fs::last_write_time(index, ignored)));
  }
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

/// Where the folder will stand: links are followed, so that it is replaced and not the link.
fs::path place_of(const std::string& out) {
  std::error_code error;
  auto place = fs::weakly_canonical(fs::absolute(out), error);
  if (error) place = fs::absolute(out).lexically_normal();
  return place.has_filename() ? place : place.parent_path();
}

bool is_within(const fs::path& inner, const fs::path& outer) {
  const auto relative = inner.lexically_relative(outer);
  return !relative.empty() && *relative.begin() != "..";
}

nlohmann::ordered_json summary(const fs::path& place, const site::Plan& plan, const site::Choices& choices, const site::Written& written) {
  nlohmann::ordered_json bytes = {{"total", written.bytes}};
  for (const auto& kind : site::kinds) {
    const auto found = written.by_kind.find(kind);
    bytes[kind] = found == written.by_kind.end() ? 0 : found->second;
  }
  bytes["compressed"] = written.variant_bytes;
  return {{"kind", "export"}, {"folder", place.string()}, {"base", choices.base}, {"version", plan.version}, {"index", plan.index}, {"files", written.files},
          {"bytes", bytes}, {"first_visit", {{"bytes", written.first_visit_bytes}, {"brotli_bytes", written.first_visit_brotli_bytes}}}, {"notes", plan.notes}};
}

std::string size_line(const site::Written& written) {
  std::string parts;
  for (const auto& kind : site::kinds) {
    const auto found = written.by_kind.find(kind);
    if (found != written.by_kind.end() && found->second > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : " · ", kind, megabytes(found->second));
  }
  return fmt::format("{} files, {} MB: {} · compressed variants {}; a first visit loads {} MB, {} MB with Brotli, before any model\n", written.files, megabytes(written.bytes),
                     parts, megabytes(written.variant_bytes), megabytes(written.first_visit_bytes), megabytes(written.first_visit_brotli_bytes));
}

/// Records into a folder of the staging folder, which is gone before the site is written.
Result<std::vector<proxy::Recording>> recorded(Context& context, const Options& options, const site::BuiltSite& built, const std::string& index, const fs::path& folder,
                                               ExitCode& status) {
  RecordOptions record;
  record.provider = options.provider;
  record.examples = options.examples.empty() ? (built.folder / built.record["examples"].get<std::string>()).string() : options.examples;
  record.index = index;
  record.out = folder.string();
  record.quiet = true;
  status = record_examples(context, record);
  auto loaded = proxy::Recordings::load(folder);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!loaded) return tl::unexpected(loaded.error());
  return loaded->all();
}

/// The recordings that come with the program, or of --recordings: all of them for the corpus that they were made over, and of
/// another corpus those of this very index.
Result<std::vector<proxy::Recording>> carried(Context& context, const Options& options, bool same_corpus, const index::Index& index, std::string& place) {
  const fs::path folder = options.recordings.empty() ? assets(context.settings) / "recordings" : fs::path(options.recordings);
  place = folder.string();
  std::error_code ignored;
  if (options.recordings.empty() && !fs::is_directory(folder, ignored)) return {};
  auto loaded = proxy::Recordings::load(folder);
  if (!loaded) return tl::unexpected(loaded.error());
  for (const auto& warning : loaded->warnings()) say(fmt::format("note: {}: {}", printable(warning.field), printable(warning.message)));
  auto all = loaded->all();
  if (!same_corpus && options.recordings.empty()) std::erase_if(all, [&](const proxy::Recording& each) { return each.index_digest != index.digest(); });
  return all;
}

ExitCode run(Context& context, const Options& options) {
  site::Choices choices;
  auto base = base_path(options.base);
  if (!base) return report(base.error());
  choices.base = std::move(*base);
  choices.asks_server = options.api;
  for (const auto& origin : options.connect) {
    if (!http::is_origin(origin)) return report({ErrorCode::invalid_argument, "\"" + origin + "\" is no origin; https://api.example.org would be one", "--connect"});
    choices.connect.push_back(origin);
  }
  const auto place = place_of(options.out);
  if (auto sound = site::check_target(place); !sound) return report(sound.error());

  const fs::path built_folder = options.site.empty() ? distribution(context.settings) / "site" : fs::path(options.site);
  auto built = site::read_built_site(built_folder);
  if (!built) return report(built.error(), built_folder.string());
  if (const auto source = place_of(built_folder.string()); is_within(place, source) || is_within(source, place)) {
    return report({ErrorCode::invalid_argument, fmt::format("{} and the built site {} would lie in each other; name another folder", place.string(), source.string()), "--out"});
  }
  // The built site's own index, unless one is named.
  auto index_path = options.index.empty() ? context.settings.get("POLYGRAPH_INDEX").value : options.index;
  if (index_path.empty()) index_path = (built->folder / built->record["index"]["url"].get<std::string>()).string();
  auto index = site::open_index_file(index_path);
  if (!index) return report(index.error(), index_path);
  choices.indexed_at = indexed_at(context.settings, index_path);
  if (!options.examples.empty()) {
    auto text = read_text(options.examples, megabyte);
    if (!text) return report(text.error(), options.examples);
    choices.examples = std::move(*text);
  }
  const bool same_corpus = site::same_corpus(*built, *index);
  if (options.record && !same_corpus && !choices.examples) {
    return report({ErrorCode::invalid_argument, "needs --examples FILE: the built site's questions are of another corpus than " + index_path, "--record"});
  }

  auto staging = site::Staging::create(place);
  if (!staging) return report(staging.error());
  watch_interrupts();
  std::string file;
  ExitCode status = ExitCode::done;
  auto recordings = options.record ? recorded(context, options, *built, index_path, staging->folder() / "recorded", status)
                                   : carried(context, options, same_corpus, index->index, file);
  if (status != ExitCode::done) return status;
  if (!recordings) return report(recordings.error(), file);
  auto plan = site::plan_export(*built, *index, *recordings, choices);
  if (!plan) return report(plan.error(), plan.error().field == "groups" ? options.examples : built_folder.string());

  ProgressLine line("export");
  auto written = site::write_export(*plan, choices, *staging, [&](std::uint64_t done, std::uint64_t total) {
    if (done < total) line.update(done / megabyte, total / megabyte + 1, "MB");
    return !interrupted();
  });
  line.finish();
  if (!written) return report(written.error());
  if (!*written) {
    say("interrupted; nothing was changed");
    return ExitCode::interrupted;
  }
  if (auto done = staging->take_place(); !done) return report(done.error());
  for (const auto& note : plan->notes) say("note: " + printable(note));
  if (options.json) print_json(summary(place, *plan, choices, **written));
  else print(fmt::format("exported to {}, version {}\n{}", place.string(), plan->version, size_line(**written)));
  return ExitCode::done;
}

}  // namespace

void add_export(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("export", "Write the whole site into a folder for any static host");
  command->add_option("--out", options->out, "The folder: a new or empty one, or an earlier export, which is replaced at once when all is written")->type_name("DIR")->required();
  command->add_option("--base", options->base, "Where the host will mount it; only the examples for hosts say it, the pages work anywhere")->type_name("PATH")->capture_default_str();
  command->add_option("--index", options->index, "Index file (default: POLYGRAPH_INDEX, else the built site's)")->type_name("FILE");
  command->add_option("--examples", options->examples, "Example questions on the start page (default: the built site's, where the corpus is the same)")->type_name("FILE");
  command->add_flag("--record", options->record, "Record the example questions anew over this index, and carry these runs");
  command->add_option("--provider", options->provider, "Who answers while recording (default: the setting PROVIDER)")->type_name("P")->needs("--record");
  command->add_option("--recordings", options->recordings, "Folder of recorded runs to carry (default: those that come with the program)")->type_name("DIR")->excludes("--record");
  command->add_option("--connect", options->connect, "An origin that visitors may name as their own endpoint; may be repeated")->type_name("ORIGIN")->allow_extra_args(false);
  command->add_flag("--api", options->api, "`polygraph serve --site DIR` will serve it: the page asks its server for live answers and recorded runs");
  command->add_option("--site", options->site, "Folder of the built site (default: the one that set-up built)")->type_name("DIR");
  command->add_flag("--json", options->json, "One JSON object: folder, version, bytes by kind, notes");
  command->footer(
      "The pages find everything beside them, so the folder works at any address. Every file that is loaded later has its digest\n"
      "in its name; .br and .gz stand beside what compresses; export.json lists all files with their SHA-256. Where the host sends\n"
      "no headers, the service worker isolates the page from its second loading on, for threads. For hosts that can: _headers\n"
      "and hosting/. Copy assets/ before the rest where the host is updated file by file; a model is a file of 34 MB, and some\n"
      "hosts take none so large (Cloudflare Pages: 25 MiB). The same input gives the same bytes (with --index,\n"
      "SOURCE_DATE_EPOCH can fix the date that the page shows); --record measures anew.\n\n"
      "Examples:\n  polygraph export --out public\n  polygraph export --out public/docs/ask --base /docs/ask/ --index docs.polygraph --examples questions.json --record\n"
      "  python3 -m http.server --directory public");
  command->callback([&context, options] { context.status = run(context, *options); });
}

}  // namespace polygraph::cli
