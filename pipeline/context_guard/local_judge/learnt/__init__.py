"""What the embedded judge has learnt, as JSON, one module a model; written by `benchmarks/train_local_judge`."""

from context_guard.local_judge.learnt.answer import ANSWER
from context_guard.local_judge.learnt.later_mid import LATER_MID
from context_guard.local_judge.learnt.stay import STAY

__all__ = ["ANSWER", "LATER_MID", "STAY"]
