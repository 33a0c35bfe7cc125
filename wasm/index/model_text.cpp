#include "wasm/index/model_text.hpp"

namespace polygraph::index {

std::string model_text(std::string_view title, std::string_view heading_path, std::string_view text) {
  std::string out(title);
  if (!title.empty() && !heading_path.empty()) out += " > ";
  out += heading_path;
  if (!out.empty()) out += '\n';
  out += text;
  return out;
}

}  // namespace polygraph::index
