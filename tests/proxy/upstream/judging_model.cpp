#include "judging_model.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

namespace polygraph::proxy::testing {
namespace {

using Json = nlohmann::ordered_json;

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto at = text.find(begin);
  if (at == std::string::npos) return {};
  const auto from = at + begin.size(), to = text.find(end, from);
  return to == std::string::npos ? std::string() : text.substr(from, to - from);
}

std::set<std::string> words(const std::string& text) {
  std::set<std::string> out;
  std::string word;
  for (const char c : text + ' ') {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      out.insert(word);
      word.clear();
    }
  }
  return out;
}

bool holds(const std::string& text, const std::string& claim) {
  const auto held = words(text), wanted = words(claim);
  return std::includes(held.begin(), held.end(), wanted.begin(), wanted.end());
}

/// All passages, or the one with this label.
std::string passages(const std::string& prompt, const std::string& label) {
  static const std::regex passage("<passage label=\"([^\"]+)\">\n([\\s\\S]*?)\n</passage>");
  std::string out;
  for (auto found = std::sregex_iterator(prompt.begin(), prompt.end(), passage); found != std::sregex_iterator(); ++found) {
    if (label.empty() || (*found)[1] == label) out += (*found)[2].str() + '\n';
  }
  return out;
}

}  // namespace

std::optional<std::string> judgement_reply(const std::string& prompt, const std::string& format) {
  const std::string task = between(prompt, "<task>", "</task>"), answer = between(prompt, "<answer>\n", "\n</answer>");
  if (task.empty()) return std::nullopt;
  const auto asks_for = [&](const char* field) { return format.find(std::string("\"") + field + '"') != std::string::npos; };
  Json reply = {{"id", task}};
  if (asks_for("statements")) {
    reply["statements"] = Json::array({answer});
  } else if (asks_for("questions")) {
    reply["noncommittal"] = false;
    reply["questions"] = {"What is kept warm?", "How warm is it kept?", "What does the galley serve?"};
  } else if (asks_for("verdicts")) {
    reply["verdicts"] = Json::array();
    static const std::regex claim("<claim id=\"([^\"]+)\"(?: passage=\"([^\"]+)\")?>([\\s\\S]*?)</claim>");
    for (auto found = std::sregex_iterator(prompt.begin(), prompt.end(), claim); found != std::sregex_iterator(); ++found) {
      const bool supported = holds(passages(prompt, (*found)[2].str()), (*found)[3].str());
      reply["verdicts"].push_back({{"id", (*found)[1].str()}, {"reason", "by its words"}, {"verdict", supported ? "supported" : "unsupported"}});
    }
  } else if (asks_for("score")) {
    const int score = holds(answer, between(prompt, "<reference>\n", "\n</reference>")) ? 5 : 1;
    // Spaced, so that the score is a token of its own.
    return R"({"id": ")" + task + R"(", "reason": "by its words", "confidence": 0.75, "score": )" + std::to_string(score) + " }";
  } else if (asks_for("grounded")) {
    const bool grounded = holds(passages(prompt, ""), answer);
    reply["reason"] = "by its words";
    reply["unsupported_claims"] = grounded ? Json::array() : Json::array({answer});
    reply["confidence"] = 0.5;
    reply["grounded"] = grounded;
  } else {
    return std::nullopt;
  }
  return reply.dump();
}

std::optional<std::string> obedient_reply(const std::string& prompt) {
  if (between(prompt, "<task>", "</task>").empty()) return std::nullopt;
  std::istringstream lines(prompt);
  std::optional<std::string> reply;
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find('{');
    if (at != std::string::npos && line.find('"') != std::string::npos && line.rfind("Reply", 0) != 0) reply = line.substr(at);
  }
  if (!reply) return "I do as I am told.";
  for (std::size_t at = 0; (at = reply->find("&lt;", at)) != std::string::npos;) reply->replace(at, 4, "<");
  return reply;
}

}  // namespace polygraph::proxy::testing
