// What the vocabularies of the chat models in use have in common (o200k, cl100k, Llama 3, Qwen 2.5; checked by
// tests/proxy/tasks): which words are one token in each of them, and which pairs of letters are two in some.
#pragma once

#include <string_view>

namespace polygraph::proxy {

/// Whether `word` (small letters a to z), with a space before it and no letter after it, is one token.
bool is_common_word(std::string_view word);

/// Whether these two small letters side by side may stay two tokens.
bool is_rare_pair(char first, char second);

}  // namespace polygraph::proxy
