// The engine's tokenizer behind JSON lines, for tokenizer_reference.py.
//
//   tokenizer_program VOCAB_TXT
//
// reads {"text": …, "pair": … or null, "max": n} per line and answers {"ids", "types", "spans", "cut"} per line.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include "wasm/text/wordpiece.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tokenizer_program VOCAB_TXT\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string lines((std::istreambuf_iterator<char>(file)), {});
  const auto vocabulary = polygraph::text::Vocabulary::parse(lines);
  if (!vocabulary) {
    std::cerr << argv[1] << ": " << vocabulary.error().message << '\n';
    return 1;
  }
  const polygraph::text::WordPiece tokenizer(*vocabulary);

  for (std::string line; std::getline(std::cin, line);) {
    const auto request = nlohmann::json::parse(line);
    const auto text = request.at("text").get<std::string>();
    const auto max_tokens = request.at("max").get<std::size_t>();
    const polygraph::text::Encoding encoding =
        request.at("pair").is_null() ? tokenizer.encode(text, max_tokens)
                                     : tokenizer.encode_pair(text, request.at("pair").get<std::string>(), max_tokens);
    nlohmann::json spans = nlohmann::json::array();
    for (const auto& span : encoding.spans) spans.push_back({span.begin, span.end});
    std::cout << nlohmann::json{{"ids", encoding.ids}, {"types", encoding.type_ids}, {"spans", std::move(spans)},
                                {"cut", encoding.tokens_cut}}
              << '\n';
  }
  return 0;
}
