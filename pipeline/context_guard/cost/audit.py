"""What a guard would have done in one recorded session, for people who have none yet: sizes, cache, money.

Money is in *units*, tokens at the price of plain input, on the input side alone: what the model writes costs the same
with a guard and without. A share is of that.
"""

from collections import Counter
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from context_guard.answers import Answered
from context_guard.config import Config
from context_guard.cost.list_prices import list_price
from context_guard.cost.provider import Provider
from context_guard.cost.recording import Recording, is_request, record
from context_guard.cost.replay import Judge, Replayed, replay
from context_guard.cost.timing import prompts_apart, warm
from context_guard.cost.tokens import fit_tokens, prompt_tokens
from context_guard.requests import Request
from context_guard.sizes import blocks_chars
from context_guard.transcript import Model, Transcript, Usage

LONG_PAUSE = 10
"""Minutes between prompts, for the one end of a band where a session holds no times; at the other the cache is warm."""
UNIT_PRICE = 1e6
PLAUSIBLE = 0.1
"""Of the tokens that the texts of a session come to: what a provider has to have counted at least. Less is the usage of
a stand-in, or a part of it."""

Idle = Literal["", "put-off", "kept", "left-alone", "small"]
"""Why a guard edits nothing: edits that do not pay, judged and needed, large but never judged, nothing large."""


class Bill(Struct, frozen=True, rename="camel"):
    """Tokens of all requests together."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    units: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input + self.cache_read + self.cache_write

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            units=self.units + other.units,
        )


class Terms(Struct, frozen=True):
    """What an audit goes by."""

    config: Config = Config()
    prices: tuple[tuple[str, float], ...] = ()
    """The user's own: a part of a model's name, dollars for a million tokens of plain input."""


class Audited(Struct, frozen=True, kw_only=True, rename="camel"):
    host: str
    session: str
    cwd: str | None
    ended: int | None
    """Time of the last answer, milliseconds since 1970."""
    model: str
    """`provider/id` of the model that answered most; empty when the session names none."""
    price: float | None
    """Dollars for a million tokens of plain input, where known."""
    requests: int
    chars: int
    """Of everything on the branch, as it was first seen."""
    chars_per_token: float
    is_fitted: bool
    """Whether the line above comes from the recorded usage."""
    is_timed: bool
    """Whether every answer has its time. Without them the band covers a warm cache and one that expires each prompt."""
    had_guard: bool
    """Whether a guard was at work in it. Its edits are taken out first."""
    recorded: Bill | None
    """What the session says that the provider counted, where it does for every request and no guard was at work."""
    without: Bill
    """The same as the simulation gives it."""
    with_guard: Bill
    low: float
    """Change of the bill with a guard, as a share, at best: below 0 it is cheaper."""
    high: float
    """At worst: with the extra steps that the setting `rerunStepsPer1KTokens` assumes."""
    peak_without: int
    """Tokens of the largest request."""
    peak_with: int
    kept_out_chars: int
    edits: int
    passes: int
    """Passes that edited."""
    idle: Idle
    """Why there is no edit; empty where there is one."""
    remote_judge_dollars: float
    """What a remote judge would have taken; the embedded one takes none."""

    @property
    def counted(self) -> Bill | None:
        """What the provider counted, where that can be all of it."""
        is_all = self.recorded is not None and self.recorded.tokens >= PLAUSIBLE * self.without.tokens
        return self.recorded if is_all else None

    @property
    def bill(self) -> float:
        """In units: as counted, else as simulated."""
        return self.without.units if self.counted is None else self.counted.units

    @property
    def kept_out_tokens(self) -> int:
        return round(self.kept_out_chars / self.chars_per_token)


def audit(transcript: Transcript, terms: Terms, judge: Judge) -> Audited:
    """Replays the session, with a guard that knows at each moment only what came before, and without one."""
    model = _model(transcript)
    provider = Provider("audit", model or Model("", ""), UNIT_PRICE)
    tokens = fit_tokens(transcript)
    recording = replace(record(transcript.session, transcript), tokens=tokens)
    had_guard = len(recording.entries) < len(transcript.entries)
    answers = [it for it in recording.entries if is_request(it)]
    is_timed = all(it.time is not None for it in answers)
    ways = [recording] if is_timed else [warm(recording), prompts_apart(recording, LONG_PAUSE)]
    asked = _remembering(judge) if len(ways) > 1 else judge
    pairs = [(replay(way, provider, None), replay(way, provider, terms.config, asked)) for way in ways]
    off, on = pairs[0]
    return Audited(
        host=transcript.host,
        session=transcript.session,
        cwd=transcript.cwd,
        ended=max((it.time for it in answers if it.time is not None), default=None),
        model=model.ref if model else "",
        price=list_price(model, dict(terms.prices)),
        requests=off.requests,
        chars=sum(blocks_chars(it.raw) for it in transcript.entries if it.role != "meta"),
        chars_per_token=tokens.chars_per_token,
        is_fitted=tokens.is_fitted,
        is_timed=is_timed,
        had_guard=had_guard,
        recorded=None if had_guard else _recorded(recording, provider),
        without=_simulated(off),
        with_guard=_simulated(on),
        low=min(_change(on.dollars, off) for off, on in pairs),
        high=max(_change(on.dollars + on.rerun_dollars, off) for off, on in pairs),
        peak_without=off.peak,
        peak_with=on.peak,
        kept_out_chars=on.saved_chars,
        edits=on.edits,
        passes=on.editing,
        idle=_idle(recording, on, terms.config),
        remote_judge_dollars=on.judge_dollars,
    )


def _model(transcript: Transcript) -> Model | None:
    named = Counter(it.model for it in transcript.entries if it.model is not None and is_request(it))
    return named.most_common(1)[0][0] if named else transcript.model


def _idle(recording: Recording, on: Replayed, config: Config) -> Idle:
    if on.edits:
        return ""
    if on.deferring or on.refused:
        return "put-off"
    if on.judged:
        return "kept"
    sizes = (blocks_chars(it.raw) for it in recording.entries if it.role == "tool")
    return "left-alone" if max(sizes, default=0) >= config.min_result_chars else "small"


def _remembering(judge: Judge) -> Judge:
    """The same requests come again at other times."""
    known: dict[Request, Answered] = {}

    def ask(request: Request) -> Answered:
        if request not in known:
            known[request] = judge(request)
        return known[request]

    return ask


def _recorded(recording: Recording, provider: Provider) -> Bill | None:
    """Each response once; None where a request has no usage, since a part of a bill is none."""
    answers = [it for it in recording.entries if is_request(it)]
    usages = {it.response_id or it.id: it.usage for it in answers if it.usage is not None}
    counted = [it for it in usages.values() if prompt_tokens(it)]
    if not counted or len(counted) < len({it.response_id or it.id for it in answers}):
        return None
    return _bill(counted, sum(map(provider.dollars, counted)))


def _simulated(replayed: Replayed) -> Bill:
    return _bill(replayed.usages, replayed.dollars)


def _bill(usages: list[Usage] | tuple[Usage, ...], units: float) -> Bill:
    return Bill(
        input=sum(it.input for it in usages),
        cache_read=sum(it.cache_read for it in usages),
        cache_write=sum(it.cache_write for it in usages),
        units=units,
    )


def _change(units: float, off: Replayed) -> float:
    return units / off.dollars - 1 if off.dollars else 0.0
