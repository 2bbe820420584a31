#!/usr/bin/env bash
# Builds the documentation site from docs/ and zensical.toml into build/site, anew each time, and prints where it is:
#
#     site=/…/build/site/index.html
#
# A warning, as of a link that leads nowhere, ends it. The pages load nothing from anywhere else. Needs
# `pip install '.[site]'`.
#
#     PYTHON   the Python that has it   (python3)
#
# Exit codes: 0 built; 3 Zensical is not installed; 1 anything else.
set -euo pipefail
cd "$(dirname "$0")/.."

python="${PYTHON:-python3}"
if ! "$python" -c "import zensical" 2>/dev/null; then
    echo "build_site: $python has no Zensical: pip install '.[site]'" >&2
    exit 3
fi
rm -rf build/site
"$python" -m zensical build --strict --clean >&2
echo "site=$PWD/build/site/index.html"
