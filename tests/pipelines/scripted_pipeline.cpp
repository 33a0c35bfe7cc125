// A pipeline that does what its queries say, well or badly: the protocol by hand, so that every line of it can be wrong.
//
// A query is one of
//   raw:LINES      these lines, $ID replaced by the request's id
//   pid            a chunk whose id is this process's
//   child          starts a child that never ends, gives a chunk with its pid
//   exit:N, kill   ends without a reply
//   half           writes half a reply and ends
//   hang           never replies
//   flood:N        N bytes without a line's end, and never a reply
//   deep:N         a reply nested so deep
//   errors:TEXT    TEXT on stderr, then as below
//   bytes          the same with bytes that are no text
//   pair:N         waits until N such requests have come, then answers the last one first
//   unread         sleeps for good without reading on
//   empty          no chunks
//   passages:N     N chunks of 1,000 bytes
//   twice          the same chunk two times
// and any other gives one chunk with the query as its id and text. Generation takes the same words, and otherwise answers
// with the ids of the chunks it got. Arguments say how it begins: --hello LINE, --before LINE, --exit-at-start, --silent,
// --crash-once FILE (the first request after FILE is missing makes it, and ends the process).
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

std::string with_id(std::string text, const json& id) {
  for (auto at = text.find("$ID"); at != std::string::npos; at = text.find("$ID", at)) text.replace(at, 3, id.dump());
  return text;
}

void say(const std::string& line) { std::cout << line << std::endl; }
void say(const json& value) { say(value.dump()); }

[[noreturn]] void sleep_for_good() {
  for (;;) ::pause();
}

json chunk(const std::string& id, const std::string& text) { return {{"id", id}, {"text", text}, {"score", 0.5}, {"metadata", {{"page", 7}}}}; }

json reply_to(const json& request, const std::string& word) {
  json reply{{"id", request["id"]}};
  if (request["op"] == "retrieve") {
    reply["chunks"] = json::array({chunk(word, "text of " + word)});
    reply["chunks"][0]["metadata"]["k"] = request["k"];
  } else {
    std::string ids;
    for (const auto& given : request["chunks"]) ids += (ids.empty() ? "" : " ") + given["id"].get<std::string>();
    reply["answer"] = ids;
  }
  return reply;
}

}  // namespace

int main(int argc, char** argv) {
  std::string hello, crash_file;
  bool silent = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--exit-at-start") {
      std::cerr << "no configuration\n";
      return 7;
    }
    if (word == "--silent") silent = true;
    else if (word == "--before" && i + 1 < argc) say(std::string(argv[++i]));
    else if (word == "--hello" && i + 1 < argc) hello = argv[++i];
    else if (word == "--crash-once" && i + 1 < argc) crash_file = argv[++i];
  }
  std::vector<json> waiting;
  std::string line;
  while (std::getline(std::cin, line)) {
    const json request = json::parse(line);
    if (silent) continue;
    if (request["op"] == "hello") {
      if (hello.empty()) say(json{{"id", request["id"]}, {"name", "scripted"}});
      else say(with_id(hello, request["id"]));
      continue;
    }
    if (!crash_file.empty() && !std::ifstream(crash_file)) {
      std::ofstream(crash_file) << "crashed";
      return 3;
    }
    const std::string query = request["query"];
    const auto colon = query.find(':');
    const std::string verb = query.substr(0, colon), rest = colon == std::string::npos ? "" : query.substr(colon + 1);
    if (verb == "raw") {
      say(with_id(rest, request["id"]));
    } else if (verb == "pid") {
      say(reply_to(request, std::to_string(::getpid())));
    } else if (verb == "child") {
      const pid_t child = ::fork();
      if (child == 0) sleep_for_good();
      say(reply_to(request, std::to_string(child)));
    } else if (verb == "exit") {
      std::cerr << "out of luck\n";
      return std::stoi(rest);
    } else if (verb == "kill") {
      ::kill(::getpid(), SIGKILL);
    } else if (verb == "half") {
      const std::string whole = reply_to(request, query).dump();
      std::cout << whole.substr(0, whole.size() / 2) << std::flush;
      return 0;
    } else if (verb == "hang") {
      std::cerr << "thinking\n";
      sleep_for_good();
    } else if (verb == "unread") {
      say(reply_to(request, query));
      sleep_for_good();
    } else if (verb == "flood") {
      std::cout << std::string(std::stoul(rest), 'x') << std::flush;
      sleep_for_good();
    } else if (verb == "deep") {
      const auto depth = std::stoul(rest);
      say("{\"id\":" + request["id"].dump() + ",\"chunks\":" + std::string(depth, '[') + std::string(depth, ']') + "}");
    } else if (verb == "pair") {
      waiting.push_back(request);
      if (waiting.size() < std::stoul(rest)) continue;
      for (; !waiting.empty(); waiting.pop_back()) say(reply_to(waiting.back(), "answer " + waiting.back()["id"].dump()));
    } else if (verb == "empty" && request["op"] == "retrieve") {
      say(json{{"id", request["id"]}, {"chunks", json::array()}});
    } else if (verb == "passages" && request["op"] == "retrieve") {
      json chunks = json::array();
      for (auto left = std::stoul(rest); left > 0; --left) chunks.push_back(chunk("page#" + std::to_string(left), std::string(1000, 'p')));
      say(json{{"id", request["id"]}, {"chunks", std::move(chunks)}});
    } else if (verb == "twice" && request["op"] == "retrieve") {
      say(json{{"id", request["id"]}, {"chunks", {chunk("same", ""), chunk("same", "")}}});
    } else {
      if (verb == "errors") std::cerr << rest << std::flush;
      if (verb == "bytes") std::cerr << "no \xff UTF-8" << std::flush;
      say(reply_to(request, query));
    }
  }
  return 0;
}
