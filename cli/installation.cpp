#include "cli/installation.hpp"

namespace polygraph::cli {

std::filesystem::path distribution(const Settings& settings) {
  if (const auto own = settings.get("POLYGRAPH_DIST"); !own.value.empty()) return own.value;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  for (auto folder = program.parent_path(); !error && folder != folder.root_path(); folder = folder.parent_path()) {
    std::error_code missing;  // is set where there is none, which ends nothing
    if (std::filesystem::is_directory(folder / "dist", missing)) return folder / "dist";
  }
  return "dist";
}

std::filesystem::path assets(const Settings& settings) { return distribution(settings).parent_path() / "assets"; }

std::string node_program(const Settings& settings) {
  const auto own = settings.get("POLYGRAPH_NODE");
  return own.value.empty() ? "node" : own.value;
}

}  // namespace polygraph::cli
