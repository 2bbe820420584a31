"""What a user can ask of the embedded judge."""

from typing import Annotated

from msgspec import Meta, Struct

USUAL_SHARE = 0.9
STRICT_SHARE = 0.5
"""Keeps what the answer took word for word and little beside it."""


class Settings(Struct, frozen=True, kw_only=True):
    keep_share: Annotated[
        float, Meta(gt=0, le=1, description="Keep parts until they hold this share of what is probably needed.")
    ] = USUAL_SHARE


USUAL = Settings()
