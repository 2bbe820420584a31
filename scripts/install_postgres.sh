#!/usr/bin/env bash
# Installs Debian's or Ubuntu's PostgreSQL server for the tests marked `outside`, without a cluster of its own, and
# prints the folder of its programs:
#
#     bin=/…/bin
#
# Where a server is installed already, by whatever means, it only prints. The tests make clusters of their own in
# temporary folders.
#
#     CONTEXT_GUARD_POSTGRES_BIN   a folder with initdb and postgres, to be used as it is
#
# Exit codes: 0 installed; 3 no package index is reached, or this is no Debian or not root; 1 anything else.
set -euo pipefail

say() { printf 'install_postgres: %s\n' "$1" >&2; }

find_bin() {
    local place
    for place in "${CONTEXT_GUARD_POSTGRES_BIN:-}" $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV); do
        if [[ -n "$place" && -x "$place/initdb" && -x "$place/postgres" ]]; then
            echo "bin=$place"
            return 0
        fi
    done
    return 1
}

find_bin && exit 0
if ! command -v apt-get >/dev/null || [[ $(id -u) -ne 0 ]]; then
    say "there is no PostgreSQL server here; install one, or name its programs' folder in CONTEXT_GUARD_POSTGRES_BIN"
    exit 3
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold "$@" >>"$log" 2>&1; }
if ! { apt-get update >>"$log" 2>&1 && install postgresql-common; }; then
    tail -n 5 "$log" >&2
    say "apt-get could not install postgresql-common"
    exit 3
fi
# a cluster of its own would be made and started with the server's package
if ! grep -q '^create_main_cluster *= *false' /etc/postgresql-common/createcluster.conf; then
    echo 'create_main_cluster = false' >>/etc/postgresql-common/createcluster.conf
fi
if ! install postgresql; then
    tail -n 5 "$log" >&2
    say "apt-get could not install postgresql"
    exit 3
fi
find_bin || { say "apt-get succeeded, but there is no initdb"; exit 1; }
