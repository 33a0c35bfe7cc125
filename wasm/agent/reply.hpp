// What a language model's reply says, and what is wrong with it. Replies are data from outside: any bytes may come.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wasm/error.hpp"

namespace polygraph::agent {

/// JSON Schemas that `complete` effects carry.
extern const std::string_view grade_schema;
extern const std::string_view rewrite_schema;

struct GradeReply {
  bool relevant = false;
  std::string reason;
  std::vector<std::string> relevant_chunk_ids;
};

/// Reads the last complete JSON value of a reply: models think aloud, fence their JSON, or correct themselves, and the
/// last value is what they settled on. Fails with `invalid_json` saying what was expected and what was there.
Result<GradeReply> parse_grade(std::string_view reply);
/// The new query. Fails with `invalid_json`; an empty query or one over `longest` bytes is one too.
Result<std::string> parse_rewrite(std::string_view reply, std::size_t longest);

/// True if the first sentence of an answer says that the question cannot be answered from the context.
bool declines(std::string_view answer);

/// `text` with every ill-formed UTF-8 sequence replaced by U+FFFD, so that it can stand in JSON.
std::string well_formed(std::string_view text);

/// Case and white space folded: what two queries must differ in to be different.
std::string folded(std::string_view text);

}  // namespace polygraph::agent
