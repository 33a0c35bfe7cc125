#include "proxy/store/redis_scripts.hpp"

#include <fmt/format.h>

#include "proxy/store/ledger.hpp"

namespace polygraph::proxy::redis {
namespace {

/// The ledger's days, the pauses and the cache are kept this long after they were last written: a year and a month.
constexpr std::int64_t kept_s = 400 * 86'400;
/// A minute's calls, after the last one. Redis counts by its own clock, the entries by the instances'.
constexpr std::int64_t minute_kept_s = 3600;
/// A bucket, after the time at which it is full again.
constexpr std::int64_t bucket_kept_ms = 60'000;
constexpr int check_kept_s = 3600;

/// What the scripts share, with the constants of the ledger in front. Lua prints large numbers with an exponent: `int`
/// does not.
std::string script(std::string_view body) {
  static const std::string head = fmt::format(
      "local MINUTE, DAY, NEVER = {}, {}, {}\n"
      "local CLOSED_KEPT, OPEN_KEPT_MS, KEPT, MINUTE_KEPT, BUCKET_KEPT_MS, CHECK_KEPT = {}, {}, {}, {}, {}, {}\n",
      minute_ms, day_ms, never, closed_call_kept_ms, open_call_kept_ms, kept_s, minute_kept_s, bucket_kept_ms, check_kept_s);
  return head + R"(
local call, prefix = redis.call, ARGV[1]
local function int(number) return string.format('%.0f', number) end
local function day_of(time) return math.floor(time / DAY) end
local function day_key(day, model) return prefix .. 'day:' .. int(day) .. ':' .. model end
-- Requests and tokens that count in a day.
local function day_sums(day, model)
  local sums = call('HMGET', day_key(day, model), 'requests', 'in', 'out', 'open_tokens')
  return tonumber(sums[1] or 0), tonumber(sums[2] or 0) + tonumber(sums[3] or 0) + tonumber(sums[4] or 0)
end
local function minute_calls(model, now)
  return call('ZREVRANGEBYSCORE', prefix .. 'minute:' .. model, '+inf', '(' .. int(now - MINUTE), 'WITHSCORES')
end
local function tokens_of(member) return tonumber(string.match(member, ':(%d+)$')) end
local function pause_end(model) return tonumber(call('GET', prefix .. 'pause:' .. model) or 0) end
)" + std::string(body);
}

}  // namespace

std::string reserve_script() {
  return script(R"(
local id, model = ARGV[2], ARGV[3]
local tokens, now = tonumber(ARGV[4]), tonumber(ARGV[5])
local rpm, rpd, tpm, tpd = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local reservation, minute = prefix .. 'call:' .. id, prefix .. 'minute:' .. model
if call('EXISTS', reservation) == 1 then return {1} end  -- sent again over a new connection
local window, fits = 4, now
local function not_before(which, time)
  if time > fits then window, fits = which, time end
end
not_before(4, pause_end(model))
-- From the newest call to older ones: the first that leaves no room must have left the minute.
local calls, sum, requests_fit, tokens_fit = minute_calls(model, now), 0, true, true
for i = 1, #calls, 2 do
  local gone = tonumber(calls[i + 1]) + MINUTE
  sum = sum + tokens_of(calls[i])
  if requests_fit and (i + 1) / 2 >= rpm then
    requests_fit = false
    not_before(0, gone)
  end
  if tokens_fit and sum + tokens > tpm then
    tokens_fit = false
    not_before(2, gone)
  end
  if not requests_fit and not tokens_fit then break end
end
while true do
  local day = day_of(fits)
  local requests, used = day_sums(day, model)
  if requests >= rpd then not_before(1, (day + 1) * DAY)
  elseif used + tokens > tpd then not_before(3, (day + 1) * DAY)
  else break end
end
if fits > now then return {0, window, fits} end

-- Adding comes first: a server without memory stops a script only before its first write.
call('ZADD', minute, int(now), id .. ':' .. int(tokens))
call('ZREMRANGEBYSCORE', minute, '-inf', int(now - CLOSED_KEPT))
call('EXPIRE', minute, MINUTE_KEPT)
call('HSET', reservation, 'model', model, 'at', int(now), 'tokens', int(tokens))
call('PEXPIRE', reservation, OPEN_KEPT_MS)
local day = day_of(now)
local key = day_key(day, model)
call('HINCRBY', key, 'requests', 1)
call('HINCRBY', key, 'open_requests', 1)
call('HINCRBY', key, 'open_tokens', int(tokens))
call('EXPIRE', key, KEPT)
call('ZADD', prefix .. 'days', int(day), int(day) .. ':' .. model)
call('EXPIRE', prefix .. 'days', KEPT)
return {1}
)");
}

std::string settle_script() {
  return script(R"(
local id = ARGV[2]
local reservation = prefix .. 'call:' .. id
local open = call('HMGET', reservation, 'model', 'at', 'tokens')
if not open[1] then return 0 end
local model, at, tokens = open[1], open[2], open[3]
local used_in, used_out = ARGV[3], ARGV[4]
if used_in == '' then used_in, used_out = tokens, '0' end
local minute = prefix .. 'minute:' .. model
if call('ZREM', minute, id .. ':' .. tokens) == 1 then
  call('ZADD', minute, at, id .. ':' .. int(tonumber(used_in) + tonumber(used_out)))
end
local key = day_key(day_of(tonumber(at)), model)
call('HINCRBY', key, 'in', used_in)
call('HINCRBY', key, 'out', used_out)
call('HINCRBY', key, 'open_requests', -1)
call('HINCRBY', key, 'open_tokens', '-' .. tokens)
call('DEL', reservation)
return 1
)");
}

std::string release_script() {
  return script(R"(
local id = ARGV[2]
local reservation = prefix .. 'call:' .. id
local open = call('HMGET', reservation, 'model', 'at', 'tokens')
if not open[1] then return 0 end
local model, tokens, day = open[1], open[3], day_of(tonumber(open[2]))
call('ZREM', prefix .. 'minute:' .. model, id .. ':' .. tokens)
local key = day_key(day, model)
call('HINCRBY', key, 'open_requests', -1)
call('HINCRBY', key, 'open_tokens', '-' .. tokens)
if call('HINCRBY', key, 'requests', -1) == 0 then
  call('DEL', key)
  call('ZREM', prefix .. 'days', int(day) .. ':' .. model)
end
call('DEL', reservation)
return 1
)");
}

std::string pause_script() {
  return script(R"(
local model, time = ARGV[2], ARGV[3]
if tonumber(time) > pause_end(model) then call('SET', prefix .. 'pause:' .. model, time, 'EX', KEPT) end
return 1
)");
}

std::string remaining_script() {
  return script(R"(
local model, now = ARGV[2], tonumber(ARGV[3])
local calls, sum = minute_calls(model, now), 0
for i = 1, #calls, 2 do sum = sum + tokens_of(calls[i]) end
local requests, tokens = day_sums(day_of(now), model)
return {#calls / 2, sum, requests, tokens, pause_end(model)}
)");
}

std::string cached_script() {
  return script(R"(
local value = call('HGET', prefix .. 'cache', ARGV[2])
if value then
  local newest = call('ZREVRANGE', prefix .. 'cache:use', 0, 0, 'WITHSCORES')
  call('ZADD', prefix .. 'cache:use', int(tonumber(newest[2] or 0) + 1), ARGV[2])
  for _, name in ipairs({'cache', 'cache:use', 'cache:bytes'}) do call('EXPIRE', prefix .. name, KEPT) end
end
return value
)");
}

std::string cache_size_script() {
  return script(R"(
return {call('HLEN', prefix .. 'cache'), tonumber(call('GET', prefix .. 'cache:bytes') or 0)}
)");
}

std::string shrink_cache_script() {
  return script(R"(
local most = tonumber(ARGV[2])
local values, uses, bytes_key = prefix .. 'cache', prefix .. 'cache:use', prefix .. 'cache:bytes'
local bytes, dropped = tonumber(call('GET', bytes_key) or 0), 0
while bytes > most do
  local name = call('ZRANGE', uses, 0, 0)[1]
  if not name then break end
  bytes = bytes - #name - call('HSTRLEN', values, name)
  call('HDEL', values, name)
  call('ZREM', uses, name)
  dropped = dropped + 1
end
if dropped > 0 then
  call('SET', bytes_key, int(bytes))
  call('EXPIRE', bytes_key, KEPT)
end
return dropped
)");
}

std::string cache_script() {
  return script(R"(
local key, value, most = ARGV[2], ARGV[3], tonumber(ARGV[4])
local values, uses, bytes_key = prefix .. 'cache', prefix .. 'cache:use', prefix .. 'cache:bytes'
if call('EXISTS', values, uses, bytes_key) < 3 then call('DEL', values, uses, bytes_key) end
local bytes = tonumber(call('GET', bytes_key) or 0)
local function drop(name)
  bytes = bytes - #name - call('HSTRLEN', values, name)
  call('HDEL', values, name)
  call('ZREM', uses, name)
end
if call('HEXISTS', values, key) == 1 then drop(key) end
local added = #key + #value
if added <= most then
  while bytes + added > most do drop(call('ZRANGE', uses, 0, 0)[1]) end
  local newest = call('ZREVRANGE', uses, 0, 0, 'WITHSCORES')
  call('HSET', values, key, value)
  call('ZADD', uses, int(tonumber(newest[2] or 0) + 1), key)
  bytes = bytes + added
end
call('SET', bytes_key, int(bytes))
for _, name in ipairs({values, uses, bytes_key}) do call('EXPIRE', name, KEPT) end
return 1
)");
}

std::string take_script() {
  return script(R"(
local key = prefix .. 'client:' .. ARGV[2]
local capacity, rate, now = tonumber(ARGV[3]) * MINUTE, tonumber(ARGV[4]), tonumber(ARGV[5])
-- In 1/60000 of a token, so that a millisecond's refill is an integer.
local level, at = capacity, now
local bucket = call('HMGET', key, 'level', 'at')
if bucket[1] then
  at = math.max(now, tonumber(bucket[2]))  -- a clock that was set back refills nothing
  level = math.min(capacity, tonumber(bucket[1]))
  level = math.min(capacity, level + (at - tonumber(bucket[2])) * rate)
end
local taken = level >= MINUTE
if taken then level = level - MINUTE end
call('HSET', key, 'level', int(level), 'at', int(at))
if rate > 0 then call('PEXPIRE', key, int(math.ceil((capacity - level) / rate) + BUCKET_KEPT_MS))
else call('EXPIRE', key, KEPT) end
if taken then return 0 end
if rate == 0 or capacity < MINUTE then return NEVER end
return math.ceil((MINUTE - level) / rate)
)");
}

std::string usage_script() {
  return script(R"(
local rows = {}
for _, member in ipairs(call('ZRANGE', prefix .. 'days', 0, -1)) do
  local day, model = string.match(member, '^(%-?%d+):(.*)$')
  local sums = call('HMGET', prefix .. 'day:' .. member, 'requests', 'in', 'out', 'open_requests', 'open_tokens')
  if sums[1] then
    rows[#rows + 1] = {day, model, sums[1], sums[2] or '0', sums[3] or '0', sums[4] or '0', sums[5] or '0'}
  else
    call('ZREM', prefix .. 'days', member)
  end
end
return rows
)");
}

std::string check_script() {
  return script(R"(
call('SET', prefix .. 'check', '1', 'EX', CHECK_KEPT)
return call('GET', prefix .. 'check')
)");
}

}  // namespace polygraph::proxy::redis
