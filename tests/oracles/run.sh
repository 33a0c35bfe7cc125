#!/usr/bin/env bash
# run.sh SCRIPT ARGUMENTS…: runs an oracle in a virtual environment with the packages of requirements.txt, which is made on first
# use and kept in Polygraph's cache folder under the file's digest. Exit status 77, which ctest takes as skipped, where the packages
# can't be had; in continuous integration (CI is set) that is a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=${POLYGRAPH_ORACLE_REQUIREMENTS:-$here/requirements.txt}
digest=$(sha256sum "$requirements" | cut -c1-16)
cache=${POLYGRAPH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/polygraph}
environment=$cache/oracles-$digest

skip() {
  echo "skipped: $1" >&2
  [[ -n ${CI:-} ]] && exit 1
  exit 77
}

command -v python3 >/dev/null || skip "there is no python3"
mkdir -p "$cache"
exec 9>"$cache/oracles.lock"
flock 9  # tests run side by side
if [[ ! -f $environment/complete ]]; then
  python3 -m venv --clear "$environment" || skip "python3 can't make a virtual environment (Debian: python3-venv)"
  "$environment/bin/pip" install -q --no-deps --disable-pip-version-check -r "$requirements" || skip "the packages of $requirements can't be installed; is there a network?"
  touch "$environment/complete"
fi
exec 9>&-
exec "$environment/bin/python" "$@"
