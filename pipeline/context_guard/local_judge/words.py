"""Words of a text and the terms they stand for: an identifier whole, and its camelCase and snake_case parts."""

import re
from collections.abc import Iterator
from functools import lru_cache

LONGEST_WORD = 80
"""Longer runs of word characters are data (base64, hashes), not words."""
MOST_REMEMBERED = 20_000
"""Words whose terms are remembered: outputs of one session share most of theirs."""

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W0-9_A-Za-z]+")
_WIDE = "\u2e80"
"""From here on scripts do not put spaces between words: two neighbouring characters count as one."""

ENGLISH = frozenset(
    _WORD.findall("""
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing done down during each either else etc even every
    few for from further get gets got had has have having he her here him his how however i if in
    into is it its itself just let like ll made make many may me might more most much must my need
    needs new no nor not now of off on once one only onto or other our out over own please same see
    she should since so some such than that the their them then there these they thing things this
    those through to too two under until up us use used uses using ve very via was we were what when
    where whether which while who why will with within without would yes yet you your
    """)
)
GERMAN = frozenset(
    _WORD.findall("""
    aber als am auch auf aus bei bis da das dass dem den der des die doch dort du durch ein eine
    einem einen einer er es für hat hier ich ihr im ist ja jetzt kann kein keine man mit nach nein
    nicht noch nun nur oder ob schon sehr sich sie sind so soll über um und uns unter vom von vor
    war warum was wenn wer werden wie wir wird wo zu zum zur
    """)
)
STOP_WORDS = ENGLISH | GERMAN


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


@lru_cache(maxsize=MOST_REMEMBERED)
def terms_of(word: str) -> tuple[str, ...]:
    """What a word is looked up by; nothing for stop words, single characters and data."""
    if len(word) > LONGEST_WORD:
        return ()
    return tuple(dict.fromkeys(_terms(word)))


def stem(word: str) -> str:
    """Light English: plural, -ing, -ed and a final e go. `word` in lower case."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word[-1] == "s" and word[-2] not in "sui":
        word = word[:-1]
    for ending in ("ing", "ed"):
        if len(word) >= len(ending) + 3 and word.endswith(ending):
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 4 and word[-1] == "e" else word


def _terms(word: str) -> Iterator[str]:
    if word[0] >= _WIDE:
        yield from (word[i : i + 2] for i in range(max(1, len(word) - 1)))
        return
    lower = word.lower().strip("_")
    if len(lower) < 2 or lower in STOP_WORDS:
        return
    parts = [part.lower() for part in _PART.findall(word)]
    if len(parts) < 2:
        yield stem(lower)
        return
    yield lower
    yield from (stem(part) for part in parts if len(part) > 1 and part not in STOP_WORDS)
