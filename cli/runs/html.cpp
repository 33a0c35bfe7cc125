#include "cli/runs/html.hpp"

#include <algorithm>

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
  WholeFile page_file(out);
  page_file.write(std::string_view(*text).substr(0, at));
  page_file.write("<script type=\"application/json\" class=\"report-data\">");
  {
    // Inside a string "<" is the only character that could end the element.
    json::Writer writer([&](std::string_view piece) {
      for (std::size_t next = 0; !piece.empty(); piece.remove_prefix(next)) {
        const bool less = piece.front() == '<';
        page_file.write(less ? "\\u003c" : piece.substr(0, piece.find('<')));
        next = less ? 1 : std::min(piece.size(), piece.find('<'));
      }
    });
    write(writer);
  }
  page_file.write("</script>");
  page_file.write(std::string_view(*text).substr(at + marker.size()));
  return page_file.finish();
}

}  // namespace polygraph::cli
