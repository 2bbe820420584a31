"""The models, fitted: logistic regressions for what the answer rests on, rates for what is needed later.

numpy, scikit-learn and lightgbm are wanted here alone, never at run time.
"""

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.given import needed_package
from benchmarks.train_local_judge.rows import Row

np: Any = needed_package("numpy")
linear: Any = needed_package("sklearn.linear_model")
preprocessing: Any = needed_package("sklearn.preprocessing")
lightgbm: Any = needed_package("lightgbm")

REAL_WEIGHT = 0.6
"""Of a real output beside a made-up one: real answers quote less of what they rest on."""
REAL_DEAD_END = 0.15
"""Of a real output that the answer does not quote: it may rest on it in other words."""
REGULAR_PART, REGULAR_NONE, REGULAR_RATE, REGULAR_STAY = 0.1, 0.05, 3e-3, 0.02
RUN_POWER = 0.75
"""A run counts with its needs to the power of 1 minus this: 1 counts runs, 0 needs."""
BOUND = 4.0
"""Deviations from the mean beyond which a feature counts no further."""
TREES = {
    "objective": "poisson", "n_estimators": 80, "num_leaves": 8, "learning_rate": 0.06, "min_child_samples": 60,
    "subsample": 0.7, "subsample_freq": 1, "colsample_bytree": 0.5, "reg_lambda": 5.0, "n_jobs": 2, "random_state": 0,
    "deterministic": True, "force_row_wise": True, "verbose": -1,
}  # fmt: skip

Model = dict[str, Any]


def learn(made_up: Sequence[Row], run_end: Sequence[Row], mid_run: Sequence[Row]) -> Model:
    """All models as plain data; without real sessions the rates of later need are left out."""
    told = [row for row in run_end if row.has_answer]
    rows = [
        (row, part, answer, 1 / row.chunks**0.5)
        for row in made_up
        if row.expect == "some"
        for part, answer in zip(row.parts, row.answered, strict=True)
        if answer >= 0
    ]
    rows += [
        (row, part, answer, REAL_WEIGHT / row.chunks**0.5)
        for row in told
        for part, answer in zip(row.parts, row.answered, strict=True)
    ]
    part = _logistic(
        [part for _, part, _, _ in rows],
        [answer for _, _, answer, _ in rows],
        [weight for _, _, _, weight in rows],
        REGULAR_PART,
    )
    outputs = [
        (row.coverage, float(row.expect == "none" or not any(a == 1 for a in row.answered)), 1.0) for row in made_up
    ]
    outputs += [
        (
            row.coverage,
            float(not any(row.answered)),
            (REAL_WEIGHT if any(row.answered) else REAL_DEAD_END) / row.siblings**0.5,
        )
        for row in run_end
    ]
    none = _logistic(
        [each for each, _, _ in outputs], [y for _, y, _ in outputs], [w for _, _, w in outputs], REGULAR_NONE
    )
    model = {"part": part, "none": none}
    if run_end:
        model["stay"] = _stay(run_end)
    if mid_run:
        model["later_mid"] = _rates(mid_run)
    return model


def _logistic(features: Sequence[dict[str, float]], y: Sequence[float], weights: Sequence[float], c: float) -> Model:
    names = list(features[0])
    x = np.array([[each[name] for name in names] for each in features])
    scale = preprocessing.StandardScaler().fit(x, sample_weight=weights)
    fit = linear.LogisticRegression(C=c, max_iter=2_000).fit(scale.transform(x), np.array(y), sample_weight=weights)
    slopes = fit.coef_[0] / scale.scale_
    bias = fit.intercept_[0] - float((slopes * scale.mean_).sum())
    return {
        "bias": round(float(bias), 4),
        "weights": [[name, round(float(slope), 4)] for name, slope in zip(names, slopes, strict=True)],
    }


def _rates(rows: Sequence[Row]) -> Model:
    table = [_flat(row, part) for row in rows for part in row.parts]
    names = list(table[0])
    x = np.array([[each[name] for name in names] for each in table], dtype=np.float32)
    y = np.array([worth for row in rows for worth in row.later])
    scale = preprocessing.StandardScaler().fit(x)
    bounded = np.clip(scale.transform(x), -BOUND, BOUND)
    line = linear.PoissonRegressor(alpha=REGULAR_RATE, max_iter=500).fit(bounded, y / y.mean())
    trees = lightgbm.LGBMRegressor(**TREES).fit(x, y / y.mean())
    # A constant part keeps both halves at a mean of 1, so that one threshold holds for every fit.
    bias = float(line.intercept_) - np.log(line.predict(bounded).mean()) - np.log(trees.predict(x).mean())
    shapes = [_tree(info["tree_structure"]) for info in trees.booster_.dump_model()["tree_info"]]
    return _plain(names, float(bias), line.coef_, scale, 0.5) | {"trees": shapes}


def _stay(rows: Sequence[Row]) -> Model:
    """Linear alone: boosted trees over the same facts did worse on sessions left out."""
    rows = [row for row in rows if row.is_first]
    names = list(rows[0].standing)
    x = np.array([[row.standing[name] for name in names] for row in rows])
    y = np.array([row.all_later * max(1, row.needs) ** (1 - RUN_POWER) for row in rows])
    scale = preprocessing.StandardScaler().fit(x)
    bounded = np.clip(scale.transform(x), -BOUND, BOUND)
    line = linear.PoissonRegressor(alpha=REGULAR_STAY, max_iter=500).fit(bounded, y / y.mean())
    return _plain(names, float(line.intercept_), line.coef_, scale, 1.0)


def _plain(names: Sequence[str], bias: float, weights: Any, scale: Any, by: float) -> Model:
    """A linear model over bounded deviations as one over bounded features; `by`: how much of it counts."""
    slopes = weights / scale.scale_
    bias -= float((slopes * scale.mean_).sum())
    terms = [
        [
            at,
            round(float(slope) * by, 5),
            *(_short(scale.mean_[at] + side * BOUND * scale.scale_[at]) for side in (-1, 1)),
        ]
        for at, slope in enumerate(slopes)
        if abs(weights[at]) > 1e-3
    ]
    return {"features": list(names), "bias": round(bias * by, 5), "terms": terms, "trees": []}


def _flat(row: Row, part: dict[str, float]) -> dict[str, float]:
    shared = {f"w.{name}": value for name, value in row.coverage.items()}
    shared |= {f"c.{name}": value for name, value in row.context.items()}
    shared |= {f"r.{name}": value for name, value in row.standing.items()}
    return {**shared, **{f"p.{name}": value for name, value in part.items()}}


def _tree(root: Any) -> list[Any]:
    splits: list[Any] = []
    leaves: list[float] = []

    def walk(node: Any) -> int:
        if "leaf_value" in node:
            leaves.append(round(node["leaf_value"] / 2, 5))
            return -len(leaves)
        at = len(splits)
        splits.append(None)
        low, high = walk(node["left_child"]), walk(node["right_child"])
        splits[at] = [node["split_feature"], _short(node["threshold"]), low, high]
        return at

    walk(root)
    return [splits, leaves]


def _short(value: float) -> float:
    return float(f"{value:.5g}")


Log = Callable[[str], None]
