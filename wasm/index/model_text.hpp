// What the models read of a passage.
#pragma once

#include <string>
#include <string_view>

namespace polygraph::index {

/// What the embedder and the reranker read of a chunk, or of a part of it: `title > heading > subheading`, newline, body.
std::string model_text(std::string_view title, std::string_view heading_path, std::string_view text);

}  // namespace polygraph::index
