// A question to a language model, in no endpoint's format: who asks, what is asked, what the reply must look like.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace polygraph::proxy {

struct ModelRequest {
  std::string role;                 ///< who asks: generator, grader, rewriter, judge, drafter …; for the report, not sent
  std::string model;
  std::string system;               ///< may be empty
  std::vector<std::string> user;    ///< messages of the user, in order; at least one
  std::string schema = {};          ///< JSON Schema of the reply; empty: free text
  std::string schema_name = "reply";  ///< letters, digits, `_` and `-`
  /// The messages say themselves what JSON is wanted: the schema is not repeated to an endpoint that takes none.
  bool describes_reply = false;
  std::size_t max_tokens = 1024;    ///< of the reply, reasoning included
  std::optional<double> temperature = 0.0;  ///< nothing: the model's own
  bool stream = false;
  unsigned top_logprobs = 0;        ///< wanted at each position, at most 20; 0: none
};

}  // namespace polygraph::proxy
