"""Whether the words of question and answer claim all of an output: a port, a complete list, a row for each."""

import re

from context_guard.local_judge.features import Features
from context_guard.local_judge.query import Query

OPENING = 400
CLOSING = 200
"""Of a long question or answer only the beginning and the end say what it is about."""

_ALL = re.compile(
    r"\b(?:everything|every|all(?! (?:right|good|set))|each|entire(?:ly)?|complete(?:ly)?|whole|full list"
    r"|(?P<unit>[a-z]{3,20}) by (?P=unit)|(?P<piece>[a-z]{3,20})[- ]for[- ](?P=piece)|checklist)\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"\b(?:port|translate|convert|rewrit(?:e|ing)|rename|review|summari[sz]e|list|collect|table|spreadsheet|csv|explain|fix all"
    r"|migrat(?:e|ion))\b",
    re.IGNORECASE,
)
_FINISHED = re.compile(
    r"\ball (?:\w+ )?(?:\d+ )?(?:\w+ )?(?:pass|passed|passing|green|fine|succeed)|\b(?:not|none) (?:of )?(?:all|every)", re.IGNORECASE
)


def scope_features(query: Query, needed_share: float, cited: bool) -> Features:
    question, answer = (_ends(_FINISHED.sub(" ", text)) for text in (query.asked, query.told))
    return {
        "asks_all": float(_ALL.search(question) is not None),
        "asks_task": float(_TASK.search(question) is not None),
        "answers_all": float(_ALL.search(answer) is not None),
        "needed_share": needed_share,
        "cited": float(cited),
    }


def _ends(text: str) -> str:
    return text if len(text) <= OPENING + CLOSING else f"{text[:OPENING]}\n{text[-CLOSING:]}"
