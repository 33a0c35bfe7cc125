// The store's operations as Lua, each run by Redis as one step that nothing comes between. ARGV[1] is the prefix of every
// key; the scripts form the names of their keys from it, so this is for one server and not for a cluster.
//
// Keys behind the prefix:
//   call:ID        hash {model, at, tokens} of an open reservation, for two days
//   minute:MODEL   sorted set of `ID:tokens` by time: what the minutes count
//   pause:MODEL    the time until which upstream has paused it
//   days           sorted set of `DAY:MODEL` by day; day:DAY:MODEL hash {requests, in, out, open_requests, open_tokens}
//   cache, cache:use, cache:bytes   hash of values, sorted set of keys by use, sum of both's bytes
//   client:CLIENT  hash {level, at} of a bucket that is not full
//   check          written by check()
#pragma once

#include <string>

namespace polygraph::proxy::redis {

/// Times and counts in ARGV are decimal integers below 2^53.
struct Script {
  std::string text;
  std::string sha1;  ///< what EVALSHA calls it by; empty until the server said it
};

std::string reserve_script();    ///< ID MODEL TOKENS NOW RPM RPD TPM TPD: {1} or {0, window, until}
std::string settle_script();     ///< ID IN OUT; IN empty: in full
std::string release_script();    ///< ID
std::string pause_script();      ///< MODEL UNTIL
std::string remaining_script();  ///< MODEL NOW: {requests and tokens of the minute, of the day, pause}
std::string cached_script();     ///< KEY: the value or nil
std::string cache_script();      ///< KEY VALUE MOST-BYTES
std::string cache_size_script();    ///< {entries, bytes}
std::string shrink_cache_script();  ///< MOST-BYTES: entries dropped
std::string take_script();       ///< CLIENT BURST PER-MINUTE NOW: the wait
std::string usage_script();      ///< {day, model, requests, in, out, open requests, open tokens, …}
std::string check_script();

}  // namespace polygraph::proxy::redis
