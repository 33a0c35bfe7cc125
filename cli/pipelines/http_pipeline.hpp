// A pipeline behind HTTP: POST BASE/retrieve and BASE/generate with the bodies of the command protocol. Redirects are not
// followed, proxy variables not read; https is verified against the system's certificates.
#pragma once

#include <memory>
#include <string_view>

#include "cli/pipelines/pipeline.hpp"

namespace polygraph::pipelines {

/// Nothing is asked of it yet. Fails with `invalid_argument` for a URL that is none (field `pipeline`).
Result<std::unique_ptr<Pipeline>> open_http(std::string_view url, const Options& options);

}  // namespace polygraph::pipelines
