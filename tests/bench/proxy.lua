-- What wrk sends for proxy.mjs, and what it measured as one line of JSON on stderr.
-- POLYGRAPH_BODY: a body that is sent with POST; `@N@` in it becomes a number of the request's own, so that no two are alike.
local body = os.getenv("POLYGRAPH_BODY")
local key = os.getenv("POLYGRAPH_KEY")
local started = 0
function setup(thread)
  started = started + 1
  thread:set("id", started)
end

local sent = 0
local first, rest = nil, nil
if body then
  local from, to = body:find("@N@", 1, true)
  if from then
    first, rest = body:sub(1, from - 1), body:sub(to + 1)
  else
    first, rest = body, ""
  end
  wrk.headers["Content-Type"] = "application/json"
  if key then wrk.headers["Authorization"] = "Bearer " .. key end
  request = function()
    sent = sent + 1
    return wrk.format("POST", nil, nil, first .. os.time() .. "-" .. id .. "-" .. sent .. rest)
  end
end

function done(summary, latency)
  io.stderr:write(string.format('{"requests":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"failed":%d}\n', summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status + summary.errors.timeout))
end
