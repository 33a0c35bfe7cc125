#include "cli/runs/html.hpp"

#include "cli/installation.hpp"
#include "cli/mapped_file.hpp"
#include "cli/whole_file.hpp"

namespace polygraph::cli {
namespace {

constexpr std::string_view marker = "<!--polygraph-report-data-->";

}  // namespace

Result<void> write_report_page(const Settings& settings, const std::function<void(json::Writer&)>& write, const std::filesystem::path& out) {
  const auto page = distribution(settings) / "report.html";
  auto text = read_text(page.string());
  if (!text) return fail(ErrorCode::not_found, "the report's page " + page.string() + " is not there: `./polygraph demo` builds it");
  const std::size_t at = text->find(marker);
  if (at == std::string::npos) return fail(ErrorCode::corrupt, "the report's page " + page.string() + " has no place for a report");
  std::string document = text->substr(0, at) + "<script type=\"application/json\" class=\"report-data\">";
  {
    // Inside a string "<" is the only character that could end the element.
    json::Writer writer([&](std::string_view piece) {
      for (const char c : piece) {
        if (c == '<') {
          document += "\\u003c";
        } else {
          document += c;
        }
      }
    });
    write(writer);
  }
  document += "</script>";
  document += text->substr(at + marker.size());
  return write_whole(out, document);
}

}  // namespace polygraph::cli
