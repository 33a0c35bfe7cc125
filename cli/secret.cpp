#include "cli/secret.hpp"

#include <utility>

#include "cli/mapped_file.hpp"

namespace polygraph::cli {

Result<Secret> secret(const Settings& settings, const std::string& name) {
  constexpr std::size_t longest = 4096;
  if (auto value = settings.get(name).value; !value.empty()) return Secret{std::move(value), name};
  const std::string variable = name + "_FILE";
  const auto file = settings.get(variable).value;
  if (file.empty()) return Secret{"", name};
  auto text = read_text(file, longest);
  if (!text) return fail(text.error().code, file + ": " + text.error().message, variable);
  const auto first = text->find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return fail(ErrorCode::invalid_argument, file + " holds no key", variable);
  return Secret{text->substr(first, text->find_last_not_of(" \t\r\n") - first + 1), variable};
}

}  // namespace polygraph::cli
