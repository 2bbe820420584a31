"""A made-up project: a shop in which a search for `timeout` hits much, and what is wanted once."""

from pathlib import Path

WANTED = '"""Defaults of the HTTP client."""\n\nDEFAULT_TIMEOUT = 12.5  # seconds: the timeout\n'


def make_shop(folder: Path) -> Path:
    """24 modules below `folder`, which is given back; a search gives some 28,000 characters."""
    for name in ("billing", "carts", "http", "mail", "search", "stock"):
        for part in ("client", "defaults", "retry", "worker"):
            module = folder / "shop" / name / f"{part}.py"
            module.parent.mkdir(parents=True, exist_ok=True)
            module.write_text("".join(f"{line}\n" for line in _module(name, part)), encoding="utf-8")
    (folder / "shop" / "http" / "defaults.py").write_text(WANTED, encoding="utf-8")
    return folder


def _module(name: str, part: str) -> list[str]:
    noun = f"{name}_{part}"
    lines = [f'"""The {part} of {name}."""', "", "from shop.http.defaults import DEFAULT_TIMEOUT", ""]
    for number in range(5):
        lines += [
            f"def {noun}_{number}(order, timeout=None):",
            f'    """Step {number}; gives up after `timeout` seconds."""',
            f"    return {name}.{part}.send(order, step={number}, timeout=timeout or DEFAULT_TIMEOUT)",
            "",
        ]
    return lines
