#include "wasm/index/page_id.hpp"

namespace polygraph::index {

std::string_view without_extension(std::string_view path) noexcept {
  for (const std::string_view extension : {".md.gz", ".md", ".html"}) {
    if (path.ends_with(extension)) return path.substr(0, path.size() - extension.size());
  }
  return path;
}

std::string page_id(std::string_view path) {
  std::string_view id = without_extension(path);
  const std::size_t slash = id.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? id : id.substr(slash + 1);
  if (name == "_index" || name == "index" || name == "README") {
    return slash == std::string_view::npos ? "index" : std::string(id.substr(0, slash));
  }
  return std::string(id);
}

std::string page_id_of_reference(std::string_view reference) {
  while (reference.starts_with("./")) reference.remove_prefix(2);
  constexpr std::string_view hugo_root = "content/manuals/";
  if (reference.starts_with(hugo_root)) reference.remove_prefix(hugo_root.size());
  return page_id(reference);
}

}  // namespace polygraph::index
