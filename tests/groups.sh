# The groups of `./polygraph test`. Sourced by the entry script, whose functions and variables it uses.
#
#   native     GoogleTest: engine, index builder, models, command line, server
#   sanitize   the same under AddressSanitizer and UndefinedBehaviorSanitizer
#   reference  the tokenizer against Hugging Face's on fresh random strings
#   wasm       the compiled modules against the native ones: scores, traces, replay, evaluation; the npm package as it installs
#   web        type check and unit tests of the TypeScript
#   mcp        the Model Context Protocol server and its official client, over the real index and models
#   e2e        the page in Chromium, over the real server, index and models
#   sites      <polygraph-ask> in sites of MkDocs, Docusaurus, VitePress and plain HTML, built by their pages in assets/sites (some minutes
#              the first time)
#
# and, run by name only since they take long:
#
#   tsan       the proxy's tests under ThreadSanitizer
#   fuzz       libFuzzer on everything that reads bytes from a socket, FUZZ_SECONDS (60) each
#   kill       the quota's ledger under kill -9, POLYGRAPH_KILL_ROUNDS (200) rounds for each store
#   llm        a question and an evaluation through a real small language model, which it downloads (150 MB)
#   long       these four

all_groups=(native sanitize reference wasm web mcp e2e sites)
long_groups=(tsan fuzz kill llm)
venv=$cache/venv
fuzz_folder=$root/build/fuzz

# model_file ROLE NAME: where the cache keeps it.
model_file() { find "$cache/models/$1" -name "$2" -print -quit; }

export POLYGRAPH_TEST_INDEX=$index
POLYGRAPH_VOCAB=$(model_file embedder vocab.txt)
export POLYGRAPH_VOCAB
export POLYGRAPH_TEST_MODELS=$cache/models
export POLYGRAPH_SHARED=${POLYGRAPH_SHARED:-$root/../shared}

# The corpus of the second golden set, as assets/golden/README.md names it: fetched once, and by its digest.
fastify=fastify-5.12.8
fastify_sha256=459048aabd9311309f4f95b36e8ca065e3a4613ded292bcf50442926931e4748
export POLYGRAPH_TEST_FASTIFY=$cache/corpora/$fastify/package/docs
fetch_second_corpus() {
  local download
  download=$(mktemp -d)
  (cd "$download" && npm pack --silent "fastify@${fastify#fastify-}" >/dev/null)
  echo "$fastify_sha256  $download/$fastify.tgz" | sha256sum --check --quiet || return 1
  rm -rf "$cache/corpora/$fastify"
  mkdir -p "$cache/corpora/$fastify"
  tar xzf "$download/$fastify.tgz" -C "$cache/corpora/$fastify"
  rm -rf "$download"
}
prepare_second_corpus() { [[ -d $POLYGRAPH_TEST_FASTIFY ]] || run_step "second corpus" fetch_second_corpus; }

# The environment with LangChain and LlamaIndex, kept by its requirements' digest: made here, not within a test's time.
prepare_pipelines() { run_step "Python environment of the pipeline tests" "$root/tests/pipelines/environment.sh"; }

prepare_native() {
  prepare_second_corpus
  prepare_pipelines
  configure default with-tests
  run_step "native tests: build" cmake --build "$root/build/default" -j "$jobs"
}
prepare_sanitize() {
  prepare_second_corpus
  prepare_pipelines
  configure sanitize with-tests
  run_step "sanitized tests: build" cmake --build "$root/build/sanitize" -j "$jobs"
}
prepare_reference() {
  prepare_native
  local wanted
  wanted=$(digest tests/text/requirements.txt)
  if [[ -x $venv/bin/python ]] && [[ -f $venv/stamp && $(<"$venv/stamp") == "$wanted" ]]; then return; fi
  run_step "Python environment" bash -c 'python3 -m venv --clear "$1" && "$1/bin/pip" install -q --no-deps -r "$2"' _ "$venv" "$root/tests/text/requirements.txt"
  printf '%s' "$wanted" >"$venv/stamp"
}
prepare_wasm() { build_library; }
prepare_web() { :; }
prepare_mcp() { :; }
# The endpoint that the server asks in the browser tests is a program of the native ones.
prepare_e2e() {
  need_chromium
  build_library
  configure default with-tests
  run_step "scripted endpoint" cmake --build "$root/build/default" --target scripted_upstream -j "$jobs"
}
# Their packages come from npm and PyPI; built sites are kept by digest.
prepare_sites() { need_chromium; run_step "documentation sites" node "$root/tests/sites/build.mjs"; }
prepare_tsan() {
  configure tsan with-tests
  run_step "tests under ThreadSanitizer: build" env -C "$root" cmake --build --preset tsan -j "$jobs"
}
prepare_fuzz() {
  install_packages "${fuzz_packages[@]}"
  configure fuzz with-tests
  run_step "fuzzers: build" env -C "$root" cmake --build --preset fuzz -j "$jobs"
}
prepare_kill() {
  configure default with-tests
  run_step "store tests: build" cmake --build "$root/build/default" --target store_test -j "$jobs"
}
prepare_llm() { run_step "small language model" "$root/tests/llm/setup.sh" "$cache/llm"; }

# On a busy CI machine a test of deadlines may need its second try; the log names it.
ctest_options=(-j "$jobs" ${CI:+--repeat until-pass:2})
group_native() { env -C "$root" ctest --preset default "${ctest_options[@]}"; }
# Left out: what spends its time in models, Python packages or a file of 641 MB. Other tests run the same code with less of it.
unsanitized='^(ShippedSets\.TheGate|ShippedPipelines\.|LargeRun\.|Packages\.)'
group_sanitize() { env -C "$root" ctest --preset sanitize --exclude-regex "$unsanitized" "${ctest_options[@]}"; }
group_reference() {
  "$venv/bin/python" "$root/tests/text/tokenizer_reference.py" --program "$root/build/default/tests/text/tokenizer_program" \
    --tokenizer "$(model_file embedder tokenizer.json)" --vocab "$(model_file embedder vocab.txt)"
}
group_wasm() { env -C "$root" node tests/run.mjs tests/wasm; }
group_web() { env -C "$root" node_modules/.bin/tsc --noEmit && env -C "$root" node tests/run.mjs tests/web; }
group_mcp() { env -C "$root" POLYGRAPH_PROGRAM="$program" node tests/run.mjs tests/mcp; }
group_tsan() {
  local tests test failed=0
  mapfile -t tests < <(find "$root/build/tsan/tests" -type f -name '*_test' -executable | sort)
  ((${#tests[@]})) || { echo "no test was built"; return 1; }
  for test in "${tests[@]}"; do
    echo "--- ${test##*/}"
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 "$test" --gtest_brief=1 || failed=1
  done
  return "$failed"
}
# fuzz_one PROGRAM: from the committed seeds and what earlier runs came upon; a finding is kept in build/fuzz/findings.
fuzz_one() {
  local name=${1##*/fuzz_} seconds=${FUZZ_SECONDS:-60} log
  log=$fuzz_folder/$name.log
  mkdir -p "$fuzz_folder/corpus/$name" "$fuzz_folder/findings"
  if "$1" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 -artifact_prefix="$fuzz_folder/findings/$name-" \
    "$fuzz_folder/corpus/$name" "$root/tests/fuzz/seeds/$name" >"$log" 2>&1; then
    echo "fuzz_$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, no finding"
  else
    echo "fuzz_$name found something; add it to tests/fuzz/seeds/$name with its mend"
    grep -v '^#' "$log" | tail -n 60
    return 1
  fi
}
group_fuzz() {
  local programs program jobs_left=() status=0
  mapfile -t programs < <(find "$fuzz_folder/tests/fuzz" -type f -name 'fuzz_*' -executable | sort)
  ((${#programs[@]})) || { echo "no fuzzer was built"; return 1; }
  for program in "${programs[@]}"; do
    if ((${#jobs_left[@]} >= jobs)); then
      wait "${jobs_left[0]}" || status=1
      jobs_left=("${jobs_left[@]:1}")
    fi
    fuzz_one "$program" &
    jobs_left+=($!)
  done
  for program in "${jobs_left[@]}"; do wait "$program" || status=1; done
  return "$status"
}
group_kill() {
  POLYGRAPH_KILL_ROUNDS=${POLYGRAPH_KILL_ROUNDS:-200} "$root/build/default/tests/proxy/store/store_test" --gtest_filter='Killed*'
}
group_llm() { env -C "$root" node tests/llm/end_to_end.mjs "$program" "$cache/llm" "$index"; }
group_e2e() { env -C "$root" node_modules/.bin/playwright test --config tests/browser/playwright.config.ts; }
group_sites() { env -C "$root" node_modules/.bin/playwright test --config tests/sites/playwright.config.ts; }

# Runs one group with its output in a log; prints the log when it fails, its summary lines otherwise.
run_group() {
  local group=$1 log=$logs/test-$1.log start=$SECONDS status=0
  "group_$group" >"$log" 2>&1 || status=$?
  if ((status)); then
    { echo "--- $group"; tail -n 200 "$log"; } >&2
  else
    grep -E '^[0-9]+% tests passed|^(# |ℹ )?(pass|fail|skipped) [0-9]+|^ +[0-9]+ (passed|failed|skipped)|^[0-9]+ strings|^fuzz_|^\[  PASSED|replays$|\*\*\*Skipped|seed' "$log" | sed "s/^/  $group: /" >&2 || true
  fi
  printf '%s %s %s\n' "$group" "$status" "$((SECONDS - start))" >>"$logs/test-results"
}

run_test_groups() {
  local group groups=("$@") failed=0 passed=0 status seconds
  ((${#groups[@]})) || groups=("${all_groups[@]}")
  if [[ " ${groups[*]} " == *" long "* ]]; then
    for group in "${long_groups[@]}"; do [[ " ${groups[*]} " == *" $group "* ]] || groups+=("$group"); done
    mapfile -t groups < <(printf '%s\n' "${groups[@]}" | grep -vx long)
  fi
  for group in "${groups[@]}"; do
    [[ " ${all_groups[*]} ${long_groups[*]} " == *" $group "* ]] || die "unknown test group $group; there are: ${all_groups[*]} ${long_groups[*]} long" 2
  done
  mkdir -p "$logs"
  : >"$logs/test-results"
  for group in "${groups[@]}"; do "prepare_$group"; done

  # Two lanes for two cores: what runs real models, and the rest. The browser comes last and alone, so that its
  # deadlines mean something, and so do the long ones.
  local models=() rest=() alone=()
  for group in "${groups[@]}"; do
    case $group in
      native | wasm | mcp) models+=("$group") ;;
      e2e | sites | tsan | fuzz | kill | llm) alone+=("$group") ;;
      *) rest+=("$group") ;;
    esac
  done
  (for group in "${models[@]}"; do run_group "$group"; done) &
  local lane=$!
  for group in "${rest[@]}"; do run_group "$group"; done
  wait "$lane"
  for group in "${alone[@]}"; do run_group "$group"; done

  echo
  while read -r group status seconds; do
    if ((status)); then
      failed=$((failed + 1))
      echo "FAILED  $group (${seconds} s); log: $logs/test-$group.log"
    else
      passed=$((passed + 1))
      echo "ok      $group (${seconds} s)"
    fi
  done <"$logs/test-results"
  ((passed + failed == ${#groups[@]})) || { echo "a group did not report"; failed=$((failed + 1)); }
  echo "groups: $passed passed, $failed failed"
  ((failed == 0))
}
