// Anchors of headings, as GitHub and Hugo write them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace polygraph::corpus {

/// "What's new in `run --rm`?" -> "whats-new-in-run---rm": lower case, letters, digits, '-' and '_' kept, spaces to '-',
/// all else dropped. https://github.com/gjtorikian/html-pipeline (TableOfContentsFilter), Hugo's `github` heading ids.
std::string slug(std::string_view heading);

/// The anchors of one page: a slug that is taken gets `-1`, `-2`, …
class Anchors {
 public:
  std::string of_heading(std::string_view heading);
  /// An explicit `{#id}`, taken as it is.
  std::string of_id(std::string_view id);

 private:
  std::map<std::string, int, std::less<>> taken_;
};

}  // namespace polygraph::corpus
