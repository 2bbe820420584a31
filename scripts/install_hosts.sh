#!/usr/bin/env bash
# Installs the agent frameworks that the tests marked `outside` guard, with what context-guard itself needs, into a cache
# folder of their own, and prints the interpreter that has them:
#
#     python=/…/bin/python
#
# Run again, it only prints. Nothing outside the folder is touched, and pip keeps the index it is configured with.
# About 1.2 GB, a third of it the program that the Claude Agent SDK carries.
#
#     CONTEXT_GUARD_HOSTS_DIR   the folder   (~/.cache/context-guard/hosts-VERSION)
#     PYTHON                    a Python from 3.11 on   (python3)
#
# Exit codes: 0 installed; 3 pip reaches no index or a package is not there; 1 anything else.
set -euo pipefail
cd "$(dirname "$0")/.."

version="1"
folder="${CONTEXT_GUARD_HOSTS_DIR:-$HOME/.cache/context-guard/hosts-$version}"
modules="pydantic_ai, langchain, langgraph, agents, claude_agent_sdk, google.adk, agent_framework, smolagents, litellm, minisweagent"

say() { printf 'install_hosts: %s\n' "$1" >&2; }

is_complete() { [[ -x "$1/bin/python" ]] && MSWEA_SILENT_STARTUP=1 "$1/bin/python" -c "import mypy, $modules" 2>/dev/null; }

if ! is_complete "$folder"; then
    mkdir -p "$(dirname "$folder")"
    rm -rf "$folder"
    "${PYTHON:-python3}" -m venv "$folder"
    if ! "$folder/bin/python" -m pip install --quiet --disable-pip-version-check '.[hosts,recipes]' mypy >"$folder/pip.log" 2>&1; then
        tail -n 5 "$folder/pip.log" >&2
        say "pip could not install the frameworks"
        rm -rf "$folder"
        exit 3
    fi
    # the tests run the code beside them, not a copy of it
    "$folder/bin/python" -m pip uninstall --quiet --disable-pip-version-check --yes context-guard
    if ! is_complete "$folder"; then
        say "pip succeeded, but the packages cannot be imported"
        exit 1
    fi
fi

echo "python=$folder/bin/python"
