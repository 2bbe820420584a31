"""The embedded judge: pure, standard library and msgspec only, nothing to download."""

from context_guard.local_judge.judge import JUDGE, judge_locally, judge_with
from context_guard.local_judge.settings import STRICT_SHARE, USUAL, USUAL_SHARE, Settings

__all__ = ["JUDGE", "STRICT_SHARE", "USUAL", "USUAL_SHARE", "Settings", "judge_locally", "judge_with"]
