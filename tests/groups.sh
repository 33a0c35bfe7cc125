# The groups of `./polygraph test`. Sourced by the entry script, whose functions and variables it uses.
#
#   native     GoogleTest: engine, index builder, models, command line, server
#   sanitize   the same under AddressSanitizer and UndefinedBehaviorSanitizer
#   reference  the tokenizer against Hugging Face's on fresh random strings
#   wasm       the compiled engine against the native one: scores, traces, replay
#   web        type check and unit tests of the TypeScript
#   e2e        the page in Chromium, over the real server, index and models

all_groups=(native sanitize reference wasm web e2e)
venv=$cache/venv

# model_file ROLE NAME: where the cache keeps it.
model_file() { find "$cache/models/$1" -name "$2" -print -quit; }

export POLYGRAPH_TEST_INDEX=$index
POLYGRAPH_VOCAB=$(model_file embedder vocab.txt)
export POLYGRAPH_VOCAB
export POLYGRAPH_TEST_MODELS=$cache/models
export POLYGRAPH_SHARED=${POLYGRAPH_SHARED:-$root/../shared}

prepare_native() {
  configure default with-tests
  run_step "native tests: build" cmake --build "$root/build/default" -j "$jobs"
}
prepare_sanitize() {
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
prepare_wasm() { :; }
prepare_web() { :; }
prepare_e2e() { :; }

# On a busy CI machine a test of deadlines may need its second try; the log names it.
ctest_options=(-j "$jobs" ${CI:+--repeat until-pass:2})
group_native() { env -C "$root" ctest --preset default "${ctest_options[@]}"; }
group_sanitize() { env -C "$root" ctest --preset sanitize "${ctest_options[@]}"; }
group_reference() {
  "$venv/bin/python" "$root/tests/text/tokenizer_reference.py" --program "$root/build/default/tests/text/tokenizer_program" \
    --tokenizer "$(model_file embedder tokenizer.json)" --vocab "$(model_file embedder vocab.txt)"
}
group_wasm() { env -C "$root" node tests/run.mjs tests/wasm; }
group_web() { env -C "$root" node_modules/.bin/tsc --noEmit && env -C "$root" node tests/run.mjs tests/web; }
group_e2e() { env -C "$root" node_modules/.bin/playwright test --config tests/browser/playwright.config.ts; }

# Runs one group with its output in a log; prints the log when it fails, its summary lines otherwise.
run_group() {
  local group=$1 log=$logs/test-$1.log start=$SECONDS status=0
  "group_$group" >"$log" 2>&1 || status=$?
  if ((status)); then
    { echo "--- $group"; tail -n 200 "$log"; } >&2
  else
    grep -E '^[0-9]+% tests passed|^(# |ℹ )?(pass|fail|skipped) [0-9]+|^ +[0-9]+ (passed|failed|skipped)|^[0-9]+ strings|\*\*\*Skipped|seed' "$log" | sed "s/^/  $group: /" >&2 || true
  fi
  printf '%s %s %s\n' "$group" "$status" "$((SECONDS - start))" >>"$logs/test-results"
}

run_test_groups() {
  local group groups=("$@") failed=0 passed=0 status seconds
  ((${#groups[@]})) || groups=("${all_groups[@]}")
  for group in "${groups[@]}"; do
    [[ " ${all_groups[*]} " == *" $group "* ]] || die "unknown test group $group; there are: ${all_groups[*]}" 2
  done
  mkdir -p "$logs"
  : >"$logs/test-results"
  for group in "${groups[@]}"; do "prepare_$group"; done

  # Two lanes for two cores: what runs real models, and the rest. The browser comes last and alone, so that its
  # deadlines mean something.
  local models=() rest=() alone=()
  for group in "${groups[@]}"; do
    case $group in
      native | wasm) models+=("$group") ;;
      e2e) alone+=("$group") ;;
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
