#!/usr/bin/env bash
# Finds the Chromium that the tests of `report` open a page in, and prints it; installs Debian's where there is none and
# we are root. Playwright, which drives it, comes with `pip install '.[browser]'`; its own browsers are not needed.
#
#     chromium=/usr/bin/chromium
#
#     CONTEXT_GUARD_CHROMIUM   another Chromium or Chrome
#
# Exit codes: 0 found or installed; 3 none is there and none can be installed.
set -euo pipefail

say() { printf 'install_browser: %s\n' "$1" >&2; }

find_one() {
    for name in "${CONTEXT_GUARD_CHROMIUM:-chromium}" chromium-browser google-chrome; do
        if command -v "$name"; then return 0; fi
    done
    return 1
}

if ! found=$(find_one); then
    if [[ "$(id -u)" != 0 ]] || ! command -v apt-get >/dev/null; then
        say "there is no chromium, and only root can install it: apt-get install chromium"
        exit 3
    fi
    if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >&2; then
        say "apt-get could not install chromium"
        exit 3
    fi
    found=$(find_one)
fi

echo "chromium=$found"
