#include "index/corpus.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "index/beir.hpp"
#include "index/front_matter.hpp"
#include "index/html_site.hpp"
#include "index/markdown.hpp"
#include "index/page_files.hpp"
#include "index/page_id.hpp"
#include "index/shortcodes.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::corpus {
namespace fs = std::filesystem;
namespace {

/// The public page of a page of Debian's docker-doc. Docker's site keeps addresses of its reference stable; what it does not
/// publish stands in the repositories that the package is made from.
class DockerDocUrls {
 public:
  explicit DockerDocUrls(std::string_view version)
      : tag_("v" + std::string(version.substr(0, version.find_first_of("+-~")))) {}

  std::string operator()(std::string_view id, std::string_view source) const {
    struct Known {
      std::string_view id, url;
    };
    constexpr std::array<Known, 8> known{{
        {"reference", "reference/"},
        {"reference/builder", "reference/dockerfile/"},
        {"reference/run", "engine/containers/run/"},
        {"reference/commandline", "reference/cli/docker/"},
        {"reference/commandline/cli", "reference/cli/docker/"},
        {"reference/commandline/dockerd", "reference/cli/dockerd/"},
        {"deprecated", "engine/deprecated/"},
        {"api/version-history", "reference/api/engine/version-history/"},
    }};
    const std::string site = "https://docs.docker.com/";
    for (const Known& each : known) {
      if (each.id == id) return site + std::string(each.url);
    }
    constexpr std::string_view commands = "reference/commandline/";
    if (id.starts_with(commands)) {  // `container_prune` -> container/prune
      std::string command(id.substr(commands.size()));
      std::replace(command.begin(), command.end(), '_', '/');
      return site + "reference/cli/docker/" + command + "/";
    }
    if (id == "extend" || id.starts_with("extend/")) return site + "engine/" + std::string(id) + "/";
    const bool of_daemon = id.starts_with("contributing") || id == "rootless";
    std::string file(source.ends_with(".gz") ? source.substr(0, source.size() - 3) : source);
    return "https://github.com/" + std::string(of_daemon ? "moby/moby" : "docker/cli") + "/blob/" + tag_ + "/docs/" + file;
  }

  std::string tree() const { return "https://github.com/docker/cli/tree/" + tag_ + "/docs"; }

 private:
  std::string tag_;
};

bool is_markdown(std::string_view path) { return path.ends_with(".md") || path.ends_with(".md.gz"); }

/// Values of the `param` shortcode: hugo_params.json, else `params` of the site's configuration.
std::map<std::string, std::string> site_params(const fs::path& checkout, std::vector<std::string>& warnings, std::string& digests) {
  std::map<std::string, std::string> params;
  std::error_code ignored;
  const auto readable = [&](const char* name) { return fs::is_regular_file(checkout / name, ignored); };
  const auto read = [&](const char* name) {
    Result<std::string> text = read_text(checkout / name);
    if (!text) {
      warnings.push_back(std::string(name) + ": " + text.error().message + "; its params are missing");
      return std::string();
    }
    digests += std::string(name) + " " + text::digest(*text) + "\n";
    return *std::move(text);
  };
  if (readable("hugo_params.json")) {
    const auto json = nlohmann::json::parse(read("hugo_params.json"), nullptr, false);
    if (!json.is_object()) {
      warnings.push_back("hugo_params.json: is not a JSON object; its params are missing");
      return params;
    }
    for (const auto& [key, value] : json.items()) {
      if (value.is_string()) params.emplace(key, value.get<std::string>());
      if (value.is_number() || value.is_boolean()) params.emplace(key, value.dump());
    }
    return params;
  }
  for (const char* name : {"hugo.yaml", "hugo.yml", "config.yaml", "config.yml"}) {
    if (!readable(name)) continue;
    try {
      const YAML::Node root = YAML::Load(read(name));
      const YAML::Node section = root.IsMap() ? root["params"] : YAML::Node();
      if (section.IsMap()) {
        for (const auto& entry : section) {
          if (entry.first.IsScalar() && entry.second.IsScalar()) params.emplace(entry.first.Scalar(), entry.second.Scalar());
        }
      }
    } catch (const YAML::Exception& error) {
      warnings.push_back(std::string(name) + ": is not valid YAML (" + error.msg + "); its params are missing");
    }
    break;
  }
  return params;
}

/// Reads a folder of Markdown pages into a corpus: what docker-doc and dir:PATH have in common.
class MarkdownFolder {
 public:
  MarkdownFolder(fs::path checkout, fs::path root) : checkout_(std::move(checkout)), root_(std::move(root)) {
    std::error_code ignored;
    for (const char* name : {"content/includes", "includes", "_includes"}) {
      if (fs::is_directory(checkout_ / name, ignored)) {
        includes_ = fs::canonical(checkout_ / name, ignored);
        break;
      }
    }
  }

  bool is_hugo_checkout() const { return checkout_ != root_; }

  Result<Corpus> read(const std::function<bool(std::string_view)>& wanted,
                      const std::function<std::string(std::string_view id, std::string_view source)>& url) {
    const Result<FoundFiles> found = find_files(root_, wanted);
    if (!found) return tl::unexpected(found.error());
    corpus_.skipped = found->skipped;
    corpus_.counts.files = found->files.size() + found->skipped.size();
    params_ = site_params(checkout_, corpus_.warnings, digests_);
    for (const PageFile& file : found->files) read_page(file);
    digest_includes();
    corpus_.counts.skipped = corpus_.skipped.size();
    if (corpus_.pages.empty()) {
      return fail(ErrorCode::not_found,
                  "the folder " + root_.string() + " holds no Markdown page (.md, .md.gz)" +
                      (corpus_.skipped.empty() ? std::string()
                                               : " that can be read; " + std::to_string(corpus_.skipped.size()) + " skipped, the first: " + corpus_.skipped.front()));
    }
    for (Page& page : corpus_.pages) {
      if (page.url.empty()) page.url = url(page.id, page.source);
      urls_.emplace(page.id, page.url);
    }
    for (Page& page : corpus_.pages) resolve_links(page, url);
    corpus_.revision = text::digest(digests_);
    return std::move(corpus_);
  }

 private:
  void skip(const std::string& path, const std::string& why) { corpus_.skipped.push_back(path + ": " + why); }

  void read_page(const PageFile& file) {
    const Result<std::string> text = read_text(file.file);
    if (!text) return skip(file.path, text.error().message);
    digests_ += file.path + " " + text::digest(*text) + "\n";

    const FrontMatterSplit split = split_front_matter(*text);
    if (!split.front.problem.empty()) {
      ++corpus_.counts.front_matter_broken;
      corpus_.warnings.push_back(file.path + ": " + split.front.problem);
    }
    ShortcodeCounts counts;
    ShortcodeContext context;
    context.include = [&](std::string_view name) { return include(name); };
    context.param = [&](std::string_view name) -> std::optional<std::string> {
      const std::string key(name);
      if (const auto own = split.front.params.find(key); own != split.front.params.end()) return own->second;
      if (const auto site = params_.find(key); site != params_.end()) return site->second;
      return std::nullopt;
    };
    const std::string body = resolve_shortcodes(split.body, context, counts, split.body_line);
    corpus_.counts.shortcodes_resolved += counts.resolved;
    corpus_.counts.shortcodes_unresolved += counts.unresolved.size();
    for (const auto& [name, count] : counts.dropped) corpus_.counts.shortcodes_dropped[name] += count;
    for (const std::string& what : counts.unresolved) corpus_.warnings.push_back(file.path + ": " + what);

    Page page;
    page.id = page_id(file.path);
    page.source = file.path;
    page.url = split.front.url;
    const std::size_t slash = page.id.rfind('/');
    PageText content = read_markdown(body, split.front, slash == std::string::npos ? page.id : page.id.substr(slash + 1));
    page.title = std::move(content.title);
    page.sections = std::move(content.sections);
    const bool has_words = std::any_of(page.sections.begin(), page.sections.end(), [](const Section& section) {
      return !section.blocks.empty() || !section.heading_line.empty();
    });
    if (!has_words) {
      // A page that only lists others (a Hugo section, a grid of cards) still says what it is about.
      if (split.front.description.empty()) return skip(file.path, "has no text");
      Block description;
      description.text = split.front.description;
      page.sections.emplace_back().blocks.push_back(std::move(description));
    }
    if (!ids_.insert(page.id).second) {  // `a.md` beside `a/index.md`
      const std::string literal(without_extension(file.path));
      if (!ids_.insert(literal).second) return skip(file.path, "its page " + page.id + " stands there already");
      page.id = literal;
    }
    corpus_.pages.push_back(std::move(page));
  }

  std::optional<std::string> include(std::string_view name) {
    const std::string path = normal_path(name);
    if (includes_.empty() || path.empty()) return std::nullopt;
    const auto known = include_texts_.find(path);
    if (known != include_texts_.end()) return known->second;
    std::optional<std::string> content;
    std::error_code error;
    const fs::path file = fs::canonical(includes_ / path, error);
    const bool inside = !error && std::mismatch(includes_.begin(), includes_.end(), file.begin(), file.end()).first == includes_.end();
    if (inside && fs::is_regular_file(file, error)) {
      Result<std::string> text = read_text(file);
      if (text) {
        content = std::string(split_front_matter(*text).body);
      } else {
        corpus_.warnings.push_back("include " + path + ": " + text.error().message);
      }
    }
    include_texts_.emplace(path, content);
    return content;
  }

  void digest_includes() {
    for (const auto& [path, content] : include_texts_) {
      digests_ += "include " + path + " " + (content ? text::digest(*content) : std::string("missing")) + "\n";
    }
  }

  /// Targets become absolute, or relative to the corpus root. Anything but the web and mail is dropped: a `javascript:` link
  /// must not reach a page.
  void resolve_links(Page& page, const std::function<std::string(std::string_view, std::string_view)>& url) {
    const std::size_t slash = page.source.rfind('/');
    const std::string folder = slash == std::string::npos ? std::string() : page.source.substr(0, slash + 1);
    const auto resolve = [&](const std::string& target) -> std::string {
      if (std::optional<std::string> absolute = absolute_link(target)) return *std::move(absolute);
      const std::size_t rest = std::min(target.find_first_of("?#"), target.size());
      std::string path = target.substr(0, rest);
      const std::string suffix = target.substr(rest);
      if (path.empty()) return page.url + suffix;
      const bool from_root = path.starts_with('/');
      path = normal_path(from_root ? path : folder + path);
      if (from_root && is_hugo_checkout() && path.starts_with("manuals/")) path = path.substr(8);
      const std::string id = page_id(path);
      const auto known = urls_.find(id);
      if (known != urls_.end()) return known->second + suffix;
      return path.empty() ? std::string() : url(id, path) + suffix;
    };
    for (Section& section : page.sections) {
      for (Block& block : section.blocks) {
        for (index::Link& link : block.links) link.target = resolve(link.target);
        std::erase_if(block.links, [](const index::Link& link) { return link.target.empty(); });
        corpus_.counts.links += block.links.size();
      }
    }
  }

  fs::path checkout_, root_, includes_;
  Corpus corpus_;
  std::string digests_;
  std::map<std::string, std::string> params_;
  std::map<std::string, std::optional<std::string>> include_texts_;
  std::set<std::string> ids_;
  std::map<std::string, std::string, std::less<>> urls_;
};

/// `<base><id>/`; the root page is the base itself.
std::string folder_url(const std::string& base, std::string_view id) {
  if (id == "index") return base.empty() ? "./" : base;
  return base + url_path(id) + "/";
}

Result<Corpus> open_docker_doc(const CorpusOptions& options) {
  std::error_code ignored;
  if (!fs::is_directory(options.docker_doc, ignored)) {
    return fail(ErrorCode::not_found, "there is no folder " + options.docker_doc.string() +
                                          "; install Debian's package docker-doc, or name its folder");
  }
  const bool installed = options.docker_doc == CorpusOptions().docker_doc;
  const std::string version = installed ? debian_version(options.dpkg_status, "docker-doc") : std::string();
  // The text of 20.10.24, Debian 12's, where no package tells.
  const DockerDocUrls public_urls(version.empty() ? std::string_view("20.10.24") : std::string_view(version));
  const std::string base = with_slash(options.base_url);
  MarkdownFolder folder(options.docker_doc, options.docker_doc);
  Result<Corpus> corpus = folder.read(
      [](std::string_view path) {
        return is_markdown(path) && !path.starts_with("api/v1.");  // the API's own reference, one page a version
      },
      [&](std::string_view id, std::string_view source) {
        return base.empty() ? public_urls(id, source) : folder_url(base, id);
      });
  if (!corpus) return corpus;
  corpus->name = "docker-doc";
  if (!version.empty()) corpus->revision = version;
  corpus->title = options.title.empty() ? "Docker Engine documentation" : options.title;
  corpus->licence = options.licence.empty() ? "Apache-2.0" : options.licence;
  corpus->source_url = base.empty() ? public_urls.tree() : base;
  return corpus;
}

Result<Corpus> open_folder(const fs::path& path, const CorpusOptions& options) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return fail(ErrorCode::not_found, "there is no folder " + path.string());
  if (!fs::is_directory(path, ignored)) return fail(ErrorCode::invalid_argument, path.string() + " is not a folder");
  const bool docker_docs = fs::is_directory(path / "content" / "manuals", ignored);
  const std::string base = with_slash(options.base_url);
  MarkdownFolder folder(path, docker_docs ? path / "content" / "manuals" : path);
  Result<Corpus> corpus = folder.read(is_markdown, [&](std::string_view id, std::string_view) { return folder_url(base, id); });
  if (!corpus) return corpus;
  const std::string name = folder_name(path);
  corpus->name = "dir:" + name;
  corpus->title = options.title;
  if (corpus->title.empty()) {
    const auto root = std::find_if(corpus->pages.begin(), corpus->pages.end(), [](const Page& page) { return page.id == "index"; });
    corpus->title = root == corpus->pages.end() ? name : root->title;
  }
  corpus->licence = options.licence.empty() ? licence_of(path) : options.licence;
  corpus->source_url = base;
  return corpus;
}

}  // namespace

std::string known_corpora() {
  return "docker-doc (Debian's package of the Docker Engine documentation), dir:PATH (a folder of Markdown), "
         "html:PATH (a built site), beir:DIR (a folder with a BEIR corpus.jsonl)";
}

std::string debian_version(const fs::path& dpkg_status, std::string_view package) {
  std::ifstream in(dpkg_status, std::ios::binary);
  std::string line;
  bool here = false, installed = false;
  std::string version;
  while (std::getline(in, line)) {
    if (line.empty()) {
      if (here) break;
      continue;
    }
    if (line.starts_with("Package: ")) here = std::string_view(line).substr(9) == package;
    if (!here) continue;
    if (line.starts_with("Status: ")) installed = line.ends_with(" installed");
    if (line.starts_with("Version: ")) version = line.substr(9);
  }
  return installed ? version : std::string();
}

Result<Corpus> open_corpus(std::string_view name, const CorpusOptions& options) {
  if (name == "docker-doc") return open_docker_doc(options);
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  if (colon != std::string_view::npos && (kind == "dir" || kind == "html" || kind == "beir")) {
    const fs::path path(std::string(name.substr(colon + 1)));
    if (path.empty()) return fail(ErrorCode::invalid_argument, std::string(kind) + ": needs a folder behind the colon", "corpus");
    if (kind == "html") return read_html_site(path, options);
    return kind == "dir" ? open_folder(path, options) : read_beir(path, options);
  }
  return fail(ErrorCode::invalid_argument, "unknown corpus \"" + std::string(name) + "\"; known are " + known_corpora(), "corpus");
}

}  // namespace polygraph::corpus
