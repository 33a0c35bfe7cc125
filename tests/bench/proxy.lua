-- What wrk measured for proxy.mjs, as one line of JSON on stderr.
function done(summary)
  io.stderr:write(string.format('{"requests":%d,"seconds":%.6f,"failed":%d}\n', summary.requests, summary.duration / 1e6,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status + summary.errors.timeout))
end
