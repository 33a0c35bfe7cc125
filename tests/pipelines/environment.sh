#!/usr/bin/env bash
# Makes the Python environment of requirements.txt once, in Polygraph's cache folder, and prints its interpreter. Another list
# of requirements is another environment. Fails, saying why, where it can't be made.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${POLYGRAPH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/polygraph}
python=${PYTHON:-python3}
digest=$({ "$python" --version; cat "$here/requirements.txt"; } | sha256sum | cut -c1-16)
folder=$cache/venv-pipelines-$digest
mkdir -p "$cache"

exec 9>"$cache/venv-pipelines.lock"
flock 9
if [[ ! -f $folder/made ]]; then
  rm -rf "$folder"
  "$python" -m venv "$folder" >&2
  "$folder/bin/pip" install -q --disable-pip-version-check --no-deps --only-binary :all: -r "$here/requirements.txt" >&2
  touch "$folder/made"
fi
echo "$folder/bin/python"
