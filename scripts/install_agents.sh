#!/usr/bin/env bash
# Installs the agents that the tests marked `outside` guard through the proxy, into a cache folder of their own, and
# prints where they are:
#
#     claude=/…/claude       Claude Code, which the Claude Agent SDK carries
#     codex=/…/codex
#     opencode=/…/opencode
#     python=/…/bin/python   has the openai and anthropic SDKs
#
# Run again, it only prints. Nothing outside the folder is touched; pip and npm keep the registries they are configured
# with. About 1.3 GB. Pi is installed by install_pi.sh.
#
#     CONTEXT_GUARD_AGENTS_DIR   the folder   (~/.cache/context-guard/agents-VERSION)
#     PYTHON                     a Python from 3.11 on   (python3)
#
# Exit codes: 0 installed; 3 npm is missing, or a registry is not reached or has no such package; 1 anything else.
set -euo pipefail

version="1"
folder="${CONTEXT_GUARD_AGENTS_DIR:-$HOME/.cache/context-guard/agents-$version}"
wheels=(claude-agent-sdk==0.2.189 openai==3.57.0 anthropic==2.14.0)
packages=(@openai/codex@0.171.0 opencode-ai@1.18.33)

say() { printf 'install_agents: %s\n' "$1" >&2; }
unreachable() { tail -n 5 "$part/install.log" >&2 || true; say "$1"; exit 3; }

# The programs themselves: npm's wrappers would need a node on PATH.
program() { find "$1" -type f -perm -u+x -path "$2" -print -quit 2>/dev/null; }
claude_of() { program "$1/venv" '*/claude_agent_sdk/_bundled/claude'; }
codex_of() { program "$1/node_modules/@openai" '*/bin/codex'; }
opencode_of() {
    local found
    found="$(program "$1/node_modules" '*/opencode-linux-*/bin/opencode')"
    [[ -n "$found" ]] || found="$(program "$1/node_modules" '*/opencode-darwin-*/bin/opencode')"
    echo "$found"
}

is_complete() {
    [[ -n "$(claude_of "$1")" && -n "$(codex_of "$1")" && -n "$(opencode_of "$1")" ]] &&
        "$1/venv/bin/python" -c 'import openai, anthropic' 2>/dev/null
}

if ! is_complete "$folder"; then
    mkdir -p "$(dirname "$folder")"
    rm -rf "$folder"
    mkdir "$folder"
    part="$folder"
    trap 'is_complete "$folder" || rm -rf "$folder"' EXIT
    command -v npm >/dev/null || { : >"$part/install.log"; unreachable "npm is not on PATH"; }
    "${PYTHON:-python3}" -m venv "$part/venv"
    "$part/venv/bin/python" -m pip install --quiet --disable-pip-version-check "${wheels[@]}" >"$part/install.log" 2>&1 ||
        unreachable "pip could not install ${wheels[*]}"
    npm i --prefix "$part" --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=120000 \
        "${packages[@]}" >"$part/install.log" 2>&1 || unreachable "npm could not install ${packages[*]}"
    if ! is_complete "$part"; then
        say "the installers succeeded, but a program is not in $part"
        exit 1
    fi
fi

echo "claude=$(claude_of "$folder")"
echo "codex=$(codex_of "$folder")"
echo "opencode=$(opencode_of "$folder")"
echo "python=$folder/venv/bin/python"
