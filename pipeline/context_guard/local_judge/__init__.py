"""The embedded judge: pure, standard library and msgspec only, nothing to train, download or configure."""

from context_guard.local_judge.judge import JUDGE, judge_locally

__all__ = ["JUDGE", "judge_locally"]
