"""The settings of this judge that are measured, and the original's rules beside them."""

from msgspec import Struct

from context_guard.config import Config
from context_guard.local_judge import STRICT_SHARE, USUAL_SHARE

USUAL_NAME = "this judge"
ORIGINAL_NAME = "the original's rules, same judge"


class Way(Struct, frozen=True):
    name: str
    config: Config
    share: float
    """Of what is probably needed, to be kept."""


WAYS = (
    *(
        Way(USUAL_NAME if share == USUAL_SHARE else f"keepShare {share}", Config(), share)
        for share in (STRICT_SHARE, 0.8, USUAL_SHARE, 0.95)
    ),
    Way(ORIGINAL_NAME, Config.original(), USUAL_SHARE),
)
