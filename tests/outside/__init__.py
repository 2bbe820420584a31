"""Real outside parts, on loopback only: what they do with what the guard writes. Run with `pytest -n 0 -m outside`."""
