#include "proxy/http/clock_text.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace polygraph::http {
namespace {

constexpr std::array<const char*, 7> weekdays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct Second {
  std::time_t time = -1;
  std::array<char, 64> text{};
  std::size_t length = 0;
};

}  // namespace

std::string_view http_date() {
  thread_local Second cached;
  const auto now = std::time(nullptr);
  if (now != cached.time) {
    std::tm utc{};
    gmtime_r(&now, &utc);
    // Not strftime: weekday and month must be English under every locale.
    const int length = std::snprintf(cached.text.data(), cached.text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                     weekdays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                                     months[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                                     utc.tm_min, utc.tm_sec);
    cached.length = static_cast<std::size_t>(length);
    cached.time = now;
  }
  return {cached.text.data(), cached.length};
}

void append_iso_time(std::string& out) {
  thread_local Second cached;
  const auto since_epoch = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  const auto now = static_cast<std::time_t>(since_epoch.count() / 1000);
  if (now != cached.time) {
    std::tm utc{};
    gmtime_r(&now, &utc);
    cached.length = std::strftime(cached.text.data(), cached.text.size(), "%Y-%m-%dT%H:%M:%S.", &utc);
    cached.time = now;
  }
  out.append(cached.text.data(), cached.length);
  const auto ms = static_cast<unsigned>(since_epoch.count() % 1000);
  out += static_cast<char>('0' + ms / 100);
  out += static_cast<char>('0' + ms / 10 % 10);
  out += static_cast<char>('0' + ms % 10);
  out += 'Z';
}

}  // namespace polygraph::http
