"""A reverse proxy that guards any agent which honours a base URL. It needs the extra `proxy`."""

from importlib.util import find_spec

PACKAGES = ("starlette", "hypercorn", "prometheus_client", "zstandard", "brotli")
"""What the extra `proxy` installs."""


def missing_packages() -> tuple[str, ...]:
    return tuple(name for name in PACKAGES if find_spec(name) is None)
