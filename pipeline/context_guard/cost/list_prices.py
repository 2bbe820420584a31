"""Dollars for a million tokens of plain input, by the models' own names: what an audit reckons with unless told.

Claude Sonnet 5.5 and GPT-6 Luna as in Pi 1.6.0's list, all others as their makers published them until November 2025.
A model that is not here has no price: an audit then gives shares and no dollars.
"""

import re
from collections.abc import Mapping

from context_guard.transcript import Model

LIST_PRICES: tuple[tuple[str, float], ...] = (
    (r"sonnet-5[.-]5", 2.0),
    (r"gpt-6-luna", 0.10),
    (r"(?:sonnet-4|3[.-][57]-sonnet|3[.-]7-sonnet)", 3.0),
    (r"opus-4[.-][56]", 5.0),
    (r"opus-4(?:[.-][01])?(?!\d)", 15.0),
    (r"haiku-4[.-]5", 1.0),
    (r"3[.-]5-haiku", 0.80),
    (r"gpt-5(?:\.1)?-mini", 0.25),
    (r"gpt-5(?:\.1)?(?:-codex|-chat|-2025|$)", 1.25),
    (r"gpt-4\.1(?:-2025|$)", 2.0),
    (r"gpt-4o(?:-2024|$)", 2.5),
    (r"gemini-2\.5-pro", 1.25),
    (r"gemini-2\.5-flash(?!-lite)", 0.30),
)


def list_price(model: Model | None, own: Mapping[str, float]) -> float | None:
    """`own` holds the user's prices by the name of the model, or by a part of it; the longest that fits wins."""
    if model is None:
        return None
    fitting = [name for name in own if name.lower() in model.ref.lower()]
    if fitting:
        return own[max(fitting, key=len)]
    return next((price for pattern, price in LIST_PRICES if re.search(pattern, model.id.lower())), None)
