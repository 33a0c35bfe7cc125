#include "index/html_site.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "index/html_encoding.hpp"
#include "index/html_page.hpp"
#include "index/page_files.hpp"
#include "index/page_id.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::corpus {
namespace fs = std::filesystem;
namespace {

/// Sitemaps that one index of sitemaps may name.
constexpr std::size_t sitemaps_limit = 1'000;

/// A page that was read, before it is known what the others say about it.
struct Found {
  std::string path;     ///< of its file, relative to the root: `guide/start/index.html`
  std::string address;  ///< the same as it is served: `guide/start/`
  HtmlPage page;
};

bool is_html(std::string_view path) { return path.ends_with(".html") || path.ends_with(".htm") || path.ends_with(".xhtml"); }

/// `a/index.html` -> `a/`; other files keep their name.
std::string address_of(std::string_view path) {
  for (const std::string_view name : {"index.html", "index.htm", "index.xhtml"}) {
    if (path == name) return {};
    if (path.ends_with(name) && path[path.size() - name.size() - 1] == '/') return std::string(path.substr(0, path.size() - name.size()));
  }
  return std::string(path);
}

/// One name for the ways to write an address: `a/b`, `a/b/`, `a/b.html` and `a/b/index.html` are `a/b`.
std::string key_of(std::string_view address) {
  const std::string path = normal_path(address);
  std::string_view key = path;
  for (const std::string_view extension : {".html", ".htm", ".xhtml"}) {
    if (key.ends_with(extension)) {
      key.remove_suffix(extension.size());
      break;
    }
  }
  if (key == "index") return {};
  if (key.ends_with("/index")) key.remove_suffix(6);
  return std::string(key);
}

std::string unescaped(std::string_view path) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%' && i + 2 < path.size() && digit(path[i + 1]) >= 0 && digit(path[i + 2]) >= 0) {
      out += static_cast<char>(digit(path[i + 1]) * 16 + digit(path[i + 2]));
      i += 2;
    } else {
      out += path[i];
    }
  }
  return out;
}

/// The part of an absolute URL behind its host, without query and fragment; nothing for another kind of URL.
std::optional<std::string_view> path_of_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos || !url.starts_with("http")) return std::nullopt;
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t slash = url.find('/', scheme + 3);
  return slash == std::string_view::npos ? std::string_view() : url.substr(slash + 1);
}

/// The language without its region, in lower case: `en-GB` -> `en`.
std::string primary_language(std::string_view tag) {
  std::string out;
  for (const char c : tag.substr(0, tag.find_first_of("-_"))) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (!upper && !(c >= 'a' && c <= 'z')) return {};
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out.size() <= 8 ? out : std::string();
}

/// What most values say; the first of equals in byte order. Empty when there are none.
std::string most_frequent(const std::map<std::string, std::size_t>& counts) {
  const auto best = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == counts.end() ? std::string() : best->first;
}

/// Whether a path is named like a page that only finds others: tags, an index of names, page 2 of a list.
bool named_like_a_list(std::string_view path) {
  constexpr std::array<std::string_view, 12> names{"tags", "tag", "categories", "category", "authors", "archive", "archives", "sitemap",
                                                   "genindex", "modindex", "py-modindex", "search"};
  const std::string key = key_of(path);
  bool after_page = false;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view part = std::string_view(key).substr(begin, end - begin);
    begin = end + 1;
    if (std::find(names.begin(), names.end(), part) != names.end()) return true;
    if (after_page && !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos) return true;
    after_page = part == "page";
  }
  return false;
}

std::string last_part(std::string_view key) { return std::string(key.substr(key.rfind('/') + 1)); }

/// The name that a site adds to its pages' `<title>`, before or behind a separator.
class SiteName {
 public:
  explicit SiteName(const std::vector<Found>& pages) {
    std::map<std::string, std::size_t> tails, heads;
    std::size_t titled = 0;
    for (const Found& found : pages) {
      if (found.page.head_title.empty()) continue;
      ++titled;
      if (const auto [at, size] = separator(found.page.head_title, true); size > 0) ++tails[found.page.head_title.substr(at)];
      if (const auto [at, size] = separator(found.page.head_title, false); size > 0) ++heads[found.page.head_title.substr(0, at + size)];
    }
    const auto shared = [&](const std::map<std::string, std::size_t>& counts) {
      const std::string best = most_frequent(counts);
      return !best.empty() && counts.at(best) >= 2 && counts.at(best) * 2 > titled ? best : std::string();
    };
    tail_ = shared(tails);
    if (tail_.empty()) head_ = shared(heads);
  }

  std::string name() const {
    if (!tail_.empty()) return tail_.substr(separator(tail_, true).second);
    return head_.empty() ? std::string() : head_.substr(0, separator(head_, false).first);
  }
  std::string without(const std::string& title) const {
    if (!tail_.empty() && title.size() > tail_.size() && title.ends_with(tail_)) return title.substr(0, title.size() - tail_.size());
    if (!head_.empty() && title.size() > head_.size() && title.starts_with(head_)) return title.substr(head_.size());
    return title;
  }

 private:
  /// Offset and length of the last or first separator; a length of 0 when there is none.
  static std::pair<std::size_t, std::size_t> separator(std::string_view title, bool last) {
    std::pair<std::size_t, std::size_t> best{0, 0};
    for (const std::string_view each : {" | ", " - ", " \xE2\x80\x93 ", " \xE2\x80\x94 ", " \xC2\xB7 ", " :: ", " \xC2\xBB ", " \xE2\x80\xA2 ", ": "}) {
      const std::size_t at = last ? title.rfind(each) : title.find(each);
      if (at == std::string_view::npos) continue;
      if (best.second == 0 || (last ? at > best.first : at < best.first)) best = {at, each.size()};
    }
    return best;
  }

  std::string tail_, head_;  ///< " | Ferry Manual", "Ferry Manual: "
};

class Site {
 public:
  Site(fs::path root, std::string only, const CorpusOptions& options)
      : root_(std::move(root)), only_(std::move(only)), options_(options), base_(with_slash(options.base_url)) {}

  Result<Corpus> read() {
    const Result<FoundFiles> files = find_files(root_, [&](std::string_view path) { return only_.empty() ? is_html(path) : path == only_; });
    if (!files) return tl::unexpected(files.error());
    corpus_.skipped = files->skipped;
    corpus_.counts.files = files->files.size() + files->skipped.size();
    for (const PageFile& file : files->files) read_page(file);
    corpus_.counts.skipped = corpus_.skipped.size();
    if (found_.empty() && corpus_.passed_over.empty()) return no_page(files->files.empty());

    for (std::size_t i = 0; i < found_.size(); ++i) {
      by_address_.emplace(found_[i].address, i);
      by_key_.emplace(key_of(found_[i].address), i);
    }
    const std::vector<std::string> sitemap = read_sitemap();
    find_own_base(sitemap);
    order(sitemap);
    pass_over();
    if (kept_.empty()) return no_page(false);
    make_pages();
    return std::move(corpus_);
  }

 private:
  void skip(const std::string& path, const std::string& why) { corpus_.skipped.push_back(path + ": " + why); }

  tl::unexpected<Error> no_page(bool none) const {
    std::string why = "the folder " + root_.string() + " holds no HTML page (.html)";
    if (none) return fail(ErrorCode::not_found, why + "; name the folder that the site's generator wrote, or dir:PATH for Markdown");
    why += " that can be indexed";
    if (!corpus_.skipped.empty()) why += "; " + std::to_string(corpus_.skipped.size()) + " skipped, the first: " + corpus_.skipped.front();
    if (!corpus_.passed_over.empty()) why += "; " + std::to_string(corpus_.passed_over.size()) + " passed over, the first: " + corpus_.passed_over.front();
    return fail(ErrorCode::not_found, why);
  }

  void read_page(const PageFile& file) {
    for (const std::string_view folder : {"_static", "_modules", "_sources", "_downloads", "_images"}) {
      const std::string inside = std::string(folder) + "/";
      if (file.path.starts_with(inside) || file.path.find("/" + inside) != std::string::npos) {
        return pass(file.path, "stands in " + std::string(folder) + ", which holds a generator's own files");
      }
    }
    const Result<std::string> bytes = read_bytes(file.file);
    if (!bytes) return skip(file.path, bytes.error().message);
    Result<DecodedHtml> decoded = decode_html(*bytes);
    if (!decoded) return skip(file.path, decoded.error().message);
    const std::string_view text = decoded->text;
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return skip(file.path, "is empty");
    const auto opens_tag = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '!'; };
    bool tags = false;
    for (std::size_t at = text.find('<'); at != std::string_view::npos && at + 1 < text.size() && !tags; at = text.find('<', at + 1)) tags = opens_tag(text[at + 1]);
    if (!tags) return skip(file.path, "is not HTML: no tag stands in it");
    Result<HtmlPage> page = read_html_page(text);
    if (!page) return skip(file.path, page.error().message);
    if (!decoded->warning.empty()) corpus_.warnings.push_back(file.path + ": " + decoded->warning);
    found_.push_back({file.path, address_of(file.path), *std::move(page)});
  }

  void pass(const std::string& path, const std::string& why) { corpus_.passed_over.push_back(path + ": " + why); }

  // --- where the site stands ------------------------------------------------------------------------------------------

  /// The addresses in sitemap.xml, and in those that it names if it is an index of them.
  std::vector<std::string> read_sitemap() {
    std::vector<std::string> addresses, files{"sitemap.xml"};
    std::set<std::string> seen;
    while (!files.empty() && seen.size() < sitemaps_limit) {
      const std::string name = std::move(files.back());
      files.pop_back();
      std::error_code ignored;
      if (!seen.insert(name).second || !fs::is_regular_file(root_ / name, ignored)) continue;
      const Result<std::string> text = read_text(root_ / name);
      if (!text) {
        corpus_.warnings.push_back(name + ": " + text.error().message + "; pages come in the order of their paths");
        continue;
      }
      const bool index = text->find("<sitemapindex") != std::string::npos;
      for (std::size_t at = text->find("<loc>"); at != std::string::npos; at = text->find("<loc>", at)) {
        at += 5;
        const std::size_t end = text->find("</loc>", at);
        if (end == std::string::npos) break;
        std::string address = text->substr(at, end - at);
        const std::size_t first = address.find_first_not_of(" \t\n");
        address = first == std::string::npos ? std::string() : address.substr(first, address.find_last_not_of(" \t\n") - first + 1);
        for (std::size_t entity = address.find("&amp;"); entity != std::string::npos; entity = address.find("&amp;", entity + 1)) address.erase(entity + 1, 4);
        if (!index) {
          addresses.push_back(std::move(address));
          continue;
        }
        const std::string path = normal_path(path_of_url(address).value_or(std::string_view()));
        for (std::size_t begin = 0; begin < path.size();) {
          if (fs::is_regular_file(root_ / path.substr(begin), ignored)) {
            files.push_back(path.substr(begin));
            break;
          }
          begin = std::min(path.find('/', begin), path.size() - 1) + 1;
        }
      }
    }
    return addresses;
  }

  /// The URL that the site says it is served under: what stands before the pages' own paths in their canonical links, or in the
  /// sitemap.
  void find_own_base(const std::vector<std::string>& sitemap) {
    std::map<std::string, std::size_t> bases;
    const auto ends_with_path = [](std::string_view path, std::string_view key) {
      return key.empty() || (path.ends_with(key) && (path.size() == key.size() || path[path.size() - key.size() - 1] == '/'));
    };
    const auto count = [&](std::string_view url, const std::string& key) {
      const std::optional<std::string_view> path = path_of_url(url);
      if (!path) return;
      const std::string own = key_of(unescaped(*path));
      if (!ends_with_path(own, key)) return;
      const std::string_view host = url.substr(0, url.find('/', url.find("://") + 3));
      std::string before = own.substr(0, own.size() - key.size());
      ++bases[with_slash(std::string(host) + (before.empty() ? "" : "/" + before))];
    };
    for (const Found& found : found_) count(found.page.canonical, key_of(found.address));
    if (bases.empty()) {
      for (const std::string& url : sitemap) {
        const std::optional<std::string_view> path = path_of_url(url);
        if (!path) continue;
        const std::string own = key_of(unescaped(*path));
        for (std::size_t begin = 0;; begin = own.find('/', begin) + 1) {
          const std::string key = own.substr(begin);
          if (!key.empty() && by_key_.contains(key)) count(url, key);
          if (own.find('/', begin) == std::string::npos) break;
        }
      }
      if (bases.empty() && sitemap.size() == 1) count(sitemap.front(), {});
    }
    own_base_ = most_frequent(bases);
    own_path_ = std::string(path_of_url(own_base_).value_or(std::string_view()));
    // How the site itself writes a page's address: with or without `.html`, with or without the last slash.
    const auto note = [&](std::string_view url) {
      if (own_base_.empty() || !url.starts_with(own_base_)) return;
      const std::string_view tail = url.substr(own_base_.size(), url.find_first_of("?#") - own_base_.size());
      if (const std::optional<std::size_t> page = at_address(unescaped(tail))) written_.emplace(*page, tail);
    };
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const std::string& url = found_[i].page.canonical;
      if (!own_base_.empty() && url.starts_with(own_base_) && at_address(unescaped(std::string_view(url).substr(own_base_.size()))) == i) note(url);
    }
    for (const std::string& url : sitemap) note(url);
  }

  /// The page at an address relative to the site's root.
  std::optional<std::size_t> at_address(std::string_view address) const {
    address = address.substr(0, address.find_first_of("?#"));
    const std::string exact = address_of(normal_path(address));
    const auto literal = by_address_.find(exact + (address.ends_with('/') && !exact.empty() && !exact.ends_with('/') ? "/" : ""));
    if (literal != by_address_.end()) return literal->second;
    const auto similar = by_key_.find(key_of(address));
    return similar == by_key_.end() ? std::nullopt : std::optional(similar->second);
  }

  std::string url_of(std::size_t page) const {
    const auto written = written_.find(page);
    const std::string tail = written == written_.end() ? url_path(found_[page].address) : written->second;
    const std::string& base = base_.empty() ? own_base_ : base_;
    return base.empty() && tail.empty() ? "./" : base + tail;
  }

  void order(const std::vector<std::string>& sitemap) {
    std::vector<bool> placed(found_.size(), false);
    const auto place = [&](std::size_t page) {
      if (placed[page]) return;
      placed[page] = true;
      order_.push_back(page);
    };
    for (const std::string& url : sitemap) {
      if (own_base_.empty() || !url.starts_with(own_base_)) continue;
      if (const auto page = at_address(unescaped(std::string_view(url).substr(own_base_.size())))) place(*page);
    }
    for (std::size_t page = 0; page < found_.size(); ++page) place(page);
  }

  // --- which pages count ----------------------------------------------------------------------------------------------

  void pass_over() {
    const bool all_noindex = std::all_of(found_.begin(), found_.end(), [](const Found& found) { return found.page.noindex || !found.page.redirect.empty(); });
    if (all_noindex && std::any_of(found_.begin(), found_.end(), [](const Found& found) { return found.page.noindex; })) {
      corpus_.warnings.push_back("every page asks not to be indexed (robots: noindex); they are indexed all the same");
    }
    std::set<std::size_t> lists;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      for (const std::string& target : found_[i].page.lists) {
        const std::optional<std::size_t> page = resolve(i, target);
        if (page && !key_of(found_[*page].address).empty()) lists.insert(*page);
      }
    }
    const std::map<std::size_t, std::size_t> canonical = canonical_pages();
    const std::string language = choose_language();

    std::set<std::string> seen_ids;
    for (const std::size_t i : order_) {
      const Found& found = found_[i];
      const std::string name = last_part(key_of(found.path));
      const bool list = found.page.is_listing || found.page.search_form;
      if (!found.page.redirect.empty()) {
        pass(found.path, "redirects to " + found.page.redirect);
      } else if (name == "404" || name == "404-page" || name == "not-found" || name == "500" || name == "50x") {
        pass(found.path, "is an error page");
      } else if (list && (lists.contains(i) || named_like_a_list(found.path))) {
        pass(found.path, found.page.search_form ? "is a search page" : "only lists other pages");
      } else if (found.page.noindex && !all_noindex) {
        pass(found.path, "asks not to be indexed (robots: noindex)");
      } else if (const auto other = canonical.find(i); other != canonical.end()) {
        pass(found.path, "is a copy of " + found_[other->second].path + ", its canonical page");
      } else if (const std::string own = primary_language(found.page.language); !language.empty() && !own.empty() && own != language) {
        pass(found.path, "is in the language " + own + ", the index in " + language + "; --language " + own + " indexes it");
      } else {
        kept_.push_back(i);
      }
    }
    corpus_.language = language;
    std::sort(corpus_.passed_over.begin(), corpus_.passed_over.end());
  }

  /// Pages whose canonical link names another page of this site. A site where most pages name one and the same is misled by its
  /// template, and is not believed.
  std::map<std::size_t, std::size_t> canonical_pages() {
    std::map<std::size_t, std::size_t> canonical;
    std::map<std::string, std::size_t> named;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const std::string& target = found_[i].page.canonical;
      if (target.empty() || !found_[i].page.redirect.empty()) continue;
      const std::optional<std::size_t> page = resolve(i, target);
      if (!page || *page == i) continue;
      canonical.emplace(i, *page);
      ++named[found_[*page].path];
    }
    const std::string most = most_frequent(named);
    if (!most.empty() && named[most] >= 2 && named[most] * 2 > found_.size()) {
      corpus_.warnings.push_back(std::to_string(named[most]) + " pages name " + most + " as their canonical page; that is not believed");
      return {};
    }
    return canonical;
  }

  std::string choose_language() const {
    std::map<std::string, std::size_t> languages;
    for (const Found& found : found_) {
      if (const std::string own = primary_language(found.page.language); !own.empty() && found.page.redirect.empty()) ++languages[own];
    }
    const std::string wanted = primary_language(options_.language);
    // A language that no page states is one that the site's template does not know.
    if (!wanted.empty()) return languages.contains(wanted) ? wanted : std::string();
    return most_frequent(languages);
  }

  // --- links ----------------------------------------------------------------------------------------------------------

  /// The path that a target leads to from a page, relative to the site's root; nothing when it leaves the site or is no path.
  std::optional<std::string> local_path(std::size_t from, std::string_view target) const {
    if (const std::optional<std::string> absolute = absolute_link(target)) {
      if (own_base_.empty() || !absolute->starts_with(own_base_)) return std::nullopt;
      return unescaped(std::string_view(*absolute).substr(own_base_.size()));
    }
    const std::string path = unescaped(target.substr(0, target.find_first_of("?#")));
    const bool folder = path.ends_with('/');
    const auto finished = [&](std::string_view joined) -> std::optional<std::string> {
      // Below a folder of any name, so that a path to the root can be told from one that climbs out.
      std::string out = normal_path("root/" + std::string(joined));
      if (out == "root") return std::string();
      if (!out.starts_with("root/")) return std::nullopt;
      return out.substr(5) + (folder ? "/" : "");
    };
    if (!path.starts_with('/')) {
      const std::string& address = found_[from].address;
      if (path.empty()) return address;
      return finished(address.substr(0, address.rfind('/') + 1) + path);
    }
    std::string_view rooted = std::string_view(path).substr(1);
    if (!own_base_.empty()) {
      const std::string root = with_slash(own_path_);
      if (own_path_.empty()) return finished(rooted);
      if (rooted.starts_with(root)) return finished(rooted.substr(root.size()));
      return std::nullopt;
    }
    // Nothing tells under which folder the site is served: the longest end of the path that leads to a page.
    constexpr int folders_tried = 3;
    std::string_view rest = rooted;
    for (int i = 0; i < folders_tried; ++i) {
      if (at_address(rest)) return finished(rest);
      const std::size_t slash = rest.find('/');
      if (slash == std::string_view::npos) break;
      rest = rest.substr(slash + 1);
    }
    return finished(rooted);
  }

  std::optional<std::size_t> resolve(std::size_t from, std::string_view target) const {
    const std::optional<std::string> path = local_path(from, target);
    return path ? at_address(*path) : std::nullopt;
  }

  std::string link(std::size_t from, const std::string& target) const {
    const std::size_t fragment = std::min(target.find('#'), target.size());
    const std::optional<std::string> path = local_path(from, target);
    if (!path) {
      const std::optional<std::string> absolute = absolute_link(target);
      if (absolute) return *absolute;
      if (!target.starts_with('/')) return {};
      // Another part of the same host.
      const std::size_t host = own_base_.find('/', own_base_.find("://") + 3);
      return own_base_.empty() ? std::string() : own_base_.substr(0, host) + target;
    }
    if (const std::optional<std::size_t> page = at_address(*path)) return url_of(*page) + target.substr(fragment);
    const std::string& base = base_.empty() ? own_base_ : base_;
    return path->empty() ? std::string() : base + url_path(*path) + target.substr(std::min(target.find_first_of("?#"), target.size()));
  }

  void make_pages() {
    const SiteName site(found_);
    std::set<std::string> ids;
    std::string content;
    for (const std::size_t i : kept_) {
      Found& found = found_[i];
      Page page;
      page.source = found.path;
      page.id = page_id(found.path);
      const bool has_words = std::any_of(found.page.text.sections.begin(), found.page.text.sections.end(), [](const Section& section) {
        return !section.blocks.empty() || !section.heading_line.empty();
      });
      if (!has_words) {
        skip(found.path, "has no text outside of its navigation");
        continue;
      }
      if (!ids.insert(page.id).second) {  // `a.html` beside `a/index.html`
        const std::string literal(without_extension(found.path));
        if (!ids.insert(literal).second) {
          skip(found.path, "its page " + page.id + " stands there already");
          continue;
        }
        page.id = literal;
      }
      page.title = found.page.text.title;
      if (page.title.empty()) page.title = site.without(found.page.head_title);
      if (page.title.empty()) page.title = last_part(page.id);
      page.url = url_of(i);
      page.sections = std::move(found.page.text.sections);
      for (Section& section : page.sections) {
        for (Block& block : section.blocks) {
          for (index::Link& each : block.links) each.target = link(i, each.target);
          std::erase_if(block.links, [](const index::Link& each) { return each.target.empty(); });
          corpus_.counts.links += block.links.size();
        }
      }
      digest(page, content);
      corpus_.pages.push_back(std::move(page));
    }
    std::sort(corpus_.skipped.begin(), corpus_.skipped.end());
    corpus_.counts.skipped = corpus_.skipped.size();
    corpus_.revision = text::digest(content);
    const std::string folder = folder_name(only_.empty() ? root_ : root_ / only_);
    corpus_.name = "html:" + folder;
    corpus_.title = options_.title.empty() ? site.name() : options_.title;
    if (corpus_.title.empty()) {
      const auto root = std::find_if(corpus_.pages.begin(), corpus_.pages.end(), [](const Page& page) { return page.id == "index"; });
      corpus_.title = root == corpus_.pages.end() ? folder : root->title;
    }
    corpus_.licence = options_.licence.empty() ? licence_of(root_) : options_.licence;
    corpus_.source_url = base_.empty() ? own_base_ : base_;
  }

  /// Adds everything of a page that reaches the index.
  static void digest(const Page& page, std::string& content) {
    std::string all = page.id + '\0' + page.title + '\0' + page.url;
    for (const Section& section : page.sections) {
      all += '\0' + section.heading_line + '\0' + section.anchor;
      for (const Block& block : section.blocks) {
        all += '\0' + block.text;
        for (const index::Link& link : block.links) all += '\0' + std::to_string(link.begin) + ' ' + link.target;
      }
    }
    content += text::digest(all) + "\n";
  }

  fs::path root_;
  std::string only_;  ///< the one file to read; empty for all
  const CorpusOptions& options_;
  std::string base_;      ///< as the caller wants it
  std::string own_base_;  ///< as the site says, with a slash behind; empty when it doesn't
  std::string own_path_;  ///< behind its host
  Corpus corpus_;
  std::vector<Found> found_;
  std::map<std::string, std::size_t, std::less<>> by_address_, by_key_;
  std::map<std::size_t, std::string> written_;  ///< a page's address as the site writes it, relative to its base
  std::vector<std::size_t> order_, kept_;
};

}  // namespace

Result<Corpus> read_html_site(const fs::path& path, const CorpusOptions& options) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return fail(ErrorCode::not_found, "there is no folder " + path.string());
  if (fs::is_directory(path, ignored)) return Site(path, {}, options).read();
  if (!fs::is_regular_file(path, ignored)) return fail(ErrorCode::invalid_argument, path.string() + " is neither a folder nor a file");
  const fs::path folder = path.parent_path();
  return Site(folder.empty() ? fs::path(".") : folder, path.filename().string(), options).read();
}

}  // namespace polygraph::corpus
