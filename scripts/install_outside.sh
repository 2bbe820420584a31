#!/usr/bin/env bash
# Installs the independent clients and servers that the tests marked `outside` compare the judges with, into a cache
# folder of their own, and prints the interpreter that has them:
#
#     python=/…/bin/python
#
# Run again, it only prints. Nothing outside the folder is touched, and pip keeps the index it is configured with.
#
#     CONTEXT_GUARD_OUTSIDE_DIR   the folder   (~/.cache/context-guard/outside-VERSION)
#     PYTHON                      a Python from 3.11 on   (python3)
#
# Exit codes: 0 installed; 3 pip reaches no index or a package is not there; 1 anything else.
set -euo pipefail

packages=(typesafe-sdk==0.7.5 jevcompat==0.1.1 detect-secrets==1.5.0)
version="1"
folder="${CONTEXT_GUARD_OUTSIDE_DIR:-$HOME/.cache/context-guard/outside-$version}"

say() { printf 'install_outside: %s\n' "$1" >&2; }

is_complete() { [[ -x "$1/bin/python" ]] && "$1/bin/python" -c 'import typesafe_sdk, jevcompat, detect_secrets' 2>/dev/null; }

if ! is_complete "$folder"; then
    mkdir -p "$(dirname "$folder")"
    rm -rf "$folder"
    "${PYTHON:-python3}" -m venv "$folder"
    if ! "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}" >"$folder/pip.log" 2>&1; then
        tail -n 5 "$folder/pip.log" >&2
        say "pip could not install ${packages[*]}"
        rm -rf "$folder"
        exit 3
    fi
    if ! is_complete "$folder"; then
        say "pip succeeded, but the packages cannot be imported"
        exit 1
    fi
fi

echo "python=$folder/bin/python"
