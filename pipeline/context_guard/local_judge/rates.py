"""Rates as plain numbers: half of a bounded linear model, half of a small boosted one, both on the log scale."""

from math import exp

from msgspec import Struct

LARGEST = 40.0


class Term(Struct, frozen=True, array_like=True):
    feature: int
    weight: float
    low: float
    high: float
    """The feature counts as no smaller and no larger than in training."""


class Tree(Struct, frozen=True, array_like=True):
    splits: tuple[tuple[int, float, int, int], ...]
    """Feature, threshold, where to go on up to the threshold and above it; `-1 - i` is leaf `i`."""
    leaves: tuple[float, ...]


class Rates(Struct, frozen=True):
    """How much is expected for the features of something; 1 is the mean of the training material."""

    features: tuple[str, ...]
    bias: float
    terms: tuple[Term, ...]
    trees: tuple[Tree, ...]

    def rate(self, features: dict[str, float]) -> float:
        values = [features[name] for name in self.features]
        total = self.bias
        for term in self.terms:
            total += term.weight * max(term.low, min(term.high, values[term.feature]))
        for tree in self.trees:
            at = 0 if tree.splits else -1
            while at >= 0:
                feature, threshold, low, high = tree.splits[at]
                at = low if values[feature] <= threshold else high
            total += tree.leaves[-1 - at]
        return exp(max(-LARGEST, min(LARGEST, total)))
