"""Every setting as rows of a page: groups in the order in which a reader asks about them, all else from the schema."""

import json
from typing import Any

import msgspec

from context_guard.config import Config
from context_guard.settings import config_schema, range_of

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "On, and who judges",
        ("enabled", "model", "timeoutMs", "settleWaitMs", "concurrency", "judgeRequestsPerMinute", "historyExchanges"),
    ),
    (
        "What is judged",
        (
            *("minResultChars", "minRunChars", "smallResultMinChars", "excludeTools", "distillErrors"),
            *("pruneExchanges", "keepRecentExchanges", "imageKeepTurns"),
        ),
    ),
    (
        "What stays",
        (
            *("keepShare", "keepWholeThreshold", "focusWholeThreshold", "chunkKeepThreshold", "noneThreshold"),
            *("smallKeepThreshold", "exchangeOmitThreshold", "maxKeepRatio"),
            *("hardKeeps", "keepNotices", "keepCitedFiles", "keepRecalls", "trimLines"),
        ),
    ),
    (
        "During long runs",
        (
            *("midRun", "midRunMinAgeTurns", "midRunBatchChars", "midRunBatchCharsOpenAI"),
            *("midRunChunkKeepThreshold", "midRunBreakEven"),
        ),
    ),
    (
        "When an edit pays",
        (
            *("runEndBreakEven", "exchangeBreakEven", "exchangeMinSavingChars", "pinAnthropicCache"),
            *("riskOfBill", "riskOfEarnings", "sureShare", "assumedShare", "rerunStepsPer1KTokens"),
        ),
    ),
    (
        "How outputs are cut and shown",
        (
            *("cutByKind", "maxChunks", "minChunkChars", "maxChunkChars", "maxSegmentChars", "maxChunksPerSegment"),
            "recallWith",
        ),
    ),
    ("As the original", ("originalCosts", "originalCuts", "originalTexts")),
)


def settings_table() -> str:
    """Markdown: a heading and a table for each group. Settings that no group names stand last, under their own."""
    about: dict[str, Any] = config_schema()["$defs"]["Config"]["properties"]
    named = {key for _, keys in GROUPS for key in keys}
    others = tuple(key for key in about if key not in named)
    groups = (*GROUPS, *((("Others", others),) if others else ()))
    return "\n".join(_group(title, keys, about) for title, keys in groups)


def _group(title: str, keys: tuple[str, ...], about: dict[str, Any]) -> str:
    defaults = msgspec.to_builtins(Config())
    rows = "".join(
        f"| `{key}` | `{_cell(json.dumps(defaults[key], default=list))}` | {_cell(range_of(key))} | "
        f"{_cell(about[key]['description'])} |\n"
        for key in keys
    )
    return f"### {title}\n\n| setting | default | accepts | what it does |\n|---|---|---|---|\n{rows}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
