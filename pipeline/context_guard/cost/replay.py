"""One session, request by request, with the guard called as a live host calls it, or without a guard."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from context_guard.answers import Answered, Asked
from context_guard.boundary import Boundary
from context_guard.cache.anchors import cache_anchors
from context_guard.cache.breakpoints import place_breakpoints
from context_guard.cache.points import CachePoint
from context_guard.cache.refresh import log_points, refresh_points
from context_guard.checkpoint import NotDue
from context_guard.config import Config
from context_guard.cost.branch import Branch
from context_guard.cost.prompt import Prompts
from context_guard.cost.provider import Provider
from context_guard.cost.recording import SECOND, Recording, is_prompt, is_request
from context_guard.cost.simulated import new_cache
from context_guard.drafts import Append
from context_guard.local_judge import judge_locally
from context_guard.records import Phase
from context_guard.requests import Request
from context_guard.runs import is_queued
from context_guard.sizes import visible_chars
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.transcript import Entry, Transcript, Usage, calls_of, shown

JUDGE_DOLLARS = 0.042
"""A remote judge, for a million input tokens."""
JUDGE_CHARS_PER_TOKEN = 2.3
Judge = Callable[[Request], Answered]


class Replayed(Struct, frozen=True):
    dollars: float
    """Input side of all requests."""
    rerun_dollars: float
    """Extra steps assumed by `rerunStepsPer1KTokens`, each of which reads the context of then from the cache."""
    judge_dollars: float
    """What a remote judge would have taken."""
    requests: int
    peak: int
    """Tokens of the largest request."""
    end: int
    """Tokens of the context after the last pass."""
    edits: int
    """Entries that an edit replaced or omitted."""
    saved_chars: int
    """What all passes together took out of the context."""
    editing: int
    """Passes that edited."""
    deferring: int
    """Passes that put edits off because they do not pay."""
    not_due: int
    """Checkpoints that had too little to judge."""
    refused: int
    """Checkpoints that had enough, whose sum said no."""
    judged: int
    """Large outputs, each time that a pass judged one."""
    usages: tuple[Usage, ...]


class _Tally:
    """Of one replay while it runs; no value that flows on."""

    def __init__(self) -> None:
        self.dollars = self.rerun_dollars = self.peak = 0.0
        self.judge_chars = self.edits = self.saved_chars = self.judged = 0
        self.editing = self.deferring = self.not_due = self.refused = 0


def local_judge(request: Request) -> Answered:
    return judge_locally(request)


def replay(recording: Recording, provider: Provider, config: Config | None, judge: Judge = local_judge) -> Replayed:
    """The whole session; without a config, without a guard."""
    return _Replay(recording, provider, config, judge).run()


class _Replay:
    def __init__(self, recording: Recording, provider: Provider, config: Config | None, judge: Judge) -> None:
        self._recording = recording
        self._provider = provider
        self._config = config
        self._judge = judge
        self._branch = Branch(recording, provider.model)
        self._prompts = Prompts(recording.tokens)
        self._cache = new_cache(provider.model, provider.prices)
        self._written: tuple[CachePoint, ...] = ()
        self._tally = _Tally()
        self._usages: list[Usage] = []

    def run(self) -> Replayed:
        entries = self._recording.entries
        now = answered = 0
        for place, entry in enumerate(entries):
            if is_prompt(entries, place):
                self._wait(answered, entry)
            now = max(now, entry.time or now)
            if is_request(entry):
                self._branch.add(self._answer(entry, now))
                answered = now
            else:
                self._branch.add(entry)
            phase = _boundary_after(entries, place)
            if phase is not None:
                self._pass(phase, now)
        tally = self._tally
        return Replayed(
            dollars=tally.dollars,
            rerun_dollars=tally.rerun_dollars,
            judge_dollars=tally.judge_chars / JUDGE_CHARS_PER_TOKEN * JUDGE_DOLLARS / 1e6,
            requests=len(self._usages),
            peak=round(tally.peak),
            end=round(self._tokens(self._branch.transcript())),
            edits=tally.edits,
            saved_chars=tally.saved_chars,
            editing=tally.editing,
            deferring=tally.deferring,
            not_due=tally.not_due,
            refused=tally.refused,
            judged=tally.judged,
            usages=tuple(self._usages),
        )

    def _wait(self, answered: int, prompt: Entry) -> None:
        """A host's timer: a pass as soon as the cache has expired, when the user takes longer than that."""
        expired = answered + self._provider.prices.ttl_ms + SECOND
        if answered and prompt.time is not None and prompt.time > expired:
            self._pass("run-end", expired)

    def _answer(self, entry: Entry, now: int) -> Entry:
        """Sends the request that this entry answered; the entry with what the simulated provider counted."""
        transcript = self._branch.transcript()
        prompt = self._prompts.build(transcript, self._branch.versions)
        body = prompt.body
        is_marked = self._provider.prices.breakpoints > 0
        if is_marked and self._config is not None and self._config.pin_anthropic_cache:
            body = place_breakpoints(body, cache_anchors(transcript, self._written, now)).body
        usage = self._cache.send(prompt, prompt.marked(body) if is_marked else (), now)
        if is_marked:
            model = self._provider.model
            self._written = log_points(transcript, self._written, body, now, model, self._provider.prices.ttl_ms)
            self._written = refresh_points(transcript, self._written, now, usage, model)
        self._usages.append(usage)
        self._tally.dollars += self._provider.dollars(usage)
        self._tally.peak = max(self._tally.peak, prompt.total)
        return replace(entry, usage=usage)

    def _pass(self, phase: Phase, now: int) -> None:
        if self._config is None:
            return
        transcript = self._branch.transcript()
        boundary = Boundary(phase=phase, now=now, written=self._written, cost=self._provider.cost)
        planned = plan(transcript, self._config, boundary)
        outcomes = tuple(self._judge(request) for request in planned.requests)
        settled = settle(planned, Asked(outcomes=outcomes, judge=planned.config.model))
        self._tally.judge_chars += sum(map(request_chars, planned.requests))
        self._count(planned, settled)
        self._branch.apply(settled.drafts)
        self._tally.saved_chars += settled.record.saved_chars
        if settled.record.saved_chars > 0:
            self._count_rerun(settled.record.saved_chars)

    def _count(self, planned: Plan, settled: Settlement) -> None:
        tally = self._tally
        edits = sum(1 for draft in settled.drafts if not isinstance(draft, Append))
        tally.edits += edits
        tally.editing += edits > 0
        tally.judged += sum(1 for item in settled.decisions if item.kind == "large")
        gates = (settled.gates.exchanges, settled.gates.early, settled.gates.edits)
        tally.deferring += any(gate is not None and not gate.allowed for gate in gates)
        checkpoint = planned.checkpoint
        if isinstance(checkpoint, NotDue):
            tally.not_due += checkpoint.tried[0].chars < checkpoint.batch_chars
            tally.refused += checkpoint.tried[0].chars >= checkpoint.batch_chars

    def _count_rerun(self, saved_chars: int) -> None:
        if self._config is None:
            return
        saved = saved_chars / self._recording.tokens.chars_per_token
        steps = self._config.rerun_steps_per_1k_tokens * saved / 1_000
        step = Usage(cache_read=round(self._tokens(self._branch.transcript())))
        self._tally.rerun_dollars += steps * self._provider.dollars(step)

    def _tokens(self, transcript: Transcript) -> float:
        chars = sum(map(visible_chars, shown(transcript)))
        return chars / self._recording.tokens.chars_per_token + self._recording.tokens.overhead


def _boundary_after(entries: tuple[Entry, ...], place: int) -> Phase | None:
    """Whether the host calls the guard behind this entry: after a turn's last result, and where a run has settled."""
    entry = entries[place]
    following = next((at for at in range(place + 1, len(entries)) if entries[at].role not in ("meta", "note")), None)
    if entry.role == "tool":
        last_of_turn = following is None or entries[following].role != "tool"
        answered = next((it for it in reversed(entries[:place]) if it.role == "assistant"), None)
        return (
            "mid-run" if last_of_turn and answered is not None and answered.stop not in ("error", "aborted") else None
        )
    if entry.role != "assistant" or calls_of(entry.visible) or entry.stop in ("error", "aborted"):
        return None
    if following is not None and entries[following].role == "user" and is_queued(entries, following):
        return None
    return None if following is not None and entries[following].role == "assistant" else "run-end"


def request_chars(request: Request) -> int:
    """About what a remote judge is sent: state and questions as text."""
    state = request.state
    texts = [state.situation, state.question, state.answer, state.notes, state.latest_note]
    texts += [part.text + part.reply for part in state.parts]
    texts += [exchange.user + exchange.assistant for exchange in state.history.exchanges]
    return sum(map(len, texts)) + sum(len(repr(question)) for question in request.questions)
