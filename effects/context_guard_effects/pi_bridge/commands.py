"""`/guard` on the live session: a text for the user, and what the extension has to append."""

from collections.abc import Mapping
from typing import Any

from returns.result import Failure, Success

from context_guard.boundary import Boundary
from context_guard.config import Config
from context_guard.explain import Explanation, explain, explanation_text
from context_guard.guard_command import Asked, guard_lines, known_entry, read_command, report_lines, restored_by
from context_guard.savings import count_savings
from context_guard.transcript import Transcript
from context_guard_effects.guard import distill
from context_guard_effects.judges.port import Judge
from context_guard_effects.pi_bridge.settings import SettingsError, save_setting

Reply = dict[str, Any]


async def answer_command(
    text: str, transcript: Transcript, config: Config, judge: Judge | None, problem: str, environment: Mapping[str, str]
) -> Reply:
    """`reload` in the reply: the settings file has to be read again."""
    match read_command(text):
        case Success(Asked(verb="status")):
            return _say(*guard_lines(transcript, count_savings(transcript), config, problem))
        case Success(Asked(verb="report")):
            return _say(*report_lines(transcript, count_savings(transcript)))
        case Success(Asked(verb="on" | "off" as verb)):
            return _switch(verb == "on", environment)
        case Success(Asked(verb="reload")):
            return _say("context-guard: settings read again.") | {"reload": True}
        case Success(Asked(verb="why", entry_id=entry_id)):
            return await _why(entry_id, transcript, config, judge)
        case Success(Asked(verb="restore", entry_id=entry_id)):
            return _restore(entry_id, transcript)
        case Success(Asked(verb="pin" | "unpin" as verb, entry_id=entry_id)):
            return _pin(entry_id, transcript, verb == "pin")
        case Failure(usage):
            return _warn(str(usage))
        case other:
            raise AssertionError(other)


def _switch(on: bool, environment: Mapping[str, str]) -> Reply:
    try:
        save_setting(environment, {"enabled": on})
    except SettingsError as error:
        return _warn(f"context-guard: {error}")
    return _say(f"context-guard is {'on' if on else 'off'}, in later sessions too.") | {"reload": True}


async def _why(entry_id: str, transcript: Transcript, config: Config, judge: Judge | None) -> Reply:
    if not known_entry(transcript, entry_id):
        return _warn(f"This branch has no entry {entry_id}.")
    distilled = await distill(transcript, config, judge, Boundary(every_run=True))
    match explain(transcript, distilled.plan, distilled.settlement, entry_id):
        case Explanation() as found:
            return _say(explanation_text(found).rstrip("\n"))
        case _:
            return _warn(f"This branch has no entry {entry_id}.")


def _restore(entry_id: str, transcript: Transcript) -> Reply:
    match restored_by(transcript, entry_id):
        case Success((*ids,)):
            return _say(f"{entry_id} shows its original again and stays as it is (/guard unpin {entry_id}).") | {
                "restore": ids,
                "pins": [{"entryId": target, "pinned": True} for target in ids],
            }
        case Failure(said):
            return _warn(str(said))
        case other:
            raise AssertionError(other)


def _pin(entry_id: str, transcript: Transcript, pinned: bool) -> Reply:
    if not known_entry(transcript, entry_id):
        return _warn(f"This branch has no entry {entry_id}.")
    told = "stays as it is, whatever the judge says" if pinned else "is judged like every other entry again"
    return _say(f"{entry_id} {told}.") | {"pins": [{"entryId": entry_id, "pinned": pinned}]}


def _say(*lines: str) -> Reply:
    return {"text": "\n".join(lines), "level": "info"}


def _warn(text: str) -> Reply:
    return {"text": text, "level": "warning"}
