"""`context-guard judge`: whether a judge can be asked, by asking it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import UNJUDGED, Stop
from context_guard_effects.cli.nearest import NearestGroup
from context_guard_effects.cli.output import write

if TYPE_CHECKING:
    from context_guard.answers import Answers
    from context_guard.requests import Request
    from context_guard_effects.judges.port import Judge

NEEDED = "src/retry.py:19:     return min(cap, base * 2 ** attempt)"
NOISE = "docs/changelog.md:88: - a typo in the wording"


@click.group(cls=NearestGroup, no_args_is_help=False)
def command() -> None:
    """Try out a judge."""


@command.command()
@options.judge
@options.config_file
@options.settings
def check(judge: str | None, config_file: Path | None, settings: tuple[str, ...]) -> None:
    """Ask one small question and print who answered, how fast and for how much.

    Of `local+jev` or `jev,local` both are asked. Exit code 5 and one line say what is wrong: no key, a wrong key, an
    unknown model, no route, a wrong path, TLS.
    """
    from context_guard_effects.cli.judging import choose_judge
    from context_guard_effects.cli.settings import read_settings
    from context_guard_effects.judges.chain import Chain

    config = read_settings(config_file, settings)
    chosen = choose_judge(judge, config)
    for each in (chosen.first, chosen.second) if isinstance(chosen, Chain) else (chosen,):
        _check(each, config.timeout_ms)


def _check(judge: "Judge", budget_ms: int) -> None:
    from functools import partial

    import trio

    from context_guard.answers import Answers
    from context_guard_effects.judges.ask_all import ask_all

    request = sample_request()
    asked = trio.run(partial(ask_all, (request,), judge, budget_ms))
    outcome = asked.outcomes[0]
    if not isinstance(outcome, Answers):
        said = outcome.detail or f"no answer within {budget_ms / 1_000:g} s"
        raise Stop(f"{judge.name}: {said}", UNJUDGED)
    write(f"{summary(request, outcome, asked.ms)}\n")


def sample_request() -> "Request":
    """What the check asks: two lines of a search, of which the answer rests on one."""
    from context_guard.history import History
    from context_guard.requests import FOCUS, KEEP_WHOLE, NONE, WHOLE, Choice, Part, Request, State, yes_no
    from context_guard.wording import FOCUS_CHUNK, FOCUS_NONE, FOCUS_WHOLE, RUN_END

    ids = ("chunk_1", "chunk_2")
    part = "the tool output"
    return Request(
        id="check#0",
        kind="segment",
        phase="run-end",
        entry_ids=("check",),
        state=State(
            situation=RUN_END.situation,
            history=History(),
            question="Where is the delay between two tries capped?",
            answer="In src/retry.py line 19: min(cap, base * 2 ** attempt).",
            tool="bash",
            args='{"command":"rg -n retry"}',
            size="2 lines",
            parts=(Part(id=ids[0], text=NEEDED), Part(id=ids[1], text=NOISE)),
        ),
        questions=(
            yes_no(KEEP_WHOLE, RUN_END.keep_whole, part=part),
            Choice(
                id=FOCUS,
                instructions=RUN_END.focus.format(part=part),
                options=(
                    (WHOLE, FOCUS_WHOLE),
                    (NONE, FOCUS_NONE),
                    *((name, FOCUS_CHUNK.format(id=name)) for name in ids),
                ),
            ),
            *(yes_no(name, RUN_END.chunk, part=part) for name in ids),
        ),
    )


def summary(request: "Request", answers: "Answers", ms: int) -> str:
    from context_guard.answers import JudgeUsage
    from context_guard.text import format_probability, plural

    usage = answers.usage
    paid = f"{usage.input_tokens:,} input tokens, ${usage.cost_usd:.6f}" if usage != JudgeUsage() else "at no cost"
    needed, noise = (format_probability(answers.yes_no(name)) for name in ("chunk_1", "chunk_2"))
    return (
        f"{answers.judge} answered {len(answers.answers)} of {plural(len(request.questions), 'question')} in {ms} ms, "
        f"{paid}; P(needed) is {needed} for the line that the answer rests on and {noise} for the other one"
    )
