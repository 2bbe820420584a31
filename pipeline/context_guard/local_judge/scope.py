"""What the words of question and answer claim: all of an output (a port, a row for each), or that a failure is over."""

import re

from context_guard.local_judge.features import Features
from context_guard.local_judge.query import Query

OPENING = 300
CLOSING = 100
"""Of a long question or answer only the beginning and the end say what it is about."""
LONG = 1_500
"""A longer text (a plan, a report) has such words in it whatever it is about."""

_ALL = re.compile(
    r"\b(?:everything|every|all(?! (?:right|good|set))|each|entire(?:ly)?|complete(?:ly)?|whole|full list"
    r"|(?P<unit>[a-z]{3,20}) by (?P=unit)|(?P<piece>[a-z]{3,20})[- ]for[- ](?P=piece)|checklist)\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"\b(?:port|translate|convert|rewrit(?:e|ing)|rename|review|summari[sz]e|list|collect|table|spreadsheet|csv|explain"
    r"|fix all|migrat(?:e|ion))\b",
    re.IGNORECASE,
)
_FINISHED = re.compile(
    r"\ball (?:\w+ ){0,3}(?:pass|passed|passing|green|fine|succeed)|\b(?:not|none) (?:of )?(?:all|every)",
    re.IGNORECASE,
)
_FIXED = re.compile(
    r"\b(?:fixed|corrected|resolved|solved|(?:pass|passes|works) now"
    r"|(?:now|all(?: \d+)?(?: \w+)?) (?:pass|passes|work|works|succeeds?))\b",
    re.IGNORECASE,
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


def is_past(query: Query) -> bool:
    """Whether the answer says that what failed has been mended."""
    return query.has_answer and _FIXED.search(query.told) is not None


def _ends(text: str) -> str:
    if len(text) > LONG:
        return ""
    return text if len(text) <= OPENING + CLOSING else f"{text[:OPENING]}\n{text[-CLOSING:]}"
