"""Probabilities on the logit scale: made from features, moved, bounded."""

from math import exp, log

from msgspec import Struct

LARGEST_LOGIT = 30.0
CERTAIN = 1e-6


class Logistic(Struct, frozen=True):
    bias: float
    weights: tuple[tuple[str, float], ...]

    def probability(self, features: dict[str, float]) -> float:
        return sigmoid(self.bias + sum(weight * features[name] for name, weight in self.weights))


def sigmoid(logit: float) -> float:
    return 1 / (1 + exp(-max(-LARGEST_LOGIT, min(LARGEST_LOGIT, logit))))


def logit_of(probability: float) -> float:
    bounded = max(CERTAIN, min(1 - CERTAIN, probability))
    return log(bounded / (1 - bounded))


def shift(probability: float, by: float) -> float:
    """A probability moved by so much on the logit scale."""
    return sigmoid(logit_of(probability) + by)


def move(probability: float, threshold: float, onto: float) -> float:
    """A probability moved on the logit scale so that `threshold` comes to lie on `onto`."""
    return shift(probability, logit_of(onto) - logit_of(threshold))
