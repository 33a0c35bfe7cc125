#include "proxy/service/question_log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "proxy/http/clock_text.hpp"

namespace polygraph::proxy {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Bytes at the start of `text` that are one number, however it is grouped; 0 where it is none that is long.
std::size_t long_number(std::string_view text) {
  constexpr std::size_t long_run = 6, long_grouped = 7, widest_gap = 3;
  constexpr std::string_view between = " .-/()+";
  std::size_t digits = 0, run = 0, longest_run = 0, end = 0;
  for (std::size_t i = 0, gap = 0; i < text.size(); ++i) {
    if (digit(text[i])) {
      gap = 0;
      ++digits;
      longest_run = std::max(longest_run, ++run);
      end = i + 1;
    } else if (between.find(text[i]) != std::string_view::npos && ++gap <= widest_gap) {
      run = 0;
    } else {
      break;
    }
  }
  return longest_run >= long_run || digits >= long_grouped ? end : 0;
}

/// Letters and digits of 20 or more with both: a key, or an id.
bool is_key(std::string_view word) {
  constexpr std::size_t shortest = 20;
  const auto part = [](char c) { return digit(c) || letter(c) || c == '_' || c == '-'; };
  std::size_t start = 0;
  for (std::size_t i = 0; i <= word.size(); ++i) {
    if (i < word.size() && part(word[i])) continue;
    const auto run = word.substr(start, i - start);
    start = i + 1;
    // A long option or file name has a digit now and then; a key has several.
    if (run.size() >= shortest && std::count_if(run.begin(), run.end(), digit) >= 3 && std::any_of(run.begin(), run.end(), letter)) return true;
  }
  return false;
}

bool is_address(std::string_view word) {
  const auto at = word.find('@');
  return at != std::string_view::npos && at > 0 && at + 1 < word.size();
}

/// IPv6: hexadecimal groups with at least two colons.
bool is_ipv6(std::string_view word) {
  const auto colons = std::count(word.begin(), word.end(), ':');
  return colons >= 2 && std::all_of(word.begin(), word.end(), [](char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.' || c == '/' || c == '[' || c == ']' || c == '%' || c == '?' || c == ','; }) &&
         std::any_of(word.begin(), word.end(), digit);
}

}  // namespace

std::string masked(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool word_begins = i == 0 || space(text[i - 1]);
    if (word_begins && !space(text[i])) {
      std::size_t end = i;
      while (end < text.size() && !space(text[end])) ++end;
      const auto word = text.substr(i, end - i);
      const char* mask = is_address(word) ? "[e-mail]" : is_key(word) ? "[key]" : is_ipv6(word) ? "[number]" : nullptr;
      if (mask != nullptr) {
        out += mask;
        i = end;
        continue;
      }
    }
    if (digit(text[i]) && (i == 0 || !digit(text[i - 1]))) {
      if (const auto length = long_number(text.substr(i)); length > 0) {
        out += "[number]";
        i += length;
        continue;
      }
    }
    out += text[i++];
  }
  return out;
}

AskedQuestion asked_question(const agent::Run& run) {
  AskedQuestion asked{run.question, agent::name(run.status), {}};
  for (const auto& step : run.steps) {
    if (const auto* refused = std::get_if<agent::Refused>(&step.data)) {
      asked.reason = refused->last_grader_reason.empty() ? refused->reason : refused->last_grader_reason;
      asked.closest = refused->closest;
    }
  }
  return asked;
}

Result<std::unique_ptr<QuestionLog>> QuestionLog::open(std::filesystem::path file, std::uint64_t most_bytes) {
  std::unique_ptr<QuestionLog> log(new QuestionLog(std::move(file), most_bytes));
  if (!log->reopen()) return fail(ErrorCode::io, std::string("can't be opened for writing: ") + std::strerror(errno), "QUESTION_LOG");
  return log;
}

QuestionLog::~QuestionLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool QuestionLog::reopen() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
  return descriptor_ >= 0;
}

bool QuestionLog::add(const AskedQuestion& asked) {
  std::string now;
  http::append_iso_time(now);
  constexpr std::size_t day_length = 10;
  nlohmann::ordered_json line = {{"kind", "question"}, {"schema", 1}, {"day", now.substr(0, day_length)}, {"question", masked(asked.question)}, {"status", asked.status}, {"reason", masked(asked.reason)}, {"closest", nlohmann::ordered_json::array()}};
  for (const auto& page : asked.closest) line["closest"].push_back({{"title", page.title}, {"url", page.url}});
  const std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(mutex_);
  const bool written = write(text);
  return written || std::exchange(failing_, !written);
}

bool QuestionLog::write(std::string_view line) {
  if (!lock_with_room_for(line.size())) return false;
  const auto written = ::write(descriptor_, line.data(), line.size());
  ::flock(descriptor_, LOCK_UN);
  if (written != static_cast<ssize_t>(line.size())) return false;
  failing_ = false;
  return true;
}

// Several servers may share the file: whoever holds its lock writes, and one whose file was put aside meanwhile, by another
// server or by logrotate, goes on in the new one.
bool QuestionLog::lock_with_room_for(std::size_t bytes) {
  constexpr int tries = 16;
  for (int i = 0; i < tries; ++i) {
    if ((descriptor_ < 0 && !reopen()) || ::flock(descriptor_, LOCK_EX) != 0) return false;
    struct stat ours {};
    struct stat named {};
    const bool current = ::fstat(descriptor_, &ours) == 0 && ::stat(file_.c_str(), &named) == 0 && named.st_ino == ours.st_ino && named.st_dev == ours.st_dev;
    if (current && (ours.st_size == 0 || static_cast<std::uint64_t>(ours.st_size) + bytes <= most_bytes_)) return true;
    if (current) {
      std::error_code error;
      std::filesystem::rename(file_, file_.string() + ".1", error);
      if (error) {
        ::flock(descriptor_, LOCK_UN);
        return false;
      }
    }
    if (!reopen()) return false;  // closing gives up the lock
  }
  return false;
}

}  // namespace polygraph::proxy
