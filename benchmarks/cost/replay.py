"""One session, request by request, with the guard called as a live host calls it, or without a guard."""

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from benchmarks.cost.prompt import build_prompt
from benchmarks.cost.providers import Provider
from benchmarks.cost.recording import SECOND, Recording, is_prompt, is_request
from msgspec import Struct
from msgspec.structs import replace

from context_guard.answers import Answer, Answered, Answers, Asked, ChoiceAnswer, YesNoAnswer
from context_guard.boundary import Boundary
from context_guard.cache.anchors import cache_anchors
from context_guard.cache.breakpoints import place_breakpoints
from context_guard.cache.points import CachePoint
from context_guard.cache.refresh import log_points, refresh_points
from context_guard.checkpoint import NotDue
from context_guard.config import Config
from context_guard.drafts import Append, Draft, Omit, Replace
from context_guard.local_judge import judge_locally
from context_guard.records import Phase, StoredRecord
from context_guard.requests import Request
from context_guard.runs import is_queued
from context_guard.sizes import visible_chars
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.transcript import AnyBlock, Edit, Entry, Text, Transcript, Usage, calls_of, shown

JUDGE_DOLLARS = 0.042
"""A remote judge, for a million input tokens."""
JUDGE_CHARS_PER_TOKEN = 2.3
KEPT_OF_TEN = 3
"""Of ten parts, what the fixed judge keeps: the original reckons with 70 % that go."""

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
    editing: int
    """Passes that edited."""
    deferring: int
    """Passes that put edits off because they do not pay."""
    not_due: int
    """Checkpoints that had too little to judge."""
    refused: int
    """Checkpoints that had enough, whose sum said no."""
    usages: tuple[Usage, ...]


class _Tally(Struct):
    dollars: float = 0.0
    rerun_dollars: float = 0.0
    judge_chars: int = 0
    peak: float = 0.0
    edits: int = 0
    editing: int = 0
    deferring: int = 0
    not_due: int = 0
    refused: int = 0


@lru_cache(maxsize=20_000)
def local_judge(request: Request) -> Answered:
    return judge_locally(request)


def fixed_judge(request: Request) -> Answered:
    """Reads nothing: three parts of ten stay, the rest goes."""
    numbers = {question.id: number for number, question in enumerate(request.questions)}
    answers: list[Answer] = []
    for question in request.questions:
        if question.id == "keep_whole":
            answers.append(YesNoAnswer(question.id, 0.0))
        elif question.id == "focus":
            answers.append(ChoiceAnswer(question.id, "none", (("none", 1.0),)))
        else:
            digits = "".join(filter(str.isdigit, question.id))
            place = int(digits) if digits else numbers[question.id]
            answers.append(YesNoAnswer(question.id, 1.0 if place * 7 % 10 < KEPT_OF_TEN else 0.0))
    return Answers(request.id, tuple(answers))


def replay(recording: Recording, provider: Provider, config: Config | None, judge: Judge = local_judge) -> Replayed:
    """The whole session; without a config, without a guard."""
    return _Replay(recording, provider, config, judge).run()


class _Replay:
    def __init__(self, recording: Recording, provider: Provider, config: Config | None, judge: Judge) -> None:
        self._recording = recording
        self._provider = provider
        self._config = config
        self._judge = judge
        self._branch = _Branch(recording, provider)
        self._cache = provider.new_cache()
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
            editing=tally.editing,
            deferring=tally.deferring,
            not_due=tally.not_due,
            refused=tally.refused,
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
        recording = self._recording
        prompt = build_prompt(transcript, self._branch.versions, recording.overhead_tokens, recording.chars_per_token)
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
        if settled.record.saved_chars > 0:
            self._count_rerun(settled.record.saved_chars)

    def _count(self, planned: Plan, settled: Settlement) -> None:
        tally = self._tally
        edits = sum(1 for draft in settled.drafts if not isinstance(draft, Append))
        tally.edits += edits
        tally.editing += edits > 0
        gates = (settled.gates.exchanges, settled.gates.early, settled.gates.edits)
        tally.deferring += any(gate is not None and not gate.allowed for gate in gates)
        checkpoint = planned.checkpoint
        if isinstance(checkpoint, NotDue):
            tally.not_due += checkpoint.tried[0].chars < checkpoint.batch_chars
            tally.refused += checkpoint.tried[0].chars >= checkpoint.batch_chars

    def _count_rerun(self, saved_chars: int) -> None:
        if self._config is None:
            return
        saved = saved_chars / self._recording.chars_per_token
        steps = self._config.rerun_steps_per_1k_tokens * saved / 1_000
        step = Usage(cache_read=round(self._tokens(self._branch.transcript())))
        self._tally.rerun_dollars += steps * self._provider.dollars(step)

    def _tokens(self, transcript: Transcript) -> float:
        chars = sum(map(visible_chars, shown(transcript)))
        return chars / self._recording.chars_per_token + self._recording.overhead_tokens


class _Branch:
    """The branch as it grows, the guard's edits and records among its entries."""

    def __init__(self, recording: Recording, provider: Provider) -> None:
        self.versions: Counter[str] = Counter()
        """Edits of each entry so far."""
        self._recording = recording
        self._model = provider.model
        self._host_edits = {edit.id: edit for edit in recording.edits}
        self._keeps = dict(recording.keeps)
        self._entries: list[Entry] = []
        self._places: dict[str, int] = {}
        self._context: list[int] = []
        self._edits: list[Edit] = []
        self._records: list[StoredRecord] = []

    def add(self, entry: Entry) -> None:
        at = len(self._entries)
        if entry.role == "assistant":
            entry = replace(entry, model=self._model)
        self._entries.append(entry)
        self._places[entry.id] = at
        if entry.id in self._keeps:
            self._compact(at, self._keeps[entry.id])
        else:
            self._context.append(at)
        if entry.id in self._host_edits:
            edit = self._host_edits[entry.id]
            self._edit(entry.id, edit.target, edit.content)

    def apply(self, drafts: tuple[Draft, ...]) -> None:
        for draft in drafts:
            at = len(self._entries)
            name = f"guard-{at}"
            self.add(Entry(id=name, parent=self._entries[-1].id, role="meta"))
            match draft:
                case Append(record=record):
                    self._records.append(StoredRecord(id=name, at=at, record=record))
                case Omit(target=target):
                    self._edit(name, target, None)
                case Replace(target=target, texts=texts):
                    self._edit(name, target, self._content(target, texts))

    def transcript(self) -> Transcript:
        return Transcript(
            host="replay",
            session=self._recording.name,
            entries=tuple(self._entries),
            head=self._entries[-1].id if self._entries else None,
            context=tuple(self._context),
            edits=tuple(self._edits),
            records=tuple(self._records),
            model=self._model,
            cwd=self._recording.cwd,
        )

    def _content(self, target: str, texts: tuple[str, ...]) -> tuple[AnyBlock, ...]:
        result = self._entries[self._places[target]].raw_result
        blocks = tuple(map(Text, texts))
        return blocks if result is None else (replace(result, content=blocks),)

    def _edit(self, name: str, target: str, content: tuple[AnyBlock, ...] | None) -> None:
        place = self._places[target]
        self._edits.append(Edit(id=name, target=target, at=self._places[name], content=content))
        self._entries[place] = replace(self._entries[place], visible=content)
        self.versions[target] += 1

    def _compact(self, at: int, first_kept: str) -> None:
        """The summary comes first, then what it kept; an older summary has had its say."""
        first = self._places.get(first_kept, at)
        kept = [place for place in range(first, at) if self._entries[place].role != "system"]
        for place in kept:
            if self._entries[place].kind == "compaction":
                self._entries[place] = replace(self._entries[place], visible=())
        self._context = [at, *kept]


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
