// The models that this program was built for.
#pragma once

#include <string_view>

#include "proxy/models/manifest.hpp"
#include "wasm/error.hpp"

namespace polygraph::cli {

std::string_view model_manifest_text() noexcept;
inline Result<models::Manifest> model_manifest() { return models::Manifest::parse(model_manifest_text(), "assets/models.json"); }

}  // namespace polygraph::cli
