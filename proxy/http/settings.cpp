#include "proxy/http/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace polygraph::http {
namespace {

/// A day: a deadline past it is a typing error, and far from overflowing a clock.
constexpr std::uint64_t max_milliseconds = 24ULL * 60 * 60 * 1000;
constexpr std::uint64_t max_count = 1'000'000;
constexpr std::uint64_t max_bytes = 1ULL << 30;

struct NumberSetting {
  std::string_view name;
  std::uint64_t min, max;
  void (*apply)(Settings&, std::uint64_t);
  std::uint64_t (*read)(const Settings&);
  std::string_view meaning;
};

template <auto Member>
void set_number(Settings& settings, std::uint64_t value) {
  settings.limits.*Member = static_cast<std::remove_reference_t<decltype(settings.limits.*Member)>>(value);
}
template <auto Member>
void set_time(Settings& settings, std::uint64_t value) {
  settings.limits.*Member = Milliseconds(static_cast<Milliseconds::rep>(value));
}

template <auto Member>
std::uint64_t get_number(const Settings& settings) {
  return static_cast<std::uint64_t>(settings.limits.*Member);
}
template <auto Member>
std::uint64_t get_time(const Settings& settings) {
  return static_cast<std::uint64_t>((settings.limits.*Member).count());
}

constexpr std::array numbers = {
    NumberSetting{"MAX_TARGET_BYTES", 16, max_bytes, set_number<&Limits::max_target_bytes>, get_number<&Limits::max_target_bytes>,
                  "of a request target; past it 414"},
    NumberSetting{"MAX_HEADER_BYTES", 64, max_bytes, set_number<&Limits::max_header_bytes>, get_number<&Limits::max_header_bytes>,
                  "request line and fields together; past it 431"},
    NumberSetting{"MAX_HEADERS", 1, max_count, set_number<&Limits::max_headers>, get_number<&Limits::max_headers>,
                  "fields of a request; past it 431"},
    NumberSetting{"MAX_BODY_BYTES", 0, max_bytes, set_number<&Limits::max_body_bytes>, get_number<&Limits::max_body_bytes>,
                  "of a request body; past it 413, the body unread"},
    NumberSetting{"MAX_CONNECTIONS", 1, max_count, set_number<&Limits::max_connections>, get_number<&Limits::max_connections>,
                  "served at once; past it 503, closed"},
    NumberSetting{"IDLE_TIMEOUT_MS", 1, max_milliseconds, set_time<&Limits::idle_timeout>, get_time<&Limits::idle_timeout>,
                  "without a byte of a next request: closed"},
    NumberSetting{"HEADER_TIMEOUT_MS", 1, max_milliseconds, set_time<&Limits::header_timeout>, get_time<&Limits::header_timeout>,
                  "from the first byte of a request to the end of its head: 408"},
    NumberSetting{"BODY_TIMEOUT_MS", 1, max_milliseconds, set_time<&Limits::body_timeout>, get_time<&Limits::body_timeout>,
                  "from the end of the head to the end of the body: 408"},
    NumberSetting{"WRITE_TIMEOUT_MS", 1, max_milliseconds, set_time<&Limits::write_timeout>, get_time<&Limits::write_timeout>,
                  "without the client taking a byte: cut"},
    NumberSetting{"TOTAL_TIMEOUT_MS", 1, max_milliseconds, set_time<&Limits::total_timeout>, get_time<&Limits::total_timeout>,
                  "from the first byte in to the last byte out: cut"},
    NumberSetting{"SHUTDOWN_TIMEOUT_MS", 1, max_milliseconds, set_time<&Limits::shutdown_timeout>, get_time<&Limits::shutdown_timeout>,
                  "that running answers get when the server stops"},
};
std::optional<Error> apply_number(const NumberSetting& setting, std::string_view text, Settings& settings) {
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && value >= setting.min && value <= setting.max) {
    setting.apply(settings, value);
    return std::nullopt;
  }
  return Error{ErrorCode::invalid_argument,
               std::string(setting.name) + " is \"" + std::string(text) + "\": it must be a whole number from " +
                   std::to_string(setting.min) + " to " + std::to_string(setting.max),
               std::string(setting.name)};
}

template <class Use>
void each_in_list(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const auto comma = text.find(',');
    auto item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (!item.empty()) use(item);
  }
}

template <auto Member>
std::optional<std::string> set_origins(Settings& settings, std::string_view text) {
  (settings.*Member).clear();
  std::optional<std::string> wrong;
  each_in_list(text, [&](std::string_view origin) {
    if (is_origin(origin)) (settings.*Member).emplace_back(origin);
    else if (!wrong) wrong = "holds \"" + std::string(origin) + "\": list exact origins such as https://api.example.org, with commas between them";
  });
  return wrong;
}

std::optional<std::string> set_proxies(Settings& settings, std::string_view text) {
  settings.trusted_proxies = {};
  std::optional<std::string> wrong;
  each_in_list(text, [&](std::string_view proxy) {
    if (!settings.trusted_proxies.add(proxy) && !wrong) {
      wrong = "holds \"" + std::string(proxy) + "\": list addresses and CIDR blocks such as 10.0.0.0/8, with commas between them";
    }
  });
  return wrong;
}

struct ListSetting {
  std::string_view name;
  std::optional<std::string> (*apply)(Settings&, std::string_view);
  std::string_view meaning;
};
constexpr std::array lists = {
    ListSetting{"CONNECT_ENDPOINTS", set_origins<&Settings::connect_endpoints>, "origins of endpoints that the page may connect to"},
    ListSetting{"ALLOWED_ORIGINS", set_origins<&Settings::allowed_origins>, "origins whose pages may read the API's answers (CORS)"},
    ListSetting{"TRUSTED_PROXIES", set_proxies, "front servers whose X-Forwarded-For is believed: addresses, CIDR blocks"},
};

/// nullopt when applied; an error otherwise. An unknown name is an error too.
std::optional<Error> apply(std::string_view name, std::string_view value, Settings& settings, const std::vector<ExtraSetting>& more) {
  const auto number = std::find_if(numbers.begin(), numbers.end(), [&](const NumberSetting& n) { return n.name == name; });
  if (number != numbers.end()) return apply_number(*number, value, settings);
  const auto error = [&](const std::string& wrong) { return Error{ErrorCode::invalid_argument, std::string(name) + ' ' + wrong, std::string(name)}; };
  for (const auto& list : lists) {
    if (list.name != name) continue;
    const auto wrong = list.apply(settings, value);
    return wrong ? std::optional(error(*wrong)) : std::nullopt;
  }
  for (const auto& setting : more) {
    if (setting.name != name) continue;
    const auto wrong = setting.apply(value);
    return wrong ? std::optional(error(*wrong)) : std::nullopt;
  }
  std::string known;
  for (const auto& setting : numbers) known += std::string(setting.name) + ", ";
  for (const auto& setting : more) known += setting.name + ", ";
  for (const auto& setting : lists) known += (setting.name == lists.front().name ? "" : ", ") + std::string(setting.name);
  return Error{ErrorCode::invalid_argument, "there is no setting \"" + std::string(name) + "\"; there are " + known, std::string(name)};
}

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

bool is_origin(std::string_view text) noexcept {
  if (text.substr(0, 8) == "https://") text.remove_prefix(8);
  else if (text.substr(0, 7) == "http://") text.remove_prefix(7);
  else return false;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const auto close = text.find(']');
    if (close == std::string_view::npos || close < 3) return false;
    for (const char c : text.substr(1, close - 1)) {
      if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F') && c != ':' && c != '.') return false;
    }
    port = text.substr(close + 1);
  } else {
    const auto colon = text.find(':');
    const auto host = text.substr(0, colon);
    // No `*`: an origin that is listed is one origin.
    if (host.empty() || !std::all_of(host.begin(), host.end(), [](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; })) return false;
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (port.empty()) return true;
  unsigned number = 0;
  const auto read = std::from_chars(port.data() + 1, port.data() + port.size(), number);
  return port.front() == ':' && port.size() > 1 && read.ec == std::errc() && read.ptr == port.data() + port.size() && number >= 1 &&
         number <= 65535;
}

std::vector<SettingHelp> server_settings() {
  std::vector<SettingHelp> all;
  const Settings defaults;
  for (const auto& number : numbers) all.push_back({std::string(number.name), std::to_string(number.read(defaults)), std::string(number.meaning)});
  for (const auto& list : lists) all.push_back({std::string(list.name), "none", std::string(list.meaning)});
  return all;
}

Result<Settings> read_settings(const Environment& environment, const std::vector<std::string>& overrides, const std::vector<ExtraSetting>& more) {
  Settings settings;
  std::vector<std::string> names;
  for (const auto& number : numbers) names.emplace_back(number.name);
  for (const auto& list : lists) names.emplace_back(list.name);
  for (const auto& setting : more) names.push_back(setting.name);
  for (const auto& name : names) {
    const auto value = environment("PROXY_" + name);
    if (!value) continue;
    if (auto error = apply(name, *value, settings, more)) return tl::unexpected(std::move(*error));
  }
  for (const auto& setting : overrides) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos) return fail(ErrorCode::invalid_argument, "--set takes NAME=VALUE, not \"" + setting + "\"", "--set");
    const auto text = std::string_view(setting);
    if (auto error = apply(text.substr(0, equals), text.substr(equals + 1), settings, more)) return tl::unexpected(std::move(*error));
  }
  return settings;
}

}  // namespace polygraph::http
