"""Which version runs here."""


def installed_version() -> str:
    """Empty where the package is not installed, as in a checkout."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("context-guard")
    except PackageNotFoundError:
        return ""
