#!/usr/bin/env bash
# Installs the packages for the same job that `python -m benchmarks.quality` measures beside this one, at the versions
# that docs/benchmark.md was measured with, into the environment of PYTHON (python). They bring many packages with
# them: give them an environment of their own, with this project and its extra `benchmarks` in it.
set -euo pipefail

"${PYTHON:-python}" -m pip install --disable-pip-version-check \
    distil-llm==1.58.0 headroom-ai==0.42.0 leancontext==2.1.0 leantokens==0.2.0 litellm==1.110.2 llmslim==0.11.2 \
    snipp-cli==0.2.0 tooltrim==0.3.3
